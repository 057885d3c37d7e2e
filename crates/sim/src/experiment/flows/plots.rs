//! The plots of experiments with flows.

use super::definition::{Figure, FlowExperiment, Point};
use super::outcome::{FlowOutcome, distribution, slowdowns_by_size};
use super::parameters::{FlowParameters, PAIRED};
use linkmend_experiment::Parameters;
use linkmend_quantity::LossRate;
use linkmend_report::{Axis, Distribution, GroupedBars, Plot, Scatter, Series, TailPlot, Unit};

/// The plots of an experiment. There is one outcome for each point.
pub fn all(experiment: &FlowExperiment, outcomes: &[FlowOutcome]) -> Vec<Plot> {
    match experiment.extra {
        Figure::Tail { above_percentile } => groups(experiment)
            .into_iter()
            .map(|(name, points)| tail((experiment, outcomes), &name, &points, above_percentile))
            .collect(),
        Figure::Distributions => panels(experiment)
            .into_iter()
            .map(|(name, points)| tail((experiment, outcomes), &name, &points, 0.0))
            .collect(),
        Figure::Slowdown => groups(experiment)
            .into_iter()
            .map(|(name, points)| slowdown((experiment, outcomes), &name, &points))
            .collect(),
        Figure::Goodput => vec![goodput(experiment, outcomes)],
        Figure::Groups => vec![groups_of_affected(experiment, outcomes)],
    }
}

/// The points that one plot compares: those that differ only in losses, and in what recovers from them.
fn groups(experiment: &FlowExperiment) -> Vec<(String, Vec<usize>)> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, point) in experiment.points.iter().enumerate() {
        let keys = FlowParameters::keys().filter(|key| !PAIRED.contains(key));
        let keys = keys.filter(|key| experiment.varied.contains(key));
        let name = keys.filter_map(|key| point.word(key)).collect::<Vec<_>>().join(", ");
        match groups.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push(index),
            None => groups.push((name, vec![index])),
        }
    }
    groups
}

/// The same for each loss rate, with the points without loss in each.
fn panels(experiment: &FlowExperiment) -> Vec<(String, Vec<usize>)> {
    let loss = |index: usize| experiment.points[index].parameters.loss.map_or(0.0, |loss| loss.0);
    let mut panels = Vec::new();
    for (name, points) in groups(experiment) {
        let mut losses: Vec<f64> =
            points.iter().map(|point| loss(*point)).filter(|loss| *loss > 0.0).collect();
        losses.sort_by(f64::total_cmp);
        losses.dedup();
        for rate in losses.into_iter().rev() {
            let of_panel = |point: &usize| loss(*point) == 0.0 || loss(*point) == rate;
            let of_panel = points.iter().copied().filter(of_panel).collect();
            panels.push((format!("{name}, loss {}", LossRate(rate)), of_panel));
        }
    }
    panels
}

/// What tells a point from the others of its plot.
fn condition(experiment: &FlowExperiment, point: &Point) -> String {
    let is_lossless = point.parameters.loss.is_some_and(|loss| loss.0 == 0.0);
    if is_lossless && point.word("scheme").as_deref() == Some("unprotected") {
        return "no loss".to_owned();
    }
    let losses: Vec<_> = experiment.points.iter().filter_map(|point| point.parameters.loss).collect();
    let lossy = losses.iter().find(|loss| loss.0 > 0.0);
    let is_panel = experiment.extra == Figure::Distributions;
    let one_loss = is_panel || losses.iter().all(|loss| loss.0 == 0.0 || Some(loss) == lossy);
    let keys = PAIRED.into_iter();
    let keys = keys.filter(|key| experiment.varied.contains(key) && !(one_loss && *key == "loss"));
    keys.filter_map(|key| point.word(key)).collect::<Vec<_>>().join(", ")
}

