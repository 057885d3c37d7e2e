//! The form of an experiment file, before anything is checked that TOML does not check.

use linkmend_experiment::{PublishedTable, Settings};
use serde::Deserialize;
use toml::Spanned;

/// A file of an experiment with links.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    pub(super) id: Spanned<String>,
    pub(super) title: String,
    pub(super) source: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) base: Settings,
    #[serde(default)]
    pub(super) sweep: Vec<Settings>,
    #[serde(default)]
    pub(super) plot: Vec<Spanned<PlotTable>>,
    #[serde(default)]
    pub(super) published: Vec<Spanned<PublishedTable>>,
    #[serde(default)]
    pub(super) expected: Vec<Spanned<ExpectedTable>>,
}

/// What each point of the sweep is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A stress run.
    #[default]
    Stress,
    /// The loss of an attenuated optical link, which is computed.
    Attenuation,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ExpectedTable {
    pub theory: Theory,
    #[serde(default)]
    pub at: Settings,
    pub explanation: Option<String>,
}

/// Theories that every run can be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Theory {
    /// The effective loss rate is the actual one to the power of the number of copies plus one.
    #[serde(rename = "equation-1")]
    Equation1,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PlotTable {
    pub title: String,
    pub caption: Option<String>,
    pub kind: PlotKind,
    pub x: Option<Spanned<String>>,
    pub y: Option<Spanned<String>>,
    pub rows: Option<Spanned<String>>,
    #[serde(default)]
    pub series: Vec<Spanned<String>>,
    #[serde(default)]
    pub at: Settings,
    #[serde(default)]
    pub minus: Settings,
    #[serde(default)]
    pub log: LogAxes,
    pub low: Option<f64>,
    pub reference: Option<Reference>,
}

/// How points of the sweep are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlotKind {
    /// Joined points over two axes.
    Points,
    /// Bars in groups.
    Bars,
    /// The spread of a buffer's level over time.
    Boxes,
    /// Colours over two parameters.
    HeatMap,
    /// The distribution of retransmission delays.
    Delays,
    /// The distribution of the lengths of consecutive losses.
    Holes,
}

/// Which axes are logarithmic.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogAxes {
    #[default]
    None,
    /// The horizontal axis.
    X,
    /// The vertical axis.
    Y,
    Both,
}

/// A labelled line across a plot of bars.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Its position, in the unit that the metric's name states.
    pub value: f64,
    pub label: String,
}
