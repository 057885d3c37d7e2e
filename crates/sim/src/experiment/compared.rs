//! Which points of an experiment with flows one plot compares, and how their lines are called.

use super::definition::{Experiment, PlotSpec, Point};
use super::file::PlotKind;
use crate::parameters::{PAIRED, RunParameters};
use linkmend_experiment::Parameters;
use std::collections::BTreeSet;

/// What the name of a plot has only if plots could not be told apart without it, in this order.
const LEAST_TELLING: [&str; 5] = ["trials", "duration", "topology", "traffic", "bit-errors"];

/// Points that one plot compares, and what they have in common that other plots of the experiment do not.
pub(super) type Compared = (String, Vec<usize>);

/// The points of each plot: those that differ only in what causes losses and recovers from them. The plot may ask to divide them
/// further.
pub(super) fn panels(experiment: &Experiment, spec: &PlotSpec) -> Vec<Compared> {
    let groups = groups(experiment, spec);
    let keys: &[&str] = match spec.kind {
        PlotKind::Distributions if spec.panels.is_empty() => &["loss"],
        _ => &spec.panels,
    };
    keys.iter().fold(groups, |groups, key| {
        groups.into_iter().flat_map(|group| divided(experiment, group, key)).collect()
    })
}

fn groups(experiment: &Experiment, spec: &PlotSpec) -> Vec<Compared> {
    let shared = |key: &&str| !PAIRED.contains(key) && experiment.varied.contains(key);
    let mut keys: Vec<&str> = RunParameters::keys().filter(shared).collect();
    let mut groups: Vec<(Vec<Option<String>>, Vec<usize>)> = Vec::new();
    for index in experiment.select(&spec.at) {
        let values = keys.iter().map(|key| experiment.points[index].word(key)).collect();
        match groups.iter_mut().find(|(other, _)| *other == values) {
            Some((_, points)) => points.push(index),
            None => groups.push((values, vec![index])),
        }
    }
    let names = |keys: &[&str]| -> Vec<String> {
        groups.iter().map(|(_, points)| words(&experiment.points[points[0]], keys)).collect()
    };
    for key in LEAST_TELLING {
        let without: Vec<&str> = keys.iter().copied().filter(|other| *other != key).collect();
        if is_clear(&names(&without)) {
            keys = without;
        }
    }
    // A single plot is named by its title.
    let names = if groups.len() == 1 { vec![String::new()] } else { names(&keys) };
    names.into_iter().zip(groups).map(|(name, (_, points))| (name, points)).collect()
}

/// A plot for each value of a parameter. Points without losses, or without the parameter, are in each for reference.
fn divided(experiment: &Experiment, (name, points): Compared, key: &str) -> Vec<Compared> {
    let value = |index: usize| {
        let point = &experiment.points[index];
        let is_reference = key == "loss" && is_lossless(point);
        point.word(key).filter(|_| !is_reference)
    };
    let mut values: Vec<String> = Vec::new();
    for word in points.iter().filter_map(|index| value(*index)) {
        if !values.contains(&word) {
            values.push(word);
        }
    }
    if values.is_empty() {
        return vec![(name, points)];
    }
    if key == "loss" {
        // The papers begin with the highest.
        let rate = |word: &String| {
            let of_word = points.iter().find(|index| value(**index).as_ref() == Some(word));
            of_word.and_then(|index| experiment.points[*index].parameters.loss).map_or(0.0, |loss| loss.0)
        };
        values.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    }
    let of_value = |word: &String| {
        let here = |index: &usize| value(*index).is_none_or(|other| other == *word);
        let parts = [name.as_str(), word.as_str()].into_iter().filter(|part| !part.is_empty());
        (parts.collect::<Vec<_>>().join(", "), points.iter().copied().filter(here).collect())
    };
    values.iter().map(of_value).collect()
}

