//! What failures cost.

use super::ring::Kept;
use crate::link::FlowId;
use crate::time::Time;

/// Counts of one direction of a failing link, or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailoverStats {
    /// How often it failed.
    pub cuts: u64,
    /// Frames of the traffic that a failed link lost.
    pub lost_frames: u64,
    /// Those of them that were sent on another way.
    pub recovered_frames: u64,
    /// Frames sent on another way that had arrived already.
    pub duplicate_frames: u64,
    /// Frames that waited at the switch until there was another way.
    pub held_frames: u64,
    /// Frames that were not kept for lack of room.
    pub not_kept_frames: u64,
    /// The most bytes kept while the link was up, and while it was known to have failed.
    pub steady_bytes_max: u64,
    pub failed_bytes_max: u64,
    /// How often copies passed through the egress pipeline.
    pub passes: u64,
    /// For each failure that met traffic, in each direction: from the last frame of the same flow that arrived to the next one,
    /// which was handed over, or came when the link was back; for a flow of which none had come before, how long its first one was
    /// kept.
    pub recovery_times: Vec<Recovery>,
}

/// How long a receiver got nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    pub time: Time,
    /// The flow that went on, in one of its directions.
    pub flow: FlowId,
    /// Whether the link had a frame of the traffic when it failed, or was given one before the switch knew.
    pub lost_frames: bool,
}

impl FailoverStats {
    /// Takes note of a frame that leaves for a receiver which has got nothing since then.
    pub(super) fn recovered(&mut self, now: Time, since: Time, next: &Kept, lost_frames: bool) {
        let time = Time(now.0.saturating_sub(since.0));
        self.recovery_times.push(Recovery { time, flow: next.frame.flow, lost_frames });
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &FailoverStats) {
        self.cuts += other.cuts;
        self.lost_frames += other.lost_frames;
        self.recovered_frames += other.recovered_frames;
        self.duplicate_frames += other.duplicate_frames;
        self.held_frames += other.held_frames;
        self.not_kept_frames += other.not_kept_frames;
        self.steady_bytes_max = self.steady_bytes_max.max(other.steady_bytes_max);
        self.failed_bytes_max = self.failed_bytes_max.max(other.failed_bytes_max);
        self.passes += other.passes;
        self.recovery_times.extend_from_slice(&other.recovery_times);
    }
}
