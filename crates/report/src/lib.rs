//! Tables, plots and reports for people who want to see what a run did.
//!
//! The crate knows nothing about networking: callers pass it numbers in base units (bit/s, bytes, seconds, plain ratios)
//! and say what they mean with a [`Unit`].
//!
//! - [`quantity`] writes numbers as people read them.
//! - [`Table`] holds rows of [`Cell`]s and becomes terminal text, HTML, CSV or (through serde) JSON.
//! - [`Comparison`] puts a published value beside a measured one and judges whether it is reproduced.
//! - [`Plot`] is one of [`Timeline`], [`TailPlot`], [`GroupedBars`], [`BoxPlot`], [`Scatter`], [`HeatMap`] and
//!   [`LayeredGraph`], and becomes SVG or the CSV of its data.
//! - [`Report`] collects all of them in one self-contained HTML file, without scripts, fonts or network access.
//!
//! The same input gives the same bytes. Nothing here reads a clock, a file or the network; empty data, values that are
//! not numbers and absurd ranges are drawn as well as possible and never panic.
//!
//! ```
//! use linkmend_report::{Axis, Cell, Column, GroupedBars, Report, Section, Table, Unit};
//!
//! let table = Table::new("Goodput")
//!     .column(Column::text("Protection"))
//!     .column(Column::number("Goodput", Unit::BitPerSecond))
//!     .row([Cell::text("none"), Cell::number(1.2e9).bad()])
//!     .row([Cell::text("ordered"), Cell::number(9.41e9).good()]);
//! println!("{}", table.to_text(80, false));
//!
//! let plot = GroupedBars::new("Goodput", "Loss rate", Axis::new("Goodput", Unit::BitPerSecond))
//!     .categories(["1e-3"])
//!     .series("none", [1.2e9])
//!     .series("ordered", [9.41e9]);
//! let report = Report::new("Demo").fact("Seed", "42").section(Section::new("Goodput").table(table).plot(plot));
//! assert!(report.to_html().starts_with("<!DOCTYPE html>"));
//! ```

mod comparison;
#[cfg(feature = "html")]
mod labels;
#[cfg(feature = "html")]
mod plot;
pub mod quantity;
#[cfg(feature = "html")]
mod report;
mod table;
mod tolerance;
mod tone;
mod wrap;

pub use comparison::{Comparison, Judged, Verdict};
#[cfg(feature = "html")]
pub use plot::{
    Axis, BoxPlot, Distribution, GroupedBars, HeatMap, Hue, LayeredGraph, Line, Mark, Panel, Place, Plot,
    Scatter, Series, Stroke, Summary, TailPlot, Timeline,
};
pub use quantity::Unit;
#[cfg(feature = "html")]
pub use report::{RenderedSection, Report, Section};
pub use table::{Alignment, Cell, Column, Content, Table};
pub use tolerance::Tolerance;
pub use tone::Tone;
pub use wrap::wrap;
