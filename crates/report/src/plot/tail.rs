//! Cumulative distributions on a scale that gives every further nine the same room.

#![expect(
    clippy::disallowed_methods,
    reason = "a drawing is rounded to tenths of a pixel, far above the last digit"
)]

use super::axis::{Axis, ResolvedAxis};
use super::coincide;
use super::frame::{self, Area, RIGHT_MARGIN, TICK_LABELS_AND_HEADING};
use super::legend::{self, Key};
use super::marks;
use super::palette::{Hue, Look};
use super::series::{self, Path};
use super::{Drawing, Figure, WIDTH};
use crate::quantity::Unit;
use crate::table::{Cell, Column, Table};
use maud::html;

const HEIGHT: f64 = 320.0;
/// The number of points kept of a large sample; evenly spread over the tail scale, they look like all of them.
const KEPT_POINTS: usize = 600;
/// The room above the highest percentile below 100, in nines: the end of the scale is for the maximum.
const ROOM_FOR_MAXIMUM: f64 = 0.25;
/// Labels that are closer to the end than this share of the axis give way to that of the maximum.
const NEAR_MAXIMUM: f64 = 0.05;

/// The distribution of one series.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    name: String,
    /// Value and the fraction of samples up to it, ascending.
    points: Vec<(f64, f64)>,
    hue: Option<Hue>,
}

impl Distribution {
    /// The distribution of samples. Samples that are not numbers are dropped; infinite ones count as larger than all
    /// (a flow that never finished) and bring the curve to an end below 100 %.
    pub fn from_samples(name: impl Into<String>, samples: impl IntoIterator<Item = f64>) -> Self {
        let mut samples: Vec<f64> = samples.into_iter().filter(|sample| !sample.is_nan()).collect();
        samples.sort_by(f64::total_cmp);
        let total = samples.len() as f64;
        let fraction = |index: usize| (index as f64 + 0.5) / total;
        let points = kept_indices(samples.len()).into_iter().map(|index| (samples[index], fraction(index)));
        let points = points.filter(|(value, _)| value.is_finite()).collect();
        Distribution { name: name.into(), points, hue: None }
    }

    /// A distribution given as pairs of percentile (0 to 100) and value, in any order.
    pub fn from_percentiles(
        name: impl Into<String>,
        percentiles: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        let usable =
            |(percentile, value): &(f64, f64)| (0.0..=100.0).contains(percentile) && value.is_finite();
        let pairs = percentiles.into_iter().filter(usable);
        let mut points: Vec<(f64, f64)> =
            pairs.map(|(percentile, value)| (value, percentile / 100.0)).collect();
        points.sort_by(|a, b| a.1.total_cmp(&b.1));
        Distribution { name: name.into(), points, hue: None }
    }

    /// Fixes the colour.
    #[must_use]
    pub fn hue(mut self, hue: Hue) -> Self {
        self.hue = Some(hue);
        self
    }
}

/// Indices into `count` sorted samples: all of a small sample; of a large one every rank of the last few and steps of
/// equal size on the tail scale before.
fn kept_indices(count: usize) -> Vec<usize> {
    if count <= KEPT_POINTS {
        return (0..count).collect();
    }
    let total = count as f64;
    let nines = total.log10();
    let index = |step: usize| {
        let above = 10f64.powf(-nines * step as f64 / KEPT_POINTS as f64);
        (((1.0 - above) * total).round() as usize).min(count - 1)
    };
    let mut indices: Vec<usize> = (0..=KEPT_POINTS).map(index).collect();
    indices.dedup();
    indices
}

/// Distributions of several series: value across, percentile up.
#[derive(Clone, Debug, PartialEq)]
pub struct TailPlot {
    title: String,
    description: Option<String>,
    value: Axis,
    from: f64,
    even: bool,
    steps: bool,
    distributions: Vec<Distribution>,
}

impl TailPlot {
    /// A plot over the value axis, usually logarithmic. It shows the whole distribution.
    pub fn new(title: impl Into<String>, value: Axis) -> Self {
        let (even, steps) = (false, false);
        TailPlot {
            title: title.into(),
            description: None,
            value,
            from: 0.0,
            even,
            steps,
            distributions: Vec::new(),
        }
    }

    /// Gives equal shares equal room, as in an ordinary cumulative distribution, instead of each nine.
    #[must_use]
    pub fn even(mut self) -> Self {
        self.even = true;
        self
    }

    /// Draws steps, for values of which there are few, such as whole numbers.
    #[must_use]
    pub fn steps(mut self) -> Self {
        self.steps = true;
        self
    }

    /// Shows only what is above this percentile, such as 90.
    #[must_use]
    pub fn above_percentile(mut self, percentile: f64) -> Self {
        self.from = if percentile.is_finite() { (percentile / 100.0).clamp(0.0, 0.999_999) } else { 0.0 };
        self
    }

