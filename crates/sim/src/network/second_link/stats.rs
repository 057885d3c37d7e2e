//! Counters for two links between the same ends.

use crate::sums::add_fields;
use crate::time::Time;
use linkmend_protocol::paths::Path;
use serde::Serialize;

/// Counts for the direction that leaves one end, over both links, or for several ends. Field names are those of
/// `linkmend sim flows --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SecondLinkStats {
    /// How often a link failed, and how often it was the one in use.
    pub cuts: u64,
    pub cuts_in_use: u64,
    /// How often the end left a failed link, and how often it changed links for another reason.
    pub failovers: u64,
    pub returns: u64,
    /// Frames of the traffic, copies included, that a failed link lost, and that links corrupted.
    pub frames_cut: u64,
    pub frames_corrupted: u64,
    /// Frames that were retransmitted because of a change of links.
    pub frames_resent: u64,
    /// Frames that arrived at the other end on a link that this one had left.
    pub frames_late: u64,
    /// For each failure that lost frames: the time from the first loss until the other end delivered something again.
    #[serde(skip)]
    pub gaps: Vec<Time>,
}

impl SecondLinkStats {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &SecondLinkStats) {
        add_fields!(self, other; cuts, cuts_in_use, failovers, returns);
        add_fields!(self, other; frames_cut, frames_corrupted, frames_resent, frames_late);
        self.gaps.extend_from_slice(&other.gaps);
    }
}

/// The state of the failures of two links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures {
    /// How often a link failed or recovered.
    pub changes: u64,
    /// Whether one, or both, is down now.
    pub is_down: bool,
    /// When a link last failed, which one it was, and whether side A was sending on it; if both failed, the primary is
    /// named.
    pub cut_at: Time,
    pub path: Path,
    pub in_use: bool,
}
