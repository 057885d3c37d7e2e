//! Experiments with flows as a kind of experiments.

use super::metric::{COUNTS_OF_A_RUN, METRICS};
use super::outcome::{FlowOutcome, FlowRun};
use super::parameters::{FlowParameters, PAIRED};
use crate::host::{Extent, FlowSizes};
use crate::link::config::ParameterError;
use crate::run::flows::{
    Demand, FailureSetup, FlowSetup, FlowsConfig, HostSetup, RdmaSetup, Recovery, SpreadingSetup,
    TrafficKind, run_with_records,
};
use crate::time::Time;
use linkmend_experiment::{
    Combination, ExperimentError, ExperimentFile, Head, Kind, Metric, PointOf, PublishedAt, PublishedTable,
    Reader, Run, Runs, Settings, Source,
};
use linkmend_quantity::{Count, LossRate, Span};
use linkmend_topology::spec;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use toml::Spanned;

/// Frame-hops that one core simulates in a second, roughly, and how much longer those over links take that recover losses.
const FRAME_HOPS_PER_SECOND: f64 = 8e6;
const RECOVERING_HOPS: f64 = 5.0;
/// Links that a frame of the testbed passes, and about as many as it passes in other networks.
const HOPS: f64 = 6.0;
/// Data frames and the acknowledgements that they cause, for each data frame.
const FRAMES_PER_SEGMENT: f64 = 1.5;
/// Bytes of data in a frame.
const SEGMENT_BYTES: f64 = 1448.0;
/// Frame-hops that a quick run may have.
const QUICK_WORK: f64 = 60_000.0;
/// Trials that a quick run has at least.
const QUICK_TRIALS_MIN: u64 = 20;

/// Experiments with flows between hosts: each combination of transport, scheme and so on is a point, each seed a run.
#[derive(Debug, Clone, Copy)]
pub struct FlowExperiments;

/// An experiment with flows.
pub type FlowExperiment = linkmend_experiment::Experiment<FlowExperiments>;

/// One combination of its parameters.
pub type Point = PointOf<FlowExperiments>;

/// The figure that an experiment's report draws.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Figure {
    /// Distributions of flow completion times above a percentile, a plot for each transport.
    Tail { above_percentile: f64 },
    /// Goodput at each loss rate, a series for each scheme.
    Goodput,
    /// Distributions of flow completion times, a plot for each load and loss rate, in each of which are the flows without loss.
    Distributions,
    /// The 99.9th percentile of slowdowns by flow size, a plot for each workload and load.
    Slowdown,
    /// The groups of flows that losses or reordering affected (Figure 13), for each flow size.
    Groups,
}

/// The kind that such a file says it has.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FileKind {
    Flows,
}

/// A file of an experiment with flows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    /// Tells the file from those of other experiments.
    #[serde(rename = "kind")]
    _kind: FileKind,
    id: Spanned<String>,
    title: String,
    source: String,
    #[serde(default)]
    about: String,
    figure: Figure,
    #[serde(default)]
    base: Settings,
    #[serde(default)]
    sweep: Vec<Settings>,
    #[serde(default)]
    published: Vec<Spanned<PublishedTable>>,
}

/// What a file says beyond what all experiment files say.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    figure: Figure,
}

impl ExperimentFile<FlowExperiments> for File {
    type Rest = Rest;
    type Extra = Figure;

    fn split(self) -> (Head, Rest) {
        let File { id, title, source, about, figure, base, sweep, published, .. } = self;
        (Head { id, title, source, about, base, sweep, published }, Rest { figure })
    }

    fn extra(rest: Rest, _reader: &Reader<'_, FlowExperiments>) -> Result<Figure, ExperimentError> {
        Ok(rest.figure)
    }
}

impl Kind for FlowExperiments {
    type Parameters = FlowParameters;
    type Task = Arc<FlowsConfig>;
    type Outcome = FlowOutcome;
    type Error = ParameterError;
    type File = File;

