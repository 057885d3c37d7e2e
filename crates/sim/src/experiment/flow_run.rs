//! What became of the flows of a run.

use crate::histogram::Histogram;
use crate::host::FlowRecord;
use crate::run::flows::{Demand, FlowsConfig, FlowsReport, Ideals};
use linkmend_experiment::{Measurement, Pooled, Runs, stored};
use linkmend_statistics::{jackknife_interval, percentile_ranks};
use std::ops::RangeInclusive;

/// What became of the flows of one run.
#[derive(Debug, PartialEq)]
pub struct FlowRun {
    pub report: FlowsReport,
    /// Flow completion times in picoseconds, ascending.
    times_ps: Vec<u64>,
    /// Of these flows, the share of which hosts sent something again.
    pub(super) resent: f64,
    /// Segments or packets that these flows have, at least one.
    pub(super) segments: f64,
    /// Under a load, size and slowdown of each flow: how many times as long it took as in an idle network.
    slowdowns: Vec<(u64, f64)>,
}

stored!(FlowRun; report, times_ps, resent, segments, slowdowns);

/// The runs of a point, in the order of their seeds.
pub type FlowOutcome = Runs<FlowRun>;

/// Picoseconds in a second.
const PS: f64 = 1e12;

impl FlowRun {
    pub(super) fn new(config: &FlowsConfig, report: FlowsReport, records: &[FlowRecord]) -> FlowRun {
        let ended = records.iter().filter(|record| !record.failed);
        let is_load: Vec<bool> =
            config.traffic.iter().map(|traffic| matches!(traffic.demand, Demand::Load { .. })).collect();
        let mut slowdowns = Vec::new();
        if is_load.contains(&true) {
            let ideals = Ideals::new(config);
            let loading = ended.clone().filter(|record| is_load[usize::from(record.traffic)]);
            slowdowns.extend(loading.map(|record| (record.bytes, ideals.slowdown(record))));
        }
        let payloads: Vec<u64> =
            config.traffic.iter().map(|traffic| traffic.hosts.full_frame().0.into()).collect();
        let segments = |record: &FlowRecord| record.bytes.div_ceil(payloads[usize::from(record.traffic)]);
        let segments = ended.clone().map(segments).sum::<u64>();
        let resent = ended.clone().filter(|record| record.retransmissions > 0).count();
        let mut times_ps: Vec<u64> = ended.map(|record| record.completion_time().0).collect();
        times_ps.sort_unstable();
        let resent = resent as f64 / times_ps.len().max(1) as f64;
        FlowRun { report, times_ps, resent, segments: segments.max(1) as f64, slowdowns }
    }
}

/// How many flows of all runs ended.
pub(super) fn flows(outcome: &FlowOutcome) -> usize {
    outcome.iter().map(|run| run.times_ps.len()).sum()
}

/// The flow completion time of this rank among those of all runs, counted from 0, in picoseconds. Runs are sorted, so that
/// it is found without merging them.
fn of_rank(outcome: &FlowOutcome, rank: usize) -> Option<u64> {
    let (mut low, mut high) = (u64::MAX, 0);
    for run in outcome.iter() {
        if let [first, .., last] | [first @ last] = run.times_ps.as_slice() {
            (low, high) = (low.min(*first), high.max(*last));
        }
    }
    if rank >= flows(outcome) {
        return None;
    }
    // The least value that more than `rank` of all are at or below.
    while low < high {
        let middle = low + (high - low) / 2;
        let at_most: usize =
            outcome.iter().map(|run| run.times_ps.partition_point(|time| *time <= middle)).sum();
        (low, high) = if at_most > rank { (low, middle) } else { (middle + 1, high) };
    }
    Some(low)
}

/// The flow completion time that a share of all flows is below, in seconds, linear between two of them.
pub(super) fn percentile(outcome: &FlowOutcome, share: f64) -> Option<f64> {
    let place = share * flows(outcome).checked_sub(1)? as f64;
    let below = of_rank(outcome, place as usize)? as f64;
    let above = of_rank(outcome, place as usize + 1).map_or(below, |above| above as f64);
    Some((below + (above - below) * place.fract()) / PS)
}

/// A value of all runs, with the interval that follows from the differences between them.
pub(super) fn of_runs(outcome: &FlowOutcome, value: fn(&FlowOutcome) -> Option<f64>) -> Option<Measurement> {
    let interval = jackknife_interval(outcome.count(), |keeps| value(&outcome.only(keeps)?));
    Measurement::exact(value(outcome)?).map(|measured| Measurement { interval, ..measured })
}

