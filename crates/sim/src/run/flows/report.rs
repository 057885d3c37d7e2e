//! What a run with flows measured.

use super::config::{FlowsConfig, bits_per_second_of};
use super::demand::Demand;
use super::failover::FailoverReport;
use super::network::{FlowNetwork, FlowObserver};
use super::second_link::SecondLinkReport;
use super::spreading::SpreadingReport;
use super::statistics::Summary;
use super::training::TrainingReport;
use crate::host::{FlowRecord, Group, HostTraffic, Steps, TimeoutCounts};
use crate::link::scheme::{Account, Scheme};
use crate::measure::Histogram;
use crate::network::{FailoverStats, PortId, SecondLinkStats};
use crate::sums::add_fields;
use crate::time::Time;
use serde::Serialize;
use std::ops::Range;

/// What a network did. Field names are those of `linkmend sim flows --json`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct NetworkCounts {
    /// Frames that ports put on wires, each link counted.
    pub frame_hops: u64,
    /// Bytes of frames that hosts and their first switches put into the network, copies among them.
    pub host_bytes_sent: u64,
    /// Frames that links corrupted, without those that failed links lost.
    pub frames_corrupted: u64,
    /// Frames that protected links did not recover.
    pub frames_given_up: u64,
    /// Frames that a port discarded because its scheme had given up, as LLR may in FLUSH.
    #[serde(skip_serializing_if = "is_zero")]
    pub frames_discarded: u64,
    /// Frames that found no room in a switch.
    pub frames_dropped: u64,
    /// How often a switch paused the other end of a link (PFC).
    pub pauses: u64,
    /// Frames that switches marked (ECN).
    pub frames_marked: u64,
    /// Simulated time, of all parts together, s.
    pub simulated_s: f64,
    /// How many events the simulator executed.
    pub events: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts of all parts of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Totals {
    pub(super) network: NetworkCounts,
    pub(super) failover: FailoverStats,
    pub(super) second_link: Option<SecondLinkStats>,
    pub(super) delays_ns: Histogram,
    pub(super) spread_s: f64,
    /// Of each traffic.
    traffic: Vec<TrafficTotals>,
}

/// Counts of a traffic.
#[derive(Debug, Clone, Default, PartialEq)]
struct TrafficTotals {
    /// Until its last flow ended; until the run did, if one has not.
    elapsed_s: f64,
    unfinished: u64,
    /// Of flows that have not ended.
    delivered_bytes: u64,
    retransmissions: u64,
    timeouts: u64,
    timeouts_by_cause: TimeoutCounts,
    /// What it has done, if it has steps. It is not divided into parts then.
    steps: Option<Steps>,
}

impl TrafficTotals {
    fn add(&mut self, other: &TrafficTotals) {
        add_fields!(self, other; elapsed_s, unfinished, delivered_bytes, retransmissions, timeouts);
        self.timeouts_by_cause.add(&other.timeouts_by_cause);
        self.steps = self.steps.take().or_else(|| other.steps.clone());
    }
}

impl Totals {
    /// Those of a network whose traffic began at this time.
    pub(super) fn measure<O: FlowObserver<X>, X: Scheme>(network: &FlowNetwork<O, X>, began: Time) -> Totals {
        let elapsed = |until: Time| Time(until.0.saturating_sub(began.0)).as_secs();
        let of_traffic = |(number, of): (usize, &HostTraffic)| {
            let (delivered_bytes, retransmissions, timeouts) = network.hosts.under_way(network.now(), number);
            TrafficTotals {
                elapsed_s: elapsed(if of.is_finished() { of.ended_at() } else { network.now() }),
                unfinished: of.active_flows() as u64,
                delivered_bytes,
                retransmissions,
                timeouts,
                timeouts_by_cause: *of.timeouts(),
                steps: of.steps().cloned(),
            }
        };
        let mut totals = Totals {
            network: NetworkCounts {
                simulated_s: elapsed(network.now()),
                events: network.events(),
                pauses: network.pauses(),
                host_bytes_sent: network.hosts.bytes_sent(),
                ..NetworkCounts::default()
            },
            failover: network.failover_stats(),
            second_link: network.all_second_link_stats(),
            traffic: network.hosts.traffic().iter().enumerate().map(of_traffic).collect(),
            ..Totals::default()
        };
        for index in 0..network.port_count() {
            let port = PortId::at(index);
            let (dropped, marked, _) = network.normal_queue(port);
            let counts = &mut totals.network;
            counts.frame_hops += network.transmitted(port);
            counts.frames_corrupted += network.corrupted_frames(port);
            counts.frames_dropped += dropped;
            counts.frames_marked += marked;
            counts.frames_given_up += network.scheme(port).account().map_or(0, Account::given_up);
            counts.frames_discarded += network.scheme(port).account().map_or(0, Account::discarded);
            if let Some(parallel) = network.parallel_queues(port) {
                totals.delays_ns.merge(&parallel.delays_ns);
                totals.spread_s += network.rate(port).time_of(parallel.wire_bytes).as_secs();
            }
        }
        totals
    }

