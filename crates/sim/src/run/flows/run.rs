//! Builds the network of a run with flows, and runs it.

use super::capture::PortCapture;
use super::config::{FlowsConfig, bits_per_second_of};
use super::demand::{Between, Demand, PAUSE, ROUNDS_AT_ONCE, TRIALS_AT_ONCE};
use super::network::{FlowNetwork, FlowObserver};
use super::report::FlowsReport;
use super::schemes::FlowSchemes;
use super::traffic::TrafficConfig;
use crate::host::{
    FlowRecord, FlowSizes, HostTraffic, HostsConfig, Incast, Pairs, PingPong, Poisson, Schedule, Start,
    TransportHosts, Trials, Workload,
};
use crate::link::config::ParameterError;
use crate::link::scheme::{Absent, Scheme};
use crate::network::{NoObserver, OPENING_MAX, Plan};
use crate::node::NodeId;
use crate::random::Random;
use crate::time::Time;
use linkmend_experiment::run_each;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Runs all flows, on as many threads as asked for; the report does not depend on their number. `done` is called after
/// each part. `None` if `stop` ended it.
///
/// The run ends when all flows have ended or cannot be waited for any longer; a flow without an end sends until its duration
/// is over and until nothing else is waited for.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(
    config: &FlowsConfig,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
) -> Result<Option<FlowsReport>, ParameterError> {
    Ok(run_with_records(config, threads, stop, done)?.map(|(report, _)| report))
}

/// As [`run`], with what became of each flow.
///
/// # Errors
/// As [`run`].
pub fn run_with_records(
    config: &FlowsConfig,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
) -> Result<Option<(FlowsReport, Vec<FlowRecord>)>, ParameterError> {
    run_parts(config, threads, stop, done, |part| {
        Ok(run_part::<_, Absent>(config, None, part, stop, NoObserver)?.0)
    })
}

/// As [`run`], with a scheme that this crate does not know, instead of what `config` says, on the links that corrupt. Its
/// ends have these configurations: first that of the port whose frames are corrupted.
///
/// # Errors
/// As [`run`].
pub fn run_other<X: Scheme<Config: Sync>>(
    config: &FlowsConfig,
    schemes: &[X::Config; 2],
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
) -> Result<Option<FlowsReport>, ParameterError> {
    let outcome = run_parts(config, threads, stop, done, |part| {
        Ok(run_part::<_, X>(config, Some(schemes), part, stop, NoObserver)?.0)
    })?;
    Ok(outcome.map(|(report, _)| report))
}

/// As [`run`], and captures what a port of its network sends and receives: of the first part if there are several.
///
/// # Errors
/// As [`run`].
pub fn run_captured<W: Write + Send>(
    config: &FlowsConfig,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
    capture: PortCapture<W>,
) -> Result<(Option<FlowsReport>, Option<PortCapture<W>>), ParameterError> {
    let place = Mutex::new(Some(capture));
    let take = |part: u64| (part == 0).then(|| held(&place).take()).flatten();
    let outcome = run_parts(config, threads, stop, done, |part| match take(part) {
        Some(capture) => {
            let (outcome, capture) = run_part::<_, Absent>(config, None, part, stop, capture)?;
            *held(&place) = Some(capture);
            Ok(outcome)
        }
        None => Ok(run_part::<_, Absent>(config, None, part, stop, NoObserver)?.0),
    })?;
    let capture = held(&place).take();
    Ok((outcome.map(|(report, _)| report), capture))
}

/// What a mutex holds. A thread that panicked ends the run, so nobody sees what it left.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_parts(
    config: &FlowsConfig,
    threads: usize,
    stop: &AtomicBool,
    done: &(impl Fn() + Sync),
    work: impl Fn(u64) -> Result<Option<Outcome>, ParameterError> + Sync,
) -> Result<Option<(FlowsReport, Vec<FlowRecord>)>, ParameterError> {
    config.validate()?;
    let outcomes = run_each(config.parts(), threads, stop, done, |part| work(part as u64));
    let Some(outcomes) = outcomes else { return Ok(None) };
    let mut records = Vec::new();
    let mut totals = super::report::Totals::default();
    for outcome in outcomes {
        let Some(outcome) = outcome? else { return Ok(None) };
        records.extend(outcome.records);
        totals.add(&outcome.totals);
    }
    Ok(Some((FlowsReport::new(config, &records, totals), records)))
}

