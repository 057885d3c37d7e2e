//! What failures of links meant for a run with flows.

use super::config::FlowsConfig;
use super::statistics::{Summary, times_us};
use crate::host::{End, FlowRecord};
use crate::network::{FailoverStats, Recovery};
use serde::Serialize;

/// Between these times lie the clusters of completion times of the paper's Figure 3.
const HIT_LONGER_US: [f64; 3] = [2e3, 3e4, 9e5];

/// What failures cost, and the flows that met one. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailoverReport {
    #[serde(flatten)]
    pub stats: FailoverStats,
    /// How long receivers of data got nothing: from the last frame of the same flow that arrived before the failure to the next
    /// one; of a flow that had sent none before, how long its first frame was kept.
    pub recovery_us: Option<Summary>,
    /// The share of these times that is longer than the route failure time: of all, and after failures that lost frames.
    pub recovery_longer_share: Option<f64>,
    pub recovery_longer_share_lost: Option<f64>,
    /// Completion times of flows of which a frame, in either direction, was lost or waited because of a failure.
    pub hit_fct_us: Option<Summary>,
    /// How many of these took longer than 2, 30 and 900 ms.
    pub hit_longer: [u64; 3],
    /// Completion times of the others.
    pub other_fct_us: Option<Summary>,
    /// The same until the receiver had everything, half a round trip before the sender knew.
    pub other_delivery_us: Option<Summary>,
}

impl FailoverReport {
    /// `None` if no link of the run fails.
    pub(super) fn new(config: &FlowsConfig, records: &[FlowRecord], stats: &FailoverStats) -> Option<Self> {
        let failing = config.failing.first()?;
        let of_data = stats.recovery_times.iter().filter(|recovery| End(recovery.flow.0).is_sending());
        let recovery = of_data.clone().map(|recovery| recovery.time.as_micros()).collect();
        let longer = |of: &dyn Fn(&&Recovery) -> bool| {
            let (mut all, mut longer) = (0_u32, 0_u32);
            for recovery in of_data.clone().filter(of) {
                all += 1;
                longer += u32::from(recovery.time > failing.route_failure_time());
            }
            (all > 0).then(|| f64::from(longer) / f64::from(all))
        };
        let times = |is_hit, time| times_us(records, is_hit, time);
        let hit = times(true, FlowRecord::completion_time);
        Some(FailoverReport {
            recovery_longer_share: longer(&|_| true),
            recovery_longer_share_lost: longer(&|recovery| recovery.lost_frames),
            recovery_us: Summary::from_values(recovery),
            hit_longer: HIT_LONGER_US.map(|us| hit.iter().filter(|time| **time > us).count() as u64),
            hit_fct_us: Summary::from_values(hit),
            other_fct_us: Summary::from_values(times(false, FlowRecord::completion_time)),
            other_delivery_us: Summary::from_values(times(false, FlowRecord::delivery_time)),
            stats: stats.clone(),
        })
    }

    /// How many flows met a failure.
    pub(crate) fn hit_flows(&self) -> f64 {
        self.hit_fct_us.map_or(0.0, |times| times.count as f64)
    }
}
