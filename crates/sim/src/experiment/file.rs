//! An experiment file as it is written, before anything is checked that TOML does not check.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

/// Parameters and their values as written, each with its place in the file.
pub(super) type Settings = BTreeMap<Spanned<String>, Spanned<Value>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    pub id: Spanned<String>,
    pub title: String,
    pub source: String,
    #[serde(default)]
    pub about: String,
    #[serde(default)]
    pub kind: Kind,
    #[serde(default)]
    pub base: Settings,
    #[serde(default)]
    pub sweep: Vec<Settings>,
    #[serde(default)]
    pub plot: Vec<Spanned<PlotTable>>,
    #[serde(default)]
    pub published: Vec<Spanned<PublishedTable>>,
    #[serde(default)]
    pub law: Vec<Spanned<LawTable>>,
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
pub(super) struct PublishedTable {
    pub metric: Spanned<String>,
    #[serde(default)]
    pub at: Settings,
    pub value: f64,
    #[serde(default)]
    pub of: Of,
    pub tolerance: Spanned<Tolerance>,
    pub source: Option<String>,
    pub explanation: Option<String>,
}

/// What is compared of several points.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// All of them as if they had been one run.
    #[default]
    Pooled,
    /// The greatest of their values.
    Greatest,
}

/// How far a measured value may be from the published one.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tolerance {
    /// At most this fraction of the published value away.
    Relative(f64),
    /// At most this far away, in the unit of the value.
    Absolute(f64),
    /// Within this factor either way.
    Factor(f64),
    /// The published value is a bound that must not be exceeded.
    AtMost,
    /// The published value is a bound that must be reached.
    AtLeast,
    /// The interval of a counted value must hold the published value.
    Interval,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LawTable {
    pub law: Law,
    #[serde(default)]
    pub at: Settings,
    pub explanation: Option<String>,
}

/// What theory says of every run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// The effective loss rate is the actual one to the power of the copies and one.
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
    /// Points over two axes, joined.
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
    /// None.
    #[default]
    None,
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
    /// Both.
    Both,
}

/// A labelled line across a plot of bars.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Where, in the unit of the metric's name.
    pub value: f64,
    /// What it is.
    pub label: String,
}
