//! Which bytes of the stream have arrived: all below `next`, and some ranges above it.

use std::collections::VecDeque;
use std::ops::Range;

/// Maximum number of ranges kept above the first missing byte. A segment that would need one more is dropped, as by a
/// host without memory. It was not selectively acknowledged, so its sender retransmits it.
pub const OUT_OF_ORDER_RANGES_MAX: usize = 4_096;

/// What a segment has changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inserted {
    /// Bytes by which the first missing byte has advanced.
    pub advanced: u64,
    /// The range above the first missing byte that now holds the segment.
    pub block: Option<Range<u64>>,
    /// The first bytes of it that had arrived before (RFC 2883, section 4).
    pub duplicate: Option<Range<u64>>,
    /// Whether there was a gap and the segment filled it, at least from its beginning.
    pub filled_gap: bool,
    /// Whether it was dropped because there were too many ranges.
    pub is_dropped: bool,
}

/// The bytes that have arrived.
#[derive(Debug, Clone)]
pub struct Reassembly {
    next: u64,
    /// Above `next`, ascending; neither overlapping nor touching.
    ranges: VecDeque<(u64, u64)>,
}

impl Reassembly {
    /// Nothing has arrived; `next` is the first byte that is expected.
    pub fn new(next: u64) -> Reassembly {
        Reassembly { next, ranges: VecDeque::new() }
    }

    /// The first byte that is missing (RCV.NXT).
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Whether something arrived above a missing byte.
    pub fn has_gap(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The number after the last byte that arrived.
    pub fn highest(&self) -> u64 {
        self.ranges.back().map_or(self.next, |&(_, end)| end)
    }

    /// Takes the bytes of a segment. The cost is logarithmic in the number of gaps when the segment is the newest or fills
    /// the first gap, which is nearly always, and linear in it otherwise.
    pub fn insert(&mut self, segment: Range<u64>) -> Inserted {
        let mut inserted = Inserted::default();
        if segment.is_empty() {
            return inserted;
        }
        let next = self.next;
        if segment.start < next {
            inserted.duplicate = Some(segment.start..segment.end.min(next));
        }
        let (mut start, mut end) = (segment.start.max(next), segment.end);
        if end <= next {
            return inserted;
        }
        // All ranges that overlap it or touch it become one with it.
        let first = if self.ranges.back().is_none_or(|&(_, highest)| highest < start) {
            self.ranges.len()
        } else {
            self.ranges.partition_point(|&(_, range_end)| range_end < start)
        };
        let mut last = first;
        while let Some(&(range_start, range_end)) = self.ranges.get(last)
            && range_start <= segment.end
        {
            let overlap = range_start.max(segment.start)..range_end.min(segment.end);
            if !overlap.is_empty() && inserted.duplicate.is_none() {
                inserted.duplicate = Some(overlap);
            }
            (start, end) = (start.min(range_start), end.max(range_end));
            last += 1;
        }
        if start == next {
            inserted.advanced = end - next;
            inserted.filled_gap = self.has_gap();
            self.next = end;
            self.ranges.drain(..last);
        } else if first == last && self.ranges.len() >= OUT_OF_ORDER_RANGES_MAX {
            inserted.is_dropped = true;
        } else {
            inserted.block = Some(start..end);
            self.replace(first, last, (start, end));
        }
        inserted
    }

    /// Puts one range in the place of those from `first` to before `last`.
    fn replace(&mut self, first: usize, last: usize, range: (u64, u64)) {
        if first == last {
            self.ranges.insert(first, range);
            return;
        }
        self.ranges[first] = range;
        if last > first + 1 {
            self.ranges.drain(first + 1..last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bytes_in_order_advance_the_first_missing_byte() {
        let mut reassembly = Reassembly::new(1);
        let inserted = reassembly.insert(1..101);
        assert_eq!(inserted, Inserted { advanced: 100, ..Inserted::default() });
        assert_eq!((reassembly.next(), reassembly.has_gap()), (101, false));
    }

    #[test]
    fn a_filled_gap_joins_what_is_above_it() {
        let mut reassembly = Reassembly::new(1);
        assert_eq!(reassembly.insert(101..201).block, Some(101..201));
        assert_eq!(reassembly.insert(301..401).block, Some(301..401));
        assert_eq!(reassembly.insert(201..301).block, Some(101..401));
        let inserted = reassembly.insert(1..101);
        assert_eq!((inserted.advanced, inserted.filled_gap), (400, true));
        assert!(!reassembly.has_gap());
    }

    #[test]
    fn what_arrived_before_is_named() {
        let mut reassembly = Reassembly::new(1);
        reassembly.insert(1..101);
        reassembly.insert(201..301);
        assert_eq!(reassembly.insert(51..101).duplicate, Some(51..101));
        assert_eq!(reassembly.insert(51..151).duplicate, Some(51..101));
        assert_eq!(reassembly.insert(221..241).duplicate, Some(221..241));
        assert_eq!(reassembly.insert(251..351).duplicate, Some(251..301));
    }

    #[test]
    fn a_segment_that_would_need_one_range_too_many_is_dropped() {
        let mut reassembly = Reassembly::new(0);
        let at = |index: u64| 10 + 10 * index..15 + 10 * index;
        for index in 0..OUT_OF_ORDER_RANGES_MAX as u64 {
            assert!(!reassembly.insert(at(index)).is_dropped);
        }
        let beyond = at(OUT_OF_ORDER_RANGES_MAX as u64);
        assert!(reassembly.insert(beyond.clone()).is_dropped);
        assert!(reassembly.highest() < beyond.start);
        assert!(!reassembly.insert(15..20).is_dropped, "it joins two ranges");
        assert!(!reassembly.insert(beyond).is_dropped, "there is room again");
    }

    proptest! {
        /// Against one flag for each byte.
        #[test]
        fn the_ranges_are_those_of_a_list_of_bytes(segments in prop::collection::vec((0_u64..200, 0_u64..40), 1..60)) {
            let mut reassembly = Reassembly::new(0);
            let mut bytes = [false; 256];
            for (start, length) in segments {
                let had: Vec<u64> = (start..start + length).filter(|&byte| bytes[byte as usize]).collect();
                let before = reassembly.next();
                let inserted = reassembly.insert(start..start + length);
                bytes[start as usize..(start + length) as usize].fill(true);
                let next = bytes.iter().position(|&has| !has).expect("the last are never sent") as u64;
                prop_assert_eq!(reassembly.next(), next);
                prop_assert_eq!(inserted.advanced, next - before);
                prop_assert_eq!(inserted.duplicate.is_some(), !had.is_empty());
                for byte in inserted.duplicate.into_iter().flatten() {
                    prop_assert!(had.contains(&byte));
                }
                let listed: Vec<u64> = reassembly.ranges.iter().flat_map(|&(start, end)| start..end).collect();
                let expected: Vec<u64> = (next..256).filter(|&byte| bytes[byte as usize]).collect();
                prop_assert_eq!(listed, expected);
                let apart = reassembly.ranges.iter().zip(reassembly.ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0);
                prop_assert!(apart);
            }
        }
    }
}
