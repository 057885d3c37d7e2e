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
    /// Full-size frames do not arrive on it, but do on the other one.
    FullSize,
    /// It loses frames, and the other one loses far fewer.
    Loss,
    /// Frames take much longer on it than on the other one.
    Delay,
    /// The preferred path has been up for long enough.
    Return,
    /// It was requested at this end.
    Request,
    /// It was requested at the peer.
    Peer,
}

impl ChangeReason {
    /// Whether the previous path was left because it carries frames badly, although it does carry them.
    pub(super) const fn is_quality(self) -> bool {
        matches!(self, ChangeReason::FullSize | ChangeReason::Loss | ChangeReason::Delay)
    }

    /// Whether the previous path was left because it carries nothing.
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
    /// How long nothing had passed on the previous path, as far as is known.
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
    /// The last sign that the previous path passed frames.
    pub(super) passed_at: Instant,
    /// Frames that were retransmitted on the new path.
    pub resent_frames: u64,
    /// Time from the last sign that the previous path passed frames until the peer confirms that it accepts frames from
    /// this one; `None` until the confirmation arrives.
    pub gap: Option<Ticks>,
}

/// Counters for paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathStats {
    /// Changes of the path on which this end sends because the previous one had failed.
    pub failovers: u64,
    /// Changes because the previous one carried frames worse than the other one.
    pub quality_changes: u64,
    /// All other changes.
    pub moves: u64,
    /// Frames that were retransmitted because of a change.
    pub resent_frames: u64,
    /// Probes of this end, on both paths.
    pub probes_sent: u64,
    /// Probes of the peer by path.
    pub probes_received: [u64; 2],
    /// Probes of the peer that did not arrive, by path; the next probe reveals them.
    pub probes_lost: [u64; 2],
    /// Probes of the other path (the cables are crossed), or of this end itself.
    pub probes_rejected: u64,
    /// Probes of ends that have not proved that they are the peer: an end that is gone, or one that has just started.
    pub probes_unproven: u64,
    /// Frames dropped because they arrived on a path that the peer had left, or before it had proved that it is the peer.
    pub late_frames: u64,
}
