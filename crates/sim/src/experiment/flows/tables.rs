//! The tables of experiments with flows.

use super::definition::{Figure, FlowExperiment};
use super::metric::{COMPLETION_TIMES, Metric};
use super::outcome::FlowOutcome;
use super::parameters::FlowParameters;
use linkmend_experiment::Parameters;
use linkmend_experiment::tables::{Headings, of_distribution, of_points};
use linkmend_report::Table;

/// What the experiment is about: percentiles of flow completion times, or goodput; a row for each point.
pub fn points(experiment: &FlowExperiment, outcomes: &[FlowOutcome]) -> Table {
    match experiment.extra {
        Figure::Tail { .. } | Figure::Distributions => {
            let title = format!("{}: flow completion times", experiment.title);
            of_distribution(title, (experiment, outcomes), COMPLETION_TIMES)
        }
        Figure::Groups => chosen(experiment, outcomes, "affected flows", is_of_groups),
        Figure::Goodput => chosen(experiment, outcomes, "means over the runs", is_of_throughput),
        Figure::Slowdown => chosen(experiment, outcomes, "times as long as in an idle network", is_of_load),
    }
}

/// Some of the metrics, of all runs of a point.
fn chosen(
    experiment: &FlowExperiment,
    outcomes: &[FlowOutcome],
    what: &str,
    is_shown: fn(&Metric) -> bool,
) -> Table {
    let metrics: Vec<&'static Metric> = experiment.metrics.iter().filter(|metric| is_shown(metric)).collect();
    let title = format!("{}: {what}", experiment.title);
    of_points(title, (experiment, outcomes), &experiment.varied, &metrics, Headings::Labels)
}

/// Whether a metric is of flows under load.
fn is_of_load(metric: &Metric) -> bool {
    metric.name.starts_with("slowdown") || matches!(metric.name, "flows_corrupted_pct" | "flows_resent_pct")
}

/// Whether a metric is of a flow without an end.
fn is_of_throughput(metric: &Metric) -> bool {
    matches!(metric.name, "goodput_gbps" | "retransmissions" | "timeouts")
}

/// Whether a metric counts flows that losses or reordering affected.
fn is_of_groups(metric: &Metric) -> bool {
    metric.name.starts_with("group_") || metric.name.starts_with("flows_")
}

/// Every parameter and metric; a row for each point.
pub fn everything(experiment: &FlowExperiment, outcomes: &[FlowOutcome]) -> Table {
    let keys: Vec<&'static str> = FlowParameters::keys()
        .filter(|key| experiment.points.iter().any(|point| point.value(key).is_some()))
        .collect();
    let metrics: Vec<&'static Metric> = experiment.metrics.iter().collect();
    let title = format!("{}: all points", experiment.title);
    of_points(title, (experiment, outcomes), &keys, &metrics, Headings::Names)
}
