//! Schemes that retransmit everything from a lost frame on.

use super::context::SchemeContext;
use crate::link::frame::Frame;
use crate::time::Time;

/// Octets of a control ordered set: one block of the PCS.
pub const ORDERED_SET_OCTETS: u32 = 8;

/// A scheme that goes back to a lost frame and retransmits everything from there, in order. Its acknowledgements have
/// priority over frames, lost ones are not repeated, and damaged frames reach its receiver. Its headers are `H`.
pub trait GoBackN<H> {
    /// The next frame to retransmit, if the port is free for it now.
    fn poll_replay(&mut self, now: Time) -> Option<(H, Frame)>;

    /// When the port must be served because of a replay or a due acknowledgement.
    fn next_service(&mut self) -> Option<Time>;

    /// Handles a frame with this header that has arrived damaged.
    fn handle_damaged<C: SchemeContext>(&mut self, context: &mut C, header: &H);
}
