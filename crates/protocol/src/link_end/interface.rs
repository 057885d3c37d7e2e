//! The types of the interface between a driver and a link end.

use crate::config::Format;
use crate::copies::Copies;
use crate::fallback::Level;
use crate::frame::{DataHeader, Feedback, FrameHandle, SequenceRange};
use crate::mode::{Mode, PerMode};
use crate::paths::Probe;
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::{ReceiveState, SessionNumber, TransmitState};

/// The protection that the operator requests for the sending direction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Protection {
    /// How many copies of a lost frame.
    pub copies: Copies,
}

/// Whether a normal frame may leave now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It may; [`crate::LinkEnd::send`] will number it.
    Protected,
    /// It may, without a header.
    Unprotected,
    /// Not now: paused, Tx buffer full, or draining. Treat the normal queue as blocked.
    Held,
}

/// What to do with a received frame with a data header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Reception {
    /// Deliver it to the inner port now, before anything from [`crate::LinkEnd::poll_deliver`].
    Deliver,
    /// The link end keeps the handle, and will return it from [`crate::LinkEnd::poll_deliver`].
    Buffered,
    Drop,
}

/// The two transmission priorities around the normal queue (section 3, Figure 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Priority {
    /// Retransmissions, loss notifications, pause and resume, handshake: before the normal queue.
    High,
    /// Dummies and explicit ACKs: only when the normal queue is empty or blocked.
    Low,
}

/// A frame to put on the link.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "returned by value and consumed at once; boxing would allocate per frame"
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Transmit {
    /// A copy of a frame in the Tx buffer, with this header. Its handle stays with the link end.
    Retransmission {
        frame: FrameHandle,
        /// Its header, with the retransmitted flag.
        header: DataHeader,
    },
    /// A control frame.
    Control(Control),
}

/// Control frames, as [`crate::wire`] encodes them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "the feedback is the common case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Control {
    /// "I speak Linkmend": sent when there is nothing else to send, and in answer to one.
    #[cfg_attr(feature = "serde", serde(rename = "greeting"))]
    Hello {
        /// Drawn at the start of its writer, and never 0.
        nonce: u64,
        /// The nonce that its writer has heard last; 0 if none.
        echo: u64,
    },
    /// The hello of version 0.1 and before, which proves nothing. It is only read.
    #[cfg_attr(feature = "serde", serde(rename = "hello"))]
    OldHello,
    /// See [`crate::ReceiveState`] and the session module for the handshake.
    Init {
        /// The session to begin.
        session: SessionNumber,
        /// Format in which the sender would send, and in which it understands acknowledgements.
        #[cfg_attr(feature = "serde", serde(default))]
        format: Format,
    },
    /// Answer to an Init.
    InitEcho {
        /// The session to begin.
        session: SessionNumber,
        /// Must be repeated in the Start.
        nonce: u32,
        /// How many frames the receiver's window holds.
        window_frames: u32,
        /// The receiver's format. If it is not the sender's, the nonce is void: there will be no session.
        #[cfg_attr(feature = "serde", serde(default))]
        format: Format,
    },
    /// Begins a session.
    Start {
        /// The session that begins.
        session: SessionNumber,
        /// The nonce of the InitEcho.
        nonce: u32,
    },
    /// ACK and loss notification.
    Feedback(Feedback),
    /// Announces what has been sent, and what the sender still holds of it.
    Dummy {
        /// The session of the frame.
        session: SessionNumber,
        /// Counts dummies, so that feedback frames can refer to them.
        stamp: u16,
        /// The next number of each lane.
        next: PerMode<LongSequenceNumber>,
        /// The first number of each lane that the sender still holds; what is missing before it will not come.
        held_from: PerMode<LongSequenceNumber>,
    },
    /// Ends a session.
    Fin {
        /// The session of the frame.
        session: SessionNumber,
    },
    /// Confirms the end.
    FinEcho {
        /// The session of the frame.
        session: SessionNumber,
    },
    /// How its writer sees two paths. It is for [`crate::paths::Paths`]. A link end is told of it once they believe its writer,
    /// and learns that its peer hears it.
    Probe(Probe),
    /// Compact format only: an explicit ACK in the authors' header.
    CompactAck {
        /// Everything before this has arrived.
        next: SequenceNumber,
    },
    /// Compact format only: a loss notification in the authors' header.
    CompactNotification {
        /// Everything before this has arrived.
        next: SequenceNumber,
        /// What is missing; at most 255 frames.
        hole: SequenceRange,
    },
    /// Compact format only: a dummy in the authors' data header.
    CompactDummy {
        /// The lane of the dummy.
        mode: Mode,
        /// The next number of the lane.
        next: SequenceNumber,
    },
    /// The authors' protocol only: priority flow control, which holds or releases the normal queue.
    PriorityPause {
        /// Whether to hold it.
        paused: bool,
    },
}

impl Control {
    /// Whether it travels with Linkmend's magic. The authors' headers have none, so a host's frames could be mistaken
    /// for them.
    pub fn has_magic(&self) -> bool {
        !matches!(
            self,
            Control::CompactAck { .. }
                | Control::CompactNotification { .. }
                | Control::CompactDummy { .. }
                | Control::PriorityPause { .. }
        )
    }
}

impl Control {
    /// Whether only an end that hears this one can have written it, if it fits.
    pub(super) const fn is_proof(&self) -> bool {
        matches!(
            self,
            Control::InitEcho { .. }
                | Control::Start { .. }
                | Control::Feedback(_)
                | Control::Dummy { .. }
                | Control::Probe(_)
        )
    }
}

/// The state of a link end, for status displays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// The sender's session.
    pub transmit: TransmitState,
    /// The receiver's session.
    pub receive: ReceiveState,
    /// Whether protection of the sending direction is requested.
    pub protection_requested: bool,
    /// How much of it the automatic fallback allows.
    pub level: Level,
    /// Copies retransmitted for one lost frame.
    pub copies: u8,
    /// Measured actual loss of the sending direction, once a window is full.
    pub measured_loss: Option<f64>,
    /// The peer's format, if it is not this end's: then neither direction can be protected.
    pub mismatched_format: Option<Format>,
    /// Whether the peer asked to hold the ordered lane.
    pub paused: bool,
    /// Frames outstanding in the sending direction.
    pub outstanding_frames: u64,
}
