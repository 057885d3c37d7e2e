//! Measured values by name.

use super::outcome::{Metric, Outcome};
use super::{flow_metrics, line_rate_metrics, links_metrics};
use linkmend_experiment::Pooled;
use linkmend_statistics::jackknife_interval;
use std::sync::LazyLock;

/// All of them, in the order in which tables show them.
pub(super) static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    line_rate_metrics::ALL.into_iter().chain(links_metrics::ALL).chain(flow_metrics::ALL).collect()
});

/// All of them.
pub fn metrics() -> &'static [Metric] {
    &METRICS
}

/// The metric of this name.
pub fn metric_named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

/// What such an outcome may have.
pub fn metrics_of(outcome: &Outcome) -> &'static [Metric] {
    let (line_rate, others) = METRICS.split_at(line_rate_metrics::ALL.len());
    let (links, flows) = others.split_at(links_metrics::ALL.len());
    match outcome {
        Outcome::LineRate { .. } => line_rate,
        Outcome::Links(_) => links,
        Outcome::Flows(_) => flows,
    }
}

/// The 95 % interval of a metric by its values in several runs; `None` for one run.
pub fn among_runs(metric: &Metric, outcome: &Outcome) -> Option<(f64, f64)> {
    let part = |keeps: &dyn Fn(usize) -> bool| Some(metric.value(&outcome.only(keeps)?)?.value);
    jackknife_interval(outcome.runs(), |keeps| part(keeps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for metric in METRICS.iter() {
            assert_eq!(
                METRICS.iter().filter(|other| other.name == metric.name).count(),
                1,
                "{}",
                metric.name
            );
        }
    }

    #[test]
    fn a_name_loses_its_unit_and_keeps_its_part() {
        for (name, without) in [
            ("tx_buffer_bytes.max", "tx_buffer.max"),
            ("effective_speed_pct", "effective_speed"),
            ("frames_sent", "frames_sent"),
        ] {
            assert_eq!(metric_named(name).expect(name).name_without_unit(), without);
        }
    }
}
