//! The plots that an experiment file describes, from its outcomes.

use super::best::{Candidate, verdict};
use super::definition::{Dimension, Experiment, Ordinate, PlotSpec, Point};
use super::file::{LogAxes, PlotKind};
use super::outcome::Outcome;
use crate::measure::Quartiles;
use crate::parameters::RunParameters;
use linkmend_experiment::{Parameters, PublishedAt};
use linkmend_report::{
    Axis, BoxPlot, Distribution, GroupedBars, HeatMap, Plot, Scatter, Series, Summary, TailPlot, Unit,
};

/// All plots of an experiment. There is one outcome for each point.
pub fn all(experiment: &Experiment, outcomes: &[Outcome]) -> Vec<Plot> {
    let plots = experiment.extra.plots.iter();
    let drawn = plots.flat_map(|spec| {
        let drawn = Drawing { experiment, outcomes, spec }.draw().into_iter();
        drawn.map(|plot| match &spec.caption {
            Some(caption) => plot.describe(caption),
            None => plot,
        })
    });
    drawn.collect()
}

/// A plot in the making.
pub(super) struct Drawing<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) outcomes: &'a [Outcome],
    pub(super) spec: &'a PlotSpec,
}

impl<'a> Drawing<'a> {
    fn draw(&self) -> Vec<Plot> {
        match self.spec.kind {
            PlotKind::Points => vec![self.scatter().into()],
            PlotKind::Bars => vec![self.bars().into()],
            PlotKind::Boxes => vec![self.boxes().into()],
            PlotKind::HeatMap => vec![self.heat_map().into()],
            PlotKind::Best => vec![self.best_map().into()],
            PlotKind::Delays => vec![self.delays().into()],
            PlotKind::Holes => vec![self.holes().into()],
            kind => {
                debug_assert!(kind.is_of_flows());
                self.of_flows()
            }
        }
    }

    /// The points that are drawn, with their outcomes.
    fn points(&self) -> Vec<(&'a Point, &'a Outcome)> {
        let chosen = self.experiment.select(&self.spec.at);
        chosen.map(|index| (&self.experiment.points[index], &self.outcomes[index])).collect()
    }

    /// The name of the series that a point belongs to.
    fn series_of(&self, point: &Point) -> String {
        let words: Vec<String> = self.spec.series.iter().filter_map(|key| point.word(key)).collect();
        match (words.is_empty(), self.spec.y) {
            (false, _) => words.join(", "),
            (true, Ordinate::Metric(metric)) => metric.label.to_owned(),
            (true, _) => self.experiment.describe(point),
        }
    }

    /// Series in the order of their first points.
    fn grouped(&self) -> Vec<(String, Vec<(&'a Point, &'a Outcome)>)> {
        let mut groups: Vec<(String, Vec<(&Point, &Outcome)>)> = Vec::new();
        for (point, outcome) in self.points() {
            let name = self.series_of(point);
            match groups.iter_mut().find(|(other, _)| *other == name) {
                Some((_, members)) => members.push((point, outcome)),
                None => groups.push((name, vec![(point, outcome)])),
            }
        }
        groups
    }

    /// The value on the vertical axis, less that of the reference point if the plot has one.
    fn value(&self, point: &Point, outcome: &Outcome) -> f64 {
        let Ordinate::Metric(metric) = self.spec.y else { return f64::NAN };
        let of = |outcome: &Outcome| metric.value(outcome).map_or(f64::NAN, |measured| measured.value);
        let Some(replacement) = &self.spec.minus else { return of(outcome) };
        let other = self.experiment.counterpart(point, replacement);
        other.map_or(f64::NAN, |other| of(outcome) - of(&self.outcomes[other]))
    }

    fn vertical(&self) -> Axis {
        let axis = match self.spec.y {
            Ordinate::Metric(metric) if self.spec.minus.is_some() => {
                Axis::new(format!("difference in {}", metric.label), metric.quantity.unit())
            }
            Ordinate::Metric(metric) => Axis::new(metric.label, metric.quantity.unit()),
            Ordinate::TxBuffer => Axis::new("Tx buffer", Unit::Byte).with_zero(),
            Ordinate::RxBuffer => Axis::new("Rx buffer", Unit::Byte).with_zero(),
            Ordinate::OfKind if self.spec.kind == PlotKind::Holes => {
                Axis::new("frames in a row", Unit::Count)
            }
            Ordinate::OfKind => Axis::new("retransmission delay", Unit::Second),
        };
        let logarithmic = matches!(self.spec.log, LogAxes::Y | LogAxes::Both);
        let axis = if logarithmic { axis.log() } else { axis };
        match self.spec.low {
            Some(low) => axis.from(low),
            None => axis,
        }
    }

