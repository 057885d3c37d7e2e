//! The appearance of a plot's series: lines below, markers above, and their keys in the legend.

use super::axis::ResolvedAxis;
use super::frame::{self, Area, BOUND_SHAPE, PUBLISHED_SHAPE};
use super::legend::Key;
use super::line::draw_line;
use super::palette::{Look, variant};
use super::series::{self, Mark, Path, Series};
use crate::quantity::Unit;
use maud::{Markup, html};

/// The number of shapes of measured points.
const SHAPES: usize = 4;

/// A series with the appearance that the plot gives it.
pub(crate) struct Style<'a> {
    pub series: &'a Series,
    pub look: Look,
    pub shape: usize,
}

impl<'a> Style<'a> {
    /// The series at `index` with this look.
    pub fn new(series: &'a Series, look: Look, index: usize) -> Self {
        Style { series, look, shape: variant(index) % SHAPES }
    }

    /// Whether points are joined.
    fn has_line(&self) -> bool {
        matches!(self.series.mark, Mark::Line | Mark::Step | Mark::JoinedPoints)
    }

    /// The key before the name in the legend.
    pub fn key(&self) -> Key {
        match self.series.mark {
            Mark::Line | Mark::Step => Key::Line(self.look),
            Mark::Points => Key::Marker(self.look.hue, self.shape),
            Mark::JoinedPoints => Key::Joined(self.look, self.shape),
            Mark::Published => Key::Hollow(PUBLISHED_SHAPE),
        }
    }

    fn line(&self, area: Area, x: &ResolvedAxis, y: &ResolvedAxis) -> Markup {
        let path = series::path(area, x, y, &self.series.points, self.series.mark == Mark::Step);
        draw_path(&path, self.look, &self.series.name)
    }

    fn markers(&self, area: Area, axes: (&ResolvedAxis, &ResolvedAxis), units: (Unit, Unit)) -> Markup {
        let (name, hue) = (&self.series.name, self.look.hue);
        let draw = |points: &[(f64, f64)], shape: usize, class: &str, words: &str| {
            let place = |point: &(f64, f64)| {
                let finite = point.0.is_finite() && point.1.is_finite();
                let place = (axes.0.scale.position(point.0)?, axes.1.scale.position(point.1)?);
                finite.then_some((*point, place))
            };
            html! {
                @for (point, (across, up)) in points.iter().filter_map(place) {
                    @let (x_text, y_text) = (units.0.format(point.0), units.1.format(point.1));
                    @let tooltip = format!("{name}: {x_text}, {words}{y_text}");
                    (frame::marker(shape, area.across(across), area.up(up), class, Some(&tooltip)))
                }
            }
        };
        let (own, shape) = match self.series.mark {
            Mark::Line | Mark::Step => (&[][..], self.shape),
            Mark::Published => (self.series.points.as_slice(), PUBLISHED_SHAPE),
            Mark::Points | Mark::JoinedPoints => (self.series.points.as_slice(), self.shape),
        };
        let own_class = match self.series.mark {
            Mark::Published => "lm-hollow".to_owned(),
            _ => format!("lm-point {}", hue.fill()),
        };
        html! {
            (draw(own, shape, &own_class, ""))
            (draw(&self.series.bounds, BOUND_SHAPE, &format!("lm-bound {}", hue.stroke()), "at most "))
            (draw(&self.series.published, PUBLISHED_SHAPE, &format!("lm-hollow {}", hue.stroke()), "published "))
        }
    }
}

/// The entries of a legend: a series each, then what the marks beside them mean. A series that is named like the axis needs
/// none.
pub(crate) fn legend_entries(styles: &[Style<'_>], axis_label: &str) -> Vec<(Key, String)> {
    let named = styles.iter().filter(|style| style.series.name != axis_label);
    let mut entries: Vec<(Key, String)> =
        named.map(|style| (style.key(), style.series.name.clone())).collect();
    if styles.iter().any(|style| !style.series.bounds.is_empty()) {
        entries.push((Key::Bound, "upper bound, none counted".to_owned()));
    }
    if styles.iter().any(|style| !style.series.published.is_empty()) {
        entries.push((Key::Hollow(PUBLISHED_SHAPE), "published".to_owned()));
    }
    entries
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
        @for style in styles { (style.markers(area, axes, units)) }
    };
    let lines_only = styles.iter().all(|style| matches!(style.series.mark, Mark::Line | Mark::Step));
    let margin = if lines_only { frame::LINE_MARGIN } else { frame::MARKER_MARGIN };
    if marks.0.is_empty() { frame::no_data(area) } else { frame::clip(area, margin, &marks) }
}

/// A line with its name as tooltip.
pub(crate) fn draw_path(path: &Path, look: Look, name: &str) -> Markup {
    html! {
        @if !path.joined.is_empty() { (draw_line(look, &path.joined, name)) }
        @if !path.dots.is_empty() {
            path class=(format!("lm-line lm-dots {}", look.hue.stroke())) d=(path.dots) { title { (name) } }
        }
    }
}