    /// Describes in words what the plot shows.
    #[must_use]
    pub fn describe(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a distribution.
    #[must_use]
    pub fn series(mut self, distribution: Distribution) -> Self {
        self.distributions.push(distribution);
        self
    }

    /// Points of a distribution at or above the lowest percentile shown.
    fn shown<'a>(&'a self, distribution: &'a Distribution) -> impl Iterator<Item = (f64, f64)> + 'a {
        distribution.points.iter().copied().filter(|(_, fraction)| *fraction >= self.from)
    }

    /// The vertical axis. On the tail scale, which has no place for 100 %, the end of the axis stands for the maximum.
    fn percentiles(&self) -> ResolvedAxis {
        if self.even {
            return Axis::new("cumulative share", Unit::Share).from(self.from).to(1.0).resolve([], 5);
        }
        let fractions =
            || self.distributions.iter().flat_map(|d| self.shown(d).map(|(_, fraction)| fraction));
        let least = 1.0 - (1.0 - self.from) / 10.0;
        let top = fractions().filter(|fraction| *fraction < 1.0).fold(least, f64::max);
        let with_maximum = fractions().any(|fraction| fraction >= 1.0);
        let top = if with_maximum { 1.0 - (1.0 - top) / 10f64.powf(ROOM_FOR_MAXIMUM) } else { top };
        let mut axis = Axis::tail("percentile", self.from, top).resolve([], 6);
        if with_maximum {
            axis.ticks.retain(|(position, _)| *position < 1.0 - NEAR_MAXIMUM);
            axis.ticks.push((1.0, "max".to_owned()));
        }
        axis
    }

    /// The points of a distribution as they are drawn over this axis.
    fn line(&self, distribution: &Distribution, percentiles: &ResolvedAxis) -> Vec<(f64, f64)> {
        let end = percentiles.scale.high();
        let mut points = distribution.points.clone();
        for (_, fraction) in &mut points {
            *fraction = if *fraction >= 1.0 { end } else { *fraction };
        }
        // The first step rises from the bottom.
        if let (true, Some((value, _))) = (self.steps, points.first().copied()) {
            points.insert(0, (value, 0.0));
        }
        points
    }
}

impl Figure for TailPlot {
    fn title(&self) -> &str {
        &self.title
    }

    fn caption(&self) -> Option<&str> {
        self.description.as_deref()
    }

    fn summary(&self) -> String {
        let names: Vec<&str> = self.distributions.iter().map(|d| d.name.as_str()).collect();
        format!("Percentiles of {} for {}.", self.value.label(), names.join("; "))
    }

    fn draw(&self) -> Drawing {
        let y = self.percentiles();
        let x = self
            .value
            .resolve(self.distributions.iter().flat_map(|d| self.shown(d).map(|(value, _)| value)), 7);
        let looks: Vec<Look> =
            self.distributions.iter().enumerate().map(|(index, d)| Look::of_series(d.hue, index)).collect();
        let named = looks.iter().zip(&self.distributions);
        let entries: Vec<(Key, String)> = named.map(|(look, d)| (Key::Line(*look), d.name.clone())).collect();
        let (header, top) = legend::header(0.0, &y.heading, &entries);
        let left = frame::left_margin(y.ticks.iter().map(|(_, text)| text.as_str()));
        let area = Area { x: left, y: top, width: WIDTH - left - RIGHT_MARGIN, height: HEIGHT };
        let lines: Vec<_> = self.distributions.iter().map(|d| self.line(d, &y)).collect();
        let paths: Vec<Path> =
            lines.iter().map(|points| series::path(area, &x, &y, points, self.steps)).collect();
        let drawn = self.distributions.iter().zip(&lines).map(|(d, points)| coincide::Drawn {
            name: &d.name,
            places: series::places(area, &x, &y, points),
        });
        let below = area.bottom() + TICK_LABELS_AND_HEADING;
        let (note, note_height) = coincide::note(area, below, &drawn.collect::<Vec<_>>());
        let curves = html! {
            @for ((distribution, look), path) in self.distributions.iter().zip(&looks).zip(&paths) {
                (marks::draw_path(path, *look, &distribution.name))
            }
        };
        let body = html! {
            (header)
            (frame::vertical_grid(area, &x))
            (frame::left_axis(area, &y))
            (frame::bottom_axis(area, &x))
            @if paths.iter().all(Path::is_empty) { (frame::no_data(area)) } @else { (frame::clip(area, frame::LINE_MARGIN, &curves)) }
            (note)
        };
        Drawing { body, height: below + note_height }
    }

    fn data(&self) -> Table {
        let mut table = Table::new(&self.title)
            .column(Column::text("series"))
            .column(Column::number("percentile", Unit::Plain))
            .column(Column::number(self.value.label(), self.value.unit()));
        for distribution in &self.distributions {
            for (value, fraction) in &distribution.points {
                let percentile = Cell::number(fraction * 100.0);
                table.push_row([Cell::text(&distribution.name), percentile, Cell::number(*value)]);
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_samples_keep_their_tail() {
        let distribution = Distribution::from_samples("d", (0..300_000).map(f64::from));
        assert!(distribution.points.len() <= KEPT_POINTS + 1);
        assert_eq!(distribution.points.last().map(|point| point.0), Some(299_999.0));
        assert_eq!(distribution.points.first().map(|point| point.0), Some(0.0));
    }

    #[test]
    fn unfinished_samples_end_the_curve_early() {
        let distribution =
            Distribution::from_samples("d", [1.0, f64::INFINITY, f64::NAN, 2.0, f64::INFINITY]);
        assert_eq!(distribution.points, [(1.0, 0.125), (2.0, 0.375)]);
    }
}