    fn horizontal(&self) -> Axis {
        let axis = match self.spec.x {
            Some(dimension) => Axis::new(dimension.label(), dimension.quantity().unit()),
            None => Axis::new("", Unit::Plain),
        };
        if matches!(self.spec.log, LogAxes::X | LogAxes::Both) { axis.log() } else { axis }
    }

    fn abscissa(&self, point: &Point, outcome: &Outcome) -> f64 {
        match self.spec.x {
            Some(Dimension::Parameter(key)) => {
                point.value(key).and_then(|value| value.number).unwrap_or(f64::NAN)
            }
            Some(Dimension::Metric(metric)) => {
                metric.value(outcome).map_or(f64::NAN, |measured| measured.value)
            }
            None => f64::NAN,
        }
    }

    fn scatter(&self) -> Scatter {
        let mut plot = Scatter::new(&self.spec.title, self.horizontal(), self.vertical());
        for (name, members) in self.grouped() {
            let mut places: Vec<(f64, f64)> = members
                .iter()
                .map(|(point, outcome)| (self.abscissa(point, outcome), self.value(point, outcome)))
                .collect();
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            let series = Series::joined(name, places).with_bounds(self.bounds(&members));
            plot = plot.series(series.with_published(self.published_places(&members)));
        }
        plot
    }

    /// Places where nothing was counted, which have none on a logarithmic axis: the ends of their intervals.
    fn bounds(&self, members: &[(&Point, &Outcome)]) -> Vec<(f64, f64)> {
        let (Ordinate::Metric(metric), LogAxes::Y | LogAxes::Both, None) =
            (self.spec.y, self.spec.log, &self.spec.minus)
        else {
            return Vec::new();
        };
        let bound = |(point, outcome): &(&Point, &Outcome)| {
            let measured = metric.value(outcome).filter(|measured| measured.value == 0.0)?;
            Some((self.abscissa(point, outcome), measured.interval?.1))
        };
        members.iter().filter_map(bound).collect()
    }

    /// Published values of this metric that belong to these points, each at a single place on the horizontal axis.
    fn published_places(&self, members: &[(&Point, &Outcome)]) -> Vec<(f64, f64)> {
        let (Ordinate::Metric(metric), None) = (self.spec.y, &self.spec.minus) else { return Vec::new() };
        let values = self.experiment.published.iter().filter(|row| row.over.is_none());
        let rows = values.filter(|row| row.metric == metric);
        rows.filter_map(|row| {
            let mut at = members
                .iter()
                .filter(|(point, _)| row.at.matches(&point.parameters))
                .map(|(point, outcome)| self.abscissa(point, outcome));
            let x = at.next()?;
            at.all(|other| other == x).then_some((x, row.value))
        })
        .collect()
    }

    /// Texts of a dimension in the order of their first points.
    fn texts(&self, dimension: Option<Dimension>) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for (point, _) in self.points() {
            let text = text_of(dimension, point);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts
    }

    fn bars(&self) -> GroupedBars {
        let categories = self.texts(self.spec.x);
        let heading = self.spec.x.map_or("", Dimension::label);
        let mut plot = GroupedBars::new(&self.spec.title, heading, self.vertical()).categories(&categories);
        for (name, members) in self.grouped() {
            let member = |category: &String| {
                members.iter().find(|(point, _)| text_of(self.spec.x, point) == *category)
            };
            let values = categories.iter().map(|category| {
                member(category).map_or(f64::NAN, |(point, outcome)| self.value(point, outcome))
            });
            let published = categories.iter().map(|category| {
                member(category).and_then(|(point, _)| self.published_at(point)).unwrap_or(f64::NAN)
            });
            plot = plot.series(name, values).published(published);
        }
        if let Some(reference) = &self.spec.reference {
            plot = plot.reference(reference.value, &reference.label);
        }
        plot
    }

    /// The published value of the metric on the vertical axis, at a point.
    fn published_at(&self, point: &Point) -> Option<f64> {
        let shown = self.spec.y.published_as()?;
        let mut values = self.experiment.published.iter().filter(|row| row.over.is_none());
        let here = |row: &&PublishedAt<Outcome>| row.metric == shown && row.at.matches(&point.parameters);
        values.find(here).map(|row| row.value)
    }

    fn boxes(&self) -> BoxPlot {
        let mut plot = BoxPlot::new(&self.spec.title, self.vertical());
        for (point, outcome) in self.points() {
            let levels = outcome.report().map(|report| match self.spec.y {
                Ordinate::RxBuffer => report.rx_buffer_bytes,
                _ => report.tx_buffer_bytes,
            });
            plot = plot.item(self.series_of(point), levels.map(summary));
            if let Some(value) = self.published_at(point) {
                plot = plot.published(value);
            }
        }
        plot
    }

