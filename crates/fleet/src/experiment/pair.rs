//! `CorrOpt` with and without protection, over many traces (section 4.8).

use crate::network::Metrics;
use crate::simulate::{Settings, Step, Summary, simulate};
use crate::strategy::Strategy;
use crate::trace::{Trace, TraceParameters};
use linkmend_topology::Topology;
use std::collections::BTreeMap;
use std::ops::Range;

/// Resolution of the distributions: steps in a decade for gains, and in a percent for decreases.
const STEPS: f64 = 1000.0;
/// Seconds in a day.
pub(super) const DAY_S: u64 = 86_400;
/// Seconds in a week.
const WEEK_S: u64 = 7 * DAY_S;

/// The two strategies on one trace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pair {
    /// Seed of the trace and of the repairs.
    pub seed: u64,
    /// The run of `CorrOpt` alone.
    pub corropt: Summary,
    /// The run with protection, then `CorrOpt`.
    pub protected: Summary,
    /// By how much protection lowered the total penalty, and for how long: seconds by thousandths of a decade.
    pub gains: BTreeMap<i64, u64>,
    /// The median gain of each whole week, over the time in which there was one, in decades; without weeks that had none.
    pub weeks: Vec<f64>,
    /// By how much protection lowered the smallest capacity of a pod, and for how long: seconds by thousandths of a
    /// percent.
    pub decreases: BTreeMap<i64, u64>,
    /// The metrics of both runs during the days that were requested.
    pub snapshot: Vec<Moment>,
}

/// The metrics of both runs from one moment on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Seconds since the trace began.
    pub time_s: u64,
    /// Metrics of `CorrOpt` alone.
    pub corropt: Metrics,
    /// Metrics with protection, then `CorrOpt`.
    pub protected: Metrics,
}

/// Runs both strategies on the trace of a seed, at a constraint. The moments of `snapshot_days` are kept.
pub(super) fn pair(
    topology: &Topology,
    constraint: f64,
    seed: u64,
    days: u64,
    snapshot_days: Range<u64>,
) -> Pair {
    let length_s = days * DAY_S;
    let trace = TraceParameters { length_s, ..TraceParameters::paper(seed) }.generate(topology);
    let (corropt, corropt_steps) = run(topology, &trace, Strategy::CorrOpt, constraint, seed);
    let (protected, protected_steps) = run(topology, &trace, Strategy::ProtectCorrOpt, constraint, seed);
    let mut pair = Pair { seed, corropt, protected, ..Pair::default() };
    let kept_s = snapshot_days.start * DAY_S..snapshot_days.end * DAY_S;
    let mut weeks = vec![BTreeMap::new(); (length_s / WEEK_S) as usize];
    side_by_side(&corropt_steps, &protected_steps, |moment, seconds| {
        pair.count(&moment, seconds);
        count_in_weeks(&mut weeks, gain(&moment), moment.time_s, seconds);
        if kept_s.contains(&moment.time_s) {
            pair.snapshot.push(moment);
        }
    });
    pair.weeks = weeks.iter().filter_map(median_gain).collect();
    pair
}

/// By how much protection lowers the total penalty at this moment, in thousandths of a decade.
fn gain(moment: &Moment) -> i64 {
    let gain = moment.corropt.total_penalty / moment.protected.total_effective_penalty;
    (libm::log10(gain) * STEPS).round() as i64
}

/// Adds a gain that lasted for so many seconds to the weeks in which it did.
fn count_in_weeks(weeks: &mut [BTreeMap<i64, u64>], gain: i64, mut from_s: u64, seconds: u64) {
    let end_s = from_s + seconds;
    while from_s < end_s {
        let week = from_s / WEEK_S;
        let until_s = end_s.min((week + 1) * WEEK_S);
        if let Some(gains) = weeks.get_mut(week as usize) {
            *gains.entry(gain).or_insert(0) += until_s - from_s;
        }
        from_s = until_s;
    }
}

