//! Sends again what a path that was left may have lost.

use super::{Sender, SlotState, Waiting};
use crate::config::Config;

impl Sender {
    /// Sets how often a frame is resent before it is given up: as configured, or more often while it may still go out on another
    /// path. One round remains one, because its receiver gives up by the clock.
    pub(crate) fn set_patience(&mut self, config: &Config, has_clean_other: bool) {
        let more = has_clean_other && config.max_rounds > 1;
        self.max_rounds = if more { u8::MAX } else { config.max_rounds };
    }

    /// Queues every frame that is not known to have arrived, once and in order. What was queued before is among them. Their
    /// rounds do not count, because the path that is now in use has lost none of them. Returns the number of frames.
    pub(crate) fn resend_all(&mut self) -> u64 {
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
