//! What a set of flow completion times amounts to.

use crate::host::FlowRecord;
use crate::time::Time;
use linkmend_statistics::percentile;
use serde::Serialize;

/// Percentiles of a set of values. Between two values of the set they are linear, as the published tables have them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    pub count: u64,
    pub min: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub p99_9: f64,
    pub p99_99: f64,
    pub p99_999: f64,
    pub max: f64,
    /// Standard deviation, of the sample.
    pub std: f64,
}

impl Summary {
    /// The summary of these values, in any order; `None` if there are none.
    pub fn from_values(mut values: Vec<f64>) -> Option<Summary> {
        values.sort_unstable_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let std = if count > 1 { libm::sqrt(squares / (count - 1) as f64) } else { 0.0 };
        let at = |share: f64| percentile(&values, share);
        Some(Summary {
            count: count as u64,
            min,
            mean,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p99_9: at(0.999),
            p99_99: at(0.9999),
            p99_999: at(0.99999),
            max,
            std,
        })
    }
}

/// Times of flows that ended, in microseconds: of those of which a failed link lost or held a frame, or of the others.
pub(super) fn times_us(records: &[FlowRecord], is_hit: bool, time: fn(&FlowRecord) -> Time) -> Vec<f64> {
    let ended = records.iter().filter(|record| !record.failed);
    let of = ended.filter(|record| (record.disturbance.frames_failed > 0) == is_hit);
    of.map(|record| time(record).as_micros()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_linear_between_values() {
        let summary =
            Summary::from_values((0..=1_000).rev().map(f64::from).collect()).expect("there are some");
        assert_eq!((summary.count, summary.min, summary.max, summary.mean), (1_001, 0.0, 1_000.0, 500.0));
        assert_eq!((summary.p50, summary.p99, summary.p99_9), (500.0, 990.0, 999.0));
        assert!((summary.p99_99 - 999.9).abs() < 1e-9);
        assert!((summary.std - 289.108).abs() < 1e-3, "{}", summary.std);
        let two = Summary::from_values(vec![4.0, 1.0]).expect("there are two");
        assert_eq!((two.p50, two.p90), (2.5, 3.7));
        assert_eq!(Summary::from_values(Vec::new()), None);
    }
}
