//! The plots that only flows have.

use super::definition::{Experiment, PlotSpec, Point};
use super::file::PlotKind;
use super::flow_run::{distribution, slowdowns_by_size};
use super::metric::metric_named;
use super::outcome::Outcome;
use crate::parameters::{PAIRED, RunParameters};
use linkmend_experiment::Parameters;
use linkmend_quantity::LossRate;
use linkmend_report::{Axis, Distribution, GroupedBars, Plot, Scatter, Series, TailPlot, Unit};
use std::collections::BTreeSet;

/// The plots that a description of one asks for: one for each group of points that are compared.
pub(super) fn draw(experiment: &Experiment, outcomes: &[Outcome], spec: &PlotSpec) -> Vec<Plot> {
    let drawing = Drawing { experiment, outcomes, spec };
    match spec.kind {
        PlotKind::Groups => vec![drawing.groups_of_affected()],
        PlotKind::Slowdown => {
            drawing.groups().iter().map(|(name, points)| drawing.slowdown(name, points)).collect()
        }
        PlotKind::Distributions => {
            drawing.panels().iter().map(|(name, points)| drawing.tail(name, points)).collect()
        }
        _ => drawing.groups().iter().map(|(name, points)| drawing.tail(name, points)).collect(),
    }
}

/// Points that one plot compares, and what they are called.
type Compared = (String, Vec<usize>);

struct Drawing<'a> {
    experiment: &'a Experiment,
    outcomes: &'a [Outcome],
    spec: &'a PlotSpec,
}