    fn spreading(&self) -> Option<SpreadingReport> {
        let us = |share: f64| self.delays_ns.quantile(share) as f64 / 1e3;
        (self.delays_ns.count() > 0).then(|| SpreadingReport {
            frames: self.delays_ns.count(),
            utilisation: self.spread_s / self.network.simulated_s.max(f64::MIN_POSITIVE),
            delay_p50_us: us(0.5),
            delay_p90_us: us(0.9),
            delay_p99_us: us(0.99),
            delay_p99_9_us: us(0.999),
            delay_max_us: self.delays_ns.max() as f64 / 1e3,
            delays_ns: self.delays_ns.clone(),
        })
    }

    pub(super) fn add(&mut self, other: &Totals) {
        let (sum, more) = (&mut self.network, &other.network);
        add_fields!(sum, more; frame_hops, host_bytes_sent, frames_corrupted, frames_given_up, frames_discarded);
        add_fields!(sum, more; frames_dropped, pauses, frames_marked, simulated_s, events);
        self.failover.add(&other.failover);
        if let Some(other) = &other.second_link {
            self.second_link.get_or_insert_default().add(other);
        }
        self.delays_ns.merge(&other.delays_ns);
        self.spread_s += other.spread_s;
        self.traffic.resize(other.traffic.len(), TrafficTotals::default());
        self.traffic.iter_mut().zip(&other.traffic).for_each(|(own, other)| own.add(other));
    }
}

/// Flows that ended, by what disturbed them. The groups are those of Figure 13: of flows whose sender received a SACK, because
/// a packet was lost or reordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Affected {
    /// Flows of which a link corrupted a frame.
    pub corrupted: u64,
    /// Flows whose sender received a SACK.
    pub sacked: u64,
    /// Of these, those with at most two segments SACKed, without a loss among the last three packets.
    pub group_a: u64,
    /// Those with such a loss.
    pub group_b: u64,
    /// Those with more SACKed, after everything had been sent.
    pub group_c: u64,
    /// Those with more SACKed before everything had been sent.
    pub group_d: u64,
    /// The largest number of bytes that a flow of the last group had not sent yet.
    pub group_d_pending_bytes_max: u64,
    /// Flows whose sender reduced its window because of a SACK.
    pub reduced: u64,
}

impl Affected {
    /// Of these flows, each with the length of its segments.
    fn of<'a>(flows: impl Iterator<Item = (&'a FlowRecord, u32)>) -> Affected {
        let mut affected = Affected::default();
        for (FlowRecord { disturbance, .. }, mss) in flows {
            affected.corrupted += u64::from(disturbance.frames_corrupted > 0);
            affected.reduced += u64::from(disturbance.recovered);
            let Some(group) = disturbance.group(mss) else { continue };
            affected.sacked += 1;
            *match group {
                Group::A => &mut affected.group_a,
                Group::B => &mut affected.group_b,
                Group::C => &mut affected.group_c,
                Group::D => {
                    let most = affected.group_d_pending_bytes_max.max(disturbance.pending_bytes);
                    affected.group_d_pending_bytes_max = most;
                    &mut affected.group_d
                }
            } += 1;
        }
        affected
    }
}

/// What became of flows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowCounts {
    /// What the steps of a training job took, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training: Option<TrainingReport>,
    /// Flow completion times in microseconds, from the write until everything is acknowledged; none if no flow ended.
    pub fct_us: Option<Summary>,
    /// Flows that did not begin, because one before them had not ended when the run did.
    pub flows_not_begun: u64,
    /// Flows that had not ended when the run did.
    pub unfinished_flows: u64,
    /// Flows that their transport gave up.
    pub failed_flows: u64,
    /// Segments or packets retransmitted by hosts.
    pub retransmissions: u64,
    /// Expirations of hosts' retransmission timers.
    pub timeouts: u64,
    /// Timeouts of RDMA, by their cause.
    pub rdma_timeouts: TimeoutCounts,
    /// Flows that losses or reordering disturbed.
    pub affected_flows: Affected,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowsReport {
    /// The seed it was run with.
    pub seed: u64,
    #[serde(flatten)]
    pub flows: FlowCounts,
    /// What failures of links cost, if any failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverReport>,
    /// What second links did, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_link: Option<SecondLinkReport>,
    /// What frames met in queues in parallel, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spreading: Option<SpreadingReport>,
    /// Bytes that arrived in order, of all flows, for each second, in Gbit/s.
    pub goodput_gbps: f64,
    #[serde(flatten)]
    pub network: NetworkCounts,
    /// What became of the flows of each traffic, if there are several: above are those of all together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficReport>,
}

