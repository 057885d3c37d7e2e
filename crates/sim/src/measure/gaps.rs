//! Frames that never come out, by how many are missing in a row.

use linkmend_experiment::Counted;
use std::collections::VecDeque;
use std::ops::Range;

/// A frame that is this many numbers behind the newest one will not arrive any more.
const LATE_MAX: u64 = 1 << 16;

/// Numbers of frames that were skipped. A later frame may still fill the gap.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    open: VecDeque<Range<u64>>,
    closed: Counted,
}

impl Gaps {
    /// Records that frame `id` arrived where `expected` was the next number.
    #[cold]
    pub(super) fn out_of_order(&mut self, id: u64, expected: u64) {
        if id < expected {
            self.fill(id);
            return;
        }
        while self.open.front().is_some_and(|gap| gap.end + LATE_MAX < expected) {
            self.close_first();
        }
        self.open.push_back(expected..id);
    }

    fn fill(&mut self, id: u64) {
        let at = self.open.partition_point(|gap| gap.end <= id);
        let Some(gap) = self.open.get_mut(at).filter(|gap| gap.contains(&id)) else { return };
        let after = id + 1..gap.end;
        gap.end = id;
        if gap.is_empty() {
            self.open.remove(at);
        }
        if !after.is_empty() {
            let at = self.open.partition_point(|gap| gap.end <= id);
            self.open.insert(at, after);
        }
    }

    fn close_first(&mut self) {
        if let Some(gap) = self.open.pop_front() {
            self.closed.add((gap.end - gap.start) as f64);
        }
    }

    /// Counts what is missing now, because it will not arrive any more.
    pub(super) fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close_first();
        }
    }

    /// The gaps that were closed, each of them one cluster, if frames up to `sent` were sent and `next` is the next
    /// number.
    pub(super) fn counted(&self, next: u64, sent: u64) -> Counted {
        let mut counted = self.closed;
        self.open.iter().for_each(|gap| counted.add((gap.end - gap.start) as f64));
        if sent > next {
            counted.add((sent - next) as f64);
        }
        counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gaps(arriving: &[u64]) -> (Gaps, u64) {
        let (mut gaps, mut next) = (Gaps::default(), 0);
        for &id in arriving {
            if id != next {
                gaps.out_of_order(id, next);
            }
            next = next.max(id + 1);
        }
        (gaps, next)
    }

    fn clusters(sizes: &[f64]) -> Counted {
        let mut counted = Counted::default();
        sizes.iter().for_each(|size| counted.add(*size));
        counted
    }

    #[test]
    fn frames_missing_in_a_row_are_a_cluster() {
        let (gaps, next) = gaps(&[0, 1, 4, 5, 7, 8, 20]);
        assert_eq!(gaps.counted(next, 21), clusters(&[2.0, 1.0, 11.0]));
        assert_eq!(gaps.counted(next, 24), clusters(&[2.0, 1.0, 11.0, 3.0]), "the last ones never came");
    }

    #[test]
    fn late_frames_fill_gaps_and_may_divide_them() {
        let (gaps, next) = gaps(&[0, 6, 3, 7, 1, 5, 9, 8, 8]);
        assert_eq!(gaps.counted(next, 10), clusters(&[1.0, 1.0]), "2 and 4 are missing");
    }

    #[test]
    fn gaps_that_nothing_fills_are_closed() {
        let arriving: Vec<u64> = (0..300_000).filter(|id| id % 100 != 3).collect();
        let (mut gaps, next) = gaps(&arriving);
        assert!(gaps.open.len() < 700, "{}", gaps.open.len());
        assert_eq!(gaps.counted(next, 300_000), Counted::single(3_000, 1.0));
        gaps.close_all();
        assert_eq!((gaps.open.len(), gaps.closed), (0, Counted::single(3_000, 1.0)));
    }
}
