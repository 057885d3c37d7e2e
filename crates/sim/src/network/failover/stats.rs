//! The cost of failures.

use super::ring::Kept;
use crate::link::FlowId;
use crate::sums::add_fields;
use crate::time::Time;
use serde::Serialize;

/// Counts of one direction of a failing link, or of several links. Field names are those of `linkmend sim flows --json`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FailoverStats {
    /// How often it failed.
    pub failures: u64,
    /// Frames of the traffic that a failed link lost.
    pub frames_lost: u64,
    /// How many of these were sent on another path.
    pub frames_recovered: u64,
    /// Frames sent on another path although they had already arrived.
    pub frames_duplicated: u64,
    /// Frames that waited at the switch until there was another path.
    pub frames_held: u64,
    /// Frames that were not kept, for lack of room.
    pub frames_not_kept: u64,
    /// Maximum number of bytes kept while the link was up, and while it was known to have failed.
    pub steady_buffer_bytes: u64,
    pub failed_buffer_bytes: u64,
    /// How often copies passed through the egress pipeline.
    pub passes: u64,
    /// For each failure that hit traffic, in each direction: the time from the last frame of a flow that arrived before
    /// the failure to its next one, which was handed over or arrived once the link was back. If no frame of the flow
    /// had arrived before, it is how long the first one was kept.
    #[serde(skip)]
    pub recovery_times: Vec<Recovery>,
}

/// How long a receiver received nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    pub time: Time,
    /// The flow that continued, in one of its directions.
    pub flow: FlowId,
    /// Whether a frame of the traffic was on the link when it failed, or was sent before the switch detected the
    /// failure.
    pub lost_frames: bool,
}

impl FailoverStats {
    /// Records a frame that leaves for a receiver that has received nothing since then.
    pub(super) fn recovered(&mut self, now: Time, since: Time, next: &Kept, lost_frames: bool) {
        let time = Time(now.0.saturating_sub(since.0));
        self.recovery_times.push(Recovery { time, flow: next.frame.flow, lost_frames });
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &FailoverStats) {
        add_fields!(self, other; failures, frames_lost, frames_recovered, frames_duplicated, frames_held, frames_not_kept, passes);
        self.steady_buffer_bytes = self.steady_buffer_bytes.max(other.steady_buffer_bytes);
        self.failed_buffer_bytes = self.failed_buffer_bytes.max(other.failed_buffer_bytes);
        self.recovery_times.extend_from_slice(&other.recovery_times);
    }
}
