//! Published evaluations of whole fleets, described in files, and run over many traces.

mod metric;
mod pair;
mod run;
mod upgrades;

pub use metric::PairMetric;
pub use pair::{Moment, Pair, merged};
pub use run::{FleetOutcome, FleetRun};
pub use upgrades::{PodChoice, UpgradeRun};

use linkmend_experiment::{ExperimentError, Row, Source, Tolerance};
use linkmend_report::Comparison;
use linkmend_topology::{FabricParameters, Topology, TopologyError};
use serde::Deserialize;

/// A published evaluation and what to compare.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetExperiment {
    /// Its name.
    pub id: String,
    /// What it is about, in a few words.
    pub title: String,
    /// What it reproduces.
    pub source: String,
    /// What it is about, in sentences.
    pub about: String,
    /// Pods of the paper's fabric.
    #[serde(default = "pods")]
    pub pods: u32,
    /// Shares of their paths that ToRs must keep, in percent.
    pub constraints_pct: Vec<f64>,
    /// Traces for each constraint.
    pub seeds: u64,
    /// Length of a trace in days.
    pub days: u64,
    /// What is drawn.
    pub figure: Figure,
    /// First day of the week that is drawn.
    #[serde(default)]
    pub week_from_day: u64,
    /// Published values.
    #[serde(default)]
    pub published: Vec<Published>,
    /// The file itself.
    #[serde(skip)]
    pub text: String,
}

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// A week of penalties, paths and capacity (Figure 15).
    Week,
    /// How penalty and capacity differ, over all the time (Figure 16).
    Differences,
    /// What upgraded pods spare, by how they are chosen.
    Deployment,
}

/// A published value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Of what.
    pub metric: PairMetric,
    /// At which constraint, in percent.
    pub constraint_pct: f64,
    /// The value; shares as shares of one.
    pub value: f64,
    /// How far the measured one may be off.
    pub tolerance: Tolerance,
    /// Why it is off, if that is known.
    pub explanation: Option<String>,
    /// Where it was published, if not where the experiment's source says.
    pub source: Option<String>,
}

fn pods() -> u32 {
    FabricParameters::PAPER.pods
}

/// The files that are built in.
const BUILT_IN: [(&str, &str); 3] = [
    ("experiments/fleet/fig15.toml", include_str!("../../../../experiments/fleet/fig15.toml")),
    ("experiments/fleet/fig16.toml", include_str!("../../../../experiments/fleet/fig16.toml")),
    ("experiments/fleet/deployment.toml", include_str!("../../../../experiments/fleet/deployment.toml")),
];

/// The experiments that are built in.
///
/// # Errors
/// None, unless a file was broken before the program was built; a test sees to that.
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
    /// The network.
    ///
    /// # Errors
    /// If the number of pods is out of its range.
    pub fn topology(&self) -> Result<Topology, TopologyError> {
        FabricParameters { pods: self.pods, ..FabricParameters::PAPER }.build()
    }

    /// Published values beside measured ones; `pairs` are by constraint, then by seed.
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

    /// The same with one trace of a few weeks.
    pub fn quick(&self) -> FleetExperiment {
        FleetExperiment { seeds: 2, days: 40, week_from_day: 20, ..self.clone() }
    }
}
