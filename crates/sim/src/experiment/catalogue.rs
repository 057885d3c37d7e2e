//! The experiments that are built in.

use super::definition::Experiment;
use linkmend_experiment::ExperimentError;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("experiments/", $name, ".toml"),
             include_str!(concat!("../../experiments/", $name, ".toml")))),*]
    };
}

/// Built into the program, in the order in which they are listed and run: first of line-rate traffic, then of flows, and of
/// each first the papers', in the order of figures and tables.
static BUILT_IN: &[(&str, &str)] = built_in![
    "fig1",
    "fig8",
    "fig8-rare",
    "artifact-stress",
    "timeouts",
    "fig9b",
    "fig14",
    "fig19",
    "fig20",
    "resume-flight",
    "table4",
    "tuning",
    "mechanisms",
    "speeds",
    "frame-sizes",
    "distance",
    "buffering",
    "bursts",
    "frontier",
    "llr-map",
    "llr-choices",
    "llr-timers",
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
    "collectives",
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
    "llr-flows",
    "llr-fec",
];

/// The experiments that are built in.
///
/// # Errors
/// Never, unless a file was broken when the program was built; a test rules that out.
pub fn built_in() -> Result<Vec<Experiment>, ExperimentError> {
    Experiment::built_in(BUILT_IN)
}
