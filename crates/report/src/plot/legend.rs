//! The line above a plot area: the heading of its vertical axis on the left, the legend on the right.

use super::WIDTH;
use super::emphasis::{Mark, Stroke, draw_node, draw_stroke};
use super::frame::{BOUND_SHAPE, TEXT, marker, px};
use super::line::draw_line;
use super::palette::{Hue, Look};
use crate::labels;
use maud::{Markup, html};

/// What stands before a name in the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Key {
    /// A piece of line.
    Line(Look),
    /// A filled marker of this shape.
    Marker(Hue, usize),
    /// The same on a piece of line.
    Joined(Look, usize),
    /// The end of what is only known not to be above it.
    Bound,
    /// An outlined marker of this shape, in the colour of text.
    Hollow(usize),
    /// A filled square.
    Swatch(Hue),
    /// A piece of an edge of a layered graph.
    Edge(Stroke),
    /// A node of a layered graph.
    Node(Mark),
}

const KEY_WIDTH: f64 = 26.0;
const ENTRY_GAP: f64 = 18.0;
const ROW: f64 = 19.0;
/// A longer name is truncated.
const LONGEST_NAME: f64 = 340.0;

/// Draws heading and legend from `top` down, and returns their height. The legend stands to the right of the heading if
/// it fits, otherwise in rows above it.
pub(crate) fn header(top: f64, heading: &str, entries: &[(Key, String)]) -> (Markup, f64) {
    let names: Vec<String> = entries.iter().map(|(_, name)| labels::fit(name, TEXT, LONGEST_NAME)).collect();
    let widths: Vec<f64> = names.iter().map(|name| KEY_WIDTH + labels::width(name, TEXT)).collect();
    let total: f64 = widths.iter().sum::<f64>() + ENTRY_GAP * entries.len().saturating_sub(1) as f64;
    let beside = labels::bold_width(heading, TEXT) + 32.0 + total <= WIDTH - 8.0;
    let (mut x, mut row) = if beside { (WIDTH - 4.0 - total, 0.0) } else { (4.0, 0.0) };
    let mut places = Vec::with_capacity(entries.len());
    for width in &widths {
        if x > 4.0 && x + width > WIDTH - 2.0 {
            (x, row) = (4.0, row + 1.0);
        }
        places.push((x, top + 13.0 + row * ROW));
        x += width + ENTRY_GAP;
    }
    let rows = if beside || entries.is_empty() { 0.0 } else { row + 1.0 };
    let heading_y = top + 13.0 + rows * ROW;
    let height = if heading.is_empty() && rows > 0.0 { rows * ROW + 6.0 } else { (rows + 1.0) * ROW + 6.0 };
    let markup = html! {
        @if !heading.is_empty() { text.lm-axis-label x="4" y=(px(heading_y)) { (heading) } }
        g.lm-legend {
            @for ((key, _), (name, (x, y))) in entries.iter().zip(names.iter().zip(&places)) {
                g.lm-key { (draw_key(*key, *x, y - 4.0)) }
                text x=(px(x + KEY_WIDTH)) y=(px(*y)) { (name) }
            }
        }
    };
    (markup, height)
}

fn draw_key(key: Key, x: f64, y: f64) -> Markup {
    match key {
        Key::Line(look) => draw_line(look, &format!("M{} {}h20", px(x), px(y)), ""),
        Key::Joined(look, shape) => html! {
            (draw_line(look, &format!("M{} {}h20", px(x), px(y)), ""))
            (draw_key(Key::Marker(look.hue, shape), x - 2.0, y))
        },
        Key::Bound => marker(BOUND_SHAPE, x + 12.0, y, "lm-bound", None),
        Key::Marker(hue, shape) => marker(shape, x + 12.0, y, &format!("lm-point {}", hue.fill()), None),
        Key::Hollow(shape) => marker(shape, x + 12.0, y, "lm-hollow", None),
        Key::Edge(stroke) => draw_stroke(stroke, &format!("M{} {}h20", px(x), px(y)), ""),
        Key::Node(mark) => draw_node(Some(mark), (x + 7.0, y - 7.0), (13.0, 14.0), ""),
        Key::Swatch(hue) => html! {
            rect class=(hue.fill()) x=(px(x + 8.0)) y=(px(y - 6.0)) width="12" height="12" rx="2" {}
        },
    }
}
