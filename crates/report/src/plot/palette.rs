//! Colours and the style sheet that carries them.
//!
//! Hues follow Okabe and Ito (2008), darkened for white and lightened for dark backgrounds, so that readers with any
//! colour vision tell them apart. Colours stand in class rules rather than in CSS variables, which several SVG viewers
//! do not know.

use serde::Serialize;
use std::fmt::Write as _;

/// The colour of a series. Give the same thing the same hue in every plot of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hue {
    Blue,
    Vermillion,
    Green,
    Purple,
    Amber,
    Sky,
    Grey,
}

/// Every hue with its colour on light and on dark.
const HUES: [(Hue, &str, &str, &str); 7] = [
    (Hue::Blue, "blue", "#0067a8", "#58a9e6"),
    (Hue::Vermillion, "vermillion", "#cf4f00", "#f58b4c"),
    (Hue::Green, "green", "#008566", "#35c49d"),
    (Hue::Purple, "purple", "#a3487f", "#e39ac6"),
    (Hue::Amber, "amber", "#b98300", "#f0c04a"),
    (Hue::Sky, "sky", "#3d9bd1", "#9ad3f2"),
    (Hue::Grey, "grey", "#6a737d", "#a6aeb8"),
];

/// Order in which series without a hue of their own take one; grey is left to context.
const AUTOMATIC: [Hue; 6] = [Hue::Blue, Hue::Vermillion, Hue::Green, Hue::Purple, Hue::Amber, Hue::Sky];

/// Stroke patterns that tell lines apart in print without colour.
const DASHES: [&str; 4] = ["none", "8 3", "2.5 2.5", "9 3 2.5 3"];

impl Hue {
    /// The hue of the series at `index` unless it has one of its own.
    pub(crate) fn of_series(own: Option<Hue>, index: usize) -> Hue {
        own.unwrap_or(AUTOMATIC[index % AUTOMATIC.len()])
    }

    /// The class that strokes with this hue.
    pub(crate) fn stroke(self) -> String {
        format!("lm-stroke-{}", self.name())
    }

    /// The class that fills with this hue.
    pub(crate) fn fill(self) -> String {
        format!("lm-fill-{}", self.name())
    }

    fn name(self) -> &'static str {
        HUES[self as usize].1
    }
}

/// The width of a line, as in the style sheet.
const LINE_WIDTH: f64 = 1.8;

/// How the line of a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    pub hue: Hue,
    /// The dash pattern, `none` for a solid line.
    pub dash: &'static str,
    pub width: f64,
}

impl Look {
    /// The look of the series at `index`: as many as there are hues with patterns, 24, differ from each other.
    pub fn of_series(own: Option<Hue>, index: usize) -> Look {
        Look {
            hue: Hue::of_series(own, index),
            dash: DASHES[variant(index) % DASHES.len()],
            width: LINE_WIDTH,
        }
    }

    /// A solid line that surrounds those drawn after it, so that all are seen where they coincide. `later` is their number.
    pub fn nested(hue: Hue, later: usize) -> Look {
        Look { hue, dash: "none", width: LINE_WIDTH + 2.2 * later.min(MOST_NESTED) as f64 }
    }

    /// What the style sheet does not say about the line.
    pub fn style(&self) -> Option<String> {
        (self.width != LINE_WIDTH).then(|| format!("stroke-width:{}", self.width))
    }
}

/// Lines that surround more than so many others would hide the plot.
const MOST_NESTED: usize = 2;

/// The number of the pattern or the shape of the series at `index`. Hues repeat after six, patterns and shapes after four, so
/// that both would repeat after twelve; the second dozen therefore starts with the second of them.
pub(crate) fn variant(index: usize) -> usize {
    index + index / (2 * AUTOMATIC.len())
}

/// Colours of text, grid and tints on one kind of background.
struct Theme {
    background: &'static str,
    ink: &'static str,
    muted: &'static str,
    grid: &'static str,
    minor_grid: &'static str,
    axis: &'static str,
    good: &'static str,
    bad: &'static str,
}

const LIGHT: Theme = Theme {
    background: "#ffffff",
    ink: "#1f2328",
    muted: "#57606a",
    grid: "#e1e5ea",
    minor_grid: "#f1f3f6",
    axis: "#8c959f",
    good: "#008566",
    bad: "#cf4f00",
};

const DARK: Theme = Theme {
    background: "#14181d",
    ink: "#e6e9ed",
    muted: "#a0a9b4",
    grid: "#2c333c",
    minor_grid: "#20262d",
    axis: "#68727e",
    good: "#35c49d",
    bad: "#f58b4c",
};

