//! The experiments that are built in.

use super::definition::Experiment;
use linkmend_experiment::ExperimentError;

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        &[$((concat!("experiments/", $name, ".toml"),
             include_str!(concat!("../../../../experiments/", $name, ".toml")))),*]
    };
}

/// Built into the program, in the order in which they are listed and run: first the paper's, in the order of its figures
/// and tables, then those beyond it.
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
];

/// The experiments that are built in.
///
/// # Errors
/// Never, unless a file was broken when the program was built; a test rules that out.
pub fn built_in() -> Result<Vec<Experiment>, ExperimentError> {
    Experiment::built_in(BUILT_IN)
}
