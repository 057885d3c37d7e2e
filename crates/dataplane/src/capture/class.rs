//! Which classes a frame belongs to, for filtering.

use super::layers::Layers;
use linkmend_control::capture::FrameClass;
use linkmend_protocol::wire::LinkFrame;
use linkmend_protocol::{Control, Mode};

/// All classes of a frame.
pub(super) fn of(layers: &Layers) -> Vec<FrameClass> {
    FrameClass::ALL.into_iter().filter(|class| holds(*class, layers)).collect()
}

fn is_lane(class: FrameClass) -> bool {
    matches!(class, FrameClass::Ordered | FrameClass::NonBlocking)
}

fn holds(class: FrameClass, layers: &Layers) -> bool {
    let Some(link) = &layers.link else { return class == FrameClass::Unprotected };
    match class {
        FrameClass::Data => matches!(link, LinkFrame::Data { header, .. } if !header.retransmitted),
        FrameClass::Copies => matches!(link, LinkFrame::Data { header, .. } if header.retransmitted),
        FrameClass::Control => matches!(link, LinkFrame::Control(_) | LinkFrame::InTime),
        FrameClass::Acks => match link {
            LinkFrame::Data { header, .. } => header.ack.is_some(),
            LinkFrame::Acknowledging { .. } => true,
            LinkFrame::Control(control) => matches!(
                control,
                Control::Feedback(_) | Control::CompactAck { .. } | Control::CompactNotification { .. }
            ),
            _ => false,
        },
        FrameClass::Dummies => {
            matches!(link, LinkFrame::Control(Control::Dummy { .. } | Control::CompactDummy { .. }))
        }
        FrameClass::Unprotected => {
            matches!(link, LinkFrame::Foreign | LinkFrame::Escaped(_) | LinkFrame::Acknowledging { .. })
        }
        FrameClass::Ordered => is_of(link, Mode::Ordered),
        FrameClass::NonBlocking => is_of(link, Mode::NonBlocking),
    }
}

fn is_of(link: &LinkFrame, lane: Mode) -> bool {
    match link {
        LinkFrame::Data { header, .. } => header.mode == lane,
        LinkFrame::Control(Control::CompactDummy { mode, .. }) => *mode == lane,
        LinkFrame::Control(_) => true,
        _ => false,
    }
}

/// Whether a frame belongs to `classes`, as [`FrameClass`] says. With no classes, every frame does.
pub(super) fn any_of(classes: &[FrameClass], layers: &Layers) -> bool {
    let group = |lanes: bool| {
        let mut of_group = classes.iter().filter(|class| is_lane(**class) == lanes).peekable();
        of_group.peek().is_none() || of_group.any(|class| holds(*class, layers))
    };
    group(false) && group(true)
}
