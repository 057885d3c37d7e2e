//! Which of two links is in use, why, and what the last change cost.

use super::{ChangeReason, Path, PortReport};
use crate::corruption_model::CorruptionModel;
use serde::{Deserialize, Serialize};

/// The two links of a link end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FailoverReport {
    /// The link that carries what this end sends. The peer chooses for itself.
    pub active: Path,
    /// The link that carries it while both are up.
    pub preferred: Path,
    /// The port of the second link; that of the first is `link` of the report.
    pub backup: PortReport,
    /// Corruption injected at the second link's port, if any.
    pub backup_corruption: Option<CorruptionModel>,
    /// Frames dropped on purpose, by link.
    #[serde(default)]
    pub corrupted_frames: [u64; 2],
    /// Whether the peer says that it watches both links.
    pub peer_watches: bool,
    /// Whether the peer is heard on the first link, and on the second.
    pub heard: [bool; 2],
    /// Whether the peer says that it does not hear this end, by link.
    #[serde(default)]
    pub peer_is_deaf: [bool; 2],
    /// Whether frames of full size do not arrive at the peer though shorter ones do, by link.
    #[serde(default)]
    pub loses_full_size: [bool; 2],
    /// The share of frames that each link loses on the way to the peer: of probes, and of protected frames on the one in use.
    #[serde(default)]
    pub loss: [f64; 2],
    /// The addresses of other ends than the peer to which the links lead.
    #[serde(default)]
    pub strangers: [Option<String>; 2],
    /// Whether the cables seem to be exchanged at one end: probes of one link arrive on the other.
    pub crossed: bool,
    /// Whether the kernel alone would follow the carriers. It would else keep to the link in use.
    pub kernel_follows_carriers: bool,
    /// The silence that counts as a failure, in ns.
    pub detection_ns: u64,
    /// Changes because a link had failed.
    pub failovers: u64,
    /// Changes because the link in use carried frames worse than the other one.
    #[serde(default)]
    pub quality_changes: u64,
    /// All other changes.
    pub moves: u64,
    /// Frames that went out again because of a change.
    pub resent_frames: u64,
    /// Frames dropped because they arrived on a link that the peer had left.
    pub late_frames: u64,
    /// What an end counts that sends every frame on both links; absent if it uses one at a time.
    #[serde(default)]
    pub duplicate: Option<DuplicateReport>,
    /// What an end counts that sends each frame on one of both links; absent if it does not.
    #[serde(default)]
    pub share: Option<ShareReport>,
    /// Whether the peer sends on both links.
    #[serde(default)]
    pub peer_duplicates: bool,
    /// Probes sent on both links.
    pub probes_sent: u64,
    /// Probes of the peer that arrived, by link.
    pub probes_received: [u64; 2],
    /// Probes of the peer that did not arrive, by link.
    pub probes_lost: [u64; 2],
    /// The last change; absent before the first.
    pub last: Option<LastChangeReport>,
}

/// How two links carry the same frames. Arrays are by link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DuplicateReport {
    /// Numbered frames that went out on the other link as well.
    pub copies_sent: u64,
    /// Those that did not: its port was full, without a carrier, or led to another end.
    pub copies_skipped: u64,
    /// Frames of which the first copy arrived on the link.
    pub first_copies: [u64; 2],
    /// Frames dropped because a copy had arrived before.
    pub later_copies: [u64; 2],
    /// Frames dropped because they could not belong to the session.
    pub refused_frames: [u64; 2],
    /// Times that this end stopped waiting for the link.
    pub waits_given_up: [u64; 2],
    /// Frames that had to wait for the other link, and those that wait now.
    pub held_frames: u64,
    pub held_now: u64,
    /// Whether frames of the session arrive on the link.
    pub joined: [bool; 2],
    /// Whether the link is too late to be waited for.
    pub behind: [bool; 2],
    /// How much later than on the other link frames have recently arrived, at most, in ns.
    pub lag_ns: [u64; 2],
}

/// How two links share the frames. Arrays are by link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ShareReport {
    /// Numbered frames and retransmissions that this end sent on the link.
    pub sent_frames: [u64; 2],
    /// How often this end told the peer on the link how far the frames on the other one had come.
    pub marks_sent: [u64; 2],
    /// Frames that arrived on the link first.
    pub received_frames: [u64; 2],
    /// Frames dropped because they had arrived before.
    pub repeated_frames: [u64; 2],
    /// Frames dropped because they could not belong to the session.
    pub refused_frames: [u64; 2],
    /// Times that this end stopped waiting for the link, although it had not failed.
    pub waits_given_up: [u64; 2],
    /// Frames that had to wait for the other link, and those that wait now.
    pub held_frames: u64,
    pub held_now: u64,
    /// Whether frames of the session arrive on the link.
    pub joined: [bool; 2],
    /// Whether the link is not waited for: it has failed, or is too late.
    pub behind: [bool; 2],
    /// How much later than on the other link frames have recently arrived, at most, in ns.
    pub lag_ns: [u64; 2],
}

/// The last change from one link to the other, and its cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LastChangeReport {
    /// How long ago it was.
    pub ago_s: f64,
    /// The link in use since.
    pub to: Path,
    pub reason: ChangeReason,
    /// Frames that this end retransmitted.
    pub resent_frames: u64,
    /// From the last sign that the link before passed frames to the peer's word that it takes those of this one, in ns; absent
    /// until that has arrived.
    pub gap_ns: Option<u64>,
}