    /// A map over the two parameters of the plot, without rows.
    fn map(&self, value: Axis) -> HeatMap {
        let heading = |dimension: Option<Dimension>| dimension.map_or("", Dimension::label);
        HeatMap::new(&self.spec.title, heading(self.spec.rows), heading(self.spec.x), value)
            .columns(self.texts(self.spec.x))
    }

    /// The points at a place of the map.
    fn at_place(&self, row: &str, column: &str) -> impl Iterator<Item = (&'a Point, &'a Outcome)> {
        self.points().into_iter().filter(move |(point, _)| {
            text_of(self.spec.rows, point) == row && text_of(self.spec.x, point) == column
        })
    }

    fn heat_map(&self) -> HeatMap {
        let columns = self.texts(self.spec.x);
        self.texts(self.spec.rows).into_iter().fold(self.map(self.vertical()), |plot, row| {
            let value = |column: &String| {
                let first = self.at_place(&row, column).next();
                first.map_or(f64::NAN, |(point, outcome)| self.value(point, outcome))
            };
            let values: Vec<f64> = columns.iter().map(value).collect();
            plot.row(row, values)
        })
    }

    /// The best series at each place, and its lead over the second.
    fn best_map(&self) -> HeatMap {
        let Ordinate::Metric(metric) = self.spec.y else { return self.map(self.vertical()) };
        let columns = self.texts(self.spec.x);
        let lead = Axis::new(format!("lead in {}", metric.label), metric.quantity.unit()).with_zero();
        self.texts(self.spec.rows).into_iter().fold(self.map(lead), |plot, row| {
            let cell = |column: &String| {
                let here = self.at_place(&row, column);
                let candidates = here
                    .filter_map(|(point, outcome)| Candidate::new(self.series_of(point), metric, outcome));
                verdict(candidates.collect(), self.spec.draw)
            };
            let cells: Vec<(String, f64)> = columns.iter().map(cell).collect();
            plot.row_of_words(row, cells)
        })
    }

    fn delays(&self) -> TailPlot {
        self.distributions(|outcome| {
            let report = outcome.report();
            report.map_or_else(Vec::new, |report| {
                report.retransmission_delays.iter().map(|(ns, count)| (ns * 1e-9, *count)).collect()
            })
        })
    }

    fn holes(&self) -> TailPlot {
        self.distributions(|outcome| {
            let lengths = outcome.report().map(|report| report.hole_lengths.as_slice()).unwrap_or_default();
            lengths.iter().enumerate().map(|(index, count)| (index as f64 + 1.0, *count)).collect()
        })
    }

    fn distributions(&self, counts: impl Fn(&Outcome) -> Vec<(f64, u64)>) -> TailPlot {
        let mut plot = TailPlot::new(&self.spec.title, self.vertical()).steps();
        if self.spec.kind == PlotKind::Delays {
            plot = plot.even();
        }
        for (point, outcome) in self.points() {
            plot = plot.series(cumulative(self.series_of(point), &counts(outcome)));
        }
        plot
    }
}

/// Each value with the percentage of all values that do not exceed it.
fn cumulative(name: String, counts: &[(f64, u64)]) -> Distribution {
    let total: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut below = 0;
    let percentiles = counts.iter().filter(|(_, count)| *count > 0).map(|(value, count)| {
        below += count;
        (100.0 * below as f64 / total as f64, *value)
    });
    Distribution::from_percentiles(name, percentiles)
}

fn text_of(dimension: Option<Dimension>, point: &Point) -> String {
    match dimension {
        Some(Dimension::Parameter(key)) => {
            point.value(key).map_or_else(String::new, |value| RunParameters::in_words(key, &value.text))
        }
        _ => String::new(),
    }
}

fn summary(levels: Quartiles) -> Summary {
    Summary {
        min: levels.min as f64,
        lower_quartile: levels.p25 as f64,
        median: levels.p50 as f64,
        upper_quartile: levels.p75 as f64,
        max: levels.max as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::super::built_in;
    use super::*;

    /// A title that repeats an axis says nothing about what the plot shows of it.
    #[test]
    fn titles_do_not_repeat_the_axes() {
        for experiment in built_in().expect("they parse") {
            for spec in &experiment.extra.plots {
                let x = spec.x.map_or("", Dimension::label);
                let y = match spec.y {
                    Ordinate::Metric(metric) => metric.label,
                    Ordinate::TxBuffer => "Tx buffer",
                    Ordinate::RxBuffer => "Rx buffer",
                    Ordinate::OfKind if spec.kind.is_of_flows() => "completion time",
                    Ordinate::OfKind => "retransmission delay",
                };
                let title = spec.title.to_lowercase();
                for label in [x, y].into_iter().filter(|label| !label.is_empty() && *label != "loss rate") {
                    let repeated = title.contains(&label.to_lowercase());
                    assert!(!repeated, "{}: {:?} repeats {label:?}", experiment.id, spec.title);
                }
            }
        }
    }
}
