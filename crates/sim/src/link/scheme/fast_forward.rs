//! The steady state of a scheme, which runs can skip.

use super::context::Buffer;
use crate::link::frame::Frame;
use crate::time::Time;
use linkmend_protocol::Mode;

/// What happens at one end of a link during some cycles of a steady state.
#[derive(Debug, Clone, Copy)]
pub struct Cycles {
    /// Duration of all cycles together.
    pub elapsed: Time,
    /// Number of frames that this end sends.
    pub sent: u64,
    /// Class of the frames that it sends.
    pub mode: Mode,
    /// Length of the frames that it sends.
    pub bytes: u32,
    /// Number of frames that this end receives.
    pub received: u64,
    /// Class of the frames that it receives.
    pub received_mode: Mode,
    /// Length of the frames that it receives.
    pub received_bytes: u32,
    /// Acknowledgements that it sends.
    pub acks: u64,
    /// Acknowledgements that it receives.
    pub received_acks: u64,
}

/// A scheme whose steady state can be skipped exactly. Its headers are `H`, and its acknowledgements `A`.
pub trait FastForward<H, A> {
    /// Records the state that determines the future of this end, relative to the clock; `None` if it is not steady.
    fn steady_state(&mut self, now: Time, state: &mut Vec<u64>) -> Option<()>;

    /// Whether its timer may do anything other than rearm itself in the steady state.
    fn timer_matters(&mut self) -> bool {
        true
    }

    /// Part of the steady state: a header in flight, relative to the number of its frame.
    fn header_state(&mut self, header: &H, frame: &Frame, state: &mut Vec<u64>);

    /// Part of the steady state: an acknowledgement in flight, when `arriving` frames had been produced.
    fn ack_state(&mut self, ack: &A, arriving: u64) -> u64;

    /// Part of the steady state: a circulating frame, given how many frames had been `produced` here and at the peer.
    fn circling_state(&mut self, buffer: Buffer, slot: u32, produced: u64, arriving: u64) -> u64 {
        let _ = (buffer, slot, produced, arriving);
        0
    }

    /// Skips cycles of the steady state.
    fn skip(&mut self, cycles: &Cycles);

    /// Skips a header in flight, while `frames` are sent.
    fn skip_header(&mut self, header: &mut H, frames: u64);

    /// Skips an acknowledgement in flight, while `frames` arrive.
    fn skip_ack(&mut self, ack: &mut A, frames: u64);
}
