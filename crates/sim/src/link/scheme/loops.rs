//! Frames that circulate in a loop of their switch until they may leave.

use super::context::{Buffer, SchemeContext};
use crate::link::frame::Frame;
use crate::time::Time;

/// What the scheme decides about a frame that has returned from its loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// Send it through the loop again.
    Stays,
    /// Remove it. If it `made_room`, a normal frame may now be sent that was blocked before.
    Leaves {
        /// Whether the port should check for normal frames.
        made_room: bool,
    },
    Delivers {
        frame: Frame,
        /// Whether to deliver the frames that `poll_deliver` returns as well.
        more: bool,
        /// Whether the scheme has something urgent that the port should ask for.
        urgent: bool,
    },
}

/// A scheme that sends frames through loops ([`SchemeContext::circulate`]), and whose headers are `H`.
pub trait Loops<H> {
    /// The next copy of the frame in this slot of the Tx buffer, which has returned from its loop.
    fn poll_retransmission_of(&mut self, slot: u32) -> Option<(H, Frame)>;

    /// Handles a frame of one of its buffers that has returned from its loop.
    fn handle_round<C: SchemeContext>(&mut self, context: &mut C, buffer: Buffer, slot: u32) -> Round;

    /// Whether a frame will be sent through its loop again if nothing else happens before it returns.
    fn keeps_circulating(&mut self, now: Time, buffer: Buffer, slot: u32) -> bool;
}
