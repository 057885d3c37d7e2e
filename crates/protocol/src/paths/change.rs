//! Changes of the path in use: why, and what they cost.

use super::Path;
use crate::time::{Instant, Ticks};

/// Why the path in use changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ChangeReason {
    /// The port of the path lost its carrier.
    NoCarrier,
    /// The peer was not heard on it.
    Silence,
    /// The preferred path has been up for long enough.
    Return,
    /// Somebody asked for it at this end.
    Request,
    /// The peer decided so.
    Peer,
}

/// A change of the path in use, from the one that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChange {
    /// The path in use from now on.
    pub to: Path,
    pub reason: ChangeReason,
    /// How long the peer had not been heard on the path before; `None` if it never was.
    pub silence: Option<Ticks>,
}

/// The latest change and its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failover {
    /// When this end changed.
    pub at: Instant,
    /// The path in use since.
    pub to: Path,
    pub reason: ChangeReason,
    /// When the peer was last heard on the path before.
    pub(super) heard_at: Instant,
    /// Frames that went out again on the new path.
    pub resent_frames: u64,
    /// From the last sign of the peer on the path before to its first numbered or control frame on this one; `None` until that
    /// has arrived. What the peer heard of this end is for the peer to say.
    pub gap: Option<Ticks>,
}

/// What is counted about paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathStats {
    /// Changes of the path in use because the one before had failed, whichever end noticed.
    pub failovers: u64,
    /// All other changes.
    pub moves: u64,
    /// Frames that went out again because of a change.
    pub resent_frames: u64,
    /// Probes of this end, on both paths.
    pub probes_sent: u64,
    /// Probes of the peer by path.
    pub probes_received: [u64; 2],
    /// Probes of the peer that did not arrive, by path, as the next one shows.
    pub probes_lost: [u64; 2],
    /// Probes of the other path (the cables are crossed), or of this end itself.
    pub probes_rejected: u64,
    /// Frames dropped because they arrived on a path that the peer had left.
    pub late_frames: u64,
}