const FIXED_RULES: &str = "\
.lm-plot{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;\
font-size:12px;font-variant-numeric:tabular-nums}
.lm-plot .lm-title{font-size:15px;font-weight:600}
.lm-plot .lm-axis-label{font-size:12px;font-weight:600}
.lm-plot .lm-small{font-size:11px}
.lm-plot .lm-middle{text-anchor:middle}
.lm-plot .lm-end{text-anchor:end}
.lm-plot .lm-grid,.lm-plot .lm-minor-grid,.lm-plot .lm-axis{fill:none;stroke-width:1}
.lm-plot .lm-line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
.lm-plot .lm-dots{stroke-width:6}
.lm-plot .lm-value{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}
.lm-plot .lm-dashed{stroke-linecap:butt}
.lm-plot .lm-whisker{fill:none;stroke-width:1.5}
.lm-plot .lm-box{fill-opacity:.28;stroke-width:1.5}
.lm-plot .lm-median{stroke-width:3}
.lm-plot .lm-point{stroke-width:1}
.lm-plot .lm-hollow,.lm-plot .lm-bound{fill:none;stroke-width:2}
.lm-plot .lm-phase{fill:none;stroke-width:1.2;stroke-dasharray:4 3}
.lm-plot .lm-tint{fill-opacity:.07}
.lm-plot .lm-strands{fill:none;stroke-width:.7}
.lm-plot .lm-marked{stroke-width:2.2}
.lm-plot .lm-thick{stroke-width:3.6}
.lm-plot .lm-thin{stroke-width:1.1}
.lm-plot .lm-outlined,.lm-plot .lm-framed{stroke-width:2}
";

/// The rules of every plot: light first, then dark for screens that ask for it. Paper stays light.
pub(crate) fn style_sheet() -> String {
    let mut css = String::from(FIXED_RULES);
    push_theme(&mut css, &LIGHT, |hue| hue.2);
    css.push_str("@media screen and (prefers-color-scheme:dark){\n");
    push_theme(&mut css, &DARK, |hue| hue.3);
    css.push_str("}\n");
    css
}

fn push_theme(
    css: &mut String,
    theme: &Theme,
    colour: impl Fn(&(Hue, &str, &'static str, &'static str)) -> &'static str,
) {
    let rules = [
        ("fill", theme.ink, "text"),
        ("fill", theme.muted, ".lm-muted"),
        ("fill", theme.background, ".lm-background"),
        ("fill", theme.background, ".lm-outlined"),
        ("stroke", theme.background, ".lm-point,.lm-value"),
        ("stroke", theme.grid, ".lm-grid"),
        ("stroke", theme.minor_grid, ".lm-minor-grid"),
        ("stroke", theme.axis, ".lm-axis"),
        ("stroke", theme.ink, ".lm-framed,.lm-hollow,.lm-bound,.lm-median-ink"),
        ("stroke", theme.muted, ".lm-phase"),
        ("fill", theme.good, ".lm-tint.lm-good,text.lm-good"),
        ("fill", theme.bad, ".lm-tint.lm-bad,text.lm-bad"),
        ("fill", theme.muted, ".lm-tint.lm-neutral"),
        ("stroke", theme.good, ".lm-phase.lm-good"),
        ("stroke", theme.bad, ".lm-phase.lm-bad"),
        ("fill", theme.grid, ".lm-empty-cell"),
        ("stroke", theme.axis, ".lm-strands"),
        ("fill", theme.minor_grid, ".lm-bundle"),
        ("fill", theme.muted, ".lm-node"),
        ("fill", theme.background, "text.lm-on-fill"),
    ];
    for (property, value, selectors) in rules {
        let selectors: Vec<String> =
            selectors.split(',').map(|selector| format!(".lm-plot {selector}")).collect();
        let _ = writeln!(css, "{}{{{property}:{value}}}", selectors.join(","));
    }
    for hue in &HUES {
        let (name, value) = (hue.1, colour(hue));
        let _ = writeln!(
            css,
            ".lm-plot .lm-stroke-{name}{{stroke:{value}}}.lm-plot .lm-fill-{name}{{fill:{value}}}"
        );
    }
}

/// The colour of a heat map at `position` in 0..=1 and whether dark text is readable on it. The steps are those of
/// cividis (Nuñez, Anderton, Renslow 2018), which looks alike to readers with any colour vision.
pub(crate) fn heat(position: f64) -> (String, bool) {
    const STOPS: [[f64; 3]; 9] = [
        [0.0, 34.0, 78.0],
        [18.0, 53.0, 112.0],
        [59.0, 73.0, 108.0],
        [87.0, 93.0, 109.0],
        [112.0, 113.0, 115.0],
        [138.0, 134.0, 120.0],
        [165.0, 156.0, 116.0],
        [225.0, 204.0, 85.0],
        [254.0, 232.0, 56.0],
    ];
    let scaled = position.clamp(0.0, 1.0) * (STOPS.len() - 1) as f64;
    let index = (scaled.floor() as usize).min(STOPS.len() - 2);
    let share = scaled - index as f64;
    let channel = |c: usize| STOPS[index][c] + (STOPS[index + 1][c] - STOPS[index][c]) * share;
    let (red, green, blue) = (channel(0), channel(1), channel(2));
    let dark_text = 0.299 * red + 0.587 * green + 0.114 * blue > 125.0;
    (format!("#{:02x}{:02x}{:02x}", red.round() as u8, green.round() as u8, blue.round() as u8), dark_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_order_matches_the_enum() {
        for (index, (hue, ..)) in HUES.iter().enumerate() {
            assert_eq!(*hue as usize, index);
        }
    }

    #[test]
    fn two_dozen_lines_look_different() {
        let looks: Vec<Look> = (0..24).map(|index| Look::of_series(None, index)).collect();
        for (index, look) in looks.iter().enumerate() {
            assert!(!looks[..index].contains(look), "{index}: {look:?}");
        }
    }

    #[test]
    fn heat_covers_its_range() {
        assert_eq!(heat(0.0), ("#00224e".to_owned(), false));
        assert_eq!(heat(1.0), ("#fee838".to_owned(), true));
        assert_eq!(heat(f64::NAN).0.len(), 7);
    }
}
