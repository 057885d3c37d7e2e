//! From counters that only grow, until they do not, to what a poll adds.

use super::Reading;
use super::fec::{
    ERRORS_COUNTED, FRAME_BITS, FecCode, codewords_in, codewords_of_a_frame, frames_of_a_codeword_most,
};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// A frame of minimum size on the wire, with preamble and gap, in bits.
const FRAME_BITS_LEAST: u64 = (64 + 8 + 12) * 8;
/// The speed of a port that does not say its own: the fastest there are.
const SPEED_DEFAULT: u64 = 1_600_000_000_000;
/// A port's clock and ours differ, and polls are late: twice the frames that fit are still believed.
const SLACK: u64 = 2;
/// By how many frames two counters of a port that see the same frames may differ, because they are read one after the other.
const READ_APART_MOST: u64 = 64;
/// Counters of 32 bits begin again after this many.
const WRAP: u64 = 1 << 32;

/// What a port received between two polls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Increment {
    /// All frames, corrupted ones among them.
    pub frames: u64,
    /// Frames with a wrong check sequence, or those lost with uncorrectable codewords if these are more.
    pub corrupted: u64,
}

/// What a port's codewords say of its link between two polls, in frames: they flow on an idle link as well.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Codewords {
    /// Codewords that came, divided by those in which a frame has a part; and how many of them were uncorrectable. The second
    /// over the first is the frame loss ratio of a link that is full of frames.
    pub as_frames: Increment,
    /// Frames that came, and those that were corrupted beyond what the uncorrectable codewords can explain.
    pub beyond: Increment,
}

/// Why what two polls say cannot be subtracted. The next poll is compared with the latest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Irregularity {
    /// The first poll of this port.
    First,
    /// Counters began again, and what they had counted before is unknown.
    Reset,
    /// The carrier came or went: frames are cut off and bit patterns trained, which is no corruption.
    Flap,
    /// The port is down.
    Down,
    /// The port came up a moment ago, and what it counts may still be the flap's.
    Settling,
    /// The carrier came and went so often that the port is not judged until it has been stable for a while.
    Damped,
    /// The port changed its speed.
    SpeedChange,
    /// The port does not count corrupted frames.
    NotCounted,
    /// Frames that are lost are sent again by Link Layer Retry, and nothing counts them.
    Hidden,
    /// More frames than fit through the port.
    Implausible,
    /// The source has not named the port for a while.
    Absent,
}

impl fmt::Display for Irregularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Irregularity::First => "first poll",
            Irregularity::Reset => "its counters were reset",
            Irregularity::Flap => "its carrier changed",
            Irregularity::Down => "it is down",
            Irregularity::Settling => "it has just come up",
            Irregularity::Damped => "it is flapping, and is not judged until it has been stable for a while",
            Irregularity::SpeedChange => "its speed changed",
            Irregularity::NotCounted => "it does not count corrupted frames",
            Irregularity::Hidden => "LLR sends its corrupted frames again, and nothing counts them",
            Irregularity::Implausible => "it counted more frames than it can receive",
            Irregularity::Absent => "it is not among the ports whose counters can be read",
        })
    }
}

/// Subtracts each reading of a port from the one before.
#[derive(Debug, Clone, Default)]
pub struct Difference {
    last: Option<(Duration, Reading)>,
    /// The part of a frame that uncorrectable codewords have cost beyond those that were counted.
    part_lost: f64,
    /// The part of a frame's codewords that was not counted yet.
    part_of_a_frame: f64,
    codewords: Option<Codewords>,
}

