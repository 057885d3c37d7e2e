//! Control frames without news, which an idle link exchanges a hundred times a second.

use super::layers::Layers;
use linkmend_control::capture::{CapturedFrame, Direction};
use linkmend_protocol::Control;
use linkmend_protocol::wire::LinkFrame;
use std::mem::discriminant;

/// Recognises control frames that repeat the last one of their kind in their direction. Dummies and ACKs are numbered,
/// and an ACK names the dummy that it answers; these numbers are ignored.
#[derive(Debug, Default)]
pub struct Repetition(Vec<(Direction, Control)>);

impl Repetition {
    /// Whether this frame is such a repetition. Pass every frame of a capture, in order.
    pub fn is_in(&mut self, frame: &CapturedFrame) -> bool {
        let Some(LinkFrame::Control(control)) = Layers::of(frame).link else {
            return false;
        };
        let Some(content) = without_numbers(control) else { return false };
        let of_this_kind = |(direction, last): &&mut (Direction, Control)| {
            *direction == frame.direction && discriminant(last) == discriminant(&content)
        };
        let Some((_, last)) = self.0.iter_mut().find(of_this_kind) else {
            self.0.push((frame.direction, content));
            return false;
        };
        let repeats = *last == content;
        *last = content;
        // A frame that was dropped on purpose is worth a line whatever it says.
        repeats && !frame.corrupted
    }
}

/// The frame without its numbers, if it is of a kind that repeats; `None` for the steps of a session, which are always
/// new.
fn without_numbers(control: Control) -> Option<Control> {
    match control {
        Control::Dummy { session, next, held_from, .. } => {
            Some(Control::Dummy { session, stamp: 0, next, held_from })
        }
        Control::Feedback(mut feedback) => {
            (feedback.number, feedback.dummy_stamp) = (0, 0);
            Some(Control::Feedback(feedback))
        }
        Control::Hello { .. }
        | Control::OldHello
        | Control::CompactAck { .. }
        | Control::CompactDummy { .. } => Some(control),
        _ => None,
    }
}
