//! What the two ends of a link tell each other besides data.

use super::context::SchemeContext;
use crate::link::control_store::ControlPlace;
use crate::link::frame::Frame;
use crate::time::Time;

/// A control frame that a scheme sends ahead of normal frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Urgent {
    /// Where its content was stored.
    pub place: ControlPlace,
    /// It may not leave before this.
    pub ready_at: Time,
    /// The peer's port handles it ahead of its pipeline, like a PFC frame.
    pub overtakes: bool,
}

/// What a scheme sends on an idle port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle<A> {
    Ack(A),
    /// Another control frame, and where its content was stored.
    Control(ControlPlace),
}

/// A scheme that sends acknowledgements `A` or other control frames `K`.
pub trait ControlFrames<A, K> {
    /// Handles an acknowledgement that has arrived.
    fn handle_ack<C: SchemeContext>(&mut self, context: &mut C, ack: A) {
        let _ = (context, ack);
    }

    /// Handles another control frame that has arrived.
    fn handle_control<C: SchemeContext>(&mut self, context: &mut C, control: &K) {
        let _ = (context, control);
    }

    /// Records a frame that is sent without a header. It may carry an acknowledgement.
    fn send_plain<C: SchemeContext>(&mut self, context: &mut C, frame: &Frame) {
        let _ = (context, frame);
    }

    /// The next control frame that has priority over normal frames. Its content goes to `store`, which keeps it until
    /// the frame has arrived.
    fn poll_urgent<C: SchemeContext>(
        &mut self,
        context: &mut C,
        store: impl FnOnce(K) -> ControlPlace,
    ) -> Option<Urgent> {
        let _ = (context, store);
        None
    }

    /// An acknowledgement for a port that would otherwise be idle, or for a frame without a header to carry. One that must not
    /// wait for frames with headers is a control frame of `poll_urgent`.
    fn poll_ack(&mut self, now: Time) -> Option<A> {
        let _ = now;
        None
    }

    /// Another control frame for a port that would otherwise be idle. The content of any but an acknowledgement goes to
    /// `store`.
    fn poll_idle(&mut self, now: Time, store: impl FnOnce(K) -> ControlPlace) -> Option<Idle<A>> {
        let _ = (now, store);
        None
    }

    /// Whether the port must ask again after its current frame.
    fn has_more(&mut self) -> bool {
        false
    }

    /// When to ask the scheme again if the port had nothing to send.
    fn idle_until(&mut self, now: Time) -> Option<Time> {
        let _ = now;
        None
    }

    /// Whether the scheme is still preparing for protection, for example with a handshake.
    fn is_opening(&mut self) -> bool {
        false
    }

    /// Whether an idle port sends minimum-size frames without gaps, so that a frame that becomes ready within such a
    /// slot waits for the end of the slot. The port asks this only once.
    fn fills_idle_slots(&mut self) -> bool {
        false
    }
}