impl Difference {
    /// Takes a reading made at `now`, on a clock that never goes back. Polls may be missing between this and the last.
    ///
    /// # Errors
    /// [`Irregularity`], if the two readings cannot be compared.
    pub fn handle_reading(&mut self, now: Duration, reading: Reading) -> Result<Increment, Irregularity> {
        self.codewords = None;
        let (then, last) = self.last.replace((now, reading)).ok_or(Irregularity::First)?;
        let corrupted = (reading.corrupted_frames).ok_or(Irregularity::NotCounted)?;
        if reading.epoch != last.epoch {
            return Err(Irregularity::Reset);
        }
        if reading.carrier_changes != last.carrier_changes {
            return Err(Irregularity::Flap);
        }
        if let (Some(speed), Some(before)) = (reading.speed, last.speed)
            && speed != before
        {
            return Err(Irregularity::SpeedChange);
        }
        let before = last.corrupted_frames.ok_or(Irregularity::First)?;
        let passed = match last.taken_ns.zip(reading.taken_ns) {
            Some((before, after)) => Duration::from_nanos(after.saturating_sub(before)),
            None => now.saturating_sub(then),
        };
        let most = frames_that_fit(reading.speed.unwrap_or(SPEED_DEFAULT), passed);
        let good = grown(last.good_frames, reading.good_frames, most)?;
        let corrupted = grown(before, corrupted, most)?;
        let also = |of: fn(&Reading) -> Option<u64>| {
            of(&last).zip(of(&reading)).map_or(Ok(0), |(before, after)| grown(before, after, most))
        };
        let not_corrupted = also(|reading| reading.not_corrupted)?;
        // RFC 2819 calls every frame beyond 1,518 bytes oversize. A port that counts intact long frames there counts more of
        // them than errors, and then none is taken off.
        let among_errors = not_corrupted <= corrupted.saturating_mul(2).saturating_add(READ_APART_MOST);
        let corrupted = if among_errors { corrupted.saturating_sub(not_corrupted) } else { corrupted };
        let corrupted = corrupted.max(also(|reading| reading.symbol_errors)?);
        let retried = reading
            .retry
            .zip(last.retry)
            .map(|(now, before)| now.lost_since(&before, |before, after| grown(before, after, most)));
        let corrupted = corrupted.max(retried.transpose()?.unwrap_or_default());
        if corrupted == 0 && reading.hides_losses() {
            return Err(Irregularity::Hidden);
        }
        let checked = corrupted;
        let corrupted = corrupted.max(self.lost_with_codewords(passed, &last, &reading, good)?);
        let frames = good.checked_add(corrupted).ok_or(Irregularity::Implausible)?;
        if frames > most {
            return Err(Irregularity::Implausible);
        }
        self.codewords = self.codewords_between(passed, (&last, &reading), good, checked);
        Ok(Increment { frames, corrupted })
    }

    /// What the latest reading said by its codewords; `None` if it was irregular, if the port does not count uncorrectable
    /// codewords, or if nothing shows that codewords came.
    pub fn codewords(&self) -> Option<Codewords> {
        self.codewords
    }

    fn codewords_between(
        &mut self,
        passed: Duration,
        (before, after): (&Reading, &Reading),
        good: u64,
        checked: u64,
    ) -> Option<Codewords> {
        let (last, fec) = before.fec.zip(after.fec)?;
        let uncorrectable = fec.uncorrectable_codewords?.checked_sub(last.uncorrectable_codewords?)?;
        // A port that is down has no codewords. One that does not say whether it is up shows it by what it counts.
        if after.up != Some(true) && good == 0 && fec == last {
            return None;
        }
        let code = after.code.unwrap_or(FecCode::Rs544);
        code.correctable()?;
        let seconds = passed.as_secs_f64();
        // Where the speed is not known, a histogram may have counted all codewords that could be corrected.
        let counted = || last.codewords.zip(fec.codewords).and_then(codewords_counted);
        let all = match after.speed {
            Some(speed) => codewords_in(speed, seconds),
            None => counted()?.saturating_add(uncorrectable) as f64,
        };
        let interleaved = after.speed.map_or(1, |speed| code.interleaved(speed));
        let long = |speed| speed as f64 * seconds / good.max(1) as f64;
        let frame_bits = after.speed.map_or(FRAME_BITS, long).min(FRAME_BITS);
        let frames = all / codewords_of_a_frame(frame_bits, interleaved) + self.part_of_a_frame;
        self.part_of_a_frame = frames.fract();
        let frames = (frames as u64).max(uncorrectable);
        let explained = uncorrectable.saturating_mul(frames_of_a_codeword_most(interleaved));
        let beyond = checked.saturating_sub(explained);
        Some(Codewords {
            as_frames: Increment { frames, corrupted: uncorrectable },
            beyond: Increment { frames: good.saturating_add(beyond), corrupted: beyond },
        })
    }