impl FlowsConfig {
    /// In how many networks, each with random numbers of its own, the run takes place. Several kinds of traffic share one,
    /// however many trials or rounds they have.
    pub fn parts(&self) -> usize {
        match self.traffic.as_slice() {
            [alone] => alone.demand.parts(),
            _ => 1,
        }
    }
}

/// What a part of a run leaves.
pub(super) struct Outcome {
    records: Vec<FlowRecord>,
    totals: super::report::Totals,
}

/// Runs a part; no outcome if it was stopped.
pub(super) fn run_part<O: FlowObserver<X>, X: Scheme>(
    config: &FlowsConfig,
    other: Option<&[X::Config; 2]>,
    part: u64,
    stop: &AtomicBool,
    observer: O,
) -> Result<(Option<Outcome>, O), ParameterError> {
    let seed = linkmend_random::mix(config.seed ^ linkmend_random::mix(part));
    let mut network = build_on(config.plan(other)?, config, part, seed, observer)?;
    let wanted = &mut || !stop.load(Ordering::Relaxed);
    if !network.open_sessions(wanted).goes_on(|_| config.link.not_opened(OPENING_MAX))? {
        return Ok((None, network.observer));
    }
    let began = network.now();
    network.hosts.begin_at(began);
    network.start_traffic();
    // Until when each traffic is waited for.
    let ends: Vec<Time> = config
        .traffic
        .iter()
        .map(|traffic| Time(began.0.saturating_add(traffic.demand.time_max().0)))
        .collect();
    let is_alone = ends.len() == 1;
    for last in ends.iter().copied().collect::<BTreeSet<Time>>() {
        let goes_on = |network: &mut FlowNetwork<O, X>| {
            O::after_event(network);
            let hosts = &network.hosts;
            // It is asked before every event, and while the only traffic has flows, this is all there is to ask.
            (is_alone && hosts.active_flows() > 0)
                || hosts.traffic().iter().zip(&ends).any(|(of, end)| *end >= last && !of.is_finished())
        };
        if !network.run_while(last, goes_on, wanted) {
            return Ok((None, network.observer));
        }
    }
    O::after_event(&mut network);
    let totals = super::report::Totals::measure(&network, began);
    let mut records = network.hosts.take_records();
    for (number, _) in config.traffic.iter().enumerate().filter(|(_, of)| of.demand.is_answered()) {
        let (own, others) = records.into_iter().partition(|record| usize::from(record.traffic) == number);
        records = others;
        records.extend(rounds(own));
    }
    Ok((Some(Outcome { records, totals }), network.observer))
}

/// Rounds of a ping-pong from its requests and answers: from the request to the arrival of the answer.
fn rounds(mut records: Vec<FlowRecord>) -> Vec<FlowRecord> {
    records.sort_by_key(|record| record.began);
    let round = |pair: &[FlowRecord]| match pair {
        [request, answer] => Some(FlowRecord {
            delivered: answer.delivered,
            acknowledged: answer.delivered,
            retransmissions: request.retransmissions + answer.retransmissions,
            timeouts: request.timeouts + answer.timeouts,
            failed: request.failed || answer.failed,
            ..*request
        }),
        _ => None,
    };
    records.chunks(2).filter_map(round).collect()
}

/// The network of a run of one part on a plan of its network.
pub(crate) fn build_flow<O: FlowObserver>(
    plan: Plan<FlowSchemes>,
    config: &FlowsConfig,
    observer: O,
) -> Result<FlowNetwork<O>, ParameterError> {
    build_on(plan, config, 0, config.seed, observer)
}

