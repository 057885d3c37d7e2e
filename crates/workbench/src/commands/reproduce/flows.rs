//! Presents experiments with flows between simulated hosts: makes plots and tables from the runs of each point.

use super::Options;
use super::present::{Present, Presentation};
use linkmend::failure::{Context, Error, Hinted, Result};
use linkmend_experiment::{Failure, Kind, Parameters};
use linkmend_sim::experiment::flows::{
    FlowExperiment, FlowExperiments, FlowOutcome, FlowParameters, FlowRun, Point, plots, tables,
};
use linkmend_sim::flows::FlowsReport;
use linkmend_sim::stress::ParameterError;
use serde_json::{Map, Value, json};

impl Present for FlowExperiments {
    fn present(
        experiment: &FlowExperiment,
        outcomes: Vec<FlowOutcome>,
        options: &Options,
    ) -> Result<Presentation> {
        let shown = tables::points(experiment, &outcomes);
        let result = |(point, outcome): (&Point, &FlowOutcome)| result(experiment, point, outcome, options);
        let results: Vec<Value> =
            experiment.points.iter().zip(&outcomes).map(result).collect::<Result<_>>()?;
        Ok(Presentation {
            plots: plots::all(experiment, &outcomes),
            points: tables::everything(experiment, &outcomes),
            shown: Some(shown.clone()),
            briefly: Some(shown),
            results: Value::Array(results),
        })
    }

    fn failed(experiment: &FlowExperiment, point: usize, failure: Failure<ParameterError>) -> Error {
        let Failure { seed, error } = failure;
        let place = experiment.describe(&experiment.points[point]);
        let message = format!("{}: {place}, seed {seed}: {error}", experiment.id);
        let hint = "`linkmend sim flows` with these parameters and this seed repeats it".to_owned();
        Hinted { message, hint }.into()
    }
}

/// The parameters of a point, what was measured over all its runs, and the report of each.
fn result(
    experiment: &FlowExperiment,
    point: &Point,
    outcome: &FlowOutcome,
    options: &Options,
) -> Result<Value> {
    let parameters: Map<String, Value> = FlowParameters::keys()
        .filter_map(|key| Some((key.to_owned(), Value::String(point.value(key)?.text))))
        .collect();
    let measured: Map<String, Value> = experiment
        .metrics
        .iter()
        .filter_map(|metric| {
            let measured = metric.value(outcome)?;
            Some((metric.name.to_owned(), json!(measured.value / metric.scale)))
        })
        .collect();
    let reports: Vec<&FlowsReport> = outcome.iter().map(|run: &FlowRun| &run.report).collect();
    let reports = serde_json::to_value(reports).context("cannot serialise a report")?;
    Ok(json!({
        "parameters": parameters,
        "runs": point.runs,
        "command": command(point, FlowExperiments::seed(options.seed, &experiment.id, point, 0)),
        "measured": measured,
        "reports": reports,
    }))
}

/// The command that repeats the first run of a point, if its arguments say all.
fn command(point: &Point, seed: u64) -> Option<String> {
    let parameters = &point.parameters;
    if parameters.dummy_copies.is_some() {
        return None;
    }
    let is_throughput = parameters.trials.is_none() && parameters.load.is_none();
    let mut words =
        vec![if is_throughput { "linkmend sim throughput" } else { "linkmend sim flows" }.to_owned()];
    for key in FlowParameters::keys().filter(|key| !(is_throughput && *key == "size")) {
        let value = match (key, parameters.load) {
            ("load", Some(load)) => Some(load.0.to_string()),
            _ => point.value(key).map(|value| value.text),
        };
        words.extend(value.and_then(|value| match value.as_str() {
            // Flags stand for themselves.
            "yes" => Some(format!("--{key}")),
            "no" => None,
            _ => Some(format!("--{key} {value}")),
        }));
    }
    words.push(format!("--seed {seed}"));
    Some(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use linkmend_sim::experiment::flows::built_in;

    #[test]
    fn every_recorded_command_of_the_built_in_experiments_is_one() {
        let mut commands = 0;
        for experiment in built_in().unwrap_or_else(|error| panic!("{error}")) {
            for point in &experiment.points {
                let Some(command) = command(point, 7) else { continue };
                let parsed = cli::command().try_get_matches_from(command.split(' '));
                if let Err(error) = parsed {
                    panic!("{}: {command}: {error}", experiment.id);
                }
                commands += 1;
            }
        }
        assert!(commands > 100, "{commands}");
    }
}