impl Drawing<'_> {
    /// The points that one plot compares: those that differ only in losses, and in what recovers from them.
    fn groups(&self) -> Vec<Compared> {
        let mut groups: Vec<Compared> = Vec::new();
        for index in self.experiment.select(&self.spec.at) {
            let point = &self.experiment.points[index];
            let keys = RunParameters::keys().filter(|key| !PAIRED.contains(key));
            let keys = keys.filter(|key| self.experiment.varied.contains(key));
            let name = keys.filter_map(|key| point.word(key)).collect::<Vec<_>>().join(", ");
            match groups.iter_mut().find(|(other, _)| *other == name) {
                Some((_, points)) => points.push(index),
                None => groups.push((name, vec![index])),
            }
        }
        groups
    }

    /// The same for each loss rate, with the points without loss in each.
    fn panels(&self) -> Vec<Compared> {
        let loss = |index: usize| self.experiment.points[index].parameters.loss.map_or(0.0, |loss| loss.0);
        let mut panels = Vec::new();
        for (name, points) in self.groups() {
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
    fn conditions(&self, points: &[usize]) -> Vec<String> {
        let points: Vec<&Point> = points.iter().map(|index| &self.experiment.points[*index]).collect();
        let short: Vec<String> = points.iter().map(|point| self.condition(point)).collect();
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
        let fail = points.iter().any(|point| point.word("failure-every").is_some());
        let plain = |point: &Point| {
            let is_whole = fail && point.word("failure-every").is_none();
            if is_whole { "no failures".to_owned() } else { point.word("loss").unwrap_or_default() }
        };
        let named = |(name, point): (String, &&Point)| if name.is_empty() { plain(point) } else { name };
        names.into_iter().zip(&points).map(named).collect()
    }

    /// What is special about a point, in short.
    fn condition(&self, point: &Point) -> String {
        let is_lossless = point.parameters.loss.is_some_and(|loss| loss.0 == 0.0);
        if is_lossless && point.word("scheme").as_deref() == Some("unprotected") {
            return "no loss".to_owned();
        }
        let losses: Vec<_> =
            self.experiment.points.iter().filter_map(|point| point.parameters.loss).collect();
        let lossy = losses.iter().find(|loss| loss.0 > 0.0);
        let is_panel = self.spec.kind == PlotKind::Distributions;
        let one_loss = is_panel || losses.iter().all(|loss| loss.0 == 0.0 || Some(loss) == lossy);
        let keys = PAIRED.into_iter();
        let keys: Vec<&str> = keys
            .filter(|key| self.experiment.varied.contains(key) && !(one_loss && *key == "loss"))
            .collect();
        words(point, &keys)
    }

    fn tail(&self, name: &str, points: &[usize]) -> Plot {
        let (title, above_percentile) = (&self.spec.title, self.spec.above_percentile);
        let title = if name.is_empty() { title.clone() } else { format!("{title}: {name}") };
        let axis = Axis::new("flow completion time", Unit::Second).log();
        let mut plot = TailPlot::new(title, axis).above_percentile(above_percentile);
        for (index, name) in points.iter().zip(self.conditions(points)) {
            let Some(flows) = self.outcomes[*index].flows() else { continue };
            let percentiles = distribution(flows, above_percentile / 100.0);
            plot = plot.series(Distribution::from_percentiles(name, percentiles));
        }
        plot.into()
    }

    /// Slowdowns by flow size, a line for each way to recover.
    fn slowdown(&self, name: &str, points: &[usize]) -> Plot {
        /// Parts of all flows, with as many flows each.
        const PARTS: usize = 10;
        const SHARE: f64 = 0.999;
        let size = Axis::new("flow size", Unit::Byte).log();
        let times = Axis::new("slowdown, 99.9th percentile", Unit::Plain).log();
        let mut plot = Scatter::new(format!("{}: {name}", self.spec.title), size, times);
        for (index, name) in points.iter().zip(self.conditions(points)) {
            let Some(flows) = self.outcomes[*index].flows() else { continue };
            let line = slowdowns_by_size(flows, PARTS, SHARE);
            plot = plot.series(Series::joined(name, line));
        }
        plot.into()
    }

    /// The groups of affected flows, bars for each point.
    fn groups_of_affected(&self) -> Plot {
        const GROUPS: [(&str, &str); 4] = [
            ("group_a_pct", "A: at most 2 segments SACKed"),
            ("group_b_pct", "B: the same, tail lost"),
            ("group_c_pct", "C: more, all was sent"),
            ("group_d_pct", "D: more, some was not"),
        ];
        let categories: Vec<_> = GROUPS.iter().map(|(_, label)| (*label).to_owned()).collect();
        let axis = Axis::new("share of flows whose sender received a SACK", Unit::Share).with_zero();
        let mut plot = GroupedBars::new(self.spec.title.clone(), "group", axis).categories(categories);
        for (point, outcome) in self.experiment.points.iter().zip(self.outcomes) {
            let share = |(name, _): &(&str, &str)| Some(metric_named(name)?.value(outcome)?.value);
            let values: Vec<_> = GROUPS.iter().map(|group| share(group).unwrap_or(f64::NAN)).collect();
            let name: Vec<_> = self.experiment.varied.iter().filter_map(|key| point.word(key)).collect();
            plot = plot.series(name.join(", "), values);
        }
        plot.into()
    }
}

fn words(point: &Point, keys: &[&str]) -> String {
    keys.iter().filter_map(|key| point.word(key)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::built_in;
    use super::*;

    /// The groups of points of each plot that only flows have, with the names of their lines.
    fn lines(experiment: &Experiment) -> Vec<(Compared, Vec<String>)> {
        let of_flows = experiment.extra.plots.iter().filter(|spec| {
            matches!(spec.kind, PlotKind::Tail | PlotKind::Slowdown | PlotKind::Distributions)
        });
        let all = of_flows.flat_map(|spec| {
            let drawing = Drawing { experiment, outcomes: &[], spec };
            let compared = match spec.kind {
                PlotKind::Distributions => drawing.panels(),
                _ => drawing.groups(),
            };
            compared.into_iter().map(move |one| {
                let drawing = Drawing { experiment, outcomes: &[], spec };
                let names = drawing.conditions(&one.1);
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