    /// Frames that were lost with uncorrectable codewords while `good` others came. The receiver marks all that such a
    /// codeword carried as wrong (IEEE 802.3, 91.5.3.3), and so loses every frame with a part in it. Those that had begun
    /// before are then counted as frames with a wrong check sequence as well: losses are the larger of the two
    /// counts, and not their sum. Where the speed is not known, each codeword is taken for one frame.
    fn lost_with_codewords(
        &mut self,
        passed: Duration,
        before: &Reading,
        after: &Reading,
        good: u64,
    ) -> Result<u64, Irregularity> {
        let count = |reading: &Reading| reading.fec.and_then(|fec| fec.uncorrectable_codewords);
        let Some((last, count)) = count(before).zip(count(after)) else { return Ok(0) };
        let lost = grown(last, count, frames_that_fit(after.speed.unwrap_or(SPEED_DEFAULT), passed))?;
        let Some(speed) = after.speed.filter(|_| lost > 0) else { return Ok(lost) };
        let seconds = passed.as_secs_f64();
        // Frames are long unless there are so many that long ones would not fit.
        let frame_bits = (speed as f64 * seconds / good.max(1) as f64).min(FRAME_BITS);
        let interleaved = after.code.unwrap_or(FecCode::Rs544).interleaved(speed);
        let codewords = codewords_of_a_frame(frame_bits, interleaved);
        let share = (lost as f64 / codewords_in(speed, seconds) * codewords).min(1.0);
        if share >= 1.0 {
            return Ok(lost);
        }
        let frames = good as f64 * share / (1.0 - share) + self.part_lost;
        self.part_lost = frames.fract();
        Ok(frames as u64)
    }
}

/// By how much a counter has grown. One that has shrunk has begun again: after 2^32, if that is the shorter way and fits the
/// time, or at a reset.
fn grown(before: u64, after: u64, most: u64) -> Result<u64, Irregularity> {
    if let Some(grown) = after.checked_sub(before) {
        return Ok(grown);
    }
    let wrapped = after.checked_add(WRAP - before.min(WRAP)).filter(|_| before < WRAP);
    wrapped.filter(|&grown| grown <= most && grown < WRAP / 2).ok_or(Irregularity::Reset)
}

/// The most frames that a port of this speed can receive in this time.
fn frames_that_fit(speed: u64, time: Duration) -> u64 {
    let frames = u128::from(speed) * time.as_nanos() / 1_000_000_000 / u128::from(FRAME_BITS_LEAST);
    // Counters are updated in steps, of up to a second in some drivers, so that a poll may see those of two steps.
    let step = u128::from(speed / FRAME_BITS_LEAST);
    u64::try_from((frames + step) * u128::from(SLACK)).unwrap_or(u64::MAX)
}

