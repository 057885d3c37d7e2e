//! What a scheme may do outside itself.

use crate::link::frame::Frame;
use crate::time::{TICK, Time};

/// An hour. Later timeouts are those of idle sessions, which lie beyond any simulation.
pub(crate) const OUT_OF_REACH: u64 = TICK.secs(3_600).0;

/// The buffer that a circling frame is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Copies of frames that were sent.
    Tx,
    /// Frames that have arrived and may not be delivered yet.
    Rx,
}

/// What a scheme may do outside itself, at one port and at one moment.
pub trait SchemeContext: Sized {
    /// Reborrows, for a function that is not compiled into its caller. Passing the address of a short-lived second
    /// value leaves the first in registers, where the usual path of a frame needs it.
    fn reborrow(&mut self) -> impl SchemeContext;

    /// The time of the present event.
    fn now(&self) -> Time;

    /// Has the scheme's timer fire at `at` at the latest, unless that lies beyond any simulation.
    fn wake_at(&mut self, at: Time);

    /// Says that the scheme has something urgent: it is asked when the port is served next.
    fn request_service(&mut self);

    /// Sends a frame of one of its buffers through the loop, with a header of this many bytes.
    fn circulate(&mut self, at_loop: usize, buffer: Buffer, slot: u32, frame: &Frame, header_bytes: u32);

    /// Reports the level of the Tx buffer in bytes.
    fn tx_level(&mut self, bytes: u64);

    /// Reports the level of the Rx buffer in bytes.
    fn rx_level(&mut self, bytes: u64);

    /// Reports the decision that the peer must pause, or resume.
    fn pause_decided(&mut self, paused: bool);

    /// Reports that this end pauses or resumes, as its peer decided.
    fn pause_obeyed(&mut self, paused: bool);
}
