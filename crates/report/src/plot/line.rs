//! A line as its look says, in a plot and in its legend.

use super::palette::Look;
use maud::{Markup, html};

/// A line, or its key in the legend, which has no tooltip. Dashes have no caps, which would close the gaps between them.
pub(crate) fn draw_line(look: Look, path: &str, tooltip: &str) -> Markup {
    let dash = (look.dash != "none").then_some(look.dash);
    let class = if dash.is_some() { "lm-line lm-dashed" } else { "lm-line" };
    html! {
        path class=(format!("{class} {}", look.hue.stroke())) stroke-dasharray=[dash] style=[look.style()] d=(path) {
            @if !tooltip.is_empty() { title { (tooltip) } }
        }
    }
}