/// A percentile of all runs' flows, with its interval; `None` if all flows are below it. Flows of trials are independent of
/// each other. Those of a load share queues, so that only runs are.
pub(super) fn measured_percentile(outcome: &FlowOutcome, share: f64) -> Option<Measurement> {
    let count = flows(outcome);
    // Rounded, because 1 - 0.9999 of ten thousand flows is not quite one.
    if libm::round((1.0 - share) * count as f64) == 0.0 {
        return None;
    }
    let value = percentile(outcome, share)?;
    let interval = if outcome.iter().any(|run| !run.slowdowns.is_empty()) {
        jackknife_interval(outcome.count(), |keeps| percentile(&outcome.only(keeps)?, share))
    } else {
        let at = |rank: Option<usize>| Some(of_rank(outcome, rank?)? as f64 / PS);
        let (low, high) = percentile_ranks(count, share);
        Some((at(low).unwrap_or(0.0).min(value), at(high).unwrap_or(f64::INFINITY).max(value)))
    };
    Some(Measurement { value, interval })
}

/// The slowdown that a share of all flows of these sizes is below, with its interval.
pub(super) fn measured_slowdown(
    outcome: &FlowOutcome,
    sizes: RangeInclusive<u64>,
    share: f64,
) -> Option<Measurement> {
    let of = |runs: &FlowOutcome| {
        let loading = runs.iter().flat_map(|run| &run.slowdowns);
        let mut slowdowns: Vec<f64> =
            loading.filter(|(bytes, _)| sizes.contains(bytes)).map(|flow| flow.1).collect();
        slowdowns.sort_unstable_by(f64::total_cmp);
        let above = libm::round((1.0 - share) * slowdowns.len() as f64);
        (above > 0.0).then(|| linkmend_statistics::percentile(&slowdowns, share))
    };
    let interval = jackknife_interval(outcome.count(), |keeps| of(&outcome.only(keeps)?));
    Measurement::exact(of(outcome)?).map(|measured| Measurement { interval, ..measured })
}

/// Flows by their size: in parts of as many flows each, the size in the middle and the slowdown that a share of them is below.
pub(super) fn slowdowns_by_size(outcome: &FlowOutcome, parts: usize, share: f64) -> Vec<(f64, f64)> {
    let mut flows: Vec<(u64, f64)> = outcome.iter().flat_map(|run| run.slowdowns.iter().copied()).collect();
    flows.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let of_part = |part: &[(u64, f64)]| {
        let bytes = part[part.len() / 2].0 as f64;
        let mut slowdowns: Vec<f64> = part.iter().map(|flow| flow.1).collect();
        slowdowns.sort_unstable_by(f64::total_cmp);
        (bytes, linkmend_statistics::percentile(&slowdowns, share))
    };
    let length = flows.len().div_ceil(parts).max(1);
    flows.chunks(length).map(of_part).collect()
}

/// The share of all runs' flow completion times, in seconds, at each of these percentiles: what a plot draws.
pub(super) fn distribution(outcome: &FlowOutcome, from: f64) -> Vec<(f64, f64)> {
    /// Points for each nine.
    const STEPS: usize = 60;
    let count = flows(outcome);
    if count == 0 {
        return Vec::new();
    }
    let (first, last) = (-libm::log10(1.0 - from), libm::log10(count as f64));
    let steps = ((last - first).max(0.0) * STEPS as f64) as usize;
    let share = |step: usize| 1.0 - libm::pow(10.0, -(first + step as f64 / STEPS as f64));
    let point = |share: f64| Some((100.0 * share, percentile(outcome, share)?));
    (0..=steps).map(share).filter_map(point).collect()
}

/// How long packets of all runs waited in parallel queues, in seconds: the least, and the share that waited longer than each of
/// these times. `None` if there are no such queues.
pub(super) fn queueing(outcome: &FlowOutcome) -> Option<(f64, Vec<(f64, f64)>)> {
    let mut delays = Histogram::new();
    outcome.iter().filter_map(|run| run.report.spreading.as_ref()).for_each(|of| delays.merge(&of.delays_ns));
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut above = delays.count();
    let shares = delays.iter().map(|(delay, count)| {
        above -= count;
        (seconds(delay), above as f64 / delays.count() as f64)
    });
    (delays.count() > 0).then(|| (seconds(delays.min()), shares.collect()))
}

/// Mean and standard deviation of all flow completion times, in seconds.
pub(super) fn moments(outcome: &FlowOutcome) -> Option<(f64, f64)> {
    let count = flows(outcome) as f64;
    let sum = |value: &dyn Fn(f64) -> f64| {
        outcome.iter().flat_map(|run| run.times_ps.iter()).map(|time| value(*time as f64 / PS)).sum::<f64>()
    };
    let mean = sum(&|time| time) / count;
    let deviation = libm::sqrt(sum(&|time| (time - mean) * (time - mean)) / (count - 1.0));
    (count > 1.0).then_some((mean, deviation))
}

/// The least and the greatest flow completion time, in seconds.
pub(super) fn extremes(outcome: &FlowOutcome) -> Option<(f64, f64)> {
    let last = flows(outcome).checked_sub(1)?;
    Some((of_rank(outcome, 0)? as f64 / PS, of_rank(outcome, last)? as f64 / PS))
}
