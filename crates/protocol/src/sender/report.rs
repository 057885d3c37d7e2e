//! What a feedback reports: which frames are released, sent again, or let go after their last round.

use super::{Mark, Sender, SlotState, Waiting};
use crate::frame::{FrameHandle, LaneFeedback};
use crate::stats::Stats;
use alloc::collections::VecDeque;
use core::ops::Range;

impl Sender {
    /// Releases what the feedback does not list of the stretch that it covers, and queues what it lists and may be
    /// retransmitted.
    pub(super) fn update_missing(
        &mut self,
        feedback: &LaneFeedback,
        stretch: Range<u64>,
        seen: Mark,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) {
        let mut reported = Reported::new(feedback, self.first);
        let [begin, end] = [stretch.start, stretch.end]
            .map(|bound| self.missing.partition_point(|&sequence| sequence < bound));
        let mut kept = begin;
        for place in begin..end {
            let sequence = self.missing[place];
            if !reported.contains(sequence) {
                self.release(sequence, released);
            } else if self.try_again(sequence, seen, released, stats) {
                self.missing[kept] = sequence;
                kept += 1;
            }
        }
        self.missing.drain(kept..end);
        let adjoins = stretch.start <= self.covered;
        for sequence in stretch.start.max(self.covered)..stretch.end {
            if !reported.contains(sequence) {
                self.release(sequence, released);
            } else if self.is_missing(sequence, seen, released, stats) && adjoins {
                self.missing.push_back(sequence);
            }
        }
        if adjoins {
            self.covered = self.covered.max(stretch.end);
        }
        self.touched = self.touched.max(stretch.end);
        self.forget_acknowledged();
    }

    /// A feedback lists a frame that is not in `missing`: queues it. `false` if it is known to have arrived, or given up.
    fn is_missing(
        &mut self,
        sequence: u64,
        seen: Mark,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) -> bool {
        let index = self.index(sequence);
        let slot = &mut self.slots[index];
        match slot.state {
            SlotState::Free => return false,
            SlotState::Outstanding => {
                slot.state = SlotState::Queued;
                self.retransmit_queue.push_back(Waiting::new(sequence));
            }
            SlotState::Queued | SlotState::Retransmitted => {
                return self.try_again(sequence, seen, released, stats);
            }
        }
        true
    }

    /// Takes frames that were acknowledged before their copies went from the head of the queue. A driver that asks for
    /// the copies of certain frames alone never comes to them, and would search through all that there ever were. What
    /// is left is within a window of its head, on either side.
    pub(super) fn forget_acknowledged(&mut self) {
        while let Some(&Waiting { sequence, .. }) = self.retransmit_queue.front() {
            if sequence >= self.first && self.slots[self.index(sequence)].state == SlotState::Queued {
                break;
            }
            self.retransmit_queue.pop_front();
        }
    }

    /// A frame is missing still: if its copies are known lost it is sent again, or let go after the last round. `false`
    /// in the latter case.
    fn try_again(
        &mut self,
        sequence: u64,
        seen: Mark,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) -> bool {
        let index = self.index(sequence);
        let (slot, mark) = (&mut self.slots[index], self.marks[index]);
        let stamps_ahead = seen.dummy_stamp.wrapping_sub(mark.dummy_stamp) as i16;
        let beyond_mark = seen.next > mark.next || stamps_ahead > 0;
        if slot.state != SlotState::Retransmitted || !beyond_mark {
            return true;
        }
        if slot.rounds < self.max_rounds {
            slot.state = SlotState::Queued;
            self.retransmit_queue.push_back(Waiting::new(sequence));
            return true;
        }
        self.release(sequence, released);
        self.exhausted = self.exhausted.max(sequence + 1);
        stats.exhausted_frames += 1;
        false
    }
}

/// Walks the runs of a feedback beside an ascending walk over sequence numbers.
struct Reported<'a> {
    ranges: core::slice::Iter<'a, crate::frame::SequenceRange>,
    reference: u64,
    current: Range<u64>,
}

impl<'a> Reported<'a> {
    fn new(feedback: &'a LaneFeedback, reference: u64) -> Self {
        Reported { ranges: feedback.missing().iter(), reference, current: 0..0 }
    }

    /// Whether `sequence` is in a run; calls must ascend.
    fn contains(&mut self, sequence: u64) -> bool {
        while sequence >= self.current.end {
            let Some(range) = self.ranges.next() else { return false };
            let Some(start) = range.first.expand(self.reference) else { return false };
            self.current = start..start + u64::from(range.length);
        }
        self.current.contains(&sequence)
    }
}
