//! Presents experiments with partial deployments: makes plots and tables from runs.

use super::finished::Finished;
use linkmend_fleet::experiment::{FleetExperiment, PodChoice, UpgradeRun, plots, tables};
use serde_json::{Value, json};

/// Makes plots and tables. `runs` are sorted by constraint, then by seed.
pub fn finish(experiment: &FleetExperiment, runs: &[Vec<UpgradeRun>]) -> Finished {
    let means = tables::upgrades(experiment, runs);
    Finished {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        about: experiment.about.clone(),
        text: experiment.text.clone(),
        comparisons: Vec::new(),
        plots: plots::of_upgrades(experiment, runs),
        points: means.clone(),
        shown: Some(means.clone()),
        briefly: Some(means),
        point_count: runs.iter().map(Vec::len).sum(),
        results: results(experiment, runs),
    }
}

fn results(experiment: &FleetExperiment, runs: &[Vec<UpgradeRun>]) -> Value {
    let run = |percent: f64, run: &UpgradeRun| {
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
            "constraint_pct": percent,
            "seed": run.seed,
            "spared_by_all": run.all,
            "pods_before_top": run.pods_before_top,
            "curves": curves.collect::<Vec<Value>>(),
        })
    };
    let rows = experiment
        .by_constraint(runs)
        .flat_map(|(percent, runs)| runs.iter().map(move |one| run(percent, one)));
    Value::Array(rows.collect())
}
