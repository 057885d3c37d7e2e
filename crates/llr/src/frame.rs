//! What a link carries: frames with and without a number, and control ordered sets (CtlOS).

use crate::sequence::SequenceNumber;

/// Names a frame that the driver keeps until the transmitter releases it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FrameHandle(pub u64);

/// An LLR-eligible frame as the transmitter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    pub handle: FrameHandle,
    /// Its length, with the frame check sequence but without the preamble.
    pub bytes: u32,
    /// Whether it was damaged before it reached this port. It is numbered and recovered like any other, and the
    /// receiver passes it on.
    pub poisoned: bool,
}

/// A frame with its number, for the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NumberedFrame {
    pub sequence: SequenceNumber,
    pub frame: Frame,
}

/// What the frame check sequence says about a frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Integrity {
    Good,
    /// Marked as damaged upstream; this link did not damage it.
    Poisoned,
    /// Neither correct nor the poison pattern: this link damaged it.
    Bad,
}

/// A control ordered set of LLR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Control {
    /// All frames up to this number have arrived.
    Ack(SequenceNumber),
    /// All frames up to this number have arrived, and the next one was bad or is missing.
    Nack(SequenceNumber),
    /// The first number of the frames that follow, and 16 bits that distinguish this initialisation from earlier ones.
    Init { first: SequenceNumber, data: u16 },
    /// The answer to an INIT, with its values.
    InitEcho { first: SequenceNumber, data: u16 },
}
