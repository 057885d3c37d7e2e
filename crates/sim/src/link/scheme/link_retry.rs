//! Schemes that retry in the port itself.

use super::context::SchemeContext;
use crate::link::frame::Frame;
use crate::time::Time;

/// Octets of a control ordered set: one block of the PCS.
pub const ORDERED_SET_OCTETS: u32 = 8;

/// A scheme that retransmits in the port, in front of the pipelines of its switch. Retransmitted frames and acknowledgements
/// precede new frames. Acknowledgements are ordered sets, which are not repeated if they are lost. Damaged frames reach the
/// receiver. Its headers are `H`.
pub trait LinkRetry<H> {
    /// The next frame to retransmit, if the port is free for it now.
    fn poll_retry(&mut self, now: Time) -> Option<(H, Frame)>;

    /// When the port must be served for a retransmission, or for an acknowledgement that is due.
    fn next_service(&mut self) -> Option<Time>;

    /// Handles a frame with this header that has arrived damaged.
    fn handle_damaged<C: SchemeContext>(&mut self, context: &mut C, header: &H);
}
