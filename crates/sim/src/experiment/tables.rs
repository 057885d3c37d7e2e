//! Results as tables.

use super::file::Kind;
use super::metric::{Metric, metric_named, metrics_of};
use super::sweep::Sweep;
use super::value::{keys, label_of, value_of};
use linkmend_report::{Cell, Column, Table};

/// Columns of a stress run that a page shows; the files have all of them.
const SHOWN: [&str; 12] = [
    "frames_sent",
    "actual_loss_rate",
    "copies",
    "effective_loss_rate",
    "effective_speed_pct",
    "recovery_timeouts",
    "rx_buffer_overflows",
    "pauses",
    "tx_buffer_bytes.max",
    "rx_buffer_bytes.max",
    "retransmission_delay_ns.max",
    "frames_reordered",
];

/// Columns that fit beside the parameters on a terminal.
const BRIEFLY: [&str; 5] = [
    "actual_loss_rate",
    "effective_loss_rate",
    "effective_speed_pct",
    "tx_buffer_bytes.max",
    "rx_buffer_bytes.max",
];

/// A table of the points: the parameters that vary, and the most important results.
pub fn points(sweep: &Sweep<'_>) -> Table {
    shown(sweep, &SHOWN)
}

/// The same table for a terminal.
pub fn points_briefly(sweep: &Sweep<'_>) -> Table {
    shown(sweep, &BRIEFLY)
}

fn shown(sweep: &Sweep<'_>, of_stress: &[&str]) -> Table {
    let experiment = sweep.experiment;
    let shown: Vec<&'static Metric> = match experiment.extra.kind {
        Kind::Stress => of_stress.iter().filter_map(|name| metric_named(name)).collect(),
        Kind::Attenuation => metrics_of(Kind::Attenuation).iter().collect(),
    };
    table(sweep, &experiment.varied, &shown, false)
}

/// All parameters and all measured values of every point, for files.
pub fn everything(sweep: &Sweep<'_>) -> Table {
    let set = |key: &&'static str| sweep.experiment.points.iter().any(|point| point.value(key).is_some());
    let keys: Vec<&'static str> = keys().filter(|key| *key != "seed").filter(set).collect();
    let metrics: Vec<&'static Metric> = metrics_of(sweep.experiment.extra.kind).iter().collect();
    table(sweep, &keys, &metrics, true)
}

fn table(sweep: &Sweep<'_>, keys: &[&'static str], metrics: &[&'static Metric], raw: bool) -> Table {
    let experiment = sweep.experiment;
    let mut table = Table::new(format!("{}: all points", experiment.title));
    for key in keys {
        let name = if raw { (*key).to_owned() } else { label_of(key).to_owned() };
        table = table.column(Column::text(name));
    }
    for metric in metrics {
        let name = if raw { metric.name_without_unit() } else { metric.label.to_owned() };
        table = table.column(Column::number(name, metric.quantity.unit()));
    }
    for (point, outcome) in experiment.points.iter().zip(&sweep.outcomes) {
        let parameters = keys.iter().map(|key| match value_of(key, &point.parameters) {
            Some(value) => Cell::text(value.text),
            None => Cell::text(""),
        });
        let measured = metrics.iter().map(|metric| {
            metric.value(outcome).map_or_else(Cell::missing, |measured| Cell::number(measured.value))
        });
        table.push_row(parameters.chain(measured));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_a_metric_of_stress_runs() {
        for name in SHOWN.iter().chain(&BRIEFLY) {
            assert!(metrics_of(Kind::Stress).iter().any(|metric| metric.name == *name), "{name}");
        }
    }
}
