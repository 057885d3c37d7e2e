//! Presents experiments with simulated fleets: makes plots and tables from pairs of runs, or from runs with upgrades.

use super::Options;
use super::finished::Presentation;
use super::present::Present;
use linkmend::failure::{Error, Result};
use linkmend_experiment::{Failure, Runs};
use linkmend_fleet::experiment::{
    FleetExperiment, FleetExperiments, FleetOutcome, FleetParameters, Pair, PodChoice, UpgradeRun, plots,
    tables,
};
use linkmend_quantity::Share;
use linkmend_topology::FabricParameters;
use serde_json::{Value, json};
use std::convert::Infallible;

impl Present for FleetExperiments {
    fn present(
        experiment: &FleetExperiment,
        outcomes: Vec<FleetOutcome>,
        _options: &Options,
    ) -> Result<Presentation> {
        let (points, means) = match outcomes.first() {
            Some(FleetOutcome::Upgrades(_)) => {
                let means = tables::upgrades(experiment, &outcomes);
                (means.clone(), means)
            }
            _ => (tables::years(experiment, &outcomes), tables::means(experiment, &outcomes)),
        };
        let results = experiment.points.iter().zip(&outcomes).flat_map(|(point, outcome)| match outcome {
            FleetOutcome::Pairs(pairs) => of_pairs(&point.parameters, pairs),
            FleetOutcome::Upgrades(runs) => of_upgrades(&point.parameters, runs),
        });
        let results = Value::Array(results.collect());
        let plots = plots::all(experiment, &outcomes);
        Ok(Presentation { plots, points, shown: Some(means.clone()), briefly: vec![means], results })
    }

    fn failed(_: &FleetExperiment, _: usize, failure: Failure<Infallible>) -> Error {
        match failure.error {}
    }
}

/// The constraint of a point, which every point has.
fn constraint(parameters: &FleetParameters) -> Share {
    parameters.constraint.unwrap_or(Share(0.0))
}

fn of_pairs(parameters: &FleetParameters, pairs: &Runs<Pair>) -> Vec<Value> {
    let row = |pair: &Pair| {
        json!({
            "constraint_pct": constraint(parameters).percent(),
            "seed": pair.seed,
            "command": command(parameters, pair.seed),
            "corropt": pair.corropt,
            "protect+corropt": pair.protected,
        })
    };
    pairs.iter().map(row).collect()
}

/// The command that repeats the run with protection.
fn command(parameters: &FleetParameters, seed: u64) -> String {
    let mut words = vec!["linkmend fleet simulate".to_owned()];
    if let Some(pods) = parameters.pods.filter(|pods| *pods != FabricParameters::PAPER.pods) {
        words.push(format!("--topology facebook-fabric:pods={pods}"));
    }
    words.push(format!("--constraint paper={}", constraint(parameters)));
    words.extend(parameters.days.map(|days| format!("--days {days}")));
    words.push(format!("--seed {seed}"));
    words.join(" ")
}

fn of_upgrades(parameters: &FleetParameters, runs: &Runs<UpgradeRun>) -> Vec<Value> {
    let row = |run: &UpgradeRun| {
        let curves = [false, true].into_iter().flat_map(|with_top| {
            PodChoice::ALL.map(|choice| {
                json!({
                    "pods": choice.label(),
                    "with_top": with_top,
                    "spared_share": run.curve(choice, with_top),
                })
            })
        });
        json!({
            "constraint_pct": constraint(parameters).percent(),
            "seed": run.seed,
            "spared_by_all": run.all,
            "pods_before_top": run.pods_before_top,
            "curves": curves.collect::<Vec<Value>>(),
        })
    };
    runs.iter().map(row).collect()
}