    fn metrics(_rest: &Rest) -> &'static [Metric<FlowOutcome>] {
        &METRICS
    }

    fn task(
        _rest: &Rest,
        at: &Combination<FlowParameters>,
        source: Source<'_>,
        folder: &Path,
    ) -> Result<(FlowParameters, Arc<FlowsConfig>), ExperimentError> {
        let mut parameters = completed(&at.parameters);
        if let Some(file) = parameters.topology.as_mut().filter(|written| spec::names_file(written)) {
            *file = folder.join(&file).to_string_lossy().into_owned();
        }
        let config = config(&parameters).map_err(|error| source.error(at.place, error.to_string()))?;
        Ok((parameters, Arc::new(config)))
    }

    fn run(
        task: &Arc<FlowsConfig>,
        run: Run,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Option<FlowOutcome>, ParameterError> {
        let config = FlowsConfig { seed: run.seed, ..FlowsConfig::clone(task) };
        // Runs are short, and many: they are not stopped in the middle, and each has one thread.
        let Some((report, records)) = run_with_records(&config, 1, &AtomicBool::new(false), &|| ())? else {
            return Ok(None);
        };
        Ok(progress(1.0).then(|| Runs::one(FlowRun::new(&config, report, &records))))
    }

    /// Frame-hops.
    fn work(task: &Arc<FlowsConfig>) -> f64 {
        frame_hops(task)
    }

    const WORK_PER_SECOND: f64 = FRAME_HOPS_PER_SECOND;

    /// Whatever recovers losses, or does not, gets the same flows.
    fn seed(base_seed: u64, id: &str, point: &Point, number: u64) -> u64 {
        point.shared_seed(base_seed, id, number, &PAIRED)
    }

    fn quick(point: &Point) -> Point {
        let mut quick = point.clone();
        quick.runs = quick.runs.min(2);
        let share = (QUICK_WORK / frame_hops(&quick.task)).min(1.0);
        let parameters = &mut quick.parameters;
        if let Some(Count(trials)) = &mut parameters.trials {
            *trials = ((*trials as f64 * share) as u64).max(QUICK_TRIALS_MIN);
        }
        if let Some(Span(duration)) = &mut parameters.duration {
            *duration = Duration::from_nanos((duration.as_nanos() as f64 * share) as u64 + 1);
        }
        if let Ok(shorter) = config(parameters) {
            quick.task = Arc::new(shorter);
        }
        quick
    }
}

/// The same experiment with another number of trials in each run, such as that of a paper where the file has fewer.
///
/// # Errors
/// [`ParameterError`] if a point counts no trials or cannot have so many, if points have different numbers of them, or if what
/// is published depends on the number.
pub fn with_trials(mut experiment: FlowExperiment, trials: Count) -> Result<FlowExperiment, ParameterError> {
    let id = &experiment.id;
    let refused =
        |reason: &str| ParameterError::new("trials", trials, format!("must not be given for {id}, {reason}"));
    let of_first = experiment.points.first().and_then(|point| point.parameters.trials);
    if experiment.points.iter().any(|point| point.parameters.trials.is_none()) {
        return Err(refused("of which runs end after a time"));
    }
    if experiment.points.iter().any(|point| point.parameters.trials != of_first) {
        return Err(refused("whose points have different numbers of them for a reason"));
    }
    let is_count =
        |row: &&PublishedAt<FlowOutcome>| row.over.is_none() && COUNTS_OF_A_RUN.contains(&row.metric.name);
    if let Some(row) = experiment.published.iter().find(is_count) {
        let name = row.metric.name;
        return Err(refused(&format!("which compares counts of a run ({name}) with published ones")));
    }
    for point in &mut experiment.points {
        point.parameters.trials = Some(trials);
        point.task = Arc::new(config(&point.parameters)?);
    }
    Ok(experiment)
}

/// The same parameters with those of the paper where the file says nothing.
fn completed(written: &FlowParameters) -> FlowParameters {
    let is_trials = written.trials.is_none() && written.duration.is_none() && written.load.is_none();
    let defaults = FlowSetup::default();
    FlowParameters {
        transport: Some(written.transport.unwrap_or(defaults.transport)),
        scheme: Some(written.scheme.unwrap_or(defaults.scheme)),
        loss: Some(written.loss.unwrap_or(LossRate(defaults.loss))),
        speed: Some(written.speed.unwrap_or(defaults.speed)),
        trials: if is_trials { Some(Count(5_000)) } else { written.trials },
        ..written.clone()
    }
}

/// The run that completed parameters describe.
fn config(parameters: &FlowParameters) -> Result<FlowsConfig, ParameterError> {
    let defaults = FlowSetup::default();
    let setup = FlowSetup {
        seed: 0,
        transport: parameters.transport.unwrap_or(defaults.transport),
        host_recovery: parameters.host_recovery,
        hosts: HostSetup {
            handshake: parameters.handshake.unwrap_or(false),
            rto_min: parameters.rto_min.map(time),
            latency: parameters.host_latency.map(time),
        },
        failures: failures(parameters),
        spreading: SpreadingSetup {
            queues: parameters.parallel_queues,
            placement: parameters.placement,
            reverse_delay: parameters.reverse_delay.map_or(Time::ZERO, time),
            balance: parameters.balance.unwrap_or_default(),
        },
        scheme: parameters.scheme.unwrap_or(defaults.scheme),
        profile: parameters.profile.unwrap_or(defaults.profile),
        loss: parameters.loss.map_or(defaults.loss, |loss| loss.0),
        bit_errors: parameters.bit_errors.unwrap_or(defaults.bit_errors),
        mean_burst: parameters.mean_burst,
        corrupting_links: parameters.corrupting_links.unwrap_or(defaults.corrupting_links),
        both_directions: parameters.both_directions.unwrap_or(defaults.both_directions),
        rdma: RdmaSetup {
            queue_pairs: parameters.queue_pairs,
            mechanisms: parameters.rdma_mechanisms.unwrap_or_default().0,
            dummy_gap: parameters.dummy_gap.map(time),
            verb: parameters.rdma_verb.unwrap_or_default(),
            timeout_exponent: parameters.timeout_exponent,
            path_mtu: parameters.mtu,
            window_packets: parameters.window,
        },
        dummy_copies: parameters.dummy_copies,
        speed: parameters.speed.unwrap_or(defaults.speed),
    };
    let graph = setup.graph(parameters.topology.as_deref(), Path::new(""))?;
    setup.config(graph, demand(parameters)?)
}

