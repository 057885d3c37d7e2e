//! Experiments with as many flows as somebody asks for.

use super::definition::Experiment;
use super::flow_metrics::COUNTS_OF_A_RUN;
use super::outcome::Outcome;
use crate::link::config::ParameterError;
use crate::parameters::RunConfig;
use linkmend_experiment::PublishedAt;
use linkmend_quantity::Count;
use std::path::Path;

/// The same experiment with another number of trials in each run, such as that of a paper where the file has fewer.
///
/// # Errors
/// [`ParameterError`] if a point counts no trials or cannot have so many, if points have different numbers of them, or if what
/// is published depends on the number.
pub fn with_trials(mut experiment: Experiment, trials: Count) -> Result<Experiment, ParameterError> {
    let id = &experiment.id;
    let refused =
        |reason: &str| ParameterError::new("trials", trials, format!("cannot be set for {id}, {reason}"));
    if experiment.points.iter().all(|point| !point.parameters.has_hosts()) {
        return Err(ParameterError::new(
            "trials",
            trials,
            format!("cannot be set for {id}, in which hosts send no flows"),
        ));
    }
    let of_first = experiment.points.first().and_then(|point| point.parameters.trials);
    if experiment.points.iter().any(|point| point.parameters.trials.is_none()) {
        return Err(refused("whose runs end after a fixed time"));
    }
    if experiment.points.iter().any(|point| point.parameters.trials != of_first) {
        return Err(refused("whose points deliberately have different numbers of trials"));
    }
    let is_count =
        |row: &&PublishedAt<Outcome>| row.over.is_none() && COUNTS_OF_A_RUN.contains(&row.metric.name);
    if let Some(row) = experiment.published.iter().find(is_count) {
        let name = row.metric.name;
        return Err(refused(&format!("which compares counts per run ({name}) with published counts")));
    }
    for point in &mut experiment.points {
        point.parameters.trials = Some(trials);
        if let RunConfig::Flows(config) = &mut point.task {
            config.traffic[0].demand = point.parameters.demand(Path::new(""))?;
            config.validate()?;
        }
    }
    Ok(experiment)
}
