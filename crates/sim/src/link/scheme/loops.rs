//! Frames that circle in a loop of their switch until they may go.

use super::context::{Buffer, SchemeContext};
use crate::link::frame::Frame;
use crate::time::Time;

/// What the scheme decides about a frame that has returned from its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Send it through the loop again.
    Stays,
    /// Remove it. If it `made_room`, a normal frame may go that could not before.
    Leaves {
        /// Whether the port should look for normal frames.
        made_room: bool,
    },
    Delivers {
        frame: Frame,
        /// Whether to deliver the frames that `poll_deliver` returns, too.
        more: bool,
        /// Whether the scheme has something urgent, so that the port should look.
        urgent: bool,
    },
}

/// A scheme that sends frames through loops ([`SchemeContext::circulate`]), and whose headers are `H`.
pub trait Loops<H> {
    /// The next copy of the frame in this slot of the Tx buffer, which has returned from its loop.
    fn poll_retransmission_of(&mut self, slot: u32) -> Option<(H, Frame)>;

    /// Handles a frame of one of its buffers that has returned from its loop.
    fn handle_round<C: SchemeContext>(&mut self, context: &mut C, buffer: Buffer, slot: u32) -> Round;

    /// Whether a frame will be sent through its loop again, if nothing else happens until it returns.
    fn keeps_circulating(&mut self, now: Time, buffer: Buffer, slot: u32) -> bool;
}
