//! The plots of experiments with flows.

use super::definition::{Figure, FlowExperiment, Point};
use super::outcome::{FlowOutcome, distribution, slowdowns_by_size};
use super::parameters::{FAILURE_EVERY, FlowParameters, PAIRED};
use linkmend_experiment::Parameters;
use linkmend_quantity::LossRate;
use linkmend_report::{Axis, Distribution, GroupedBars, Plot, Scatter, Series, TailPlot, Unit};
use std::collections::BTreeSet;

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

/// What tells the points of a plot from each other.
fn conditions(experiment: &FlowExperiment, points: &[usize]) -> Vec<String> {
    let points: Vec<&Point> = points.iter().map(|index| &experiment.points[*index]).collect();
    let short: Vec<String> = points.iter().map(|point| condition(experiment, point)).collect();
    // Without losses, it is something else: what differs where it is given, or else that it is given at all.
    let differing = |counts_absence: bool| -> Vec<String> {
        let differs = |key: &&str| {
            let words = points.iter().map(|point| point.word(key));
            words.filter(|word| word.is_some() || counts_absence).collect::<BTreeSet<_>>().len() > 1
        };
        let keys: Vec<&str> = PAIRED.into_iter().filter(differs).collect();
        points.iter().map(|point| words(point, &keys)).collect()
    };
    let is_clear = |names: &Vec<String>| names.iter().collect::<BTreeSet<_>>().len() == points.len();
    let names = [short, differing(false)].into_iter().find(is_clear).unwrap_or_else(|| differing(true));
    let fail = points.iter().any(|point| point.word(FAILURE_EVERY).is_some());
    let plain = |point: &Point| {
        let is_whole = fail && point.word(FAILURE_EVERY).is_none();
        if is_whole { "no failures".to_owned() } else { point.word("loss").unwrap_or_default() }
    };
    let named = |(name, point): (String, &&Point)| if name.is_empty() { plain(point) } else { name };
    names.into_iter().zip(&points).map(named).collect()
}

fn words(point: &Point, keys: &[&str]) -> String {
    keys.iter().filter_map(|key| point.word(key)).collect::<Vec<_>>().join(", ")
}

/// What is special about a point, in short.
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
    let keys: Vec<&str> =
        keys.filter(|key| experiment.varied.contains(key) && !(one_loss && *key == "loss")).collect();
    words(point, &keys)
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
    for (index, name) in points.iter().zip(conditions(experiment, points)) {
        let percentiles = distribution(&outcomes[*index], above_percentile / 100.0);
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
    for (index, name) in points.iter().zip(conditions(experiment, points)) {
        let line = slowdowns_by_size(&outcomes[*index], PARTS, SHARE);
        plot = plot.series(Series::joined(name, line));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::flows::built_in;

    #[test]
    fn the_lines_of_a_plot_have_different_names() {
        for experiment in built_in().expect("they parse") {
            let plots = match experiment.extra {
                Figure::Tail { .. } | Figure::Slowdown => groups(&experiment),
                Figure::Distributions => panels(&experiment),
                Figure::Goodput | Figure::Groups => continue,
            };
            for (plot, points) in plots {
                let names = conditions(&experiment, &points);
                let distinct: BTreeSet<_> = names.iter().filter(|name| !name.is_empty()).collect();
                assert_eq!(distinct.len(), points.len(), "{}, {plot}: {names:?}", experiment.id);
            }
        }
    }

    #[test]
    fn lines_are_named_by_what_differs() {
        let of = |id: &str, plot: usize| {
            let experiments = built_in().expect("they parse");
            let experiment = experiments.iter().find(|experiment| experiment.id == id).expect("it is there");
            let plots = if experiment.extra == Figure::Distributions {
                panels(experiment)
            } else {
                groups(experiment)
            };
            conditions(experiment, &plots[plot].1)
        };
        assert_eq!(of("fig12", 0), ["no loss", "unprotected", "ordered", "non-blocking"]);
        assert_eq!(of("rdma-fig10", 0), ["no loss", "loss rate 1e-3"]);
        let sqr = of("sqr-long-flow", 0);
        assert_eq!(
            sqr,
            [
                "sharebackup, no hand-off",
                "sharebackup, SQR",
                "sharebackup, acknowledged",
                "local, SQR",
                "no failures"
            ]
        );
        assert_eq!(
            of("load-balanced", 0)[..2],
            ["duplicate-acks, placement uniform", "adaptive-duplicate-acks, placement uniform"]
        );
    }
}
