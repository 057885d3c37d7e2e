//! Which frames have arrived, and for how long none did.

use crate::time::Time;

/// Frames that one end delivers, known by their numbers.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// One bit for each frame that has arrived.
    seen: Vec<u64>,
    pub(super) delivered: u64,
    pub(super) twice: u64,
    pub(super) reordered: u64,
    /// One more than the largest number that has arrived.
    next: u64,
    last_at: Option<Time>,
    gap: Option<Gap>,
}

/// The time without a frame that a failure causes.
#[derive(Debug, Clone, Copy)]
struct Gap {
    /// What arrives until then had passed the link before it failed.
    until: Time,
    closed: Option<Time>,
}

impl Tally {
    /// A frame is delivered.
    pub(super) fn deliver(&mut self, now: Time, number: u64) {
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if word >= self.seen.len() {
            self.seen.resize(word + 1, 0);
        }
        if self.seen[word] & bit != 0 {
            self.twice += 1;
            return;
        }
        self.seen[word] |= bit;
        self.delivered += 1;
        self.reordered += u64::from(number < self.next);
        self.next = self.next.max(number + 1);
        if let (Some(gap), Some(last_at)) = (&mut self.gap, self.last_at)
            && gap.closed.is_none()
            && now > gap.until
        {
            gap.closed = Some(now - last_at);
        }
        self.last_at = Some(now);
    }

    /// A link has failed; what arrives until `until` had passed it before.
    pub(super) fn cut(&mut self, until: Time) {
        self.gap = Some(Gap { until, closed: None });
    }

    /// From the last delivery before the latest failure to the first one after it.
    pub(super) fn recovery(&self) -> Option<Time> {
        self.gap?.closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_twice_or_late_is_counted_and_a_gap_begins_with_the_last_frame_before_it() {
        let mut tally = Tally::default();
        for (at, number) in [(10, 0), (20, 1)] {
            tally.deliver(Time(at), number);
        }
        tally.cut(Time(25));
        tally.deliver(Time(24), 3);
        assert_eq!(tally.recovery(), None);
        tally.deliver(Time(70), 1);
        assert_eq!(tally.recovery(), None, "it had arrived");
        tally.deliver(Time(80), 2);
        tally.deliver(Time(90), 4);
        assert_eq!(tally.recovery(), Some(Time(56)));
        assert_eq!((tally.delivered, tally.twice, tally.reordered), (5, 1, 1));
    }
}
