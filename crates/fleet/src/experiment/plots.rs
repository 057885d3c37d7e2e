//! The plots of evaluations, from their results.

use super::definition::{Figure, FleetExperiment, Point};
use super::outcome::FleetOutcome;
use super::pair::{Moment, Pair, merged};
use super::parameters::CONSTRAINT;
use super::tables::name;
use super::upgrades::{PodChoice, UpgradeRun, pod_count, spared, with_top_label};
use linkmend_experiment::Runs;
use linkmend_report::{Axis, Panel, Plot, Scatter, Series, Timeline, Unit};

/// Time between the points of a drawn week: ten minutes, in seconds.
const STEP_S: u64 = 600;
/// Seconds in a day.
const DAY_S: f64 = 86_400.0;
/// Points drawn per decade or percent of a distribution.
const DRAWN: f64 = 100.0;

/// The plots of an experiment. There is one outcome for each point.
pub fn all(experiment: &FleetExperiment, outcomes: &[FleetOutcome]) -> Vec<Plot> {
    match experiment.extra {
        Figure::Week => {
            of_pairs(experiment, outcomes).map(|(point, pairs)| week(experiment, point, pairs)).collect()
        }
        Figure::Differences => vec![gains(experiment, outcomes), decreases(experiment, outcomes)],
        Figure::Deployment => of_upgrades(experiment, outcomes)
            .map(|(point, runs)| curves(&name(experiment, point), runs))
            .collect(),
    }
}

/// Each point with its pairs of runs.
fn of_pairs<'a>(
    experiment: &'a FleetExperiment,
    outcomes: &'a [FleetOutcome],
) -> impl Iterator<Item = (&'a Point, &'a Runs<Pair>)> {
    experiment.points.iter().zip(outcomes).filter_map(|(point, outcome)| Some((point, outcome.pairs()?)))
}

/// Each point with its runs of upgrades.
fn of_upgrades<'a>(
    experiment: &'a FleetExperiment,
    outcomes: &'a [FleetOutcome],
) -> impl Iterator<Item = (&'a Point, &'a Runs<UpgradeRun>)> {
    experiment.points.iter().zip(outcomes).filter_map(|(point, outcome)| Some((point, outcome.upgrades()?)))
}

/// A week of the first year: penalties, paths, capacity.
fn week(experiment: &FleetExperiment, point: &Point, pairs: &Runs<Pair>) -> Plot {
    let moments: &[Moment] = pairs.iter().next().map_or(&[], |pair| &pair.snapshot);
    let kept = point.value(CONSTRAINT).map_or_else(String::new, |value| value.text);
    let series = |name: &str, value: fn(&Moment) -> f64| Series::step(name, sampled(moments, value));
    let penalty = Panel::new(Axis::new("total penalty", Unit::Plain).log())
        .series(series("CorrOpt", |moment| moment.corropt.total_penalty))
        .series(series("protection + CorrOpt", |moment| moment.protected.total_effective_penalty));
    let paths = Panel::new(Axis::new("minimum paths per ToR", Unit::Count))
        .series(series("CorrOpt", |moment| moment.corropt.min_paths_per_tor as f64))
        .series(series("protection + CorrOpt", |moment| moment.protected.min_paths_per_tor as f64));
    let capacity = Panel::new(Axis::new("minimum capacity per pod", Unit::BitPerSecond))
        .series(series("CorrOpt", |moment| moment.corropt.min_pod_capacity_gbps * 1e9))
        .series(series("protection + CorrOpt", |moment| moment.protected.min_pod_capacity_gbps * 1e9));
    Timeline::new(format!("A week at {}", name(experiment, point)))
        .time(Axis::new("time", Unit::Other("d")))
        .describe(format!(
            "Every ToR keeps at least {kept} of its paths to the spines. Sampled every ten minutes."
        ))
        .panel(penalty)
        .panel(paths)
        .panel(capacity)
        .into()
}

