//! Schemes that send everything after a lost frame again.

use super::context::SchemeContext;
use crate::link::frame::Frame;
use crate::time::Time;

/// Octets of a control ordered set: one block of the PCS.
pub const ORDERED_SET_OCTETS: u32 = 8;

/// A scheme that goes back to a lost frame and sends everything from there again, in order. Its acknowledgements go ahead of
/// frames, a lost one is not repeated, and damaged frames reach its receiver. Its headers are `H`.
pub trait GoBackN<H> {
    /// The next frame that is sent again, if the port is free for it now.
    fn poll_replay(&mut self, now: Time) -> Option<(H, Frame)>;

    /// When the port is to be served for a replay, or for an acknowledgement that is due.
    fn next_service(&mut self) -> Option<Time>;

    /// Handles a frame with this header that has arrived damaged.
    fn handle_damaged<C: SchemeContext>(&mut self, context: &mut C, header: &H);
}
