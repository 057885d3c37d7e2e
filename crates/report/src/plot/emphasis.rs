//! How edges and nodes of a layered graph stand out, in the graph and in its legend.

use super::frame::px;
use super::palette::Hue;
use maud::{Markup, html};

/// How an edge that stands out is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stroke {
    pub hue: Hue,
    /// Its pattern, which tells it apart where colours do not.
    pub line: Line,
}

/// The pattern of an edge that stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    Solid,
    /// Without gaps, and twice as wide.
    Thick,
    /// Without gaps, and half as wide.
    Thin,
    /// Dashed with long pieces.
    Dashed,
    /// Dashed with short pieces.
    Dotted,
}

impl Line {
    fn dash(self) -> Option<&'static str> {
        match self {
            Line::Solid | Line::Thick | Line::Thin => None,
            Line::Dashed => Some("6 3"),
            Line::Dotted => Some("2 2"),
        }
    }

    fn class(self) -> &'static str {
        match self {
            Line::Solid | Line::Dashed | Line::Dotted => "lm-marked",
            Line::Thick => "lm-marked lm-thick",
            Line::Thin => "lm-marked lm-thin",
        }
    }
}

/// How a node that stands out is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// An outline in this colour.
    Outlined(Hue),
    /// Filled with this colour, in a frame.
    Framed(Hue),
}

/// Draws an edge that stands out, or its key in the legend, which has no tooltip.
pub(super) fn draw_stroke(stroke: Stroke, line: &str, tooltip: &str) -> Markup {
    let class = format!("lm-line lm-dashed {} {}", stroke.line.class(), stroke.hue.stroke());
    html! {
        path class=(class) stroke-dasharray=[stroke.line.dash()] d=(line) {
            @if !tooltip.is_empty() { title { (tooltip) } }
        }
    }
}

/// Draws a node, or its key in the legend, which has no tooltip.
pub(super) fn draw_node(
    mark: Option<Mark>,
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    tooltip: &str,
) -> Markup {
    let class = match mark {
        None => "lm-node".to_owned(),
        Some(Mark::Outlined(hue)) => format!("lm-outlined {}", hue.stroke()),
        Some(Mark::Framed(hue)) => format!("lm-framed {}", hue.fill()),
    };
    // An outline extends to both sides of the edge, so an outlined node is smaller by as much.
    let inset = if mark.is_some() { 1.0 } else { 0.0 };
    html! {
        rect class=(class) x=(px(x + inset)) y=(px(y + inset)) width=(px((width - 2.0 * inset).max(1.0)))
            height=(px(height - 2.0 * inset)) rx="2" { @if !tooltip.is_empty() { title { (tooltip) } } }
    }
}
