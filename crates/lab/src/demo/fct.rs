//! Flow completion times of short flows (Figure 11, Table 2).

use serde::{Deserialize, Serialize};

use super::Condition;
use super::run::{Demo, DemoError};
use crate::summary::Summary;
use crate::tcp::{self, FlowOptions, TrafficPath};

/// The flows of one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FctColumn {
    /// What the link was like.
    pub condition: Condition,
    /// Completion times in ns; `None` if no flow finished.
    pub completion_ns: Option<Summary>,
    /// Every completion time in ns, in the order of the flows.
    pub samples_ns: Vec<u64>,
    /// Segments that the hosts' kernel retransmitted.
    pub retransmitted_segments: u64,
    /// Flows with at least one such segment.
    pub flows_with_retransmission: u64,
    /// Flows that were given up.
    pub timed_out: u64,
}

pub(super) fn run(demo: &mut Demo) -> Result<Vec<FctColumn>, DemoError> {
    let mut columns = Vec::new();
    for condition in Condition::ALL {
        demo.step(&format!("flow completion times, {}", condition.label()))?;
        demo.set(condition, demo.options.loss)?;
        let options = FlowOptions {
            count: demo.options.flows,
            bytes: demo.options.flow_bytes,
            congestion_control: Some("cubic".to_owned()),
            ..FlowOptions::default()
        };
        let report = tcp::flows(&TrafficPath::ipv4(demo.lab), &options, &demo.control)?;
        columns.push(FctColumn {
            condition,
            completion_ns: report.completion_ns,
            samples_ns: report.samples_ns,
            retransmitted_segments: report.retransmitted_segments,
            flows_with_retransmission: report.flows_with_retransmission,
            timed_out: report.timed_out,
        });
    }
    Ok(columns)
}