/// The median of a distribution of gains over the time in which there is one, in decades.
pub(super) fn median_gain(gains: &BTreeMap<i64, u64>) -> Option<f64> {
    let total: u64 = gains.range(1..).map(|(_, seconds)| seconds).sum();
    let mut passed = 0;
    gains.range(1..).find_map(|(&gain, seconds)| {
        passed += seconds;
        (2 * passed >= total).then_some(gain as f64 / STEPS)
    })
}

impl Pair {
    fn count(&mut self, moment: &Moment, seconds: u64) {
        *self.gains.entry(gain(moment)).or_insert(0) += seconds;
        let (without, with) = (moment.corropt.min_pod_capacity_gbps, moment.protected.min_pod_capacity_gbps);
        let decrease = (without - with) / without * 100.0;
        *self.decreases.entry((decrease * STEPS).round() as i64).or_insert(0) += seconds;
    }
}

fn run(
    topology: &Topology,
    trace: &Trace,
    strategy: Strategy,
    constraint: f64,
    seed: u64,
) -> (Summary, Vec<Step>) {
    let mut steps = Vec::with_capacity(2 * trace.events().len());
    let settings = Settings::paper(strategy, constraint, seed);
    let summary = simulate(topology, trace, &settings, &mut |step, _| steps.push(*step));
    (summary, steps)
}

/// Steps through two runs at once, and reports every moment at which either changes, with the time until the next
/// change.
fn side_by_side(corropt: &[Step], protected: &[Step], mut tell: impl FnMut(Moment, u64)) {
    let (Some(first), Some(other)) = (corropt.first(), protected.first()) else { return };
    let mut moment =
        Moment { time_s: first.time_s.min(other.time_s), corropt: first.before, protected: other.before };
    let (mut left, mut right) = (corropt.iter().peekable(), protected.iter().peekable());
    loop {
        let next_s = [left.peek(), right.peek()].iter().flatten().map(|step| step.time_s).min();
        let Some(next_s) = next_s else { return };
        if next_s > moment.time_s {
            tell(moment, next_s - moment.time_s);
        }
        moment.time_s = next_s;
        if let Some(step) = left.next_if(|step| step.time_s == next_s) {
            moment.corropt = step.after;
        }
        if let Some(step) = right.next_if(|step| step.time_s == next_s) {
            moment.protected = step.after;
        }
    }
}

/// Merges distributions over time, and returns each value's share of the time.
pub fn merged<'a>(counts: impl Iterator<Item = &'a BTreeMap<i64, u64>>) -> Vec<(f64, u64)> {
    let mut sum: BTreeMap<i64, u64> = BTreeMap::new();
    for count in counts {
        for (&value, &seconds) in count {
            *sum.entry(value).or_insert(0) += seconds;
        }
    }
    sum.into_iter().map(|(value, seconds)| (value as f64 / STEPS, seconds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_that_lasts_into_the_next_week_counts_in_both() {
        let mut weeks = vec![BTreeMap::new(); 2];
        count_in_weeks(&mut weeks, 4_500, WEEK_S - 10, 40);
        count_in_weeks(&mut weeks, 0, WEEK_S + 30, WEEK_S);
        count_in_weeks(&mut weeks, 6_000, 0, 9);
        let seconds = |week: usize, gain: i64| weeks[week].get(&gain).copied();
        assert_eq!([seconds(0, 4_500), seconds(0, 6_000), seconds(0, 0)], [Some(10), Some(9), None]);
        assert_eq!([seconds(1, 4_500), seconds(1, 0)], [Some(30), Some(WEEK_S - 30)]);
        // Time without a gain does not count.
        assert_eq!([0, 1].map(|week: usize| median_gain(&weeks[week])), [Some(4.5), Some(4.5)]);
        assert_eq!(median_gain(&BTreeMap::from([(0, 100)])), None);
    }
}