/// What tells the points of a plot from each other.
pub(super) fn conditions(experiment: &Experiment, points: &[usize]) -> Vec<String> {
    let points: Vec<&Point> = points.iter().map(|index| &experiment.points[*index]).collect();
    // Without losses, it is something else: what differs where it is given, or else that it is given at all.
    let differing = |counts_absence: bool| -> Vec<&str> {
        let differs = |key: &&str| {
            let words = points.iter().map(|point| point.word(key));
            words.filter(|word| word.is_some() || counts_absence).collect::<BTreeSet<_>>().len() > 1
        };
        PAIRED.into_iter().filter(differs).collect()
    };
    let losses = points.iter().filter(|point| !is_lossless(point)).filter_map(|point| point.word("loss"));
    let one_loss = losses.collect::<BTreeSet<_>>().len() < 2;
    let has_reference = points.iter().any(|point| is_reference(point));
    let short: Vec<&str> =
        differing(false).into_iter().filter(|key| !(one_loss && has_reference && *key == "loss")).collect();
    let named =
        |point: &&Point| if is_reference(point) { "no loss".to_owned() } else { words(point, &short) };
    let all = |keys: &[&str]| points.iter().map(|point| words(point, keys)).collect::<Vec<String>>();
    let candidates = [points.iter().map(named).collect(), all(&differing(false))];
    let names = candidates
        .into_iter()
        .find(|names: &Vec<String>| is_clear(names))
        .unwrap_or_else(|| all(&differing(true)));
    let fail = points.iter().any(|point| point.word("failure-every").is_some());
    let plain = |point: &Point| {
        let is_whole = fail && point.word("failure-every").is_none();
        if is_whole { "no failures".to_owned() } else { point.word("loss").unwrap_or_default() }
    };
    let named = |(name, point): (String, &&Point)| if name.is_empty() { plain(point) } else { name };
    names.into_iter().zip(&points).map(named).collect()
}

fn is_lossless(point: &Point) -> bool {
    point.parameters.loss.is_none_or(|loss| loss.0 == 0.0)
}

/// Whether it is what the others are compared with: nothing is lost, so that nothing has to recover.
fn is_reference(point: &Point) -> bool {
    let is_given = point.parameters.loss.is_some_and(|loss| loss.0 == 0.0);
    is_given && point.word("scheme").as_deref() == Some("unprotected")
}

fn is_clear(names: &[String]) -> bool {
    names.iter().collect::<BTreeSet<_>>().len() == names.len()
}

fn words(point: &Point, keys: &[&str]) -> String {
    keys.iter().filter_map(|key| point.word(key)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::built_in;
    use super::super::file::PlotKind;
    use super::*;

    /// The groups of points of each plot that only flows have, with the names of their lines.
    fn lines(experiment: &Experiment) -> Vec<(Compared, Vec<String>)> {
        let of_flows = experiment.extra.plots.iter().filter(|spec| {
            matches!(spec.kind, PlotKind::Tail | PlotKind::Slowdown | PlotKind::Distributions)
        });
        let all = of_flows.flat_map(|spec| {
            panels(experiment, spec).into_iter().map(|one| {
                let names = conditions(experiment, &one.1);
                (one, names)
            })
        });
        all.collect()
    }

    #[test]
    fn the_lines_of_a_plot_have_different_names() {
        let mut plots = 0;
        for experiment in built_in().expect("they parse") {
            for ((plot, points), names) in lines(&experiment) {
                let distinct: BTreeSet<_> = names.iter().filter(|name| !name.is_empty()).collect();
                assert_eq!(distinct.len(), points.len(), "{}, {plot}: {names:?}", experiment.id);
                plots += 1;
            }
        }
        assert!(plots > 20, "{plots}");
    }

    #[test]
    fn lines_are_named_by_what_differs() {
        let of = |id: &str, plot: usize| {
            let experiments = built_in().expect("they parse");
            let experiment = experiments.iter().find(|experiment| experiment.id == id).expect("it is there");
            lines(experiment).remove(plot).1
        };
        assert_eq!(of("fig12", 0), ["no loss", "unprotected", "ordered", "non-blocking"]);
        assert_eq!(of("rdma-fig10", 0), ["no loss", "loss rate 1e-3"]);
        let sqr = of("sqr-long-flow", 0);
        assert_eq!(
            sqr,
            [
                "failure every 100 ms, ShareBackup, no hand-off",
                "failure every 100 ms, ShareBackup, SQR",
                "failure every 100 ms, ShareBackup, acknowledged",
                "failure every 100 ms, local rerouting, SQR",
                "failure every 100 ms, 4 failing links, ShareBackup, SQR",
                "no failures"
            ]
        );
        assert_eq!(
            of("load-balanced", 0)[..2],
            ["3 duplicate ACKs, random queues", "adaptive duplicate ACKs, random queues"]
        );
    }
}