/// The value at every step, with the time in days.
fn sampled(moments: &[Moment], value: fn(&Moment) -> f64) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else { return Vec::new() };
    let mut later = moments.iter().peekable();
    let mut now = first;
    let steps = (first.time_s / STEP_S + 1)..=(last.time_s / STEP_S);
    steps
        .map(|step| {
            while let Some(next) = later.next_if(|moment| moment.time_s <= step * STEP_S) {
                now = next;
            }
            ((step * STEP_S) as f64 / DAY_S, value(now))
        })
        .collect()
}

fn gains(experiment: &FleetExperiment, outcomes: &[FleetOutcome]) -> Plot {
    let axis = Axis::new("gain in total penalty (times)", Unit::Plain).log();
    let mut plot = Scatter::new(
        "What protection gains over CorrOpt alone",
        axis,
        Axis::new("share of time", Unit::Share).from(0.0).to(1.0),
    )
    .describe(
        "Share of the time during which the total penalty (the sum of the loss rates of all links in operation) \
         is reduced by at most this factor. 1 means no difference.",
    );
    for (point, pairs) in of_pairs(experiment, outcomes) {
        let points = distribution(merged(pairs.iter().map(|pair| &pair.gains)));
        let points = points.into_iter().map(|(orders, share)| (libm::pow(10.0, orders), share));
        plot = plot.series(Series::step(name(experiment, point), points));
    }
    plot.into()
}

fn decreases(experiment: &FleetExperiment, outcomes: &[FleetOutcome]) -> Plot {
    let mut plot = Scatter::new(
        "What protection costs",
        Axis::new("decrease in minimum capacity per pod", Unit::Share),
        Axis::new("share of time", Unit::Share).from(0.0).to(1.0),
    )
    .describe(
        "Share of the time during which the minimum capacity of a pod is lower by at most this much \
     with protection.",
    );
    for (point, pairs) in of_pairs(experiment, outcomes) {
        let points = distribution(merged(pairs.iter().map(|pair| &pair.decreases)));
        let points = points.into_iter().map(|(decrease, share)| (decrease / 100.0, share));
        // As far as the capacity is never higher with protection, the distribution begins at 0.
        let start = points.clone().next().filter(|(least, _)| *least > 0.0).map(|_| (0.0, 0.0));
        let points = start.into_iter().chain(points);
        plot = plot.series(Series::step(name(experiment, point), points));
    }
    plot.into()
}

/// Each value with the share of time at or below it, reduced to visible points.
fn distribution(counts: Vec<(f64, u64)>) -> Vec<(f64, f64)> {
    let total: u64 = counts.iter().map(|(_, seconds)| seconds).sum();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut passed = 0;
    for (value, seconds) in counts {
        passed += seconds;
        let point = (value, passed as f64 / total as f64);
        match points.last_mut() {
            Some(last) if (last.0 * DRAWN).floor() == (value * DRAWN).floor() && value != 0.0 => {
                *last = point
            }
            _ => points.push(point),
        }
    }
    points
}

fn curves(name: &str, runs: &Runs<UpgradeRun>) -> Plot {
    let mut plot = Scatter::new(
        format!("Which pods to upgrade first, at {name}"),
        Axis::new("pods upgraded", Unit::Share),
        Axis::new("share of the loss that protection everywhere would avoid", Unit::Share).with_zero(),
    )
    .describe("Means over all years, for the half year after the pods were selected.");
    let count = pod_count(runs);
    for with_top in [true, false] {
        for choice in PodChoice::ALL {
            let point = |pods: usize| {
                let share = pods as f64 / count.max(1) as f64;
                spared(runs, choice, with_top, pods).map(|estimate| (share, estimate.value))
            };
            let label = format!("{}, {}", choice.label(), with_top_label(with_top));
            plot = plot.series(Series::line(label, (0..=count).filter_map(point)));
        }
    }
    plot.into()
}
