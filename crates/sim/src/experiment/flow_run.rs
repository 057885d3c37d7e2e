//! What became of the flows of a run.

use crate::host::FlowRecord;
use crate::run::flows::{Demand, FlowsConfig, FlowsReport, Ideals};
use linkmend_experiment::{CONFIDENCE, Measurement, Runs, poisson_interval};
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

/// The same with its interval: the times between which the true percentile lies, by the number of flows above it, which is
/// one of rare and independent events. `None` if all flows are below it.
pub(super) fn measured_percentile(outcome: &FlowOutcome, share: f64) -> Option<Measurement> {
    let count = flows(outcome);
    // Rounded, because 1 - 0.9999 of ten thousand flows is not quite one.
    let expected = libm::round((1.0 - share) * count as f64) as u64;
    if expected == 0 {
        return None;
    }
    let (fewest, most) = poisson_interval(expected, CONFIDENCE);
    let rank = |above: f64| count.saturating_sub(above as usize).min(count - 1);
    let at = |above: f64| of_rank(outcome, rank(above)).map(|time| time as f64 / PS);
    let value = percentile(outcome, share)?;
    Some(Measurement { value, interval: Some((at(most)?.min(value), at(fewest)?.max(value))) })
}

/// The slowdown that a share of all flows of these sizes is below, with its interval.
pub(super) fn measured_slowdown(
    outcome: &FlowOutcome,
    sizes: RangeInclusive<u64>,
    share: f64,
) -> Option<Measurement> {
    let mut slowdowns: Vec<f64> = outcome
        .iter()
        .flat_map(|run| &run.slowdowns)
        .filter(|(bytes, _)| sizes.contains(bytes))
        .map(|flow| flow.1)
        .collect();
    slowdowns.sort_unstable_by(f64::total_cmp);
    let expected = libm::round((1.0 - share) * slowdowns.len() as f64) as u64;
    if expected == 0 {
        return None;
    }
    let (fewest, most) = poisson_interval(expected, CONFIDENCE);
    let above = |flows: f64| slowdowns[slowdowns.len().saturating_sub(flows as usize + 1)];
    let value = above(expected as f64);
    Some(Measurement { value, interval: Some((above(most).min(value), above(fewest).max(value))) })
}

/// Flows by their size: in parts of as many flows each, the size in the middle and the slowdown that a share of them is below.
pub(super) fn slowdowns_by_size(outcome: &FlowOutcome, parts: usize, share: f64) -> Vec<(f64, f64)> {
    let mut flows: Vec<(u64, f64)> = outcome.iter().flat_map(|run| run.slowdowns.iter().copied()).collect();
    flows.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let of_part = |part: &mut [(u64, f64)]| {
        let bytes = part[part.len() / 2].0 as f64;
        part.sort_unstable_by(|one, other| one.1.total_cmp(&other.1));
        (bytes, part[((part.len() - 1) as f64 * share) as usize].1)
    };
    let length = flows.len().div_ceil(parts).max(1);
    flows.chunks_mut(length).map(of_part).collect()
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
