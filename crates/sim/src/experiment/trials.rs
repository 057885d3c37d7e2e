//! Flows of a run: how many there are unless a file says so, and as many as somebody asks for.

use super::definition::Experiment;
use super::flow_metrics::COUNTS_OF_A_RUN;
use super::outcome::Outcome;
use crate::link::config::ParameterError;
use crate::parameters::{RunConfig, RunParameters};
use linkmend_experiment::PublishedAt;
use linkmend_quantity::Count;
use linkmend_topology::spec;
use std::path::Path;

/// Flows of a run, if a file says neither how many there are nor for how long.
const TRIALS: &[(&str, &str)] = &[("trials", "5k")];
/// What flows are like, if a file does not say it.
const FLOWS: &[(&str, &str)] = &[("scheme", "none"), ("loss", "0"), ("speed", "100G")];

/// The same parameters with those of the paper where a file says nothing; paths start from its folder.
pub(super) fn completed(written: &RunParameters, folder: &Path) -> RunParameters {
    let mut parameters = written.clone();
    if !parameters.has_hosts() {
        return parameters;
    }
    if let Some(file) = parameters.topology.as_mut().filter(|written| spec::names_file(written)) {
        *file = folder.join(&file).to_string_lossy().into_owned();
    }
    let is_counted = parameters.duration.is_none() && parameters.load.is_none();
    parameters.or(FLOWS).or(if is_counted { TRIALS } else { &[] })
}

/// The same experiment with another number of trials in each run, such as that of a paper where the file has fewer.
///
/// # Errors
/// [`ParameterError`] if a point counts no trials or cannot have so many, if points have different numbers of them, or if what
/// is published depends on the number.
pub fn with_trials(mut experiment: Experiment, trials: Count) -> Result<Experiment, ParameterError> {
    let id = &experiment.id;
    let refused =
        |reason: &str| ParameterError::new("trials", trials, format!("must not be given for {id}, {reason}"));
    let of_first = experiment.points.first().and_then(|point| point.parameters.trials);
    if experiment.points.iter().any(|point| point.parameters.trials.is_none()) {
        return Err(refused("of which runs end after a time"));
    }
    if experiment.points.iter().any(|point| point.parameters.trials != of_first) {
        return Err(refused("whose points have different numbers of them for a reason"));
    }
    let is_count =
        |row: &&PublishedAt<Outcome>| row.over.is_none() && COUNTS_OF_A_RUN.contains(&row.metric.name);
    if let Some(row) = experiment.published.iter().find(is_count) {
        let name = row.metric.name;
        return Err(refused(&format!("which compares counts of a run ({name}) with published ones")));
    }
    for point in &mut experiment.points {
        point.parameters.trials = Some(trials);
        if let RunConfig::Flows(config) = &mut point.task {
            config.traffic[0].demand = point.parameters.demand()?;
            config.validate()?;
        }
    }
    Ok(experiment)
}
