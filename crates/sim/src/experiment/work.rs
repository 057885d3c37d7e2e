//! Estimates the work of a point, for progress bars and for the list of experiments. Its unit is a frame of line-rate traffic that
//! is simulated by itself.

use crate::corruption::Corruption;
use crate::flows::{Demand, FlowsConfig, Recovery};
use crate::host::{Extent, FlowSizes};
use crate::link::WIRE_OVERHEAD_BYTES;
use crate::links::LinksConfig;
use crate::parameters::{RunConfig, RunParameters};
use crate::time::Time;
use linkmend_experiment::Point;
use linkmend_quantity::{Count, Span};
use std::path::Path;
use std::time::Duration;

/// Frames that are simulated one by one after each loss, before the link is steady again.
const FRAMES_PER_LOSS: f64 = 300.0;
/// The same for long links, in loops of the link.
const LOOPS_PER_LOSS: f64 = 3.0;
/// The cost of a run that sends nothing, in frames.
const FRAMES_PER_RUN: f64 = 500.0;
/// The number of frames that one core of an ordinary machine simulates in a second, one by one (measured: 3 to 6
/// million).
pub(super) const WORK_PER_SECOND: f64 = 4e6;
/// Work of one point at which a quick run of line-rate traffic stops.
const QUICK_WORK: f64 = 150_000.0;
/// Frames of one point at which it stops.
const QUICK_FRAMES: f64 = 5_000_000.0;
/// Independent runs of one point at which it stops.
const QUICK_RUNS: u64 = 50;

/// Hops of frames between hosts that take as long as a frame at line rate, and how much longer those over links take that recover
/// losses.
const HOPS_PER_FRAME: f64 = 2.0;
const RECOVERING_HOPS: f64 = 5.0;
/// Links that a frame of the testbed passes, and about as many as it passes in other networks.
const HOPS: f64 = 6.0;
/// Data frames and the acknowledgements that they cause, for each data frame.
const FRAMES_PER_SEGMENT: f64 = 1.5;
/// Bytes of data in a frame.
const SEGMENT_BYTES: f64 = 1448.0;
/// Frame-hops that a quick run with flows may have.
const QUICK_HOPS: f64 = 60_000.0;
/// Trials that it has at least.
const QUICK_TRIALS_MIN: u64 = 20;
/// Its independent runs, at most.
const QUICK_FLOW_RUNS: u64 = 2;

/// The work of one run.
pub(super) fn work(run: &RunConfig) -> f64 {
    match run {
        RunConfig::LineRate(config) => work_of(config) + FRAMES_PER_RUN,
        RunConfig::Links(config) => config.frames_of_a_source() as f64 * links_of(config) + FRAMES_PER_RUN,
        RunConfig::Flows(config) => frame_hops(config) / HOPS_PER_FRAME,
    }
}

/// The same point with so few frames, or flows, that it takes a fraction of a second.
#[must_use]
pub(super) fn quick(point: &Point<RunParameters, RunConfig>) -> Point<RunParameters, RunConfig> {
    let mut quick = point.clone();
    match &mut quick.task {
        RunConfig::LineRate(config) => {
            quick.runs = quick.runs.min(QUICK_RUNS);
            let share = QUICK_WORK / (quick.runs as f64 * work_of(config));
            let frames = config.frames as f64;
            let fewer = (frames * share).min(QUICK_FRAMES / quick.runs as f64).min(frames).ceil().max(1.0);
            config.frames = fewer as u64;
            quick.parameters.frames = Some(Count(config.frames));
        }
        RunConfig::Links(config) => {
            quick.runs = quick.runs.min(QUICK_FLOW_RUNS);
            config.frames = config.frames.min((QUICK_HOPS / links_of(config)) as u64);
        }
        RunConfig::Flows(config) => {
            quick.runs = quick.runs.min(QUICK_FLOW_RUNS);
            let share = (QUICK_HOPS / frame_hops(config)).min(1.0);
            let parameters = &mut quick.parameters;
            if let Some(Count(trials)) = &mut parameters.trials {
                *trials = ((*trials as f64 * share) as u64).max(QUICK_TRIALS_MIN);
            }
            if parameters.is_training() {
                quick.runs = 1;
                let steps = parameters.steps.take().map_or(1.0, |steps| steps.0 as f64);
                let bytes = parameters.size.as_ref().and_then(FlowSizes::only);
                let fewer = bytes.map(|bytes| (bytes as f64 * (share * steps).min(1.0)).max(1.0) as u64);
                parameters.size = fewer.and_then(FlowSizes::one);
            }
            if let Some(Span(duration)) = &mut parameters.duration {
                *duration = Duration::from_nanos((duration.as_nanos() as f64 * share) as u64 + 1);
            }
            // Several kinds of traffic keep their proportions, and files their size.
            let demand = parameters.program.is_none().then(|| parameters.demand(Path::new("")));
            if let ([traffic], Some(Ok(demand))) = (&mut config.traffic[..], demand) {
                traffic.demand = demand;
            }
        }
    }
    quick
}

