//! Flow completion times of short flows (Figure 11, Table 2).

use serde::{Deserialize, Serialize};

use super::Condition;
use super::slots::{Demo, DemoError};
use super::turns::{NoiseSummary, Turns};
use crate::statistics::quantile_interval;
use crate::summary::Summary;
use crate::tcp::{self, FlowOptions, FlowsReport, TcpError, TrafficPath};

/// The flows of one condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FctColumn {
    /// State of the link.
    pub condition: Condition,
    /// Completion times in ns; `None` if no flow finished.
    pub completion_ns: Option<Summary>,
    /// The interval that contains the true 99.9th percentile with 95 %, ns.
    pub p99_9_interval_ns: Option<(u64, u64)>,
    /// The same without handshakes: from the first byte, as in the paper.
    pub established_ns: Option<Summary>,
    /// Like [`FctColumn::p99_9_interval_ns`], but without handshakes.
    pub established_p99_9_interval_ns: Option<(u64, u64)>,
    /// Every completion time in ns, slot after slot.
    pub samples_ns: Vec<u64>,
    /// The part of each time that was its handshake, ns; 0 where a flow begins after it.
    pub handshakes_ns: Vec<u64>,
    /// Segments that the hosts' kernel retransmitted.
    pub retransmitted_segments: u64,
    /// Flows with at least one such segment.
    pub flows_with_retransmission: u64,
    /// Flows that were given up.
    pub timed_out: u64,
}

pub(super) fn run(demo: &mut Demo) -> Result<(Vec<FctColumn>, NoiseSummary), DemoError> {
    let plan = demo.options.turns(Condition::ALL.len());
    let conditions = Condition::ALL.map(|condition| (condition.label().to_owned(), condition));
    let (turns, calm) = demo.in_turns("flow completion times", &plan, &conditions, |demo, &condition| {
        demo.set(condition, demo.options.loss)?;
        measure(demo)
    })?;
    let columns = Condition::ALL.into_iter().enumerate();
    Ok((columns.map(|(index, condition)| column(condition, index, &turns)).collect(), calm))
}

/// Measures flows of several clients at once, each of which makes one flow after another.
fn measure(demo: &Demo) -> Result<Vec<FlowsReport>, DemoError> {
    let options = FlowOptions {
        count: (demo.options.flows / demo.options.flow_clients).max(1),
        warm_up: 2,
        bytes: demo.options.flow_bytes,
        connections: demo.options.connections,
        congestion_control: Some("cubic".to_owned()),
        ..FlowOptions::default()
    };
    let path = TrafficPath::ipv4(demo.lab);
    std::thread::scope(|scope| {
        let client = || scope.spawn(|| tcp::flows(&path, &options, &demo.control));
        let clients: Vec<_> = (0..demo.options.flow_clients).map(|_| client()).collect();
        let join = |client: std::thread::ScopedJoinHandle<'_, Result<FlowsReport, TcpError>>| {
            client.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        Ok(clients.into_iter().map(join).collect::<Result<_, _>>()?)
    })
}

fn column(condition: Condition, index: usize, turns: &Turns<Vec<FlowsReport>>) -> FctColumn {
    let reports = || turns.usable(index).flatten();
    let samples_ns: Vec<u64> = reports().flat_map(|report| report.samples_ns.iter().copied()).collect();
    let handshakes_ns: Vec<u64> = reports().flat_map(|report| report.handshakes_ns.iter().copied()).collect();
    let established_ns: Vec<u64> = samples_ns
        .iter()
        .zip(&handshakes_ns)
        .map(|(all, handshake)| all.saturating_sub(*handshake))
        .collect();
    let interval = |samples: &[u64]| {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        quantile_interval(&sorted, 0.999)
    };
    FctColumn {
        condition,
        completion_ns: Summary::from_samples(&samples_ns),
        p99_9_interval_ns: interval(&samples_ns),
        established_ns: Summary::from_samples(&established_ns),
        established_p99_9_interval_ns: interval(&established_ns),
        samples_ns,
        handshakes_ns,
        retransmitted_segments: reports().map(|report| report.retransmitted_segments).sum(),
        flows_with_retransmission: reports().map(|report| report.flows_with_retransmission).sum(),
        timed_out: reports().map(|report| report.timed_out).sum(),
    }
}
