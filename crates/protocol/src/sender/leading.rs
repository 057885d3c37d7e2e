//! Leading ACKs, as the published program sends them: the latest number seen, whatever is missing before it.

use super::{Sender, Slot, SlotState, Waiting};
use crate::frame::{FrameHandle, SequenceRange};
use crate::sequence::SequenceNumber;
use alloc::collections::VecDeque;

/// Number of values of the field for the length of a hole, which holds the length modulo this.
const HOLE_FIELD_SPACE: u64 = 256;

/// What a leading ACK changed, in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LeadingAckEffect {
    pub(crate) acknowledged: u64,
    pub(crate) lost: u64,
}

impl Sender {
    /// Handles an ACK: everything before `next` has arrived, except `hole`; what earlier ACKs left out is being resent.
    /// `None` if it does not fit what was sent.
    pub(crate) fn handle_leading_ack(
        &mut self,
        next: SequenceNumber,
        hole: Option<SequenceRange>,
        released: &mut VecDeque<FrameHandle>,
    ) -> Option<LeadingAckEffect> {
        let next = next.expand(self.next).filter(|&next| next <= self.next)?;
        if next <= self.covered {
            return Some(LeadingAckEffect { acknowledged: 0, lost: 0 });
        }
        let hole = match hole {
            Some(hole) => self.whole_hole(hole, next)?,
            None => next..next,
        };
        let mut effect = LeadingAckEffect { acknowledged: next - self.covered, lost: 0 };
        for sequence in self.covered..next {
            let index = self.index(sequence);
            if !hole.contains(&sequence) {
                self.release(sequence, released);
            } else if self.slots[index].state == SlotState::Outstanding {
                self.slots[index].state = SlotState::Queued;
                self.missing.push_back(sequence);
                self.retransmit_queue.push_back(Waiting::new(sequence));
                effect.lost += 1;
            }
        }
        self.covered = next;
        self.first = self.missing.front().copied().unwrap_or(next);
        Some(effect)
    }

    /// The whole hole. It reaches to the leading ACK: up to it, if a frame revealed it, or including it, if a dummy did
    /// (or if it is a piece of a longer one). So its length is known though the field has 8 bits.
    fn whole_hole(&self, hole: SequenceRange, next: u64) -> Option<core::ops::Range<u64>> {
        let first = hole.first.expand(next).filter(|&first| first >= self.covered && first < next)?;
        let fits = |length: &u64| (length ^ u64::from(hole.length)).is_multiple_of(HOLE_FIELD_SPACE);
        let length = [next - first - 1, next - first].into_iter().find(fits)?;
        Some(first..first + length)
    }

    /// Forgets a frame whose copies have been sent: it is resent once.
    pub(crate) fn forget_retransmitted(
        &mut self,
        number: SequenceNumber,
        released: &mut VecDeque<FrameHandle>,
    ) {
        let Some(sequence) = number.expand(self.first) else { return };
        if self.slots[self.index(sequence)].state == SlotState::Retransmitted {
            self.release(sequence, released);
            self.missing.retain(|&missing| missing != sequence);
            self.first = self.missing.front().copied().unwrap_or(self.covered);
        }
    }

    /// Skips a number; `false` if the window has none left.
    pub(crate) fn skip_number(&mut self) -> bool {
        let fits = self.next - self.first < self.window_frames;
        if fits {
            let index = self.index(self.next);
            self.slots[index] = Slot::default();
            let drained = self.is_drained();
            self.next += 1;
            if drained {
                (self.first, self.covered) = (self.next, self.next);
            }
        }
        fits
    }

    /// The next new number, as it counts inside.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::mode::Mode;
    use crate::sequence::FIRST_ABSOLUTE;
    use crate::time::Tick;

    fn wire(frame: u64) -> SequenceNumber {
        SequenceNumber::from_absolute(FIRST_ABSOLUTE + frame)
    }

    /// A hole is what earlier ACKs left open: before them and beyond the ACK itself there is none.
    #[test]
    fn a_hole_outside_of_what_an_ack_is_about_is_refused() {
        let mut sender = Sender::new(Mode::Ordered, &Config::new(Tick::Nanosecond));
        let mut released = VecDeque::new();
        for frame in 0..10 {
            sender.send(FrameHandle(frame), 100);
        }
        assert!(sender.handle_leading_ack(wire(5), None, &mut released).is_some());
        let mut ack = |first, length, released: &mut VecDeque<FrameHandle>| {
            let hole = SequenceRange { first: wire(first), length };
            sender.handle_leading_ack(wire(8), Some(hole), released)
        };
        for (first, length) in [(3, 5), (4, 4), (8, 0), (9, 1)] {
            assert_eq!(ack(first, length, &mut released), None, "from {first}");
            assert_eq!(released.len(), 5, "from {first}");
        }
        let effect = ack(5, 2, &mut released);
        assert_eq!(effect, Some(LeadingAckEffect { acknowledged: 3, lost: 2 }));
    }
}
