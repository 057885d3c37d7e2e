//! Sends every frame twice, back to back. This halves the speed of a link and squares its loss rate.

use linkmend_protocol::ConfigError;
use linkmend_sim::link::Frame;
use linkmend_sim::link::scheme::{Admission, Header, Mode, PortSeed, Reception, Scheme, SchemeContext};
use std::convert::Infallible;

/// Bytes of the number in front of a frame.
const HEADER_BYTES: u32 = 3;

/// One end of the link: it numbers the frames that it sends, and remembers which numbers have arrived.
#[derive(Debug, Default)]
pub struct Twice {
    /// The next frame's number.
    next: u64,
    /// The copy that has not been sent.
    copy: Option<(Numbered, Frame)>,
    /// All frames before this one have been delivered, or are lost.
    expected: u64,
}

/// The header of a frame: its number. Whether it is the copy need not be on the wire, but measurements need to know.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Numbered {
    number: u64,
    is_copy: bool,
}

impl Header for Numbered {
    fn is_copy(&self) -> bool {
        self.is_copy
    }

    fn show(&self, _: &Frame) -> String {
        format!("Twice: {} {}", if self.is_copy { "copy of" } else { "data" }, self.number)
    }
}

impl Scheme for Twice {
    type Config = ();
    type Header = Numbered;
    type Ack = Infallible;
    type Control = Infallible;

    fn new((): &(), (): &(), _: PortSeed) -> Result<Twice, ConfigError> {
        Ok(Twice::default())
    }

    fn header_bytes(&self) -> u32 {
        HEADER_BYTES
    }

    fn admission(&self, _: Mode, _: u32) -> Admission {
        Admission::Protected
    }

    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> Numbered {
        let number = self.next;
        self.next += 1;
        self.copy = Some((Numbered { number, is_copy: true }, frame));
        context.request_service();
        Numbered { number, is_copy: false }
    }

    /// Copies go ahead of other frames, so the port asks before it sends the next frame.
    fn poll_retransmission(&mut self) -> Option<(Numbered, Frame)> {
        self.copy.take()
    }

    fn handle_data<C: SchemeContext>(&mut self, _: &mut C, header: &Numbered, _: Frame) -> Reception {
        if header.number < self.expected {
            return Reception::Dropped;
        }
        self.expected = header.number + 1;
        Reception::Deliver
    }

    fn is_drained(&self) -> bool {
        self.copy.is_none()
    }
}
