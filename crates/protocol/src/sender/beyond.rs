//! Handles reports of a receiver that has seen numbers beyond everything that was sent, because a frame with a wrong
//! number got there.

use super::{SeenByReceiver, Sender, Slot};
use crate::frame::{FrameHandle, LaneFeedback, MissingRun, SequenceRange};
use crate::mode::Mode;
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::stats::Stats;
use alloc::collections::VecDeque;

impl Sender {
    /// Like [`Sender::handle_feedback`], for a receiver that may have seen more than was sent.
    pub(crate) fn fit_feedback(
        &mut self,
        feedback: &LaneFeedback,
        dummy_stamp: u16,
        released: &mut VecDeque<FrameHandle>,
        stats: &mut Stats,
    ) -> bool {
        match self.fit(feedback, released) {
            Some(cut) => self.take_report(&cut, SeenByReceiver::Dummies(dummy_stamp), released, stats),
            None => self.handle_feedback(feedback, dummy_stamp, released, stats),
        }
    }

    /// Makes a report fit what was sent. Numbers that the receiver takes for sent are skipped, because a frame with
    /// such a number would be taken for a copy. If the window does not reach so far, only the part of the report about
    /// frames that were sent counts, and the lane's frames use the numbers. But numbers that the receiver no longer
    /// waits for are skipped however far they reach, because a frame with such a number would be dropped; and so is
    /// everything while nothing is outstanding, because there may be no further frames. Frames wait until the receiver
    /// has taken note, which takes a round trip; only one that gives up purely by timeout would let them wait longer.
    fn fit(&mut self, feedback: &LaneFeedback, released: &mut VecDeque<FrameHandle>) -> Option<LaneFeedback> {
        let seen = feedback.seen.expand(self.first).filter(|&seen| seen > self.next)?;
        let cumulative = feedback.cumulative.expand(self.first).filter(|&cumulative| cumulative <= seen)?;
        self.acknowledge(cumulative.min(self.next), released);
        if cumulative > self.next {
            debug_assert!(self.is_drained(), "the receiver waits for nothing that was sent");
            (self.first, self.covered, self.touched, self.next) =
                (cumulative, cumulative, cumulative, cumulative);
        }
        let takes_note = self.mode == Mode::NonBlocking || !feedback.by_clock;
        if seen - self.first <= self.mask + 1 || (self.is_drained() && takes_note) {
            self.skip_numbers(seen);
            return None;
        }
        self.cut(feedback)
    }

    /// Skips the numbers up to `next`, and lets the receiver know that they will not come.
    fn skip_numbers(&mut self, next: u64) {
        for sequence in self.next..next {
            let index = self.index(sequence);
            self.slots[index] = Slot::default();
        }
        (self.next, self.touched, self.exhausted) = (next, next, next);
    }

    /// The part of the report about frames that were sent.
    fn cut(&self, feedback: &LaneFeedback) -> Option<LaneFeedback> {
        let sent = |number: SequenceNumber| Some(number.expand(self.first)?.min(self.next));
        let wire = SequenceNumber::from_absolute;
        let cumulative = feedback.cumulative.expand(self.first)?.min(self.next);
        let cumulative = LongSequenceNumber::from_absolute(cumulative);
        let mut cut = LaneFeedback::new(cumulative, wire(sent(feedback.covered)?), feedback.paused);
        (cut.from, cut.seen, cut.by_clock) = (wire(sent(feedback.from)?), wire(self.next), feedback.by_clock);
        for MissingRun { range, overflowed } in feedback.runs() {
            let first = sent(range.first)?;
            let length = (self.next - first).min(u64::from(range.length)) as u16;
            if length > 0 {
                let run = SequenceRange { first: range.first, length };
                if overflowed {
                    cut.push_overflowed(run)
                } else {
                    cut.push_missing(run)
                };
            }
        }
        Some(cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::sequence::FIRST_ABSOLUTE;
    use crate::time::Tick;

    /// Numbers are skipped up to the last for which the window has a place.
    #[test]
    fn what_the_receiver_saw_is_skipped_as_far_as_the_window_reaches() {
        for (seen, next) in [(16, 16), (17, 1)] {
            let config = Config { window_frames: 16, ..Config::new(Tick::Nanosecond) };
            let mut sender = Sender::new(Mode::NonBlocking, &config);
            let (mut released, mut stats) = (VecDeque::new(), Stats::default());
            sender.send(FrameHandle(0), 100);
            let wire = SequenceNumber::from_absolute;
            let cumulative = LongSequenceNumber::from_absolute(FIRST_ABSOLUTE);
            let mut report = LaneFeedback::new(cumulative, wire(FIRST_ABSOLUTE + seen), false);
            report.seen = wire(FIRST_ABSOLUTE + seen);
            let missing = SequenceRange { first: wire(FIRST_ABSOLUTE), length: seen as u16 };
            assert!(report.push_missing(missing));
            sender.fit_feedback(&report, 0, &mut released, &mut stats);
            assert_eq!(sender.next_sequence(), wire(FIRST_ABSOLUTE + next), "the receiver saw {seen}");
        }
    }
}
