//! A named sequence of points and the path that joins them.

use super::axis::ResolvedAxis;
use super::frame::{Area, px};
use super::palette::Hue;

/// Beyond this many points a line is thinned to what its pixels can show.
const MAX_LINE_POINTS: usize = 4_000;
/// The number of columns into which a thinned line is divided, about two per pixel of a plot at full size.
const THINNED_COLUMNS: usize = 1_400;

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Line,
    Step,
    Points,
    JoinedPoints,
    Published,
}

/// A name, points `(x, y)` in base units, and how to draw them. A point that is not a number interrupts the line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
    /// Values that are known only not to be above these.
    pub(crate) bounds: Vec<(f64, f64)>,
    /// What a publication has in place of these points.
    pub(crate) published: Vec<(f64, f64)>,
    pub(crate) hue: Option<Hue>,
    pub(crate) mark: Mark,
}

impl Series {
    fn new(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>, mark: Mark) -> Self {
        let (name, points) = (name.into(), points.into_iter().collect());
        Series { name, points, bounds: Vec::new(), published: Vec::new(), hue: None, mark }
    }

    /// Points joined by straight lines, for values sampled at instants.
    pub fn line(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, points, Mark::Line)
    }

    /// Each value held until the next point, for counters and states.
    pub fn step(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, points, Mark::Step)
    }

    /// Points without lines.
    pub fn points(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, points, Mark::Points)
    }

    /// Points with lines between, for a sweep of a parameter.
    pub fn joined(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, points, Mark::JoinedPoints)
    }

    /// Reference points from a publication, drawn hollow so that they do not hide a measurement.
    pub fn published(name: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Series::new(name, points, Mark::Published)
    }

    /// Adds places where a value is known only not to be above this, because none was counted.
    #[must_use]
    pub fn with_bounds(mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.bounds = points.into_iter().collect();
        self
    }

    /// Adds what a publication has in place of these points, in the same colour.
    #[must_use]
    pub fn with_published(mut self, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        self.published = points.into_iter().collect();
        self
    }

    /// All points that a plot has to show.
    pub(crate) fn all_points(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().chain(&self.bounds).chain(&self.published).copied()
    }

    /// Fixes the colour.
    #[must_use]
    pub fn hue(mut self, hue: Hue) -> Self {
        self.hue = Some(hue);
        self
    }
}

/// The `d` attributes of a series, both possibly empty.
#[derive(Debug, PartialEq)]
pub(crate) struct Path {
    /// Points joined with their neighbours.
    pub joined: String,
    /// Points without a neighbour, as strokes of no length: with round caps, dots.
    pub dots: String,
}

impl Path {
    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.joined.is_empty() && self.dots.is_empty()
    }
}

/// The path of joined points, in steps if requested.
pub(crate) fn path(
    area: Area,
    x: &ResolvedAxis,
    y: &ResolvedAxis,
    points: &[(f64, f64)],
    step: bool,
) -> Path {
    let places = places(area, x, y, points);
    let places = if places.len() > MAX_LINE_POINTS { thin(area, &places) } else { places };
    let mut path = Path { joined: String::new(), dots: String::new() };
    for run in places.split(Option::is_none) {
        let run: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
        match run.as_slice() {
            [] => {}
            [(x, y)] => path.dots.push_str(&format!("M{} {}h0", px(*x), px(*y))),
            run => path.joined.push_str(&join(run, step)),
        }
    }
    path
}

/// Where points stand; `None` for one that is not a number, or has no place on an axis.
pub(crate) fn places(
    area: Area,
    x: &ResolvedAxis,
    y: &ResolvedAxis,
    points: &[(f64, f64)],
) -> Vec<Option<(f64, f64)>> {
    let place = |(px, py): (f64, f64)| {
        let finite = px.is_finite() && py.is_finite();
        Some((area.across(x.scale.position(px)?), area.up(y.scale.position(py)?))).filter(|_| finite)
    };
    points.iter().map(|point| place(*point)).collect()
}

fn join(run: &[(f64, f64)], step: bool) -> String {
    let mut path = String::new();
    let mut from_y = String::new();
    for (index, (x, y)) in run.iter().enumerate() {
        let (x, y) = (px(*x), px(*y));
        path.push_str(&match (index, step) {
            (0, _) => format!("M{x} {y}"),
            (_, true) if from_y == y => format!("H{x}"),
            (_, true) => format!("H{x}V{y}"),
            (_, false) => format!("L{x} {y}"),
        });
        from_y = y;
    }
    path
}

/// Keeps the first, lowest, highest and last point of every column, in their order, which is what a pixel-wide column
/// shows of the full line. Gaps survive.
fn thin(area: Area, places: &[Option<(f64, f64)>]) -> Vec<Option<(f64, f64)>> {
    let column = |x: f64| ((x - area.x) / area.width * THINNED_COLUMNS as f64).floor() as i64;
    let mut kept = Vec::new();
    let mut start = 0;
    while start < places.len() {
        let Some((first_x, _)) = places[start] else {
            if kept.last().is_some_and(Option::is_some) {
                kept.push(None);
            }
            start += 1;
            continue;
        };
        let in_column =
            |place: &&Option<(f64, f64)>| place.is_some_and(|(x, _)| column(x) == column(first_x));
        let length = places[start..].iter().take_while(in_column).count().max(1);
        let run = &places[start..start + length];
        let height = |index: &usize| run[*index].map_or(0.0, |(_, y)| y);
        let lowest = (0..length).max_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(0);
        let highest = (0..length).min_by(|a, b| height(a).total_cmp(&height(b))).unwrap_or(0);
        let mut indices = [0, lowest, highest, length - 1];
        indices.sort_unstable();
        let mut last = None;
        for index in indices {
            if last != Some(index) {
                kept.push(run[index]);
                last = Some(index);
            }
        }
        start += length;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Unit};

    const AREA: Area = Area { x: 0.0, y: 0.0, width: 100.0, height: 100.0 };

    fn draw(points: &[(f64, f64)], step: bool) -> Path {
        let axis = Axis::new("", Unit::Plain).from(0.0).to(10.0).resolve([], 5);
        path(AREA, &axis, &axis, points, step)
    }

    #[test]
    fn not_a_number_interrupts_the_line() {
        let points = [(0.0, 0.0), (1.0, 1.0), (2.0, f64::NAN), (3.0, 3.0)];
        let path = draw(&points, false);
        assert_eq!((path.joined.as_str(), path.dots.as_str()), ("M0 100L10 90", "M30 70h0"));
        assert!(draw(&[], false).is_empty());
    }

    #[test]
    fn steps_hold_their_value() {
        assert_eq!(draw(&[(0.0, 1.0), (5.0, 1.0), (6.0, 2.0)], true).joined, "M0 90H50H60V80");
    }

    #[test]
    fn long_lines_keep_their_extremes() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|i| (f64::from(i) / 1e4, 5.0)).collect();
        points[50_001].1 = 10.0;
        points[70_001].1 = 0.0;
        let path = draw(&points, false).joined;
        assert!(path.len() < 60_000, "{}", path.len());
        assert!(path.contains(" 0L") && path.contains(" 100L"), "the two outliers are gone");
    }
}
