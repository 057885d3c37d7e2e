//! Presents experiments with simulated links: makes plots and tables from outcomes.

use super::Options;
use super::present::{Present, Presentation};
use linkmend::failure::{Context, Error, Hinted, Result};
use linkmend_experiment::{Failure, Row};
use linkmend_sim::experiment::{
    self, Experiment, LinkExperiments, Outcome, Point, Sweep, Task, VARIANT, keys, plots, tables, value_of,
};
use linkmend_sim::stress::ParameterError;
use serde_json::{Value, json};

/// Largest number of rows on a page; larger tables are only in the files.
const ROWS_SHOWN: usize = 60;
/// Largest number of rows on a terminal, where there is nothing to compare.
const ROWS_PRINTED: usize = 40;

impl Present for LinkExperiments {
    fn present(experiment: &Experiment, outcomes: Vec<Outcome>, options: &Options) -> Result<Presentation> {
        let sweep = Sweep { experiment, outcomes };
        let count = sweep.outcomes.len();
        Ok(Presentation {
            plots: plots::all(&sweep),
            points: tables::everything(&sweep),
            shown: (count <= ROWS_SHOWN).then(|| tables::points(&sweep)),
            briefly: (count <= ROWS_PRINTED).then(|| tables::points_briefly(&sweep)),
            results: results(&sweep, options)?,
        })
    }

    fn compare(experiment: &Experiment, outcomes: &[Option<Outcome>]) -> Vec<Row> {
        experiment::compare(experiment, outcomes)
    }

    fn failed(experiment: &Experiment, point: usize, failure: Failure<ParameterError>) -> Error {
        let Failure { seed, error } = failure;
        let place = experiment.describe(&experiment.points[point]);
        let message = format!("{}: {place}, seed {seed}: {error}", experiment.id);
        let hint = "`linkmend sim stress` with these parameters and this seed repeats it".to_owned();
        Hinted { message, hint }.into()
    }
}

fn results(sweep: &Sweep<'_>, options: &Options) -> Result<Value> {
    let experiment = sweep.experiment;
    let mut points = Vec::new();
    for (point, outcome) in experiment.points.iter().zip(&sweep.outcomes) {
        let mut result = match outcome {
            Outcome::Stress(report) => serde_json::to_value(report).context("cannot serialise a report")?,
            Outcome::Attenuation { frame_loss_rate, bit_error_rate } => {
                json!({ "frame_loss_rate": frame_loss_rate, "bit_error_rate": bit_error_rate })
            }
        };
        if let Some(fields) = result.as_object_mut() {
            // That of the first of several runs is given below.
            fields.remove("seed");
        }
        points.push(json!({
            "parameters": point.parameters,
            "runs": point.runs,
            "first_seed": point.seed(options.seed, &experiment.id, 0),
            "command": command(&experiment.id, point, options.seed),
            "result": result,
        }));
    }
    Ok(Value::Array(points))
}

/// The command that repeats the first run of a point, if it is a stress run.
fn command(id: &str, point: &Point, base_seed: u64) -> Option<String> {
    let Task::Stress(_) = point.task else { return None };
    let mut words = vec!["linkmend sim stress".to_owned()];
    for key in keys().filter(|key| !["seed", VARIANT].contains(key)) {
        let Some(value) = value_of(key, &point.parameters) else { continue };
        match value.text.as_str() {
            "on" => words.push(format!("--{key}")),
            "off" if key != "mode" => {}
            text => words.push(format!("--{key} {text}")),
        }
    }
    words.push(format!("--seed {}", point.seed(base_seed, id, 0)));
    Some(words.join(" "))
}
