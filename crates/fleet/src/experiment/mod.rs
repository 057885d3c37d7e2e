//! Experiments with fleets: published evaluations, described in files, and run over many traces.
//! `linkmend_experiment` is the frame; this module defines the points of an experiment and what they measure.
//!
//! - [`FleetParameters`] are what a file varies.
//! - [`FleetExperiments`] are this [`Kind`](linkmend_experiment::Kind) of experiments. Each run of a point draws a trace
//!   of its own; its outcome is a [`Pair`] of runs or an [`UpgradeRun`].
//! - [`built_in`] are the experiments of the paper.
//! - [`plots`] and [`tables`] are made of an experiment and the outcomes of its points.

mod definition;
mod metric;
mod outcome;
mod pair;
mod parameters;
pub mod plots;
mod stored;
pub mod tables;
mod task;
#[cfg(test)]
mod tests;
mod upgrades;

pub use definition::{Figure, File, FleetExperiment, FleetExperiments, Point, Rest};
pub use metric::Metric;
pub use outcome::FleetOutcome;
pub use pair::{Moment, Pair, merged};
pub use parameters::FleetParameters;
pub use task::Task;
pub use upgrades::{PodChoice, UpgradeRun};

use linkmend_experiment::ExperimentError;

/// The experiment files that are built into the program.
const BUILT_IN: [(&str, &str); 3] = [
    ("experiments/fleet/fig15.toml", include_str!("../../experiments/fig15.toml")),
    ("experiments/fleet/fig16.toml", include_str!("../../experiments/fig16.toml")),
    ("experiments/fleet/deployment.toml", include_str!("../../experiments/deployment.toml")),
];

/// The built-in experiments.
///
/// # Errors
/// Never, unless a file was broken when the program was built; a test rules that out.
pub fn built_in() -> Result<Vec<FleetExperiment>, ExperimentError> {
    FleetExperiment::built_in(&BUILT_IN)
}
