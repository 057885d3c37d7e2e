//! The serialised form of a report on a lane.

use super::{LaneFeedback, SequenceRange};
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A [`LaneFeedback`] with its runs in lists of variable length.
#[derive(Serialize, Deserialize)]
pub(super) struct LaneForm {
    cumulative: LongSequenceNumber,
    /// Omitted if it equals `cumulative`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<SequenceNumber>,
    covered: SequenceNumber,
    /// Omitted if it equals `covered`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<SequenceNumber>,
    paused: bool,
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    by_clock: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<SequenceRange>,
    /// Indices into `missing` of runs whose frames arrived, and did not fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overflowed: Vec<usize>,
}

impl From<LaneFeedback> for LaneForm {
    fn from(lane: LaneFeedback) -> LaneForm {
        let LaneFeedback { cumulative, from, covered, seen, paused, by_clock, .. } = lane;
        let from = (from != cumulative.short()).then_some(from);
        let seen = (seen != covered).then_some(seen);
        let missing: Vec<SequenceRange> = lane.missing().collect();
        let overflowed = (0..missing.len()).filter(|&run| lane.is_overflowed(run)).collect();
        LaneForm { cumulative, from, covered, seen, paused, by_clock, missing, overflowed }
    }
}

impl TryFrom<LaneForm> for LaneFeedback {
    type Error = &'static str;

    fn try_from(form: LaneForm) -> Result<LaneFeedback, Self::Error> {
        let mut lane = LaneFeedback::new(form.cumulative, form.covered, form.paused);
        lane.from = form.from.unwrap_or(lane.from);
        lane.seen = form.seen.unwrap_or(lane.seen);
        lane.by_clock = form.by_clock;
        let fits = form.missing.into_iter().enumerate().all(|(run, range)| {
            if form.overflowed.contains(&run) {
                lane.push_overflowed(range)
            } else {
                lane.push_missing(range)
            }
        });
        if fits { Ok(lane) } else { Err("more runs of missing frames than a feedback holds") }
    }
}
