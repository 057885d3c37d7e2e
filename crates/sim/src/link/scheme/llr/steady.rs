//! The steady state of a port, for fast-forward.

use super::{Llr, LlrHeader, OrderedSet};
use crate::link::frame::Frame;
use crate::link::scheme::{Cycles, FastForward};
use crate::time::Time;
use linkmend_llr::config::ControlInsertion;
use linkmend_llr::{Control, Instant, SequenceNumber, Span};

impl Llr {
    /// The number of the frame that follows another one after this many frames.
    fn after(&self, number: SequenceNumber, frames: u64) -> SequenceNumber {
        self.space.wire(u64::from(number.0) + frames)
    }
}

impl FastForward<LlrHeader, OrderedSet> for Llr {
    /// None if ordered sets are inserted into frames: how far the frame has got would matter as well.
    fn steady_state(&mut self, now: Time, state: &mut Vec<u64>) -> Option<()> {
        if self.port.config().choices.control_insertion != ControlInsertion::BetweenFrames {
            return None;
        }
        self.port.transmitter().steady_state(Instant(now.0), state)?;
        self.port.receiver().steady_state(Instant(now.0), state)
    }

    /// A timer that fires before anything is due rearms itself.
    fn timer_matters(&mut self) -> bool {
        false
    }

    fn header_state(&mut self, header: &LlrHeader, frame: &Frame, state: &mut Vec<u64>) {
        state.extend([self.space.ahead(frame.id, header.sequence), u64::from(header.is_replayed)]);
    }

    fn ack_state(&mut self, OrderedSet(control): &OrderedSet, arriving: u64) -> u64 {
        match control {
            Control::Ack(sequence) => self.space.ahead(arriving, *sequence),
            // There is none in a steady state.
            Control::Nack(_) | Control::Init { .. } | Control::InitEcho { .. } => u64::MAX,
        }
    }

    fn skip(&mut self, cycles: &Cycles) {
        self.kept.iter_mut().for_each(|frame| frame.id += cycles.sent);
        let elapsed = Span(cycles.elapsed.0);
        self.port.transmitter_mut().fast_forward(elapsed, cycles.sent, cycles.received_acks);
        self.port.receiver_mut().fast_forward(elapsed, cycles.received, cycles.acks);
        if self.timer != Time::ZERO {
            self.timer += cycles.elapsed;
        }
    }

    fn skip_header(&mut self, header: &mut LlrHeader, frames: u64) {
        header.sequence = self.after(header.sequence, frames);
    }

    fn skip_ack(&mut self, OrderedSet(control): &mut OrderedSet, frames: u64) {
        if let Control::Ack(sequence) = control {
            *sequence = self.after(*sequence, frames);
        }
    }
}
