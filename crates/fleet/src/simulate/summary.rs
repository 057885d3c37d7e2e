//! Summaries of runs: counts, and each metric's mean and percentiles over time.

use crate::network::Metrics;
use serde::Serialize;
use std::collections::BTreeMap;

/// The summary of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Loss events in the trace.
    pub loss_events: u64,
    /// Loss events that were skipped because their link was disabled.
    pub skipped_events: u64,
    /// Links that were repaired.
    pub repairs: u64,
    /// Seconds that all repairs together waited until they began.
    pub repair_wait_s: u64,
    /// The largest number of disabled links that waited for repair at a time.
    pub max_waiting_repairs: u64,
    /// Loss events on links that could not be disabled.
    pub fast_checker_rejections: u64,
    /// Optimizer runs that ended before they had proven that no better choice exists.
    pub unproven_decisions: u64,
    /// Second of the first event, from which the metrics count.
    pub first_event_s: u64,
    /// Second of the last event, until which the metrics count.
    pub last_event_s: u64,
    /// The metrics, weighted by time.
    pub metrics: BTreeMap<&'static str, MetricSummary>,
}

impl Summary {
    /// The metrics with their labels for people, in the order of their columns.
    pub fn labelled(&self) -> impl Iterator<Item = (&'static str, &MetricSummary)> {
        NAMES.into_iter().filter_map(|(name, label)| Some((label, self.metrics.get(name)?)))
    }
}

/// The distribution of a metric over time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct MetricSummary {
    /// Mean over time.
    pub mean: f64,
    pub min: f64,
    /// Percentiles: the value that the metric did not exceed during this share of the time, to 0.1 %.
    pub p1: f64,
    /// 10th percentile.
    pub p10: f64,
    /// 50th percentile.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    pub max: f64,
}

/// The name of each metric in files, which ends in its unit, and its label in tables.
const NAMES: [(&str, &str); 10] = [
    ("total_penalty", "total penalty"),
    ("total_effective_penalty", "total effective penalty"),
    ("avg_paths_per_tor", "paths per ToR, mean"),
    ("min_paths_per_tor", "paths per ToR, minimum"),
    ("avg_pod_capacity_gbps", "pod capacity, mean (Gb/s)"),
    ("min_pod_capacity_gbps", "pod capacity, minimum (Gb/s)"),
    ("max_loss_rate", "highest loss rate"),
    ("disabled_links", "disabled links"),
    ("corrupting_links", "corrupting links in use"),
    ("max_protected_links_per_pipe", "protected links per pipe, maximum"),
];

impl Metrics {
    /// All metrics in the order of their columns.
    pub fn values(&self) -> [f64; 10] {
        [
            self.total_penalty,
            self.total_effective_penalty,
            self.avg_paths_per_tor,
            self.min_paths_per_tor as f64,
            self.avg_pod_capacity_gbps,
            self.min_pod_capacity_gbps,
            self.max_loss_rate,
            self.disabled_links as f64,
            self.corrupting_links as f64,
            self.max_protected_links_per_pipe as f64,
        ]
    }

    /// The names of [`Metrics::values`].
    pub fn names() -> [&'static str; 10] {
        NAMES.map(|(name, _)| name)
    }
}

/// Sums every metric over time.
#[derive(Debug, Default)]
pub(super) struct Accumulator {
    times_s: Option<(u64, u64)>,
    series: [Series; 10],
}

/// One metric, with how long it had each value.
#[derive(Debug, Default)]
struct Series {
    value: f64,
    since_s: u64,
    sum: f64,
    /// Seconds by value. Values are kept to 10 binary digits (0.1 %), so integers up to 2,048 are exact.
    seconds: BTreeMap<u64, u64>,
    least: f64,
    most: f64,
}

/// Bits of a floating-point number that are dropped.
const DROPPED_BITS: u32 = 52 - 10;

impl Accumulator {
    pub(super) fn record(&mut self, time_s: u64, metrics: &Metrics) {
        let begins = self.times_s.is_none();
        self.times_s = Some((self.times_s.map_or(time_s, |(first_s, _)| first_s), time_s));
        for (series, value) in self.series.iter_mut().zip(metrics.values()) {
            if begins {
                *series = Series { value, since_s: time_s, least: value, most: value, ..Series::default() };
            } else if value != series.value {
                series.close(time_s);
                series.value = value;
                series.least = series.least.min(value);
                series.most = series.most.max(value);
            }
        }
    }

    pub(super) fn finish(mut self, summary: &mut Summary) {
        let Some((first_s, last_s)) = self.times_s else { return };
        summary.first_event_s = first_s;
        summary.last_event_s = last_s;
        for (series, name) in self.series.iter_mut().zip(Metrics::names()) {
            series.close(last_s);
            summary.metrics.insert(name, series.summary(last_s - first_s));
        }
    }
}

impl Series {
    /// Ends the interval of the last measurement at `time_s`.
    fn close(&mut self, time_s: u64) {
        let seconds = time_s - self.since_s;
        if seconds > 0 {
            self.sum += self.value * seconds as f64;
            *self.seconds.entry(self.value.to_bits() >> DROPPED_BITS).or_insert(0) += seconds;
        }
        self.since_s = time_s;
    }

    fn summary(&self, length_s: u64) -> MetricSummary {
        if length_s == 0 {
            let value = self.value;
            return MetricSummary {
                mean: value,
                min: value,
                p1: value,
                p10: value,
                p50: value,
                p90: value,
                p99: value,
                max: value,
            };
        }
        let percentile = |share: f64| {
            let wanted = share * length_s as f64;
            let mut passed = 0;
            for (&key, &seconds) in &self.seconds {
                passed += seconds;
                if passed as f64 >= wanted {
                    return f64::from_bits(key << DROPPED_BITS).clamp(self.least, self.most);
                }
            }
            self.most
        };
        MetricSummary {
            mean: self.sum / length_s as f64,
            min: self.least,
            p1: percentile(0.01),
            p10: percentile(0.1),
            p50: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            max: self.most,
        }
    }
}
