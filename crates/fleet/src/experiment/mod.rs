//! Published evaluations of whole fleets, described in files, and run over many traces.
//!
//! - A [`FleetExperiment`] is an evaluation; [`FleetRun`] runs it.
//! - [`Pair`] and [`UpgradeRun`] are its results, [`PairMetric`] what is compared with published values.
//! - [`plots`] and [`tables`] are made of the results.

mod metric;
mod pair;
pub mod plots;
mod run;
pub mod tables;
mod upgrades;

pub use metric::PairMetric;
pub use pair::{Moment, Pair, merged};
pub use run::{FleetOutcome, FleetRun};
pub use upgrades::{PodChoice, UpgradeRun};

use linkmend_experiment::{ExperimentError, Row, Source, Tolerance};
use linkmend_report::Comparison;
use linkmend_topology::{FabricParameters, Topology, TopologyError};
use serde::Deserialize;

/// A published evaluation: what is run, and the values with which it is compared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetExperiment {
    /// Its name on the command line.
    pub id: String,
    /// What it is about, in a few words.
    pub title: String,
    /// The figure, table or section that it reproduces.
    pub source: String,
    /// What it is about, in full sentences.
    pub about: String,
    /// Pods of the paper's fabric.
    #[serde(default = "pods")]
    pub pods: u32,
    /// The shares of their paths that ToRs must keep, in percent.
    pub constraints_pct: Vec<f64>,
    /// Traces for each constraint.
    pub seeds: u64,
    /// Length of a trace in days.
    pub days: u64,
    /// The figure that its report draws.
    pub figure: Figure,
    /// First day of the week that is drawn, counted from 0.
    #[serde(default)]
    pub week_from_day: u64,
    /// Published values to compare with measured ones.
    #[serde(default)]
    pub published: Vec<Published>,
    /// The text of the file itself.
    #[serde(skip)]
    pub text: String,
}

/// The figure that an evaluation's report draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// A week of penalties, paths and capacity (Figure 15).
    Week,
    /// Distributions over time of the differences in penalty and capacity (Figure 16).
    Differences,
    /// What upgraded pods spare, for each way of choosing them.
    Deployment,
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The metric that was published.
    pub metric: PairMetric,
    /// The constraint at which it was published, in percent.
    pub constraint_pct: f64,
    /// The value; shares as shares of one.
    pub value: f64,
    /// How far the measured value may be off.
    pub tolerance: Tolerance,
    /// Why the measured value is off, if that is known.
    pub explanation: Option<String>,
    /// Where it was published, if that differs from the experiment's source.
    pub source: Option<String>,
}

fn pods() -> u32 {
    FabricParameters::PAPER.pods
}

/// The experiment files that are built into the program.
const BUILT_IN: [(&str, &str); 3] = [
    ("experiments/fleet/fig15.toml", include_str!("../../../../experiments/fleet/fig15.toml")),
    ("experiments/fleet/fig16.toml", include_str!("../../../../experiments/fleet/fig16.toml")),
    ("experiments/fleet/deployment.toml", include_str!("../../../../experiments/fleet/deployment.toml")),
];

/// The built-in experiments.
///
/// # Errors
/// Never, unless a file was broken when the program was built; a test rules that out.
pub fn built_in() -> Result<Vec<FleetExperiment>, ExperimentError> {
    BUILT_IN
        .iter()
        .map(|(path, text)| {
            let read = toml::from_str::<FleetExperiment>(text);
            let experiment = read.map_err(|error| Source { path, text }.syntax(&error))?;
            Ok(FleetExperiment { text: (*text).to_owned(), ..experiment })
        })
        .collect()
}

impl FleetExperiment {
    /// Builds the network that the evaluation runs on.
    ///
    /// # Errors
    /// If the number of pods is out of its range.
    pub fn topology(&self) -> Result<Topology, TopologyError> {
        FabricParameters { pods: self.pods, ..FabricParameters::PAPER }.build()
    }

    /// Returns each constraint in percent, with its results.
    pub fn by_constraint<'a, T>(&'a self, runs: &'a [Vec<T>]) -> impl Iterator<Item = (f64, &'a [T])> {
        self.constraints_pct.iter().copied().zip(runs.iter().map(Vec::as_slice))
    }

    /// Compares published values with measured ones. `pairs` are sorted by constraint, then by seed.
    pub fn compare(&self, pairs: &[Vec<Pair>]) -> Vec<Comparison> {
        let measured = |row: &Published| {
            let place = self.constraints_pct.iter().position(|percent| *percent == row.constraint_pct)?;
            row.metric.estimate(&pairs[place])
        };
        let compared = |row: &Published| {
            let published = linkmend_experiment::Published {
                metric: format!("{}, {} % of paths", row.metric.label(), row.constraint_pct),
                source: row.source.clone().unwrap_or_else(|| self.source.clone()),
                quantity: row.metric.quantity(),
                value: row.value,
                tolerance: row.tolerance,
                explanation: row.explanation.clone(),
            };
            Row { published, measured: measured(row) }.comparison()
        };
        self.published.iter().map(compared).collect()
    }

    /// The same evaluation with a single trace of a few weeks.
    pub fn quick(&self) -> FleetExperiment {
        FleetExperiment { seeds: 2, days: 40, week_from_day: 20, ..self.clone() }
    }
}
