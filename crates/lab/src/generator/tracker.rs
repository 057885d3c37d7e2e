//! Tracks which numbers have arrived: for the first time, again, or out of order. It keeps a bitmap of the last
//! million, however long the run.

/// How many numbers behind the highest one are remembered. Later arrivals count as stale, neither as first nor as
/// second.
pub(super) const REMEMBERED: u64 = 1 << 20;

/// Counts of one run.
#[derive(Clone, Debug)]
pub(crate) struct Tracker {
    bits: Vec<u64>,
    /// One more than the highest number that has arrived.
    pub(crate) next: u64,
    /// Numbers that arrived for the first time.
    pub(crate) received: u64,
    /// Frames whose number had arrived before.
    pub(crate) duplicated: u64,
    /// Frames that arrived for the first time, but after a higher number.
    pub(crate) reordered: u64,
    /// The largest distance of such a frame to the highest number before it.
    pub(crate) reordering_extent: u64,
    /// Frames too far behind to tell.
    pub(crate) stale: u64,
}

impl Tracker {
    pub(crate) fn new() -> Self {
        Self {
            bits: vec![0; (REMEMBERED / 64) as usize],
            next: 0,
            received: 0,
            duplicated: 0,
            reordered: 0,
            reordering_extent: 0,
            stale: 0,
        }
    }

    /// Records the arrival of `number`.
    pub(crate) fn handle(&mut self, number: u64) {
        if number >= self.next {
            self.forget(number);
            self.next = number + 1;
        } else if self.next - number > REMEMBERED {
            self.stale += 1;
            return;
        } else if self.is_set(number) {
            self.duplicated += 1;
            return;
        } else {
            self.reordered += 1;
            self.reordering_extent = self.reordering_extent.max(self.next - 1 - number);
        }
        self.received += 1;
        let (word, bit) = place(number);
        self.bits[word] |= bit;
    }

    fn is_set(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.bits[word] & bit != 0
    }

    /// Clears the positions of the numbers from `next` to `number`, which held numbers a million lower.
    fn forget(&mut self, number: u64) {
        if number - self.next >= REMEMBERED {
            self.bits.fill(0);
            return;
        }
        for one in self.next..=number {
            let (word, bit) = place(one);
            self.bits[word] &= !bit;
        }
    }
}

fn place(number: u64) -> (usize, u64) {
    let place = number % REMEMBERED;
    ((place / 64) as usize, 1 << (place % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn loss_duplication_and_reordering_are_counted() {
        let mut tracker = Tracker::new();
        for number in [0, 1, 3, 2, 2, 6, 6, 7] {
            tracker.handle(number);
        }
        assert_eq!((tracker.next, tracker.received, tracker.duplicated), (8, 6, 2));
        assert_eq!((tracker.reordered, tracker.reordering_extent, tracker.stale), (1, 1, 0));
    }

    #[test]
    fn the_bitmap_wraps_without_false_duplicates() {
        let mut tracker = Tracker::new();
        for number in 0..3 * REMEMBERED + 5 {
            tracker.handle(number);
        }
        assert_eq!((tracker.received, tracker.duplicated, tracker.stale), (3 * REMEMBERED + 5, 0, 0));
        tracker.handle(2 * REMEMBERED + 5);
        assert_eq!(tracker.duplicated, 1);
        tracker.handle(2 * REMEMBERED + 4);
        assert_eq!(tracker.stale, 1);
        tracker.handle(10 * REMEMBERED);
        tracker.handle(10 * REMEMBERED - 7);
        assert_eq!((tracker.reordered, tracker.duplicated), (1, 1));
    }

    #[test]
    fn agrees_with_a_set() {
        let (mut tracker, mut seen, mut state) = (Tracker::new(), BTreeSet::new(), 1u64);
        let mut duplicated = 0;
        for step in 0..20_000u64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = step + (state >> 40) % 50;
            tracker.handle(number);
            duplicated += u64::from(!seen.insert(number));
        }
        assert_eq!((tracker.received, tracker.duplicated), (seen.len() as u64, duplicated));
        assert_eq!(Some(tracker.next - 1), seen.last().copied());
    }
}
