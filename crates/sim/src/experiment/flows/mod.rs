//! Experiments with flows between hosts: how long they take, and how much they carry, over a link that corrupts.
//!
//! - [`FlowParameters`] are what a file varies, by the names that `linkmend sim flows` has for them.
//! - [`FlowExperiments`] are this [`Kind`](linkmend_experiment::Kind) of experiments. The runs of a point differ in their
//!   seed; points that differ in how the link recovers share theirs, so that their ratios are of pairs.
//! - [`built_in`] are the experiments of the paper.
//! - [`plots`] and [`tables`] are made of an experiment and the outcomes of its points.

mod definition;
mod metric;
mod outcome;
mod parameters;
pub mod plots;
pub mod tables;
#[cfg(test)]
mod tests;

pub use definition::{Figure, File, FlowExperiment, FlowExperiments, Point, Rest, with_trials};
pub use metric::Metric;
pub use outcome::{FlowOutcome, FlowRun};
pub use parameters::FlowParameters;

use linkmend_experiment::ExperimentError;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("experiments/flows/", $name, ".toml"),
             include_str!(concat!("../../../../../experiments/flows/", $name, ".toml")))),*]
    };
}

/// Built into the program, in the order in which they are listed and run.
static BUILT_IN: &[(&str, &str)] = built_in![
    "fig10",
    "fig11",
    "artifact-fct",
    "fig12",
    "fig13",
    "table2",
    "table3",
    "reordering",
    "several-links",
    "incast",
    "clos",
    "slowdown",
    "rdma-fig10",
    "rdma-ping-pong",
    "rdma-fig12",
    "rdma-fig13",
    "rdma-fig14",
    "rdma-protection",
    "rdma-cards",
    "sqr-flows",
    "sqr-long-flow",
    "sqr-route-failure",
    "sqr-buffers",
    "sqr-beyond",
    "load-balanced",
    "who-needs-order",
];

/// The built-in experiments.
///
/// # Errors
/// Never, unless a file was broken when the program was built; a test rules that out.
pub fn built_in() -> Result<Vec<FlowExperiment>, ExperimentError> {
    FlowExperiment::built_in(BUILT_IN)
}
