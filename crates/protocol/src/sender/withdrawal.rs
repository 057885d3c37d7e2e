//! How a sender tells its receiver about frames that it no longer holds, and for which the receiver waits in vain.

use super::{Mark, Sender, SlotState};
use crate::mode::Mode;
use crate::sequence::LongSequenceNumber;

impl Sender {
    /// The first number still held: what the receiver misses before it will not come.
    pub(crate) fn held_from(&mut self) -> u64 {
        self.held_from = self.held_from.max(self.first);
        while self.held_from < self.next && self.slots[self.index(self.held_from)].state == SlotState::Free {
            self.held_from += 1;
        }
        self.held_from
    }

    /// Records that [`Sender::held_from`] is announced in a dummy.
    pub(crate) fn announce_held(&mut self) -> LongSequenceNumber {
        self.announced = self.held_from();
        self.announced_at = self.next;
        LongSequenceNumber::from_absolute(self.announced)
    }

    /// Checks whether a withdrawal was lost: a receiver that has seen what was sent after the dummy, and still waits
    /// for what the dummy withdrew, did not get it. The withdrawal is repeated.
    pub(super) fn check_announced(&mut self, cumulative: u64, seen: Option<Mark>) {
        let seen_later = seen.is_some_and(|seen| seen.next > self.announced_at);
        if cumulative < self.announced && seen_later {
            self.announced = self.first;
        }
    }

    /// Whether the receiver must be told immediately that it waits in vain. One that gives up by timeout need not be,
    /// unless the non-blocking lane is about to stall: there, a frame that was given up occupies the window like any
    /// other.
    pub(crate) fn has_withdrawal(&mut self) -> bool {
        let reported = self.announced.max(self.first);
        let pressing = self.mode == Mode::NonBlocking && self.next - self.first > self.window_frames / 2;
        self.exhausted > reported && (!self.by_clock || pressing) && self.held_from() > reported
    }
}
