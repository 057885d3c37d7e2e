//! The window of a receiver whose sender does not wait for what is missing.
//!
//! The authors' sender resends a frame once and then forgets it, so its numbers continue although the receiver still
//! waits for the frame. It sends the copies before the number that needs the missing frame's place in the window, and a
//! link is a queue: when that number arrives, the copies are lost, or were never asked for. So the window slides over
//! the frame, without waiting for the clock.

use super::{Receiver, SlotState};
use crate::stats::Stats;

impl Receiver {
    /// Makes room for every number before `next`. One that is a whole window ahead of what was seen is of a sender that
    /// has started again, which the caller decides.
    pub(super) fn slide(&mut self, next: u64, stats: &mut Stats) {
        let window = self.mask + 1;
        if !self.limits.slides || next - self.highest > window {
            return;
        }
        while next - self.cumulative > window {
            self.give_up();
            stats.recovery_timeouts += 1;
        }
        if next - self.deliver > window {
            self.flush_before(self.cumulative);
        }
    }

    /// Takes the buffered frames before `end` out of the window; they will be delivered first, in order.
    pub(super) fn flush_before(&mut self, end: u64) {
        for sequence in self.deliver..end {
            let slot = &mut self.slots[(sequence & self.mask) as usize];
            if slot.state == SlotState::Buffered {
                self.flush.push_back((slot.frame, slot.bytes));
            }
        }
        self.deliver = end;
    }
}
