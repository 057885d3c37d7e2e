//! The tables of evaluations, from their results.

use super::FleetExperiment;
use super::metric::PairMetric;
use super::pair::Pair;
use super::upgrades::{PodChoice, UpgradeRun, pod_count, spared, with_top_label};
use linkmend_report::{Cell, Column, Table, Unit};

/// The metrics that the table of years shows.
const METRICS: [PairMetric; 5] = [
    PairMetric::PenaltyReductionOrders,
    PairMetric::NoDifferenceTime,
    PairMetric::NotDisablable,
    PairMetric::CorruptingInUse,
    PairMetric::MaxProtectedLinksPerPipe,
];

/// Shares of the pods that tables show, in percent.
const STEPS_PCT: [usize; 6] = [5, 10, 25, 50, 75, 100];

/// Means over the years, one row for each constraint.
pub fn means(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Table {
    let mut table =
        Table::new(format!("{}: means over all years", experiment.title)).column(Column::text("Paths kept"));
    for metric in METRICS {
        table = table.column(Column::number(metric.label(), metric.quantity().unit()));
    }
    for (percent, pairs) in experiment.by_constraint(pairs) {
        let values = METRICS.map(|metric| {
            metric.estimate(pairs).map_or_else(Cell::missing, |estimate| Cell::number(estimate.value))
        });
        table.push_row([Cell::text(format!("{percent} %"))].into_iter().chain(values));
    }
    table
}

/// One row for each year.
pub fn years(experiment: &FleetExperiment, pairs: &[Vec<Pair>]) -> Table {
    let mut table = Table::new(format!("{}: all years", experiment.title))
        .column(Column::text("Paths kept"))
        .column(Column::number("Seed", Unit::Count));
    for metric in METRICS {
        table = table.column(Column::number(metric.label(), metric.quantity().unit()));
    }
    for (percent, pairs) in experiment.by_constraint(pairs) {
        for pair in pairs {
            let values = METRICS.map(|metric| metric.value(pair).map_or_else(Cell::missing, Cell::number));
            let head = [Cell::text(format!("{percent} %")), Cell::number(pair.seed as f64)];
            table.push_row(head.into_iter().chain(values));
        }
    }
    table
}

/// Means over the years of what a share of the pods spares; a row for each constraint and each way to choose.
pub fn upgrades(experiment: &FleetExperiment, runs: &[Vec<UpgradeRun>]) -> Table {
    let mut table = Table::new(format!("{}: share of what protection everywhere spares", experiment.title))
        .column(Column::text("Paths kept"))
        .column(Column::text("Upgraded"))
        .column(Column::text("Pods chosen"));
    for percent in STEPS_PCT {
        table = table.column(Column::number(format!("{percent} %"), Unit::Share));
    }
    for (percent, runs) in experiment.by_constraint(runs) {
        let count = pod_count(runs);
        for with_top in [false, true] {
            for choice in PodChoice::ALL {
                let head = [
                    Cell::text(format!("{percent} %")),
                    Cell::text(with_top_label(with_top)),
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