fn failures(parameters: &FlowParameters) -> FailureSetup {
    FailureSetup {
        every: parameters.failure_every.map(time),
        links: parameters.failing_links,
        down_for: parameters.down_for.map(time),
        detection: parameters.detection,
        reroute: parameters.reroute,
        hand_off: parameters.hand_off,
        sqr_buffer: parameters.sqr_buffer,
        sqr_margin: parameters.sqr_margin.map(time),
        sqr_one_queue: parameters.sqr_one_queue.unwrap_or(false),
    }
}

fn time(Span(duration): Span) -> Time {
    Time::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

fn demand(parameters: &FlowParameters) -> Result<Demand, ParameterError> {
    let traffic = parameters.traffic.unwrap_or_default();
    if parameters.incast.is_some() {
        traffic.check_incast()?;
    }
    let size = || parameters.size.clone().ok_or_else(|| ParameterError::new("size", "", "must be given"));
    match (parameters.trials, parameters.load, parameters.duration) {
        (Some(Count(count)), None, None) => {
            let only = || {
                size()?.only().ok_or_else(|| {
                    let name = parameters.size.as_ref().map_or("", FlowSizes::name).to_owned();
                    ParameterError::new("size", name, "must be one size for an incast or a ping-pong")
                })
            };
            Ok(match parameters.incast {
                Some(senders) => Demand::Incast { rounds: count, senders, bytes: only()? },
                None if traffic == TrafficKind::PingPong => {
                    Demand::PingPong { rounds: count, bytes: only()? }
                }
                None => Demand::Trials { count, sizes: size()? },
            })
        }
        (Some(Count(flows)), Some(load), None) if parameters.incast.is_none() => {
            let (sizes, between) = (size()?, traffic.between()?);
            Ok(Demand::Load { sizes, load: load.0, between, extent: Extent::Flows(flows) })
        }
        (None, Some(load), Some(duration)) if parameters.incast.is_none() => {
            let (sizes, between) = (size()?, traffic.between()?);
            Ok(Demand::Load { sizes, load: load.0, between, extent: Extent::Duration(time(duration)) })
        }
        (None, None, Some(duration)) if parameters.incast.is_none() => {
            Ok(Demand::Endless { duration: time(duration) })
        }
        _ => Err(ParameterError::new(
            "trials",
            "",
            "must be alone or with `incast` or `load`, or `load` with `duration`, or `duration` alone, for one flow without an end",
        )),
    }
}

/// About how many hops of frames over links that recover nothing take as long as a run.
fn frame_hops(config: &FlowsConfig) -> f64 {
    let recovers = config.link.protection.is_some() || config.recovery != Recovery::Described;
    let recovering = if recovers { config.corrupting.len() as f64 } else { 0.0 };
    let share = recovering / config.graph.links().count().max(1) as f64;
    (1.0 + share * (RECOVERING_HOPS - 1.0)) * plain_frame_hops(config)
}

/// About how many frames a run puts on wires.
fn plain_frame_hops(config: &FlowsConfig) -> f64 {
    config.traffic.iter().map(|traffic| plain_frame_hops_of(config, &traffic.demand)).sum()
}

fn plain_frame_hops_of(config: &FlowsConfig, demand: &Demand) -> f64 {
    let of_bytes = |bytes: f64| (bytes / SEGMENT_BYTES).ceil().max(1.0) * FRAMES_PER_SEGMENT * HOPS;
    let hosts = config.graph.hosts().count() as f64;
    let carried = |duration: Time| config.link.rate.bits_per_second() as f64 / 8.0 * duration.as_secs();
    match demand {
        Demand::Trials { count, sizes } => *count as f64 * (of_bytes(sizes.mean()) + HOPS),
        Demand::Incast { rounds, senders, bytes } => {
            *rounds as f64 * f64::from(*senders) * (of_bytes(*bytes as f64) + HOPS)
        }
        Demand::PingPong { rounds, bytes } => *rounds as f64 * 2.0 * (of_bytes(*bytes as f64) + HOPS),
        Demand::Load { load, extent: Extent::Duration(duration), .. } => {
            of_bytes(load * hosts * carried(*duration))
        }
        Demand::Load { sizes, extent: Extent::Flows(flows), .. } => *flows as f64 * of_bytes(sizes.mean()),
        Demand::Endless { duration } => of_bytes(carried(*duration)),
        // As if every host sent at its rate.
        Demand::Other { duration, .. } => of_bytes(hosts * carried(*duration)),
    }
}
