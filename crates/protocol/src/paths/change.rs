//! Changes of the path in use: why, and what they cost.

use super::Path;
use crate::time::{Instant, Ticks};

/// Why the path in use changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ChangeReason {
    /// The port of the path lost its carrier.
    NoCarrier,
    /// The peer hears nothing on it, though it does on the other one.
    Silence,
    /// Frames of full size do not arrive on it, and do on the other one.
    FullSize,
    /// It loses frames, and the other one far fewer.
    Loss,
    /// Frames take much longer on it than on the other one.
    Delay,
    /// The preferred path has been up for long enough.
    Return,
    /// Somebody asked for it at this end.
    Request,
    /// Somebody asked for it at the peer.
    Peer,
}

impl ChangeReason {
    /// Whether the path before was left because it carries frames badly, but does.
    pub(super) const fn is_quality(self) -> bool {
        matches!(self, ChangeReason::FullSize | ChangeReason::Loss | ChangeReason::Delay)
    }

    /// Whether the path before was left because it carries nothing.
    pub(super) const fn is_failure(self) -> bool {
        matches!(self, ChangeReason::NoCarrier | ChangeReason::Silence)
    }
}

/// A change of the path on which this end sends, from the one that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathChange {
    /// The path in use from now on.
    pub to: Path,
    pub reason: ChangeReason,
    /// How long nothing had passed on the path before, as far as known.
    pub silence: Ticks,
}

/// The latest change and its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failover {
    /// When this end changed.
    pub at: Instant,
    /// The path in use since.
    pub to: Path,
    pub reason: ChangeReason,
    /// The last sign that the path before passed frames.
    pub(super) passed_at: Instant,
    /// Frames that went out again on the new path.
    pub resent_frames: u64,
    /// From the last sign that the path before passed frames to the peer's word that it takes those of this one; `None` until
    /// that has arrived.
    pub gap: Option<Ticks>,
}

/// What is counted about paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathStats {
    /// Changes of the path on which this end sends because the one before had failed.
    pub failovers: u64,
    /// Changes because the one before carried frames worse than the other one.
    pub quality_changes: u64,
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
    /// Probes of ends that have not proved that they are the peer: of one that is gone, or of one that has just begun.
    pub probes_unproven: u64,
    /// Frames dropped because they arrived on a path that the peer had left, or before it had proved that it is the peer.
    pub late_frames: u64,
}
