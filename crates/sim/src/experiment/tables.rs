//! Results as tables.

use super::definition::{Dimension, Experiment, Ordinate};
use super::file::PlotKind;
use super::metric::{metric_named, metrics_of};
use super::outcome::{Metric, Outcome};
use crate::parameters::{RunConfig, RunParameters};
use linkmend_experiment::Parameters;
use linkmend_experiment::tables::{Headings, of_distribution, of_points};
use linkmend_report::Table;

/// Columns of line-rate traffic that a page shows; the files have all of them.
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

/// Those of one frame that is sent for the sake of the optics.
const OPTICS: [&str; 2] = ["frame_loss_rate", "optical_bit_error_rate"];
/// Those of a flow without an end.
const THROUGHPUT: [&str; 3] = ["goodput_gbps", "retransmissions", "timeouts"];
/// The distribution that tables show of flows.
const COMPLETION_TIMES: &str = "fct_us";

/// A table of the points: the parameters that vary, and the most important results.
pub fn points(experiment: &Experiment, outcomes: &[Outcome]) -> Table {
    shown(experiment, outcomes, &SHOWN)
}

/// The same table for a terminal.
pub fn points_briefly(experiment: &Experiment, outcomes: &[Outcome]) -> Table {
    shown(experiment, outcomes, &BRIEFLY)
}

fn shown(experiment: &Experiment, outcomes: &[Outcome], of_line_rate: &[&str]) -> Table {
    let has_flows = experiment.points.iter().any(|point| matches!(point.task, RunConfig::Flows(_)));
    if has_flows {
        return of_flows(experiment, outcomes);
    }
    if let Some(links @ Outcome::Links(_)) = outcomes.first() {
        let has_value = |metric: &&Metric| outcomes.iter().any(|outcome| metric.value(outcome).is_some());
        let metrics: Vec<&'static Metric> = metrics_of(links).iter().filter(has_value).collect();
        return table(
            experiment,
            outcomes,
            "means over the runs",
            &experiment.varied,
            &metrics,
            Headings::Labels,
        );
    }
    let is_optics =
        experiment.points.iter().all(|point| point.parameters.frames.is_some_and(|count| count.0 == 1));
    let names = if is_optics { &OPTICS } else { of_line_rate };
    let metrics: Vec<&'static Metric> = names.iter().filter_map(|name| metric_named(name)).collect();
    table(experiment, outcomes, "all points", &experiment.varied, &metrics, Headings::Labels)
}

/// What the plots are about: percentiles of flow completion times, or means over the runs.
fn of_flows(experiment: &Experiment, outcomes: &[Outcome]) -> Table {
    let plots = &experiment.extra.plots;
    let (what, metrics) = match plots.first().map(|plot| plot.kind) {
        Some(PlotKind::Groups) => {
            ("affected flows", all_of(|name| name.starts_with("group_") || name.starts_with("flows_")))
        }
        Some(PlotKind::Slowdown) => {
            let shown = |name: &str| {
                name.starts_with("slowdown") || matches!(name, "flows_corrupted_pct" | "flows_resent_pct")
            };
            ("times as long as in an idle network", all_of(shown))
        }
        Some(PlotKind::Points | PlotKind::Bars | PlotKind::HeatMap) => {
            let drawn = plots.iter().flat_map(|plot| {
                let x = match plot.x {
                    Some(Dimension::Metric(metric)) => Some(metric),
                    _ => None,
                };
                let y = match plot.y {
                    Ordinate::Metric(metric) => Some(metric),
                    _ => None,
                };
                [x, y].into_iter().flatten().map(|metric| metric.name)
            });
            let mut names: Vec<&str> = drawn.collect();
            if names.contains(&THROUGHPUT[0]) {
                names.extend(THROUGHPUT);
            }
            ("means over the runs", all_of(|name| names.contains(&name)))
        }
        _ => {
            let title = format!("{}: flow completion times", experiment.title);
            return of_distribution(title, (experiment, outcomes), COMPLETION_TIMES);
        }
    };
    table(experiment, outcomes, what, &experiment.varied, &metrics, Headings::Labels)
}

fn all_of(is_shown: impl Fn(&str) -> bool) -> Vec<&'static Metric> {
    super::metric::METRICS.iter().filter(|metric| is_shown(metric.name)).collect()
}

/// All parameters and all measured values of every point, for files.
pub fn everything(experiment: &Experiment, outcomes: &[Outcome]) -> Table {
    let set = |key: &&'static str| experiment.points.iter().any(|point| point.value(key).is_some());
    let keys: Vec<&'static str> = RunParameters::keys().filter(|key| *key != "seed").filter(set).collect();
    let mut metrics: Vec<&'static Metric> = Vec::new();
    for metric in outcomes.iter().flat_map(metrics_of) {
        if !metrics.contains(&metric) {
            metrics.push(metric);
        }
    }
    table(experiment, outcomes, "all points", &keys, &metrics, Headings::Names)
}

fn table(
    experiment: &Experiment,
    outcomes: &[Outcome],
    what: &str,
    keys: &[&'static str],
    metrics: &[&'static Metric],
    headings: Headings,
) -> Table {
    let title = format!("{}: {what}", experiment.title);
    of_points(title, (experiment, outcomes), keys, metrics, headings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_a_metric() {
        for name in SHOWN.iter().chain(&BRIEFLY).chain(&OPTICS).chain(&THROUGHPUT) {
            assert!(metric_named(name).is_some(), "{name}");
        }
    }
}
