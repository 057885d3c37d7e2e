//! Classes of frames on the link, for filtering.

use super::layers::Layers;
use linkmend_protocol::wire::LinkFrame;
use linkmend_protocol::{Control, Mode};
use serde::{Deserialize, Serialize};

/// What a frame is to Linkmend. The last two say of which lane, the others what kind; a choice of several kinds means
/// any of them, and a lane beside them only those of that lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum FrameClass {
    /// Protected frames, originals only
    Data,
    /// Retransmitted copies
    Copies,
    /// Control frames of every kind
    Control,
    /// ACKs and loss notifications, and frames that an ACK rides on
    Acks,
    /// Dummies
    Dummies,
    /// Frames without a sequence number; on the inner port all
    Unprotected,
    /// Of the ordered lane; control frames that speak of both lanes count
    Ordered,
    /// Of the non-blocking lane; control frames that speak of both lanes count
    NonBlocking,
}

impl FrameClass {
    const ALL: [FrameClass; 8] = [
        FrameClass::Data,
        FrameClass::Copies,
        FrameClass::Control,
        FrameClass::Acks,
        FrameClass::Dummies,
        FrameClass::Unprotected,
        FrameClass::Ordered,
        FrameClass::NonBlocking,
    ];

    /// All classes of a frame.
    pub(super) fn of(layers: &Layers) -> Vec<FrameClass> {
        Self::ALL.into_iter().filter(|class| class.holds(layers)).collect()
    }

    fn is_lane(self) -> bool {
        matches!(self, FrameClass::Ordered | FrameClass::NonBlocking)
    }

    fn holds(self, layers: &Layers) -> bool {
        let Some(link) = &layers.link else { return self == FrameClass::Unprotected };
        match self {
            FrameClass::Data => matches!(link, LinkFrame::Data { header, .. } if !header.retransmitted),
            FrameClass::Copies => matches!(link, LinkFrame::Data { header, .. } if header.retransmitted),
            FrameClass::Control => matches!(link, LinkFrame::Control(_)),
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
        let mut of_group = classes.iter().filter(|class| class.is_lane() == lanes).peekable();
        of_group.peek().is_none() || of_group.any(|class| class.holds(layers))
    };
    group(false) && group(true)
}
