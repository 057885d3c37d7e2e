//! The tables of experiments, from the outcomes of their points.

use super::definition::{FleetExperiment, Point};
use super::metric::Metric;
use super::outcome::FleetOutcome;
use super::parameters::{CONSTRAINT, FleetParameters};
use super::upgrades::{PodChoice, pod_count, spared, with_top_label};
use linkmend_experiment::Parameters;
use linkmend_experiment::tables::{Headings, of_points};
use linkmend_report::{Cell, Column, Table, Unit};

/// Shares of the pods that tables show, in percent.
const STEPS_PCT: [usize; 6] = [5, 10, 25, 50, 75, 100];

/// Means over the years, one row for each point.
pub fn means(experiment: &FleetExperiment, outcomes: &[FleetOutcome]) -> Table {
    let title = format!("{}: means over all years", experiment.title);
    let metrics: Vec<&'static Metric> = experiment.metrics.iter().collect();
    of_points(title, (experiment, outcomes), &shown(experiment), &metrics, Headings::Labels)
}

/// One row for each year.
pub fn years(experiment: &FleetExperiment, outcomes: &[FleetOutcome]) -> Table {
    let mut table = parameter_columns(Table::new(format!("{}: all years", experiment.title)), experiment)
        .column(Column::number("Seed", Unit::Count));
    for metric in experiment.metrics {
        table = table.column(Column::number(metric.label, metric.quantity.unit()));
    }
    for (point, outcome) in experiment.points.iter().zip(outcomes) {
        let Some(pairs) = outcome.pairs() else { continue };
        for (pair, year) in pairs.iter().zip(pairs.each().map(FleetOutcome::Pairs)) {
            let values = experiment.metrics.iter().map(|metric| {
                metric.value(&year).map_or_else(Cell::missing, |measured| Cell::number(measured.value))
            });
            let head = parameter_cells(experiment, point).into_iter().chain([Cell::number(pair.seed as f64)]);
            table.push_row(head.chain(values));
        }
    }
    table
}

/// Means over the years of what a share of the pods spares; a row for each point and each way to choose.
pub fn upgrades(experiment: &FleetExperiment, outcomes: &[FleetOutcome]) -> Table {
    let title = format!("{}: share of the loss that protection everywhere would avoid", experiment.title);
    let mut table = parameter_columns(Table::new(title), experiment)
        .column(Column::text("Upgraded"))
        .column(Column::text("Pods chosen"));
    for percent in STEPS_PCT {
        table = table.column(Column::number(format!("{percent} %"), Unit::Share));
    }
    for (point, outcome) in experiment.points.iter().zip(outcomes) {
        let Some(runs) = outcome.upgrades() else { continue };
        let count = pod_count(runs);
        for with_top in [false, true] {
            for choice in PodChoice::ALL {
                let how = [Cell::text(with_top_label(with_top)), Cell::text(choice.label())];
                let values = STEPS_PCT.map(|step| {
                    let spared = spared(runs, choice, with_top, (count * step).div_ceil(100));
                    spared.map_or_else(Cell::missing, |estimate| Cell::number(estimate.value))
                });
                table.push_row(parameter_cells(experiment, point).into_iter().chain(how).chain(values));
            }
        }
    }
    table
}

/// The parameters that tables show: the constraint, and whatever else varies.
fn shown(experiment: &FleetExperiment) -> Vec<&'static str> {
    let shown = |key: &&'static str| *key == CONSTRAINT || experiment.varied.contains(key);
    FleetParameters::keys().filter(shown).collect()
}

fn parameter_columns(table: Table, experiment: &FleetExperiment) -> Table {
    let column = |table: Table, key| table.column(Column::text(FleetParameters::label_of(key)));
    shown(experiment).into_iter().fold(table, column)
}

fn parameter_cells(experiment: &FleetExperiment, point: &Point) -> Vec<Cell> {
    let cell = |key| point.value(key).map_or_else(Cell::missing, |value| Cell::text(value.text));
    shown(experiment).into_iter().map(cell).collect()
}

/// The same parameters of a point, in words: `50 % of paths`.
pub(super) fn name(experiment: &FleetExperiment, point: &Point) -> String {
    shown(experiment).into_iter().filter_map(|key| point.word(key)).collect::<Vec<String>>().join(", ")
}
