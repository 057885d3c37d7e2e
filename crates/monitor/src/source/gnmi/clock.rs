//! The time of a device's stamps, on a clock that never goes back.

use std::time::Duration;

/// By how much more than our own clock a device's may have advanced between two samples: what the first of them may have been
/// late.
const AHEAD_MOST: Duration = Duration::from_secs(60);

/// What became of a device's clock between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It was set back.
    WentBack,
    /// It was set forward, or the stamps mean something else.
    JumpedAhead,
    /// The stamp is not a time, or the same as before with other counters.
    NoTime,
}

/// Turns the stamps of a port's samples into the time that has passed. While the device's clock runs as ours does, give or take
/// what samples are late, its stamps say how far two samples are apart. Where it was set, our own clock does.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DeviceClock {
    last: Option<(Duration, i64)>,
    passed: Duration,
}

impl DeviceClock {
    /// Takes the stamp of a sample that has arrived at `now`, and was not there before.
    ///
    /// # Errors
    /// What is wrong with it; the time advances all the same.
    pub fn handle_stamp(&mut self, now: Duration, stamp_ns: i64) -> Result<(), Fault> {
        let Some((then, before)) = self.last.replace((now, stamp_ns)) else {
            return if stamp_ns > 0 { Ok(()) } else { Err(Fault::NoTime) };
        };
        let ours = now.saturating_sub(then);
        let theirs = u64::try_from(i128::from(stamp_ns) - i128::from(before)).map(Duration::from_nanos);
        let (passed, outcome) = match theirs {
            _ if stamp_ns <= 0 => (ours, Err(Fault::NoTime)),
            Err(_) => (ours, Err(Fault::WentBack)),
            Ok(Duration::ZERO) => (ours, Err(Fault::NoTime)),
            Ok(theirs) if theirs > ours.saturating_add(AHEAD_MOST) => (ours, Err(Fault::JumpedAhead)),
            Ok(theirs) => (theirs, Ok(())),
        };
        self.passed = self.passed.saturating_add(passed);
        outcome
    }

    /// The time that has passed from the first sample to the latest.
    pub fn passed(&self) -> Duration {
        self.passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;
    /// In 2026.
    const THEN: i64 = 1_796_000_000 * SECOND;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Ten-second samples, of which the third arrives with another stamp.
    fn third(stamp: i64) -> (Result<(), Fault>, Duration) {
        let mut clock = DeviceClock::default();
        assert_eq!(clock.handle_stamp(seconds(100), THEN), Ok(()));
        assert_eq!(clock.handle_stamp(seconds(111), THEN + 10 * SECOND), Ok(()));
        (clock.handle_stamp(seconds(120), stamp), clock.passed())
    }

    #[test]
    fn late_samples_are_as_far_apart_as_their_stamps() {
        assert_eq!(third(THEN + 20 * SECOND), (Ok(()), seconds(20)));
        // A sample that was delayed by half a minute.
        let mut clock = DeviceClock::default();
        let _ = clock.handle_stamp(seconds(130), THEN);
        assert_eq!(clock.handle_stamp(seconds(131), THEN + 31 * SECOND), Ok(()));
        assert_eq!(clock.passed(), seconds(31));
    }

    #[test]
    fn a_clock_that_was_set_does_not_count() {
        assert_eq!(third(THEN - 3_600 * SECOND), (Err(Fault::WentBack), seconds(19)));
        assert_eq!(third(THEN + 9 * SECOND), (Err(Fault::WentBack), seconds(19)));
        assert_eq!(third(THEN + 86_400 * SECOND), (Err(Fault::JumpedAhead), seconds(19)));
        assert_eq!(third(i64::MAX), (Err(Fault::JumpedAhead), seconds(19)));
        assert_eq!(third(i64::MIN), (Err(Fault::NoTime), seconds(19)));
        assert_eq!(
            third(THEN + 10 * SECOND),
            (Err(Fault::NoTime), seconds(19)),
            "other counters, no other time"
        );
        assert_eq!(DeviceClock::default().handle_stamp(seconds(1), 0), Err(Fault::NoTime));
    }

    #[test]
    fn after_a_jump_stamps_count_again() {
        let mut clock = DeviceClock::default();
        let _ = clock.handle_stamp(seconds(0), THEN);
        let _ = clock.handle_stamp(seconds(10), THEN - 3_600 * SECOND);
        assert_eq!(clock.handle_stamp(seconds(21), THEN - 3_590 * SECOND), Ok(()));
        assert_eq!(clock.passed(), seconds(20));
    }

    proptest! {
        #[test]
        fn time_never_goes_back_nor_ahead_of_ours_by_much(
            samples in prop::collection::vec((0_u64..10_000_000_000_000, any::<i64>()), 1..20),
        ) {
            let mut clock = DeviceClock::default();
            let (mut now, mut before) = (Duration::ZERO, Duration::ZERO);
            for (count, (later, stamp)) in samples.into_iter().enumerate() {
                now += Duration::from_nanos(later);
                let _ = clock.handle_stamp(now, stamp);
                prop_assert!(clock.passed() >= before);
                prop_assert!(clock.passed() <= now + AHEAD_MOST * u32::try_from(count).unwrap());
                before = clock.passed();
            }
        }
    }
}
