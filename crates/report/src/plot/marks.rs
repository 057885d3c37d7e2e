//! The appearance of a plot's series: lines below, markers above, and their keys in the legend.

use super::axis::ResolvedAxis;
use super::frame::{self, Area};
use super::legend::Key;
use super::palette::Hue;
use super::series::{self, Mark, Path, Series};
use crate::quantity::Unit;
use maud::{Markup, html};

/// Shape of published points, which no measured series has among the first four.
const PUBLISHED_SHAPE: usize = 4;

/// A series with the appearance that the plot gives it.
pub(crate) struct Style<'a> {
    pub series: &'a Series,
    pub hue: Hue,
    pub dash: &'static str,
    pub shape: usize,
}

impl Style<'_> {
    /// Whether points are joined.
    fn has_line(&self) -> bool {
        matches!(self.series.mark, Mark::Line | Mark::Step | Mark::JoinedPoints)
    }

    /// The key before the name in the legend.
    pub fn key(&self) -> Key {
        match self.series.mark {
            Mark::Line | Mark::Step => Key::Line(self.hue, self.dash),
            Mark::Points | Mark::JoinedPoints => Key::Marker(self.hue, self.shape),
            Mark::Published => Key::Hollow(PUBLISHED_SHAPE),
        }
    }

    fn line(&self, area: Area, x: &ResolvedAxis, y: &ResolvedAxis) -> Markup {
        let path = series::path(area, x, y, &self.series.points, self.series.mark == Mark::Step);
        let dash = if self.series.mark == Mark::JoinedPoints { "none" } else { self.dash };
        draw_path(&path, self.hue, dash, &self.series.name)
    }

    fn markers(&self, area: Area, (x, y): (&ResolvedAxis, &ResolvedAxis), units: (Unit, Unit)) -> Markup {
        let (class, shape) = match self.series.mark {
            Mark::Published => ("lm-hollow".to_owned(), PUBLISHED_SHAPE),
            _ => (format!("lm-point {}", self.hue.fill()), self.shape),
        };
        let place = |point: &(f64, f64)| {
            let finite = point.0.is_finite() && point.1.is_finite();
            let place = (x.scale.position(point.0)?, y.scale.position(point.1)?);
            finite.then_some((*point, place))
        };
        html! {
            @for (point, (across, up)) in self.series.points.iter().filter_map(place) {
                @let (x_text, y_text) = (units.0.format(point.0), units.1.format(point.1));
                @let tooltip = format!("{}: {x_text}, {y_text}", self.series.name);
                (frame::marker(shape, area.across(across), area.up(up), &class, Some(&tooltip)))
            }
        }
    }
}

/// Draws all series of an area, clipped to it, or a remark that there is no data.
pub(crate) fn draw(
    area: Area,
    axes: (&ResolvedAxis, &ResolvedAxis),
    units: (Unit, Unit),
    styles: &[Style<'_>],
) -> Markup {
    let marks = html! {
        @for style in styles.iter().filter(|style| style.has_line()) { (style.line(area, axes.0, axes.1)) }
        @for style in styles.iter().filter(|style| !matches!(style.series.mark, Mark::Line | Mark::Step)) {
            (style.markers(area, axes, units))
        }
    };
    let lines_only = styles.iter().all(|style| matches!(style.series.mark, Mark::Line | Mark::Step));
    let margin = if lines_only { frame::LINE_MARGIN } else { frame::MARKER_MARGIN };
    if marks.0.is_empty() { frame::no_data(area) } else { frame::clip(area, margin, &marks) }
}

/// A line with its name as tooltip.
pub(crate) fn draw_path(path: &Path, hue: Hue, dash: &str, name: &str) -> Markup {
    let stroke = hue.stroke();
    let dash = (dash != "none").then_some(dash);
    html! {
        @if !path.joined.is_empty() {
            path class=(format!("lm-line {stroke}")) stroke-dasharray=[dash] d=(path.joined) { title { (name) } }
        }
        @if !path.dots.is_empty() {
            path class=(format!("lm-line lm-dots {stroke}")) d=(path.dots) { title { (name) } }
        }
    }
}
