//! The parts that plots share: the title, the plot area with its grid and tick labels, clipping, markers.

use super::WIDTH;
use super::axis::ResolvedAxis;
use crate::labels;
use maud::{Markup, html};

/// Font size of tick labels, legends and axis headings, as in the style sheet.
pub(crate) const TEXT: f64 = 12.0;
const TITLE: f64 = 15.0;
const TITLE_LEADING: f64 = 20.0;
/// Free space at the right edge; the last tick label may reach into it.
pub(crate) const RIGHT_MARGIN: f64 = 24.0;
const LEFT_MARGIN_MIN: f64 = 44.0;
const LEFT_MARGIN_MAX: f64 = 260.0;
/// Space below a plot area for tick labels, without and with a heading.
pub(crate) const TICK_LABELS: f64 = 22.0;
pub(crate) const TICK_LABELS_AND_HEADING: f64 = 44.0;
/// Margins of [`clip`] for lines and for markers.
pub(crate) const LINE_MARGIN: f64 = 1.0;
pub(crate) const MARKER_MARGIN: f64 = 7.0;

/// A rectangle in user units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Area {
    /// The abscissa of the right edge.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The ordinate of the lower edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// Abscissa of a position in 0..=1 from the left.
    pub fn across(&self, position: f64) -> f64 {
        self.x + position * self.width
    }

    /// Ordinate of a position in 0..=1 from the bottom.
    pub fn up(&self, position: f64) -> f64 {
        self.bottom() - position * self.height
    }
}

/// A coordinate to a tenth of a unit, which stays smooth at several times zoom and keeps files small.
pub(crate) fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Draws the title, wrapped, and returns its height.
pub(crate) fn title(title: &str) -> (Markup, f64) {
    let lines = labels::wrap(title, TITLE, (WIDTH - 8.0) / labels::BOLD, 3);
    let height = if lines.is_empty() { 4.0 } else { lines.len() as f64 * TITLE_LEADING + 10.0 };
    let markup = html! {
        @for (index, line) in lines.iter().enumerate() {
            text.lm-title x="4" y=(px(17.0 + index as f64 * TITLE_LEADING)) { (line) }
        }
    };
    (markup, height)
}

/// The left margin that fits the widest of these labels.
pub(crate) fn left_margin<'a>(texts: impl IntoIterator<Item = &'a str>) -> f64 {
    let widest = texts.into_iter().map(|text| labels::width(text, TEXT)).fold(0.0, f64::max);
    (widest + 16.0).clamp(LEFT_MARGIN_MIN, LEFT_MARGIN_MAX)
}

/// Horizontal grid lines and the labels left of them.
pub(crate) fn left_axis(area: Area, axis: &ResolvedAxis) -> Markup {
    html! {
        @for position in &axis.minor { (horizontal(area, *position, "lm-minor-grid")) }
        @for (position, text) in &axis.ticks {
            (horizontal(area, *position, "lm-grid"))
            text.lm-muted.lm-end x=(px(area.x - 8.0)) y=(px(area.up(*position) + 4.0)) { (text) }
        }
    }
}

/// Vertical grid lines.
pub(crate) fn vertical_grid(area: Area, axis: &ResolvedAxis) -> Markup {
    html! {
        @for position in &axis.minor { (vertical(area, *position, "lm-minor-grid")) }
        @for (position, _) in &axis.ticks { (vertical(area, *position, "lm-grid")) }
    }
}

/// The base line of an area with its tick labels, and the heading below if there is one. Labels that would overlap
/// the one before are left out.
pub(crate) fn bottom_axis(area: Area, axis: &ResolvedAxis) -> Markup {
    let mut free_from = f64::NEG_INFINITY;
    let mut shown = Vec::new();
    for (position, text) in &axis.ticks {
        let (x, half) = (area.across(*position), labels::width(text, TEXT) / 2.0);
        // A wide label at the edge moves inwards, so that it stays inside the picture.
        let centre = x.min(WIDTH - half - 1.0).max(half + 1.0);
        let visible = centre - half >= free_from;
        if visible {
            free_from = centre + half + 8.0;
        }
        shown.push((x, centre, visible.then_some(text)));
    }
    html! {
        path.lm-axis d=(format!("M{} {}H{}", px(area.x), px(area.bottom()), px(area.right()))) {}
        @for (x, centre, text) in shown {
            path.lm-axis d=(format!("M{} {}v5", px(x), px(area.bottom()))) {}
            @if let Some(text) = text {
                text.lm-muted.lm-middle x=(px(centre)) y=(px(area.bottom() + 18.0)) { (text) }
            }
        }
        (bottom_heading(area, &axis.heading))
    }
}

/// The heading below the tick labels.
pub(crate) fn bottom_heading(area: Area, heading: &str) -> Markup {
    html! {
        @if !heading.is_empty() {
            text.lm-axis-label.lm-middle x=(px(area.across(0.5))) y=(px(area.bottom() + 38.0)) { (heading) }
        }
    }
}

/// Clips `content` to the area and a margin, so that marks on the edge keep their width.
pub(crate) fn clip(area: Area, margin: f64, content: &Markup) -> Markup {
    let (x, y) = (px(area.x - margin), px(area.y - margin));
    let (width, height) = (px(area.width + 2.0 * margin), px(area.height + 2.0 * margin));
    html! {
        svg x=(x) y=(y) width=(width) height=(height) viewBox=(format!("{x} {y} {width} {height}")) { (content) }
    }
}

/// Draws a remark that there is no data.
pub(crate) fn no_data(area: Area) -> Markup {
    html! {
        text.lm-muted.lm-middle x=(px(area.across(0.5))) y=(px(area.up(0.5) + 4.0)) { "no data" }
    }
}

/// Shape of published values, which no measured series has.
pub(crate) const PUBLISHED_SHAPE: usize = 4;
/// Shape of upper bounds: an arrow that points down from a bar.
pub(crate) const BOUND_SHAPE: usize = 5;

/// Shapes that tell series apart without colour.
pub(crate) fn marker(shape: usize, x: f64, y: f64, class: &str, tooltip: Option<&str>) -> Markup {
    let path = match shape {
        0 => "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        1 => "m-4 -4h8v8h-8z",
        2 => "m0 -5l5 9h-10z",
        3 => "m0 5l5-9h-10z",
        BOUND_SHAPE => "m-5 -5h10m-5 0v9m-3.5 -4l3.5 4l3.5-4",
        _ => "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    };
    html! {
        path class=(class) d=(format!("M{} {}{path}", px(x), px(y))) {
            @if let Some(tooltip) = tooltip { title { (tooltip) } }
        }
    }
}

fn horizontal(area: Area, position: f64, class: &str) -> Markup {
    html! {
        path class=(class) d=(format!("M{} {}H{}", px(area.x), px(area.up(position)), px(area.right()))) {}
    }
}

fn vertical(area: Area, position: f64, class: &str) -> Markup {
    html! {
        path class=(class) d=(format!("M{} {}V{}", px(area.across(position)), px(area.y), px(area.bottom()))) {}
    }
}
