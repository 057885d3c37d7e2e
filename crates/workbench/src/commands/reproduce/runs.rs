//! Presents experiments with simulated runs: makes plots and tables from outcomes.

use super::Options;
use super::finished::Presentation;
use super::present::Present;
use crate::commands::{flow_table, links_table};
use linkmend::failure::{Context, Error, Hinted, Result};
use linkmend_experiment::{Failure, Kind, Row};
use linkmend_report::Table;
use linkmend_sim::experiment::{
    self, Experiment, Metric, Outcome, Point, RunExperiments, metrics_of, plots, tables,
};
use linkmend_sim::flows::FlowsReport;
use linkmend_sim::links::LinksReport;
use linkmend_sim::parameters::{RunParameters, Runs};
use linkmend_sim::stress::ParameterError;
use serde_json::{Map, Value, json};

/// Largest number of rows on a page; larger tables are only in the files.
const ROWS_SHOWN: usize = 60;
/// Largest number of rows on a terminal, where there is nothing to compare.
const ROWS_PRINTED: usize = 40;

impl Present for RunExperiments {
    fn present(experiment: &Experiment, outcomes: Vec<Outcome>, options: &Options) -> Result<Presentation> {
        let count = outcomes.len();
        let results = experiment.points.iter().zip(&outcomes);
        let results = results
            .map(|(point, outcome)| result(experiment, point, outcome, options))
            .collect::<Result<_>>()?;
        Ok(Presentation {
            plots: plots::all(experiment, &outcomes),
            points: tables::everything(experiment, &outcomes),
            shown: (count <= ROWS_SHOWN).then(|| tables::points(experiment, &outcomes)),
            briefly: if count <= ROWS_PRINTED { briefly(experiment, &outcomes) } else { Vec::new() },
            results: Value::Array(results),
        })
    }

    fn compare(experiment: &Experiment, outcomes: &[Option<Outcome>]) -> Vec<Row> {
        experiment::compare(experiment, outcomes)
    }

    fn failed(experiment: &Experiment, point: usize, failure: Failure<ParameterError>) -> Error {
        let Failure { seed, error } = failure;
        let point = &experiment.points[point];
        let place = experiment.describe(point);
        let message = format!("{}: {place}, seed {seed}: {error}", experiment.id);
        let hint = format!("`{}` repeats it", command(&point.parameters, seed));
        Hinted::error(message, hint)
    }
}

/// What a terminal shows: all numbers of the only run, or a row for each point.
fn briefly(experiment: &Experiment, outcomes: &[Outcome]) -> Vec<Table> {
    let only = match outcomes {
        [Outcome::Flows(runs)] if runs.count() == 1 => {
            runs.iter().next().map(|run| vec![flow_table::table(&experiment.title, &run.report)])
        }
        [Outcome::Links(runs)] if runs.count() == 1 => {
            runs.iter().next().map(|report| links_table::tables(&experiment.title, report))
        }
        _ => None,
    };
    only.unwrap_or_else(|| vec![tables::points_briefly(experiment, outcomes)])
}

/// The parameters of a point, what was measured over all its runs, and the report of each, or of all together.
fn result(experiment: &Experiment, point: &Point, outcome: &Outcome, options: &Options) -> Result<Value> {
    let first_seed = RunExperiments::seed(options.seed, &experiment.id, point, 0);
    let measured: Map<String, Value> = metrics_of(outcome)
        .iter()
        .filter_map(|metric| {
            let measured = metric.value(outcome)?;
            Some((metric.name.to_owned(), json!(measured.value / metric.scale)))
        })
        .collect();
    // Of what is plotted also those that take time to compute.
    let is_plotted = |metric: &Metric| experiment.extra.plots.iter().any(|plot| plot.shows(metric));
    let intervals: Map<String, Value> = metrics_of(outcome)
        .iter()
        .filter_map(|metric| {
            let own = metric.value(outcome)?.interval;
            let among_runs = || is_plotted(metric).then(|| experiment::among_runs(metric, outcome))?;
            let (low, high) = own.or_else(among_runs)?;
            Some((metric.name.to_owned(), json!([low / metric.scale, high / metric.scale])))
        })
        .collect();
    let mut result = json!({
        "parameters": point.parameters,
        "runs": point.runs,
        "first_seed": first_seed,
        "command": command(&point.parameters, first_seed),
        "measured": measured,
        "intervals": intervals,
    });
    let (name, reports) = match outcome {
        Outcome::LineRate { report, .. } => ("result", serde_json::to_value(report)),
        Outcome::Links(runs) => ("reports", serde_json::to_value(runs.iter().collect::<Vec<&LinksReport>>())),
        Outcome::Flows(runs) => {
            let reports: Vec<&FlowsReport> = runs.iter().map(|run| &run.report).collect();
            ("reports", serde_json::to_value(reports))
        }
    };
    result[name] = reports.context("cannot serialise a report")?;
    if let Some(fields) = result["result"].as_object_mut() {
        // That of the first of several runs is given above. The levels of buffers are long; `sim stress --json` has them.
        for key in ["seed", "tx_buffer_levels", "rx_buffer_levels"] {
            fields.remove(key);
        }
    }
    Ok(result)
}

/// The command that repeats a run.
fn command(parameters: &RunParameters, seed: u64) -> String {
    let name = match parameters.runs() {
        Runs::LINKS => "links",
        Runs::HOSTS => "flows",
        _ => "stress",
    };
    let mut written = RunParameters { variant: None, seed: Some(seed), ..parameters.clone() }.with_effect();
    // A flow without an end has none.
    if parameters.trials.is_none() && parameters.load.is_none() && !parameters.is_training() {
        written.size = None;
    }
    format!("linkmend sim {name} {}", written.arguments().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use linkmend_sim::experiment::built_in;

    #[test]
    fn every_recorded_command_of_the_built_in_experiments_is_one() {
        let mut commands = 0;
        for experiment in built_in().unwrap_or_else(|error| panic!("{error}")) {
            for point in &experiment.points {
                let command = command(&point.parameters, 7);
                let parsed = cli::command().try_get_matches_from(command.split(' '));
                if let Err(error) = parsed {
                    panic!("{}: {command}: {error}", experiment.id);
                }
                assert!(!command.contains("--collective") || command.contains("--size"), "{command}");
                commands += 1;
            }
        }
        assert!(commands > 500, "{commands}");
    }
}
