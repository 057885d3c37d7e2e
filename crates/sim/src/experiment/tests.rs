//! Experiment files: all that are built in, and what is refused.

use super::*;
use std::path::Path;

const HEAD: &str = "id = \"x\"\ntitle = \"t\"\nsource = \"s\"\n";

fn parse(rest: &str) -> Result<Experiment, ExperimentError> {
    Experiment::parse("x.toml", &format!("{HEAD}{rest}"), Path::new(""))
}

#[test]
fn what_is_built_in_can_be_used() {
    let experiments = built_in().unwrap_or_else(|error| panic!("{error}"));
    assert!(experiments.len() >= 18);
    for experiment in &experiments {
        assert!(!experiment.points.is_empty() && !experiment.plots.is_empty(), "{}", experiment.id);
    }
}
