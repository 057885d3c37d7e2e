//! Captures, as the control socket carries them: what a client asks for, and the frames that it is sent ([`record`]).

pub mod record;

use crate::side::Side;
use serde::{Deserialize, Serialize};

/// The direction of a frame at its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Direction {
    /// Into the daemon.
    #[serde(rename = "in")]
    Inbound,
    /// Out of it.
    #[serde(rename = "out")]
    Outbound,
}

/// Settings of a capture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureOptions {
    /// Only at this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Side>,
    /// Maximum number of bytes captured of each frame.
    pub snap_bytes: u32,
    /// Only frames of one of these classes; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<FrameClass>,
    /// Only frames that this filter lets pass, which the daemon parses.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
}

/// A captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    pub port: Side,
    /// Which way it went.
    pub direction: Direction,
    /// Whether injected corruption then dropped it.
    pub corrupted: bool,
    /// Whether the link has a key, so that headers of hosts' frames end with a tag.
    pub is_tagged: bool,
    /// Its length, without frame check sequence.
    pub length: u32,
    /// Its first bytes, from the destination address on.
    pub bytes: Vec<u8>,
}

/// The progress of a capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaptureProgress {
    /// Frames that passed the filter and found no room in the ring.
    pub dropped: u64,
    /// Whether the kernel forwards, so that only Linkmend's own frames pass the daemon.
    pub kernel_forwards: bool,
}

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
    /// ACKs and loss notifications, and frames with a piggybacked ACK
    Acks,
    /// Dummies
    Dummies,
    /// Frames without a sequence number; on the inner port, all frames
    Unprotected,
    /// Frames of the ordered lane, and control frames that concern both lanes
    Ordered,
    /// Frames of the non-blocking lane, and control frames that concern both lanes
    NonBlocking,
}

impl FrameClass {
    /// Every class.
    pub const ALL: [FrameClass; 8] = [
        FrameClass::Data,
        FrameClass::Copies,
        FrameClass::Control,
        FrameClass::Acks,
        FrameClass::Dummies,
        FrameClass::Unprotected,
        FrameClass::Ordered,
        FrameClass::NonBlocking,
    ];
}