fn tail(
    (experiment, outcomes): (&FlowExperiment, &[FlowOutcome]),
    name: &str,
    points: &[usize],
    above_percentile: f64,
) -> Plot {
    let title =
        if name.is_empty() { experiment.title.clone() } else { format!("{}: {name}", experiment.title) };
    let axis = Axis::new("flow completion time", Unit::Second).log();
    let mut plot = TailPlot::new(title, axis).above_percentile(above_percentile);
    for index in points {
        let percentiles = distribution(&outcomes[*index], above_percentile / 100.0);
        let name = condition(experiment, &experiment.points[*index]);
        plot = plot.series(Distribution::from_percentiles(name, percentiles));
    }
    plot.into()
}

/// Slowdowns by flow size, a line for each way to recover.
fn slowdown((experiment, outcomes): (&FlowExperiment, &[FlowOutcome]), name: &str, points: &[usize]) -> Plot {
    /// Parts of all flows, with as many flows each.
    const PARTS: usize = 10;
    const SHARE: f64 = 0.999;
    let size = Axis::new("flow size", Unit::Byte).log();
    let times = Axis::new("slowdown, 99.9th percentile", Unit::Plain).log();
    let mut plot = Scatter::new(format!("{}: {name}", experiment.title), size, times);
    for index in points {
        let line = slowdowns_by_size(&outcomes[*index], PARTS, SHARE);
        plot = plot.series(Series::joined(condition(experiment, &experiment.points[*index]), line));
    }
    plot.into()
}

/// Goodput at each loss rate, bars for each scheme.
fn goodput(experiment: &FlowExperiment, outcomes: &[FlowOutcome]) -> Plot {
    let text = |point: &Point, key: &str| point.value(key).map_or_else(String::new, |value| value.text);
    let distinct = |key: &str| {
        let mut texts: Vec<String> = Vec::new();
        for point in &experiment.points {
            let text = text(point, key);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    };
    let losses = distinct("loss");
    let axis = Axis::new("goodput", Unit::BitPerSecond).with_zero();
    let mut plot = GroupedBars::new("Goodput of one flow", "loss rate", axis).categories(losses.clone());
    for scheme in distinct("scheme") {
        let value = |loss: &String| {
            let is_it = |point: &Point| text(point, "scheme") == scheme && text(point, "loss") == *loss;
            let index = experiment.points.iter().position(is_it)?;
            let mean = outcomes.get(index)?.mean(|run| Some(run.report.goodput_gbps * 1e9))?;
            Some(mean.value)
        };
        let values: Vec<f64> = losses.iter().map(|loss| value(loss).unwrap_or(f64::NAN)).collect();
        plot = plot.series(FlowParameters::word("scheme", scheme), values);
    }
    plot.into()
}

/// The groups of affected flows, bars for each point.
fn groups_of_affected(experiment: &FlowExperiment, outcomes: &[FlowOutcome]) -> Plot {
    const GROUPS: [(&str, &str); 4] = [
        ("group_a_pct", "A: at most 2 segments SACKed"),
        ("group_b_pct", "B: the same, tail lost"),
        ("group_c_pct", "C: more, all was sent"),
        ("group_d_pct", "D: more, some was not"),
    ];
    let categories: Vec<_> = GROUPS.iter().map(|(_, label)| (*label).to_owned()).collect();
    let axis = Axis::new("share of flows whose sender received a SACK", Unit::Share).with_zero();
    let mut plot = GroupedBars::new(experiment.title.clone(), "group", axis).categories(categories);
    for (point, outcome) in experiment.points.iter().zip(outcomes) {
        let share = |(name, _): &(&str, &str)| {
            let metric = experiment.metrics.iter().find(|metric| metric.name == *name)?;
            Some(metric.value(outcome)?.value)
        };
        let values: Vec<_> = GROUPS.iter().map(|group| share(group).unwrap_or(f64::NAN)).collect();
        let name: Vec<_> = experiment.varied.iter().filter_map(|key| point.word(key)).collect();
        plot = plot.series(name.join(", "), values);
    }
    plot.into()
}