/// The codewords by which a histogram has grown; `None` if it does not count those without errors, or has shrunk.
fn codewords_counted((before, after): ([u64; ERRORS_COUNTED], [u64; ERRORS_COUNTED])) -> Option<u64> {
    let bins = before.iter().zip(&after).map(|(before, after)| after.checked_sub(*before));
    bins.sum::<Option<u64>>().filter(|_| after[0] > before[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{FecReading, RetryReading};
    use proptest::prelude::*;

    const GIGABIT: u64 = 1_000_000_000;

    fn reading(good_frames: u64, corrupted: u64) -> Reading {
        let corrupted_frames = Some(corrupted);
        Reading { good_frames, corrupted_frames, speed: Some(GIGABIT), ..Reading::default() }
    }

    /// What the second of two readings says, a second after the first.
    fn second(first: Reading, then: Reading) -> Result<Increment, Irregularity> {
        let mut difference = Difference::default();
        assert_eq!(difference.handle_reading(Duration::ZERO, first), Err(Irregularity::First));
        difference.handle_reading(Duration::from_secs(1), then)
    }

    #[test]
    fn all_frames_are_the_good_and_the_corrupted() {
        let both = second(reading(u64::MAX - 1_000, 7), reading(u64::MAX - 900, 9));
        assert_eq!(both, Ok(Increment { frames: 102, corrupted: 2 }));
    }

    #[test]
    fn a_counter_of_32_bits_wraps_and_a_restarted_one_does_not() {
        let last = u64::from(u32::MAX);
        let wrapped = second(reading(last - 9, last), reading(90, 0));
        assert_eq!(wrapped, Ok(Increment { frames: 101, corrupted: 1 }));
        // A gigabit carries 1.5 million frames a second, so that a billion and a half are not the distance.
        assert_eq!(second(reading(2_800_000_000, 7), reading(5, 7)), Err(Irregularity::Reset));
        assert_eq!(second(reading(100, 7), reading(100, 6)), Err(Irregularity::Reset));
        let fast = |reading| Reading { speed: None, ..reading };
        assert_eq!(second(fast(reading(100, 9_000)), fast(reading(100, 0))), Err(Irregularity::Reset));
        assert_eq!(second(reading(1 << 40, 7), reading(1 << 30, 7)), Err(Irregularity::Reset));
    }

    #[test]
    fn what_was_counted_while_the_port_changed_is_not_believed() {
        let base = reading(100, 0);
        for (changed, why) in [
            (Reading { carrier_changes: Some(2), ..reading(200, 50) }, Irregularity::Flap),
            (Reading { speed: Some(10 * GIGABIT), ..reading(200, 50) }, Irregularity::SpeedChange),
            (Reading { epoch: Some(2), ..reading(200, 50) }, Irregularity::Reset),
            (Reading { corrupted_frames: None, ..reading(200, 50) }, Irregularity::NotCounted),
            (reading(100 + (1 << 40), 0), Irregularity::Implausible),
        ] {
            let mut difference = Difference::default();
            let before = Reading { carrier_changes: Some(1), epoch: Some(1), ..base };
            let changed = Reading {
                carrier_changes: changed.carrier_changes.or(Some(1)),
                epoch: changed.epoch.or(Some(1)),
                ..changed
            };
            let _ = difference.handle_reading(Duration::ZERO, before);
            assert_eq!(difference.handle_reading(Duration::from_secs(1), changed), Err(why));
            // The next poll counts from there.
            if changed.corrupted_frames.is_some() {
                let next = Reading { good_frames: changed.good_frames + 10, ..changed };
                let increment = difference.handle_reading(Duration::from_secs(2), next);
                assert_eq!(increment, Ok(Increment { frames: 10, corrupted: 0 }), "{why}");
            }
        }
    }

    /// Ten seconds' frames and codewords arrive between two polls that are a tenth of a second apart.
    #[test]
    fn samples_are_as_far_apart_as_they_were_taken() {
        let of = |taken_ns: Option<u64>, good_frames| {
            let fec =
                FecReading { uncorrectable_codewords: Some(good_frames / 1_000), ..FecReading::default() };
            Reading { taken_ns, fec: Some(fec), up: Some(true), ..reading(good_frames, 0) }
        };
        let second = |taken: [Option<u64>; 2]| {
            let mut difference = Difference::default();
            let _ = difference.handle_reading(Duration::ZERO, of(taken[0], 0));
            let increment = difference.handle_reading(Duration::from_millis(100), of(taken[1], 10_000_000));
            (increment, difference.codewords().map(|codewords| codewords.as_frames.frames))
        };
        let (increment, codewords) = second([Some(5), Some(10_000_000_005)]);
        assert!(increment.is_ok_and(|increment| increment.frames >= 10_000_000), "{increment:?}");
        let all = codewords_in(GIGABIT, 10.0) / codewords_of_a_frame(1_000.0, 1);
        assert!(
            codewords.is_some_and(|codewords| (codewords as f64 / all - 1.0).abs() < 0.01),
            "{codewords:?}"
        );
        assert_eq!(second([None, None]).0, Err(Irregularity::Implausible));
        // The same sample again.
        let mut difference = Difference::default();
        let _ = difference.handle_reading(Duration::ZERO, of(Some(5), 7_000));
        let again = difference.handle_reading(Duration::from_secs(1), of(Some(5), 7_000));
        assert_eq!(again, Ok(Increment::default()));
        assert_eq!(difference.codewords().map(|codewords| codewords.as_frames), Some(Increment::default()));
    }

    #[test]
    fn missing_polls_leave_the_sum() {
        let mut difference = Difference::default();
        let _ = difference.handle_reading(Duration::ZERO, reading(0, 0));
        let increment = difference.handle_reading(Duration::from_secs(60), reading(50_000_000, 3));
        assert_eq!(increment, Ok(Increment { frames: 50_000_003, corrupted: 3 }));
    }

    #[test]
    fn symbol_errors_are_the_same_frames_and_those_of_a_wrong_length_are_not_corrupted() {
        let counted = |corrupted, symbol_errors, not_corrupted| Reading {
            symbol_errors: Some(symbol_errors),
            not_corrupted: Some(not_corrupted),
            ..reading(1_000, corrupted)
        };
        let corrupted = |then| second(counted(10, 10, 10), then).map(|increment| increment.corrupted);
        assert_eq!(corrupted(counted(17, 16, 10)), Ok(7), "the larger, not the sum");
        assert_eq!(corrupted(counted(12, 19, 10)), Ok(9));
        assert_eq!(corrupted(counted(17, 10, 15)), Ok(2));
        assert_eq!(corrupted(counted(17, 10, 19)), Ok(0), "counters are read one after the other");
        assert_eq!(corrupted(counted(17, 10, 900)), Ok(7), "intact long frames hide no corruption");
        assert_eq!(corrupted(counted(17, 3, 10)), Err(Irregularity::Reset));
    }

    #[test]
    fn a_port_that_hides_its_losses_is_not_judged_by_clean_frames() {
        let of = |corrupted, retry, uncorrectable: Option<u64>| {
            let fec = FecReading { uncorrectable_codewords: uncorrectable, ..FecReading::default() };
            Reading { retry, fec: uncorrectable.map(|_| fec), ..reading(100, corrupted) }
        };
        let corrupted = |then: Reading| {
            let first = Reading { corrupted_frames: Some(0), ..then };
            second(first, then).map(|increment| increment.corrupted)
        };
        let (off, on) = (None, Some(RetryReading::default()));
        let counted = Some(RetryReading { nacks: Some(7), ..RetryReading::default() });
        assert_eq!(corrupted(of(0, off, None)), Ok(0));
        assert_eq!(corrupted(of(0, on, None)), Err(Irregularity::Hidden));
        assert_eq!(corrupted(of(2, on, None)), Ok(2), "what shows, shows");
        assert_eq!([corrupted(of(0, on, Some(0))), corrupted(of(0, counted, None))], [Ok(0), Ok(0)]);
        let later = Some(RetryReading { nacks: Some(9), ..RetryReading::default() });
        let both = second(of(0, counted, None), Reading { good_frames: 150, ..of(1, later, None) });
        assert_eq!(both, Ok(Increment { frames: 52, corrupted: 2 }), "the larger, not the sum");
    }

    proptest! {
        #[test]
        fn no_reading_panics_and_an_increment_fits(
            readings in prop::collection::vec((any::<u64>(), any::<Option<u64>>(), any::<u64>(), 0_u64..u64::MAX), 2..9),
        ) {
            let mut difference = Difference::default();
            for (good_frames, corrupted_frames, speed, now) in readings {
                let reading =
                    Reading { good_frames, corrupted_frames, speed: Some(speed), ..Reading::default() };
                if let Ok(increment) = difference.handle_reading(Duration::from_nanos(now), reading) {
                    prop_assert!(increment.corrupted <= increment.frames);
                }
            }
        }
    }
}
