//! How a scheme interacts with the outside.

use crate::link::frame::Frame;
use crate::time::{TICK, Time};

/// An hour. Later timeouts are those of idle sessions, which no simulation reaches.
pub(crate) const OUT_OF_REACH: u64 = TICK.secs(3_600).0;

/// The buffer that a circulating frame belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Copies of frames that were sent.
    Tx,
    /// Frames that have arrived but may not be delivered yet.
    Rx,
}

/// How a scheme interacts with the outside, at one port and at one moment.
pub trait SchemeContext: Sized {
    /// Reborrows the context, for a function that is not inlined. Passing the address of a short-lived second value
    /// leaves the first one in registers, where a frame's usual path needs it.
    fn reborrow(&mut self) -> impl SchemeContext;

    /// The time of the current event.
    fn now(&self) -> Time;

    /// Makes the scheme's timer fire no later than `at`, unless no simulation runs that long.
    fn wake_at(&mut self, at: Time);

    /// Reports that the scheme has something urgent to send. It is asked for it when the port is served next; an idle port is
    /// served at once.
    fn request_service(&mut self);

    /// Sends a frame of one of its buffers through the loop, with a header of this many bytes.
    fn circulate(&mut self, at_loop: usize, buffer: Buffer, slot: u32, frame: &Frame, header_bytes: u32);

    /// Reports the level of the Tx buffer in bytes.
    fn tx_level(&mut self, bytes: u64);

    /// Reports the level of the Rx buffer in bytes.
    fn rx_level(&mut self, bytes: u64);

    /// Reports the decision that the peer must pause or resume.
    fn pause_decided(&mut self, paused: bool);

    /// Reports that this end pauses or resumes, as decided by its peer.
    fn pause_obeyed(&mut self, paused: bool);
}
