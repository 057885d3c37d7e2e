//! The SACK blocks of the next acknowledgement (RFC 2018, section 4; duplicates: RFC 2883, section 4).

use crate::tcp::segment::{SACK_BLOCKS_MAX, SackBlocks};
use std::ops::Range;

/// Blocks beside timestamps: the options of a TCP header have 40 bytes (RFC 2018, section 3).
const BLOCKS_BESIDE_TIMESTAMPS: usize = 3;

/// What is reported.
#[derive(Debug, Clone, Default)]
pub struct SackReport {
    /// Ranges above the first missing byte, that of the latest segment first.
    recent: [(u64, u64); SACK_BLOCKS_MAX],
    count: u8,
    /// Bytes that arrived twice and were not reported yet.
    duplicate: Option<(u64, u64)>,
}

impl SackReport {
    /// A segment arrived and is now part of this range, which comes first from now on.
    pub fn arrived(&mut self, block: &Range<u64>) {
        let mut recent = [(block.start, block.end); SACK_BLOCKS_MAX];
        let mut count = 1;
        for &known in &self.recent[..usize::from(self.count)] {
            let is_part_of_it = block.start <= known.0 && known.1 <= block.end;
            if !is_part_of_it && count < SACK_BLOCKS_MAX {
                recent[count] = known;
                count += 1;
            }
        }
        self.recent = recent;
        self.count = count as u8;
    }

    /// The first missing byte has advanced to `next`.
    pub fn advanced(&mut self, next: u64) {
        let mut count = 0;
        for index in 0..usize::from(self.count) {
            let known = self.recent[index];
            if known.1 > next {
                self.recent[count] = known;
                count += 1;
            }
        }
        self.count = count as u8;
    }

    /// These bytes arrived twice. Adjacent reports are merged; otherwise the later one counts.
    pub fn duplicated(&mut self, range: &Range<u64>) {
        self.duplicate = match self.duplicate {
            Some((start, end)) if start <= range.end && range.start <= end => {
                Some((start.min(range.start), end.max(range.end)))
            }
            _ => Some((range.start, range.end)),
        };
    }

    /// The option of an acknowledgement; a duplicate is reported once (RFC 2883, section 4).
    pub fn take(&mut self, has_timestamps: bool) -> SackBlocks {
        let room = if has_timestamps { BLOCKS_BESIDE_TIMESTAMPS } else { SACK_BLOCKS_MAX };
        let mut blocks = SackBlocks::default();
        let recent = self.recent[..usize::from(self.count)].iter().copied();
        for (start, end) in self.duplicate.take().into_iter().chain(recent).take(room) {
            blocks.push(start..end);
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(report: &mut SackReport) -> Vec<Range<u64>> {
        report.take(false).iter().collect()
    }

    /// RFC 2018, section 4: the first block is that of the segment that arrived last, then those reported before.
    #[test]
    fn the_latest_block_comes_first() {
        let mut report = SackReport::default();
        for block in [10..20, 30..40, 50..60, 70..80, 90..100] {
            report.arrived(&block);
        }
        assert_eq!(blocks(&mut report), [90..100, 70..80, 50..60, 30..40]);
        report.arrived(&(50..65));
        assert_eq!(blocks(&mut report), [50..65, 90..100, 70..80, 30..40]);
        report.arrived(&(50..80));
        assert_eq!(blocks(&mut report), [50..80, 90..100, 30..40]);
    }

    #[test]
    fn what_is_acknowledged_is_left_out() {
        let mut report = SackReport::default();
        for block in [10..20, 30..40] {
            report.arrived(&block);
        }
        report.advanced(20);
        assert_eq!(blocks(&mut report), vec![30..40]);
        report.advanced(40);
        assert!(blocks(&mut report).is_empty());
    }

    #[test]
    fn beside_timestamps_there_is_room_for_three() {
        let mut report = SackReport::default();
        for block in [10..20, 30..40, 50..60, 70..80] {
            report.arrived(&block);
        }
        assert_eq!(report.take(true).len(), 3);
    }

    /// RFC 2883, section 4: once, and as the first block.
    #[test]
    fn a_duplicate_is_reported_once_and_first() {
        let mut report = SackReport::default();
        report.arrived(&(30..40));
        report.duplicated(&(5..10));
        assert_eq!(blocks(&mut report), [5..10, 30..40]);
        assert_eq!(blocks(&mut report), vec![30..40]);
    }

    #[test]
    fn duplicates_that_touch_are_one() {
        let mut report = SackReport::default();
        report.duplicated(&(5..10));
        report.duplicated(&(10..15));
        assert_eq!(blocks(&mut report), vec![5..15]);
    }
}
