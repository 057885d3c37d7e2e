//! Retransmits what an abandoned path may have lost.

use super::{Sender, SlotState, Waiting};

impl Sender {
    /// Records whether a frame that was lost in all its rounds may still go out on another path, so that up to 255
    /// rounds are worth trying. With a single round nothing changes, because the receiver then gives up by timeout.
    pub(crate) fn set_patience(&mut self, has_clean_other: bool) {
        self.is_patient = has_clean_other && self.max_rounds > 1;
        self.is_stuck &= self.is_patient;
    }

    /// Queues every frame that is not known to have arrived, once and in order. What was queued before is among them. Their
    /// rounds do not count, because the path that is now in use has lost none of them. Returns the number of frames.
    pub(crate) fn resend_all(&mut self) -> u64 {
        self.is_stuck = false;
        self.retransmit_queue.clear();
        for sequence in self.first..self.next {
            let index = self.index(sequence);
            let slot = &mut self.slots[index];
            if slot.state != SlotState::Free {
                slot.state = SlotState::Queued;
                self.retransmit_queue.push_back(Waiting { sequence, copies_left: 1, by_path_change: true });
            }
        }
        self.touched = self.next;
        self.retransmit_queue.len() as u64
    }
}
