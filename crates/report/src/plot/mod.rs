//! Plots: one description, written as SVG or as the CSV of its data.
//!
//! The general plotting crates were tried first (plotters 0.3, poloto 19). Both bake colours into the file, so a plot
//! cannot follow the reader's dark mode. Plotters also rounds to whole pixels, which shows at 2x zoom, and clips wide
//! tick labels. Neither has a tail scale, stacked panels or grouped bars. Little of them would remain, so the drawing
//! here is our own, and `maud` writes the elements.

mod axis;
mod bars;
mod boxes;
mod coincide;
mod emphasis;
mod frame;
mod heatmap;
mod layered;
mod legend;
mod line;
mod marks;
mod node_labels;
mod palette;
mod scale;
mod scatter;
mod series;
mod tail;
mod timeline;

pub use axis::Axis;
pub use bars::GroupedBars;
pub use boxes::{BoxPlot, Summary};
pub use emphasis::{Line, Mark, Stroke};
pub use heatmap::HeatMap;
pub use layered::{LayeredGraph, Place};
pub use palette::Hue;
pub use scatter::Scatter;
pub use series::Series;
pub use tail::{Distribution, TailPlot};
pub use timeline::{Panel, Timeline};

pub(crate) use palette::style_sheet;

use crate::table::Table;
use maud::{Markup, PreEscaped, html};

/// Width of every plot in SVG user units, which are CSS pixels at full size.
pub(crate) const WIDTH: f64 = 760.0;

/// What every kind of plot provides.
pub(crate) trait Figure {
    fn title(&self) -> &str;
    /// The caller's description of the plot.
    fn caption(&self) -> Option<&str>;
    /// A generated sentence about the plot, used if the caller gave no description.
    fn summary(&self) -> String;
    fn draw(&self) -> Drawing;
    /// The numbers behind the plot.
    fn data(&self) -> Table;
}

/// The elements of a plot below its title, and the height they take.
pub(crate) struct Drawing {
    pub body: Markup,
    pub height: f64,
}

/// A plot of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Plot {
    /// Values over time in stacked panels.
    Timeline(Timeline),
    /// Cumulative distributions, with room for the tail.
    Tail(TailPlot),
    /// Bars in groups.
    Bars(GroupedBars),
    /// Boxes from quartile to quartile with whiskers from minimum to maximum.
    Boxes(BoxPlot),
    /// Points, joined points and published reference points.
    Scatter(Scatter),
    /// A matrix of coloured cells.
    HeatMap(HeatMap),
    /// Nodes in layers with edges between.
    Layered(LayeredGraph),
}

impl Plot {
    /// The title of the plot.
    pub fn title(&self) -> &str {
        self.figure().title()
    }

    /// The caller's description of the plot, or else a generated one.
    pub fn description(&self) -> String {
        let figure = self.figure();
        figure.caption().map_or_else(|| figure.summary(), str::to_owned)
    }

    /// Describes the plot for readers who cannot see it, instead of the generated description.
    #[must_use]
    pub fn describe(self, description: &str) -> Plot {
        match self {
            Plot::Timeline(figure) => figure.describe(description).into(),
            Plot::Tail(figure) => figure.describe(description).into(),
            Plot::Bars(figure) => figure.describe(description).into(),
            Plot::Boxes(figure) => figure.describe(description).into(),
            Plot::Scatter(figure) => figure.describe(description).into(),
            Plot::HeatMap(figure) => figure.describe(description).into(),
            Plot::Layered(figure) => figure.describe(description).into(),
        }
    }

    /// The description if the caller gave one.
    pub(crate) fn caption(&self) -> Option<&str> {
        self.figure().caption()
    }

    /// A complete SVG file that follows the reader's light or dark mode.
    pub fn to_svg(&self) -> String {
        self.svg(true).into_string()
    }

    /// The data of the plot as CSV, in base units.
    pub fn to_csv(&self) -> String {
        self.figure().data().to_csv()
    }

    /// The `<svg>` element without its style sheet, for a page that has [`style_sheet`] once.
    pub(crate) fn inline_svg(&self) -> Markup {
        self.svg(false)
    }

    fn figure(&self) -> &dyn Figure {
        match self {
            Plot::Timeline(figure) => figure,
            Plot::Tail(figure) => figure,
            Plot::Bars(figure) => figure,
            Plot::Boxes(figure) => figure,
            Plot::Scatter(figure) => figure,
            Plot::HeatMap(figure) => figure,
            Plot::Layered(figure) => figure,
        }
    }

    fn svg(&self, standalone: bool) -> Markup {
        let figure = self.figure();
        let (title, title_height) = frame::title(figure.title());
        let drawing = figure.draw();
        let height = (title_height + drawing.height).ceil();
        let namespace = standalone.then_some("http://www.w3.org/2000/svg");
        let size = standalone.then_some(WIDTH);
        html! {
            svg.lm-plot xmlns=[namespace] viewBox=(format!("0 0 {WIDTH} {height}")) width=[size]
                height=[standalone.then_some(height)] role="img" aria-label=(figure.title()) {
                title { (figure.title()) }
                desc { (self.description()) }
                @if standalone {
                    style { (PreEscaped(style_sheet())) }
                    rect.lm-background width=(WIDTH) height=(height) {}
                }
                (title)
                g transform=(format!("translate(0 {})", frame::px(title_height))) { (drawing.body) }
            }
        }
    }
}

macro_rules! plot_from {
    ($($kind:ident => $variant:ident),*) => {
        $(impl From<$kind> for Plot {
            fn from(figure: $kind) -> Self {
                Plot::$variant(figure)
            }
        })*
    };
}
plot_from!(Timeline => Timeline, TailPlot => Tail, GroupedBars => Bars, BoxPlot => Boxes, Scatter => Scatter,
    HeatMap => HeatMap, LayeredGraph => Layered);
