//! Schemes that retry in the port itself.

use super::context::SchemeContext;
use crate::link::frame::Frame;
use crate::time::Time;

/// Octets of a control ordered set: one block of the PCS.
pub const ORDERED_SET_OCTETS: u32 = 8;

/// Where ordered sets may be inserted into a frame that is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Insertion {
    /// Octets of the frame before the first one.
    pub first_after_octets: u32,
    /// Octets from one to the next.
    pub apart_octets: u32,
}

/// A scheme that retransmits in the port, in front of the pipelines of its switch. Retransmitted frames and acknowledgements
/// precede new frames. Acknowledgements are ordered sets, which are not repeated if they are lost. Damaged frames reach the
/// receiver. Its headers are `H`.
pub trait LinkRetry<H> {
    /// The next frame to retransmit, if the port is free for it now.
    fn poll_retry(&mut self, now: Time) -> Option<(H, Frame)>;

    /// When the port must be served for a retransmission, or for an acknowledgement that is due.
    fn next_service(&mut self) -> Option<Time>;

    /// Whether it drops a frame that would leave without a header. The frame then takes its time at the port, but nothing is sent.
    fn discards(&mut self, now: Time, frame: &Frame) -> bool {
        let _ = (now, frame);
        false
    }

    /// Counts a frame that has arrived without a header.
    fn handle_plain(&mut self) {}

    /// Whether its ordered sets may be inserted into frames. The port asks this only once.
    fn insertion(&mut self) -> Option<Insertion> {
        None
    }

    /// When the next ordered set is due, for insertion.
    fn ordered_set_due(&mut self) -> Option<Time> {
        None
    }

    /// Handles a frame with this header that has arrived damaged.
    fn handle_damaged<C: SchemeContext>(&mut self, context: &mut C, header: &H);
}
