//! What proves a copy lost if frames leave on two paths in turns.
//!
//! Each path is a queue, but the two together are not: a frame that was sent after a copy proves nothing if it took the
//! other path. The mark of a copy is therefore the next frame that leaves on the same path, or a dummy, which leaves on both.

use super::{Sender, SlotState};
use crate::paths::Path;
use crate::sequence::SequenceNumber;
use alloc::collections::VecDeque;

/// The mark of a copy that no frame has followed on its path.
const NOT_FOLLOWED: u64 = u64::MAX;

/// A round of copies that no frame has followed on its path.
#[derive(Debug, Clone, Copy)]
struct Round {
    sequence: u64,
    /// Which round of the frame it is.
    number: u8,
}

/// The rounds that no frame has followed, by path. Empty in an end that uses one path at a time.
#[derive(Debug, Default)]
pub(super) struct NotFollowed([VecDeque<Round>; 2]);

impl Sender {
    /// Records that the copy that was just polled has left on a path.
    pub(crate) fn copy_left_on(&mut self, path: Path, sequence: SequenceNumber) {
        let Some(sequence) = sequence.expand(self.first).filter(|&sequence| sequence >= self.first) else {
            return;
        };
        let index = self.index(sequence);
        let slot = &self.slots[index];
        // Otherwise, more copies of the round follow.
        if slot.state == SlotState::Retransmitted {
            self.marks[index].next = NOT_FOLLOWED;
            self.not_followed.0[path as usize].push_back(Round { sequence, number: slot.rounds });
        }
    }

    /// Records that the frame that was numbered last has left on a path.
    pub(crate) fn left_on(&mut self, path: Path) {
        while let Some(round) = self.not_followed.0[path as usize].pop_front() {
            let index = self.index(round.sequence);
            let slot = &self.slots[index];
            let is_latest = slot.state == SlotState::Retransmitted && slot.rounds == round.number;
            if round.sequence >= self.first && is_latest {
                self.marks[index].next = self.next - 1;
            }
        }
    }

    /// Forgets the rounds of a session that has ended.
    pub(super) fn forget_rounds(&mut self) {
        self.not_followed.0.iter_mut().for_each(VecDeque::clear);
    }
}
