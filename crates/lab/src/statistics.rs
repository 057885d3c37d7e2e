//! Medians and other quantiles, with intervals that assume nothing about the distribution of the values.
//!
//! Each value lies below a quantile with a known probability, so the number of values that do is binomial, and two
//! order statistics bracket the quantile with a probability that can be computed (David and Nagaraja, Order Statistics,
//! section 7.1).

use serde::{Deserialize, Serialize};

/// The coverage of an interval, if there are enough values for it.
pub const COVERAGE: f64 = 0.95;

/// A median and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MedianInterval {
    /// The middle value, or the mean of the two in the middle.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that the interval contains the true median: at least [`COVERAGE`] from 6 values on. With fewer, the
    /// interval is the whole range, and this is its coverage.
    pub coverage: f64,
    /// Number of values.
    pub count: usize,
}

impl MedianInterval {
    /// The median of `values`, in any order; `None` if there are none.
    pub fn from_values(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (ranks, coverage) = ranks(count, 0.5)?;
        let median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2.0;
        Some(Self { median, low: sorted[ranks.0], high: sorted[ranks.1], coverage, count })
    }
}

/// The interval of a quantile (`share` from 0 to 1) of values in ascending order; `None` if there are none.
pub fn quantile_interval(sorted: &[u64], share: f64) -> Option<(u64, u64)> {
    let ((low, high), _) = ranks(sorted.len(), share)?;
    Some((sorted[low], sorted[high]))
}

/// The positions of the order statistics that bracket the quantile, each missing it with at most half of the
/// probability that the coverage leaves; the ends if there are too few values. Also returns the coverage of the pair.
fn ranks(count: usize, share: f64) -> Option<((usize, usize), f64)> {
    let last = count.checked_sub(1)?;
    let below = cumulative(count, share);
    let tail = (1.0 - COVERAGE) / 2.0;
    // With at most l values below it, the quantile is not above the value at position l (from 0).
    let low = below.iter().take(last + 1).rposition(|at_most| *at_most <= tail).unwrap_or(0);
    let high = below.iter().take(last + 1).position(|at_most| 1.0 - at_most <= tail).unwrap_or(last);
    Some(((low, high), below[high] - below[low]))
}

/// For each k up to `count`, the probability that at most k of `count` values lie below the quantile.
fn cumulative(count: usize, share: f64) -> Vec<f64> {
    let (yes, no) = (share.clamp(1e-12, 1.0 - 1e-12).ln(), (1.0 - share).clamp(1e-12, 1.0).ln());
    let mut log_choose = 0.0;
    let mut sum = 0.0;
    (0..=count)
        .map(|k| {
            if k > 0 {
                log_choose += ((count - k + 1) as f64).ln() - (k as f64).ln();
            }
            sum += (log_choose + k as f64 * yes + (count - k) as f64 * no).exp();
            sum
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_odd_and_even_numbers_of_values() {
        let median = |values: &[f64]| MedianInterval::from_values(values).expect("values").median;
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[4.0, 1.0]), 2.5);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[9.0, 1.0, 2.0, 4.0]), 3.0);
        assert_eq!(MedianInterval::from_values(&[]), None);
    }

    #[test]
    fn intervals_have_the_coverage_of_the_tables() {
        // Exact coverages of order statistics around the median: 15/16 for five, 31/32 for six, and for ten the second
        // to the ninth, 0.9785.
        let of = |count: u32| {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            let interval = MedianInterval::from_values(&values).expect("values");
            (interval.low, interval.high, (interval.coverage * 1e4).round())
        };
        assert_eq!(of(5), (1.0, 5.0, 9375.0));
        assert_eq!(of(6), (1.0, 6.0, 9688.0));
        assert_eq!(of(10), (2.0, 9.0, 9785.0));
    }

    #[test]
    fn one_wild_value_moves_neither_median_nor_interval_much() {
        let calm: Vec<f64> = (0..11).map(|value| 100.0 + f64::from(value)).collect();
        let mut wild = calm.clone();
        wild[10] = 1e9;
        let (calm, wild) = (
            MedianInterval::from_values(&calm).expect("some"),
            MedianInterval::from_values(&wild).expect("some"),
        );
        assert_eq!((calm.median, calm.low, calm.high), (wild.median, wild.low, wild.high));
    }

    #[test]
    fn the_interval_of_a_high_percentile_is_among_the_largest_values() {
        let values: Vec<u64> = (1..=10_000).collect();
        let (low, high) = quantile_interval(&values, 0.999).expect("values");
        // The number of values above follows Binomial(10,000, 0.001): 4 to 17 with 95 %.
        assert!((9_982..=9_986).contains(&low) && (9_994..=9_998).contains(&high), "{low} {high}");
        // Two thousand values do not suffice for an upper end, but the lower one stays among the largest.
        let (low, high) = quantile_interval(&values[..2_000], 0.999).expect("values");
        assert!((1_992..=1_995).contains(&low) && high == 2_000, "{low} {high}");
        assert_eq!(quantile_interval(&[7], 0.999), Some((7, 7)));
    }

    #[test]
    fn intervals_hold_the_true_median_as_often_as_they_say() {
        let (mut state, mut held) = (7u64, 0);
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // A skewed distribution with its median at 0.25.
            ((state >> 11) as f64 / (1u64 << 53) as f64).powi(2)
        };
        for _ in 0..2_000 {
            let values: Vec<f64> = (0..9).map(|_| draw()).collect();
            let interval = MedianInterval::from_values(&values).expect("values");
            held += u32::from(interval.low <= 0.25 && 0.25 <= interval.high);
        }
        // Nine values: the second to the eighth, 96.1 %.
        assert!((1_890..=1_960).contains(&held), "{held}");
    }
}
