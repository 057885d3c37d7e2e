//! The form of an experiment file, before anything is checked that TOML does not check.

use crate::parameters::TrafficTable;
use linkmend_experiment::{PublishedTable, Settings, Verdict};
use serde::Deserialize;
use toml::Spanned;

/// A file of an experiment with runs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct File {
    pub(super) id: Spanned<String>,
    pub(super) title: String,
    pub(super) source: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) base: Settings,
    #[serde(default)]
    pub(super) sweep: Vec<Settings>,
    /// Kinds of traffic, if a run has several.
    #[serde(default)]
    pub(super) traffic: Vec<Spanned<TrafficTable>>,
    #[serde(default)]
    pub(super) plot: Vec<Spanned<PlotTable>>,
    pub(super) tolerance_reason: Option<String>,
    #[serde(default)]
    pub(super) published: Vec<Spanned<PublishedTable>>,
    #[serde(default)]
    pub(super) expected: Vec<Spanned<ExpectedTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ExpectedTable {
    pub theory: Theory,
    #[serde(default)]
    pub at: Settings,
    pub explanation: Option<String>,
    #[serde(default)]
    pub verdict: Verdict,
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
    /// The experiment's, if it has none.
    pub title: Option<String>,
    pub caption: Option<String>,
    pub kind: PlotKind,
    pub x: Option<Spanned<String>>,
    pub y: Option<Spanned<String>>,
    pub rows: Option<Spanned<String>>,
    #[serde(default)]
    pub series: Vec<Spanned<String>>,
    #[serde(default)]
    pub panels: Vec<Spanned<String>>,
    #[serde(default)]
    pub at: Settings,
    #[serde(default)]
    pub minus: Settings,
    #[serde(default)]
    pub log: LogAxes,
    pub low: Option<f64>,
    pub above_percentile: Option<f64>,
    /// A smaller difference is a draw.
    pub draw: Option<f64>,
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
    /// Over two parameters, which of the series has the greatest `y`, and by how much.
    Best,
    /// The distribution of retransmission delays.
    Delays,
    /// The distribution of the lengths of consecutive losses.
    Holes,
    /// Distributions of flow completion times above a percentile: a plot for all points that differ only in what causes losses
    /// and recovers them.
    Tail,
    /// The same in whole, a plot for each loss rate, in each of which are the flows without loss.
    Distributions,
    /// The 99.9th percentile of slowdowns by flow size, a plot for each workload and load.
    Slowdown,
    /// How long packets take from the sender and back, beside the time after which RACK takes one for lost: the share of
    /// packets that take longer, for each point.
    RoundTrips,
    /// The groups of flows that losses or reordering affected (Figure 13), for each flow size.
    Groups,
}

impl PlotKind {
    /// Whether it shows flows.
    pub(super) fn is_of_flows(self) -> bool {
        self.is_divided() || matches!(self, PlotKind::Groups | PlotKind::RoundTrips)
    }

    /// Whether there is a plot for each group of points that are compared.
    pub(super) fn is_divided(self) -> bool {
        matches!(self, PlotKind::Tail | PlotKind::Distributions | PlotKind::Slowdown)
    }
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
