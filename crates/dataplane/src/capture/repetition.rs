//! Control frames that say nothing new: what a link with nothing to do exchanges, a hundred times a second.

use super::layers::Layers;
use super::{CapturedFrame, Direction};
use linkmend_protocol::Control;
use linkmend_protocol::wire::LinkFrame;

/// Recognises control frames that repeat what the one before them said. A dummy and an ACK count themselves, and an ACK
/// names the dummy it answers; these numbers make no difference.
#[derive(Debug, Default)]
pub struct Repetition {
    inbound: Option<Control>,
    outbound: Option<Control>,
}

impl Repetition {
    /// Whether this frame is one of them. Each frame of a capture is to be asked about, in order.
    pub fn is_in(&mut self, frame: &CapturedFrame) -> bool {
        let Some(LinkFrame::Control(control)) = Layers::of(frame.port, &frame.bytes).link else {
            return false;
        };
        let Some(said) = said(control) else { return false };
        let last = match frame.direction {
            Direction::Inbound => &mut self.inbound,
            Direction::Outbound => &mut self.outbound,
        };
        let repeats = last.as_ref() == Some(&said);
        *last = Some(said);
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