fn build_on<O: FlowObserver<X>, X: Scheme>(
    plan: Plan<FlowSchemes<X>>,
    config: &FlowsConfig,
    part: u64,
    seed: u64,
    observer: O,
) -> Result<FlowNetwork<O, X>, ParameterError> {
    let at_port = |host| Plan::<FlowSchemes>::first_port(&config.graph, host).map(|port| (host, port));
    let hosts: Vec<_> = config.graph.hosts().filter_map(at_port).collect();
    let number_of = |node: &NodeId| hosts.binary_search_by_key(node, |(host, _)| *host).ok();
    let traffic = |(number, of): (usize, &TrafficConfig)| {
        let nodes = of.nodes(&config.graph);
        let numbers = nodes.iter().filter_map(number_of).map(|number| number as u32).collect();
        let stream = if number == 0 { "workload".to_owned() } else { format!("workload {number}") };
        let random = Random::new(seed, &stream);
        HostTraffic::new(of.hosts.clone(), numbers, workload(config, of, &nodes, part, random))
    };
    let traffic = config.traffic.iter().enumerate().map(traffic).collect();
    let size = (config.graph.nodes().len(), plan.port_count());
    let hosts = TransportHosts::new(traffic, &hosts, size, seed);
    Ok(plan.build_with_hosts(seed, observer, hosts)?)
}

/// The flows of a traffic, of a part if the run is divided.
fn workload(
    config: &FlowsConfig,
    traffic: &TrafficConfig,
    nodes: &[NodeId],
    part: u64,
    random: Random,
) -> Box<dyn Workload> {
    let hosts = nodes.len() as u32;
    let pair = |bytes| Start { at: Time::ZERO, source: 0, destination: hosts - 1, bytes };
    let of_part = |count: u64, at_once: u64| match config.parts() {
        1 => count,
        _ => at_once.min(count - part * at_once),
    };
    match &traffic.demand {
        Demand::Trials { count, sizes, pause } => {
            let count = of_part(*count, TRIALS_AT_ONCE);
            Box::new(Trials::new(count, pair(0), sizes.clone(), *pause, random))
        }
        Demand::Incast { rounds, senders, bytes } => {
            let rounds = of_part(*rounds, ROUNDS_AT_ONCE);
            Box::new(Incast::new(rounds, *senders, pair(*bytes), PAUSE, random))
        }
        Demand::Endless { .. } => Box::new(Schedule::new(vec![pair(Start::ENDLESS)])),
        Demand::Other { workload, .. } => workload.make(hosts, random),
        Demand::Training(training) => Box::new(training.workload(&config.graph, nodes, random)),
        Demand::PingPong { rounds, bytes } => Box::new(PingPong::new(*rounds, pair(*bytes))),
        Demand::Load { sizes, load, between, extent } => {
            let bits = mean_wire_bytes(sizes, &traffic.hosts) * 8.0;
            let (pairs, senders) = match between {
                Between::All => (Pairs::FullMesh { hosts }, hosts),
                Between::Halves => (Pairs::Halves { hosts }, 1),
                Between::FirstAndLast => (Pairs::PointToPoint { source: 0, destination: hosts - 1 }, 1),
            };
            let rate = nodes.first().map_or(0, |host| bits_per_second_of(&config.graph, *host));
            let flows_per_second = load * rate as f64 * f64::from(senders) / bits;
            let interval = Time((1e12 / flows_per_second) as u64);
            Box::new(Poisson::new(sizes.clone(), pairs, interval, *extent, random))
        }
    }
}

/// What a flow takes of a link on average: its bytes, with the headers of as many frames as they need.
fn mean_wire_bytes(sizes: &FlowSizes, hosts: &HostsConfig) -> f64 {
    /// Flows, one for each part of the distribution, whose share of headers is taken for that of all.
    const FLOWS: u32 = 10_000;
    let (mut bytes, mut wire_bytes) = (0.0, 0.0);
    for size in sizes.spread(FLOWS) {
        bytes += size as f64;
        wire_bytes += hosts.wire_bytes(size) as f64;
    }
    sizes.mean() * wire_bytes / bytes
}