/// What became of the flows of one traffic.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrafficReport {
    /// The name of the traffic.
    pub name: String,
    #[serde(flatten)]
    pub flows: FlowCounts,
    /// For each second until the last of these flows ended; until the run did, if one has not.
    pub goodput_gbps: f64,
}

impl FlowCounts {
    /// Of the traffic with these numbers, and the bytes that arrived.
    fn of(
        config: &FlowsConfig,
        numbers: Range<usize>,
        records: &[FlowRecord],
        totals: &Totals,
    ) -> (FlowCounts, u64) {
        let own = records.iter().filter(|record| numbers.contains(&usize::from(record.traffic)));
        let ended = own.clone().filter(|record| !record.failed);
        let times = ended.clone().map(|record| record.completion_time().as_micros()).collect();
        let mut in_progress = TrafficTotals::default();
        let mut flows_not_begun = 0;
        let training = |number: usize| {
            let traffic = &config.traffic[number];
            let (Demand::Training(training), Some(done)) = (&traffic.demand, &totals.traffic[number].steps)
            else {
                return None;
            };
            let nodes = traffic.nodes(&config.graph);
            let rate = nodes.first().map_or(0, |host| bits_per_second_of(&config.graph, *host));
            Some(training.report((nodes.len() as u32, rate), &traffic.hosts, done))
        };
        for number in numbers.clone() {
            let traffic = &totals.traffic[number];
            let ended = own.clone().filter(|record| usize::from(record.traffic) == number).count() as u64;
            let begun = ended + traffic.unfinished;
            let flows = config.traffic[number].demand.flows();
            flows_not_begun += flows.map_or(0, |flows| flows.saturating_sub(begun));
            in_progress.add(traffic);
        }
        let bytes = ended.map(|record| record.bytes).sum::<u64>() + in_progress.delivered_bytes;
        let sum =
            |count: fn(&FlowRecord) -> u32| own.clone().map(|record| u64::from(count(record))).sum::<u64>();
        let mss: Vec<u32> = config.traffic.iter().map(|traffic| traffic.hosts.mss()).collect();
        let counts = FlowCounts {
            training: numbers.clone().find_map(training),
            fct_us: Summary::from_values(times),
            flows_not_begun,
            unfinished_flows: in_progress.unfinished,
            failed_flows: own.clone().filter(|record| record.failed).count() as u64,
            retransmissions: sum(|record| record.retransmissions) + in_progress.retransmissions,
            timeouts: sum(|record| record.timeouts) + in_progress.timeouts,
            rdma_timeouts: in_progress.timeouts_by_cause,
            affected_flows: Affected::of(own.map(|record| (record, mss[usize::from(record.traffic)]))),
        };
        (counts, bytes)
    }
}

impl FlowsReport {
    pub(super) fn new(config: &FlowsConfig, records: &[FlowRecord], totals: Totals) -> FlowsReport {
        let gbps = |bytes: u64, seconds: f64| bytes as f64 * 8.0 / seconds.max(f64::MIN_POSITIVE) / 1e9;
        let of_one = |number: usize| {
            let (flows, bytes) = FlowCounts::of(config, number..number + 1, records, &totals);
            let goodput_gbps = gbps(bytes, totals.traffic[number].elapsed_s);
            TrafficReport { name: config.traffic[number].name.clone(), flows, goodput_gbps }
        };
        let count = config.traffic.len();
        let (flows, bytes) = FlowCounts::of(config, 0..count, records, &totals);
        FlowsReport {
            seed: config.seed,
            flows,
            failover: FailoverReport::new(config, records, &totals.failover),
            second_link: totals.second_link.as_ref().map(|stats| SecondLinkReport::new(records, stats)),
            spreading: totals.spreading(),
            goodput_gbps: gbps(bytes, totals.network.simulated_s),
            network: totals.network,
            traffic: if count > 1 { (0..count).map(of_one).collect() } else { Vec::new() },
        }
    }
}
