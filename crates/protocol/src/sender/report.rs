//! Handles the content of a feedback: which frames are released, resent, or given up after their last round.

use super::{Mark, Sender, SlotState, Waiting};
use crate::frame::{FrameHandle, LaneFeedback, MissingRun};
use crate::stats::Stats;
use alloc::collections::VecDeque;
use core::ops::Range;

impl Sender {
    /// Releases the frames that the feedback covers and does not list, and queues those that it lists and that may be
    /// retransmitted.
    pub(super) fn update_missing(
        &mut self,
        feedback: &LaneFeedback,
        stretch: Range<u64>,
        seen: Option<Mark>,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) {
        let mut reported = Reported::new(feedback.runs(), self.first);
        let [begin, end] = [stretch.start, stretch.end]
            .map(|bound| self.missing.partition_point(|&sequence| sequence < bound));
        let mut kept = begin;
        for place in begin..end {
            let sequence = self.missing[place];
            match reported.find(sequence) {
                None => {
                    self.release(sequence, released);
                }
                Some(missing) => {
                    if self.try_again(sequence, missing, seen, released, stats) {
                        self.missing[kept] = sequence;
                        kept += 1;
                    }
                }
            }
        }
        self.missing.drain(kept..end);
        let adjoins = stretch.start <= self.covered;
        for sequence in stretch.start.max(self.covered)..stretch.end {
            match reported.find(sequence) {
                None => {
                    self.release(sequence, released);
                }
                Some(missing) => {
                    if self.is_missing(sequence, missing, seen, released, stats) && adjoins {
                        self.missing.push_back(sequence);
                    }
                }
            }
        }
        if adjoins {
            self.covered = self.covered.max(stretch.end);
        }
        self.touched = self.touched.max(stretch.end);
        self.forget_acknowledged();
    }

    /// Queues a frame that a feedback lists and that is not in `missing`. `false` if it is known to have arrived, or
    /// was given up.
    fn is_missing(
        &mut self,
        sequence: u64,
        missing: Missing,
        seen: Option<Mark>,
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
                return self.try_again(sequence, missing, seen, released, stats);
            }
        }
        true
    }

    /// Removes frames from the head of the queue that were acknowledged before their copies were sent. A driver that
    /// asks only for the copies of certain frames never reaches them, and would search through all that there ever
    /// were. What is left is within a window of the head, on either side.
    pub(super) fn forget_acknowledged(&mut self) {
        while let Some(&Waiting { sequence, .. }) = self.retransmit_queue.front() {
            if sequence >= self.first && self.slots[self.index(sequence)].state == SlotState::Queued {
                break;
            }
            self.retransmit_queue.pop_front();
        }
    }

    /// Handles a frame that is still missing: if its copies are known to be lost it is resent, or given up after the
    /// last round. `false` in the latter case. The link did not lose a frame that did not fit, so its rounds do not
    /// count.
    fn try_again(
        &mut self,
        sequence: u64,
        missing: Missing,
        seen: Option<Mark>,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) -> bool {
        let index = self.index(sequence);
        let (slot, mark) = (&mut self.slots[index], self.marks[index]);
        let beyond_mark = seen.is_some_and(|seen| {
            let stamps_ahead = seen.dummy_stamp.wrapping_sub(mark.dummy_stamp) as i16;
            seen.next > mark.next || stamps_ahead > 0
        });
        if slot.state != SlotState::Retransmitted || !beyond_mark {
            return true;
        }
        if missing == Missing::Overflowed {
            slot.rounds = slot.rounds.saturating_sub(1);
        }
        let more = self.is_patient && slot.rounds < u8::MAX;
        if slot.rounds < self.max_rounds || more {
            self.is_stuck |= slot.rounds >= self.max_rounds;
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

/// Why a frame is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It has not arrived.
    Lost,
    /// It arrived, and did not fit into the Rx buffer.
    Overflowed,
}

/// Walks the runs of a feedback in step with an ascending walk over sequence numbers.
struct Reported<I> {
    runs: I,
    reference: u64,
    current: Range<u64>,
    why: Missing,
}

impl<I: Iterator<Item = MissingRun>> Reported<I> {
    fn new(runs: I, reference: u64) -> Self {
        Reported { runs, reference, current: 0..0, why: Missing::Lost }
    }

    /// Why `sequence` is missing, if it is in a run; calls must ascend.
    fn find(&mut self, sequence: u64) -> Option<Missing> {
        while sequence >= self.current.end {
            let MissingRun { range, overflowed } = self.runs.next()?;
            let start = range.first.expand(self.reference)?;
            self.current = start..start + u64::from(range.length);
            self.why = if overflowed { Missing::Overflowed } else { Missing::Lost };
        }
        self.current.contains(&sequence).then_some(self.why)
    }
}