/// How many links and directions have such frames.
fn links_of(config: &LinksConfig) -> f64 {
    config.links.len() as f64 * if config.reverse_load > 0.0 { 2.0 } else { 1.0 }
}

fn work_of(config: &LinksConfig) -> f64 {
    let (frames, link) = (config.frames as f64, &config.links[0]);
    let loss = |corruption: &Corruption| match corruption {
        Corruption::Recorded(numbers) => numbers.len() as f64 / frames,
        corruption => corruption.frame_loss(link.frame_bytes),
    };
    // Lost ACKs disturb the steady state as lost data does.
    let losses = loss(&link.corruption) + loss(&link.reverse_corruption);
    // Frames that leave during a loop: until it is over, each is simulated by itself, and go-back-N sends them once more.
    let frame_time = link.rate.time_of(u64::from(link.frame_bytes) + WIRE_OVERHEAD_BYTES);
    let in_loop = 2.0 * (link.wire_latency() + link.ingress_latency()).as_secs() / frame_time.as_secs();
    let goes_back = matches!(config.recovery, Recovery::Llr(_));
    let again = if goes_back { losses * in_loop } else { 0.0 };
    let per_loss = FRAMES_PER_LOSS + LOOPS_PER_LOSS * in_loop;
    let step_by_step = if config.full { 1.0 } else { (losses * per_loss).min(1.0) };
    frames * (step_by_step + again)
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
    let of_bytes = |bytes: f64| (bytes / SEGMENT_BYTES).ceil().max(1.0) * FRAMES_PER_SEGMENT * HOPS;
    let hosts = config.graph.hosts().count() as f64;
    let carried = |duration: Time| config.link.rate.bits_per_second() as f64 / 8.0 * duration.as_secs();
    let of_demand = |demand: &Demand| match demand {
        Demand::Trials { count, sizes, .. } => *count as f64 * (of_bytes(sizes.mean()) + HOPS),
        Demand::Incast { rounds, senders, bytes } => {
            *rounds as f64 * f64::from(*senders) * (of_bytes(*bytes as f64) + HOPS)
        }
        Demand::PingPong { rounds, bytes } => *rounds as f64 * 2.0 * (of_bytes(*bytes as f64) + HOPS),
        Demand::Load { load, extent: Extent::Duration(duration), .. } => {
            of_bytes(load * hosts * carried(*duration))
        }
        Demand::Load { sizes, extent: Extent::Flows(flows), .. } => *flows as f64 * of_bytes(sizes.mean()),
        Demand::Endless { duration } => of_bytes(carried(*duration)),
        Demand::Training(training) => of_bytes(training.bytes(hosts as u32)),
        // As if every host sent at its rate.
        Demand::Other { duration, .. } => of_bytes(hosts * carried(*duration)),
    };
    config.traffic.iter().map(|traffic| of_demand(&traffic.demand)).sum()
}
