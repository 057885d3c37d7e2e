//! The plots that only flows have.

use super::compared;
use super::file::PlotKind;
use super::flow_run::{FlowOutcome, distribution, extremes, queueing, slowdowns_by_size};
use super::metric::metric_named;
use super::plots::Drawing;
use linkmend_report::{Axis, Distribution, GroupedBars, Plot, Scatter, Series, TailPlot, Unit};

impl Drawing<'_> {
    /// The plots of flows: one for each group of points that are compared.
    pub(super) fn of_flows(&self) -> Vec<Plot> {
        let panels = || compared::panels(self.experiment, self.spec).into_iter();
        match self.spec.kind {
            PlotKind::Groups => vec![self.groups_of_affected()],
            PlotKind::Slowdown => panels().map(|(name, points)| self.slowdown(&name, &points)).collect(),
            PlotKind::RoundTrips => vec![self.round_trips()],
            _ => panels().map(|(name, points)| self.tail(&name, &points)).collect(),
        }
    }

    fn title(&self, name: &str) -> String {
        let title = &self.spec.title;
        if name.is_empty() { title.clone() } else { format!("{title}: {name}") }
    }

    /// The points with what tells them from each other and their flows, as far as they ran.
    fn named(&self, points: &[usize]) -> Vec<(String, &FlowOutcome)> {
        let names = compared::conditions(self.experiment, points);
        let flows =
            points.iter().zip(names).map(|(index, name)| Some((name, self.outcomes[*index].flows()?)));
        flows.flatten().collect()
    }

    fn tail(&self, name: &str, points: &[usize]) -> Plot {
        let above_percentile = self.spec.above_percentile;
        let is_whole = self.spec.kind == PlotKind::Distributions;
        let axis = Axis::new("flow completion time", Unit::Second).log();
        let plot = TailPlot::new(self.title(name), axis).above_percentile(above_percentile);
        let plot = if is_whole { plot.even() } else { plot };
        let series = self.named(points).into_iter().map(|(name, flows)| {
            let largest = extremes(flows).filter(|_| is_whole).map(|(_, largest)| (100.0, largest));
            let percentiles = distribution(flows, above_percentile / 100.0).into_iter().chain(largest);
            Distribution::from_percentiles(name, percentiles)
        });
        series.fold(plot, TailPlot::series).into()
    }

    /// How long packets take from the sender and back, and when RACK takes a packet for lost: a quarter of the least round trip
    /// after a later one has arrived (RFC 8985, 6.2), as long as no duplicate has told it to wait longer.
    fn round_trips(&self) -> Plot {
        const WINDOW: f64 = 0.25;
        let time = Axis::new("round-trip time", Unit::Second);
        let share = Axis::new("share of packets that take longer", Unit::LossRate).log();
        let mut plot = Scatter::new(&self.spec.title, time, share);
        let mut least = f64::INFINITY;
        let names = self.spec.series.iter();
        for index in self.experiment.select(&self.spec.at) {
            let point = &self.experiment.points[index];
            let back = point.value("reverse-delay").and_then(|value| value.number).unwrap_or(0.0);
            let Some((fastest, shares)) = self.outcomes[index].flows().and_then(queueing) else { continue };
            least = least.min(back + fastest);
            let line = shares.into_iter().map(|(delay, share)| (back + delay, share));
            let words: Vec<_> = names.clone().filter_map(|key| point.word(key)).collect();
            // Every packet takes longer than nothing.
            let line = [(back + fastest, 1.0)].into_iter().chain(line);
            plot = plot.series(Series::step(words.join(", "), line));
        }
        plot.threshold((1.0 + WINDOW) * least, "RACK treats later packets as lost").into()
    }

    /// Slowdowns by flow size, a line for each way to recover.
    fn slowdown(&self, name: &str, points: &[usize]) -> Plot {
        /// Parts of all flows, with as many flows each.
        const PARTS: usize = 10;
        const SHARE: f64 = 0.999;
        let size = Axis::new("flow size", Unit::Byte).log();
        let times = Axis::new("99.9th percentile, times as long as in an idle network", Unit::Plain).log();
        let series = self
            .named(points)
            .into_iter()
            .map(|(name, flows)| Series::joined(name, slowdowns_by_size(flows, PARTS, SHARE)));
        series.fold(Scatter::new(self.title(name), size, times), Scatter::series).into()
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
