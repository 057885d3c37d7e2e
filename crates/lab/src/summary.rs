//! Summarises a distribution in a dozen numbers.

use serde::{Deserialize, Serialize};

/// Percentiles and moments of a sample, in the unit of the sample. Percentiles are by nearest rank, so each is a value
/// that occurred. With fewer than 10,000 values, the 99.99th percentile is the maximum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    pub min: u64,
    pub mean: f64,
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// 99.99th percentile.
    pub p99_99: u64,
    pub max: u64,
    /// Sample standard deviation (divided by count - 1); 0 for a single value.
    pub std: f64,
}

impl Summary {
    /// Summarises `values`; `None` if there are none.
    pub fn from_samples(values: &[u64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let count = sorted.len() as f64;
        let mean = sorted.iter().map(|value| *value as f64).sum::<f64>() / count;
        let squares = sorted.iter().map(|value| (*value as f64 - mean).powi(2)).sum::<f64>();
        let rank = |ten_thousandths: usize| nearest_rank(&sorted, ten_thousandths);
        Some(Self {
            count: sorted.len() as u64,
            min,
            mean,
            p50: rank(5_000),
            p90: rank(9_000),
            p95: rank(9_500),
            p99: rank(9_900),
            p99_9: rank(9_990),
            p99_99: rank(9_999),
            max,
            std: if sorted.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 },
        })
    }
}

/// The smallest value that at least this share of the values does not exceed. Computed in integers, because 0.999 *
/// 1000 is more than 999 in floating point.
fn nearest_rank(sorted: &[u64], ten_thousandths: usize) -> u64 {
    let rank = (sorted.len() * ten_thousandths).div_ceil(10_000);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank_of_one_to_a_thousand() {
        let values: Vec<u64> = (1..=1000).rev().collect();
        let summary = Summary::from_samples(&values).expect("there are values");
        assert_eq!((summary.min, summary.max, summary.count), (1, 1000, 1000));
        assert_eq!((summary.p50, summary.p90, summary.p95, summary.p99), (500, 900, 950, 990));
        assert_eq!((summary.p99_9, summary.p99_99), (999, 1000));
        assert!((summary.mean - 500.5).abs() < 1e-9);
        assert!((summary.std - 288.819_436_1).abs() < 1e-6, "{}", summary.std);
    }

    #[test]
    fn a_single_value_and_none() {
        let one = Summary::from_samples(&[7]).expect("there is one");
        assert_eq!((one.min, one.p50, one.p99_99, one.max, one.std), (7, 7, 7, 7, 0.0));
        assert_eq!(Summary::from_samples(&[]), None);
    }
}
