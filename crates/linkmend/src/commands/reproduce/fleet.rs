//! Presents experiments with simulated fleets: makes comparisons, plots and tables from pairs of runs.

use super::finished::Finished;
use linkmend_fleet::experiment::{FleetExperiment, Pair, plots, tables};
use serde_json::{Value, json};

/// Makes comparisons, plots and tables. `pairs` are sorted by constraint, then by seed.
pub fn finish(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Finished {
    let years = tables::years(experiment, pairs);
    Finished {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        about: experiment.about.clone(),
        text: experiment.text.clone(),
        comparisons: experiment.compare(pairs),
        plots: plots::of_pairs(experiment, pairs),
        points: years.clone(),
        shown: Some(tables::means(experiment, pairs)),
        briefly: Some(tables::means(experiment, pairs)),
        point_count: pairs.iter().map(Vec::len).sum(),
        results: results(experiment, pairs),
    }
}

fn results(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Value {
    let command = |percent: f64, seed: u64| {
        format!("linkmend fleet simulate --constraint {percent}% --days {} --seed {seed}", experiment.days)
    };
    let rows = experiment.by_constraint(pairs).flat_map(|(percent, pairs)| {
        pairs.iter().map(move |pair| {
            json!({
                "constraint_pct": percent,
                "seed": pair.seed,
                "command": command(percent, pair.seed),
                "corropt": pair.corropt,
                "protect+corropt": pair.protected,
            })
        })
    });
    Value::Array(rows.collect())
}
