//! Results as tables.

use super::file::Kind;
use super::metric::{Metric, metric_named, metrics_of};
use super::sweep::Sweep;
use super::value::keys;
use linkmend_experiment::tables::{Headings, of_points};
use linkmend_report::Table;

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
    table(sweep, &experiment.varied, &shown, Headings::Labels)
}

/// All parameters and all measured values of every point, for files.
pub fn everything(sweep: &Sweep<'_>) -> Table {
    let set = |key: &&'static str| sweep.experiment.points.iter().any(|point| point.value(key).is_some());
    let keys: Vec<&'static str> = keys().filter(|key| *key != "seed").filter(set).collect();
    let metrics: Vec<&'static Metric> = metrics_of(sweep.experiment.extra.kind).iter().collect();
    table(sweep, &keys, &metrics, Headings::Names)
}

fn table(sweep: &Sweep<'_>, keys: &[&'static str], metrics: &[&'static Metric], headings: Headings) -> Table {
    let title = format!("{}: all points", sweep.experiment.title);
    of_points(title, (sweep.experiment, &sweep.outcomes), keys, metrics, headings)
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
