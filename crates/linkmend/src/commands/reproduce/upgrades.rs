//! Presents experiments with partial deployments: makes plots and tables from runs.

use super::finished::Finished;
use super::fleet::each;
use linkmend_experiment::Measurement;
use linkmend_fleet::experiment::{FleetExperiment, PodChoice, UpgradeRun};
use linkmend_report::{Axis, Cell, Column, Plot, Scatter, Series, Table, Unit};
use serde_json::{Value, json};

/// Shares of the pods that tables show, in percent.
const STEPS_PCT: [usize; 6] = [5, 10, 25, 50, 75, 100];

/// Makes plots and tables. `runs` are sorted by constraint, then by seed.
pub fn finish(experiment: &FleetExperiment, runs: &[Vec<UpgradeRun>]) -> Finished {
    let means = means(experiment, runs);
    Finished {
        id: experiment.id.clone(),
        title: experiment.title.clone(),
        source: experiment.source.clone(),
        about: experiment.about.clone(),
        text: experiment.text.clone(),
        comparisons: Vec::new(),
        plots: each(experiment, runs).map(|(percent, runs)| curves(percent, runs)).collect(),
        points: means.clone(),
        shown: Some(means.clone()),
        briefly: Some(means),
        point_count: runs.iter().map(Vec::len).sum(),
        results: results(experiment, runs),
    }
}

fn top(with_top: bool) -> &'static str {
    if with_top { "and the top layer" } else { "pods alone" }
}

/// Mean over the runs of what a number of pods spares.
fn spared(runs: &[UpgradeRun], choice: PodChoice, with_top: bool, pods: usize) -> Option<Measurement> {
    let values: Vec<f64> =
        runs.iter().filter_map(|run| run.curve(choice, with_top).get(pods).copied()).collect();
    Measurement::mean(&values)
}

fn pod_count(runs: &[UpgradeRun]) -> usize {
    runs.first().map_or(0, |run| run.curve(PodChoice::Any, false).len().saturating_sub(1))
}

fn curves(percent: f64, runs: &[UpgradeRun]) -> Plot {
    let mut plot = Scatter::new(
        format!("What upgraded pods spare at {percent} % of paths"),
        Axis::new("pods upgraded", Unit::Share),
        Axis::new("of what protection everywhere spares", Unit::Share).with_zero(),
    )
    .describe("Means over all years, of the half year after the pods were chosen.");
    let count = pod_count(runs);
    for with_top in [true, false] {
        for choice in PodChoice::ALL {
            let point = |pods: usize| {
                let share = pods as f64 / count.max(1) as f64;
                spared(runs, choice, with_top, pods).map(|estimate| (share, estimate.value))
            };
            let name = format!("{}, {}", choice.label(), top(with_top));
            plot = plot.series(Series::line(name, (0..=count).filter_map(point)));
        }
    }
    plot.into()
}

fn means(experiment: &FleetExperiment, runs: &[Vec<UpgradeRun>]) -> Table {
    let mut table = Table::new(format!("{}: share of what protection everywhere spares", experiment.title))
        .column(Column::text("Paths kept"))
        .column(Column::text("Upgraded"))
        .column(Column::text("Pods chosen"));
    for percent in STEPS_PCT {
        table = table.column(Column::number(format!("{percent} %"), Unit::Share));
    }
    for (percent, runs) in each(experiment, runs) {
        let count = pod_count(runs);
        for with_top in [false, true] {
            for choice in PodChoice::ALL {
                let head = [
                    Cell::text(format!("{percent} %")),
                    Cell::text(top(with_top)),
                    Cell::text(choice.label()),
                ];
                let values = STEPS_PCT.map(|step| {
                    let spared = spared(runs, choice, with_top, (count * step).div_ceil(100));
                    spared.map_or_else(Cell::missing, |estimate| Cell::number(estimate.value))
                });
                table.push_row(head.into_iter().chain(values));
            }
        }
    }
    table
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
    let rows =
        each(experiment, runs).flat_map(|(percent, runs)| runs.iter().map(move |one| run(percent, one)));
    Value::Array(rows.collect())
}
