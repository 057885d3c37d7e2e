//! What partial deployments achieve, for each way of choosing their pods (section 5).

use super::pair::DAY_S;
use crate::simulate::Settings;
use crate::strategy::Strategy;
use crate::trace::TraceParameters;
use crate::upgrades::{Upgrades, spared_in};
use linkmend_experiment::{Measurement, Runs, stored};
use linkmend_topology::{Topology, ZoneId};

/// How the pods to upgrade are chosen, halfway through a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodChoice {
    /// Choose the pods that will spare the most. Nobody can know these; they are the upper bound.
    Hindsight,
    /// Choose the pods that would have spared the most in the last week.
    LastWeek,
    /// Choose the pods that would have spared the most in the first half of the trace.
    FirstHalf,
    /// Choose pods at random.
    Any,
}

impl PodChoice {
    /// All ways of choosing pods.
    pub const ALL: [PodChoice; 4] =
        [PodChoice::Hindsight, PodChoice::LastWeek, PodChoice::FirstHalf, PodChoice::Any];

    /// Its name for people.
    pub fn label(self) -> &'static str {
        match self {
            PodChoice::Hindsight => "best in hindsight",
            PodChoice::LastWeek => "by the last week",
            PodChoice::FirstHalf => "by the first half",
            PodChoice::Any => "any pods",
        }
    }
}

/// How much upgrades spare in the second half of a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct UpgradeRun {
    /// Seed of the trace and of the repairs.
    pub seed: u64,
    /// By how much protection of every link lowers the total penalty.
    pub all: f64,
    /// The number of pods from which on the top layer is worth its switches.
    pub pods_before_top: Option<usize>,
    /// For each choice, without and with the top layer: the share of `all` that is spared by any number of pods, from
    /// none to all.
    curves: Vec<(PodChoice, bool, Vec<f64>)>,
}

stored!(UpgradeRun; seed, all, pods_before_top, curves);

impl UpgradeRun {
    /// The share of what protection of every link would spare, by number of upgraded pods.
    pub fn curve(&self, choice: PodChoice, with_top: bool) -> &[f64] {
        let curve = self.curves.iter().find(|curve| (curve.0, curve.1) == (choice, with_top));
        curve.map_or(&[], |curve| &curve.2)
    }
}

/// Runs `CorrOpt` on the trace of a seed, at a constraint.
pub(super) fn upgrade_run(topology: &Topology, constraint: f64, seed: u64, days: u64) -> UpgradeRun {
    let length_s = days * DAY_S;
    let trace = TraceParameters { length_s, ..TraceParameters::paper(seed) }.generate(topology);
    let settings = Settings::paper(Strategy::CorrOpt, constraint, seed);
    let half_s = length_s / 2;
    let windows_s = [half_s..length_s, half_s.saturating_sub(7 * DAY_S)..half_s, 0..half_s];
    let spared = spared_in(topology, &trace, &settings, &windows_s);
    let [to_come, last_week, first_half] =
        [0, 1, 2].map(|window: usize| Upgrades::new(topology, &spared[window..=window]));
    let mut curves = Vec::new();
    for with_top in [false, true] {
        for choice in PodChoice::ALL {
            let curve = match choice {
                PodChoice::Hindsight => along(&to_come, &to_come, with_top),
                PodChoice::LastWeek => along(&last_week, &to_come, with_top),
                PodChoice::FirstHalf => along(&first_half, &to_come, with_top),
                PodChoice::Any => evenly(&to_come, with_top),
            };
            curves.push((choice, with_top, curve));
        }
    }
    UpgradeRun { seed, all: to_come.all(), pods_before_top: to_come.pods_before_top(), curves }
}

/// The share that is spared in the second half, pod by pod, in the order known at its beginning.
fn along(known: &Upgrades, to_come: &Upgrades, with_top: bool) -> Vec<f64> {
    let order: Vec<ZoneId> = known.order(with_top).into_iter().map(|pod| pod.zone).collect();
    let mut sum = 0.0;
    let sums = order.iter().map(|zone| {
        sum += to_come.pods()[zone.index()].mean(with_top);
        sum
    });
    shares(to_come, std::iter::once(0.0).chain(sums))
}

/// The mean over all choices of the same number of pods.
fn evenly(to_come: &Upgrades, with_top: bool) -> Vec<f64> {
    let count = to_come.pods().len();
    let whole = to_come.spared(count, with_top);
    shares(to_come, (0..=count).map(|pods| whole * pods as f64 / count.max(1) as f64))
}

fn shares(to_come: &Upgrades, sums: impl Iterator<Item = f64>) -> Vec<f64> {
    let all = to_come.all();
    // Sums over the same pods in another order differ in their last digits.
    let rounded = |share: f64| (share * 1e9).round() / 1e9;
    sums.map(|sum| if all > 0.0 { rounded(sum / all) } else { 0.0 }).collect()
}

/// How tables and plots name whether the top layer is upgraded as well.
pub(super) fn with_top_label(with_top: bool) -> &'static str {
    if with_top { "and the top layer" } else { "pods alone" }
}

/// Mean over the runs of what a number of pods spares.
pub(super) fn spared(
    runs: &Runs<UpgradeRun>,
    choice: PodChoice,
    with_top: bool,
    pods: usize,
) -> Option<Measurement> {
    runs.mean(|run| run.curve(choice, with_top).get(pods).copied())
}

pub(super) fn pod_count(runs: &Runs<UpgradeRun>) -> usize {
    runs.iter().next().map_or(0, |run| run.curve(PodChoice::Any, false).len().saturating_sub(1))
}
