//! Captures: frames that pass through a link end's two ports, for people to look at.
//!
//! While a capture is on, the loop copies frames that pass its filter into a bounded ring (`tap`), and the control
//! socket sends them to the client ([`record`] is the format). Frames that find the ring full are counted, and nothing
//! waits. While no capture is on, the loop only checks for each frame whether a list is empty.
//!
//! [`Layers`] takes a frame apart, [`Filter`] and [`FrameClass`] select frames, [`describe`] writes them as text.

mod class;
pub mod describe;
mod filter;
mod layers;
pub mod record;
mod repetition;
mod tap;
#[cfg(test)]
mod tests;

pub use class::FrameClass;
pub use filter::{Filter, FilterError};
pub use layers::Layers;
pub use repetition::Repetition;
pub use tap::{CAPTURES_MAX, Capture};
pub(crate) use tap::{Tap, Taps};

use serde::{Deserialize, Serialize};

/// One of a link end's ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum CapturePort {
    /// The port that faces the host
    Inner,
    /// The port that faces the corrupting link
    Link,
    /// The port that faces the second link
    Backup,
}

impl CapturePort {
    /// Whether frames with Linkmend's headers pass here.
    pub fn is_on_link(self) -> bool {
        self != CapturePort::Inner
    }
}

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
    pub port: Option<CapturePort>,
    /// Most bytes of each frame.
    pub snap_bytes: u32,
    /// Only frames of one of these classes; none means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<FrameClass>,
    /// Only frames that this [`Filter`] lets pass.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub filter: String,
}

/// A captured frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturedFrame {
    /// Time in nanoseconds since 1970.
    pub at_ns: u64,
    pub port: CapturePort,
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
