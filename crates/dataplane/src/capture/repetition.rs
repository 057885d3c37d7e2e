//! Control frames that say nothing new: what a link with nothing to do exchanges, a hundred times a second.

use super::layers::Layers;
use super::{CapturedFrame, Direction};
use linkmend_protocol::Control;
use linkmend_protocol::wire::LinkFrame;
use std::mem::discriminant;

/// Recognises control frames that repeat what the last one of their kind in their direction said. A dummy and an ACK count
/// themselves, and an ACK names the dummy it answers; these numbers make no difference.
#[derive(Debug, Default)]
pub struct Repetition(Vec<(Direction, Control)>);

impl Repetition {
    /// Whether this frame is one of them. Each frame of a capture is to be asked about, in order.
    pub fn is_in(&mut self, frame: &CapturedFrame) -> bool {
        let Some(LinkFrame::Control(control)) = Layers::of(frame.port, &frame.bytes).link else {
            return false;
        };
        let Some(said) = said(control) else { return false };
        let of_this_kind = |(direction, last): &&mut (Direction, Control)| {
            *direction == frame.direction && discriminant(last) == discriminant(&said)
        };
        let Some((_, last)) = self.0.iter_mut().find(of_this_kind) else {
            self.0.push((frame.direction, said));
            return false;
        };
        let repeats = *last == said;
        *last = said;
        // One that was dropped on purpose is worth a line whatever it says.
        repeats && !frame.corrupted
    }
}

/// The frame without what counts it, if it is one that is repeated; `None` for steps of a session, which are news.
fn said(control: Control) -> Option<Control> {
    match control {
        Control::Dummy { session, next, held_from, .. } => {
            Some(Control::Dummy { session, stamp: 0, next, held_from })
        }
        Control::Feedback(mut feedback) => {
            (feedback.number, feedback.dummy_stamp) = (0, 0);
            Some(Control::Feedback(feedback))
        }
        Control::Hello | Control::CompactAck { .. } | Control::CompactDummy { .. } => Some(control),
        _ => None,
    }
}
