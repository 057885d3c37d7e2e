//! Presents experiments with simulated fleets: makes comparisons, plots and tables from pairs of runs.

use super::finished::Finished;
use linkmend_fleet::experiment::{Figure, FleetExperiment, Moment, Pair, PairMetric, merged};
use linkmend_report::{Axis, Cell, Column, Panel, Plot, Scatter, Series, Table, Timeline, Unit};
use serde_json::{Value, json};

/// Time between the points of a drawn week: ten minutes, in seconds.
const STEP_S: u64 = 600;
/// Seconds in a day.
const DAY_S: f64 = 86_400.0;
/// Points drawn per decade or percent of a distribution.
const DRAWN: f64 = 100.0;

/// The metrics that the table of years shows.
const METRICS: [PairMetric; 5] = [
    PairMetric::PenaltyReductionOrders,
    PairMetric::NoDifferenceTime,
    PairMetric::NotDisablable,
    PairMetric::CorruptingInUse,
    PairMetric::MaxProtectedLinksPerPipe,
];

/// Makes comparisons, plots and tables. `pairs` are sorted by constraint, then by seed.
pub fn finish(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Finished {
    let years = years(experiment, pairs);
    Finished {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        about: experiment.about.clone(),
        text: experiment.text.clone(),
        comparisons: experiment.compare(pairs),
        plots: match experiment.figure {
            Figure::Deployment => Vec::new(),
            Figure::Week => each(experiment, pairs).map(|(percent, pairs)| week(percent, pairs)).collect(),
            Figure::Differences => vec![gains(experiment, pairs), decreases(experiment, pairs)],
        },
        points: years.clone(),
        shown: Some(means(experiment, pairs)),
        briefly: Some(means(experiment, pairs)),
        point_count: pairs.iter().map(Vec::len).sum(),
        results: results(experiment, pairs),
    }
}

/// Returns each constraint in percent, with its results.
pub fn each<'a, T>(
    experiment: &'a FleetExperiment,
    runs: &'a [Vec<T>],
) -> impl Iterator<Item = (f64, &'a [T])> {
    experiment.constraints_pct.iter().copied().zip(runs.iter().map(Vec::as_slice))
}

/// A week of the first year: penalties, paths, capacity.
fn week(percent: f64, pairs: &[Pair]) -> Plot {
    let moments: &[Moment] = pairs.first().map_or(&[], |pair| &pair.snapshot);
    let series = |name: &str, value: fn(&Moment) -> f64| Series::step(name, sampled(moments, value));
    let penalty = Panel::new(Axis::new("total penalty", Unit::Plain).log())
        .series(series("CorrOpt", |moment| moment.corropt.total_penalty))
        .series(series("protection + CorrOpt", |moment| moment.protected.total_effective_penalty));
    let paths = Panel::new(Axis::new("least paths per ToR", Unit::Count))
        .series(series("CorrOpt", |moment| moment.corropt.min_paths_per_tor as f64))
        .series(series("protection + CorrOpt", |moment| moment.protected.min_paths_per_tor as f64));
    let capacity = Panel::new(Axis::new("least capacity per pod", Unit::BitPerSecond))
        .series(series("CorrOpt", |moment| moment.corropt.min_pod_capacity_gbps * 1e9))
        .series(series("protection + CorrOpt", |moment| moment.protected.min_pod_capacity_gbps * 1e9));
    Timeline::new(format!("A week at {percent} % of paths"))
        .time(Axis::new("time", Unit::Other("d")))
        .describe(format!(
            "Every ToR keeps at least {percent} % of its paths to the spines. Sampled every ten minutes."
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

fn gains(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Plot {
    let axis = Axis::new("total penalty of CorrOpt over that with protection", Unit::Plain).log();
    let mut plot = Scatter::new(
        "Gain in total penalty",
        axis,
        Axis::new("share of time", Unit::Share).with_zero(),
    )
    .describe(
        "For how much of the time the total penalty (the loss rates of all links in operation, added up) is at most so many \
         times less. 1 is no difference.",
    );
    for (percent, pairs) in each(experiment, pairs) {
        let points = distribution(merged(pairs.iter().map(|pair| &pair.gains)));
        let points = points.into_iter().map(|(orders, share)| (10_f64.powf(orders), share));
        plot = plot.series(Series::step(format!("{percent} % of paths"), points));
    }
    plot.into()
}

fn decreases(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Plot {
    let mut plot = Scatter::new(
        "Decrease in least capacity per pod",
        Axis::new("decrease", Unit::Share),
        Axis::new("share of time", Unit::Share).with_zero(),
    )
    .describe("For how much of the time the pod that has least has at most so much less with protection.");
    for (percent, pairs) in each(experiment, pairs) {
        let points = distribution(merged(pairs.iter().map(|pair| &pair.decreases)));
        let points = points.into_iter().map(|(decrease, share)| (decrease / 100.0, share));
        plot = plot.series(Series::step(format!("{percent} % of paths"), points));
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

/// Means over the years, one row for each constraint.
fn means(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Table {
    let mut table =
        Table::new(format!("{}: means over all years", experiment.title)).column(Column::text("Paths kept"));
    for metric in METRICS {
        table = table.column(Column::number(metric.label(), metric.quantity().unit()));
    }
    for (percent, pairs) in each(experiment, pairs) {
        let values = METRICS.map(|metric| {
            metric.estimate(pairs).map_or_else(Cell::missing, |estimate| Cell::number(estimate.value))
        });
        table.push_row([Cell::text(format!("{percent} %"))].into_iter().chain(values));
    }
    table
}

/// One row for each year.
fn years(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Table {
    let mut table = Table::new(format!("{}: all years", experiment.title))
        .column(Column::text("Paths kept"))
        .column(Column::number("Seed", Unit::Count));
    for metric in METRICS {
        table = table.column(Column::number(metric.label(), metric.quantity().unit()));
    }
    for (percent, pairs) in each(experiment, pairs) {
        for pair in pairs {
            let values = METRICS.map(|metric| metric.of(pair).map_or_else(Cell::missing, Cell::number));
            let head = [Cell::text(format!("{percent} %")), Cell::number(pair.seed as f64)];
            table.push_row(head.into_iter().chain(values));
        }
    }
    table
}

fn results(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Value {
    let command = |percent: f64, seed: u64| {
        format!("linkmend fleet simulate --constraint {percent}% --days {} --seed {seed}", experiment.days)
    };
    let rows = each(experiment, pairs).flat_map(|(percent, pairs)| {
        pairs.iter().map(move |pair| {
            json!({
                "constraint_pct": percent,
                "seed": pair.seed,
                "command": command(percent, pair.seed),
                "corropt": pair.corropt,
                "protect+corropt": pair.protected,
            })
        })
    });
    Value::Array(rows.collect())
}
