//! Percentiles of a sample, and where those of its distribution lie.

use crate::TAIL;
use statrs::function::beta::beta_reg;

/// The value that a share of the sorted values is below, linear between two of them (definition 7 of Hyndman and Fan
/// 1996, which spreadsheets and numpy use). Not a number if there are none.
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = share * last as f64;
    let below = place as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * (place - below as f64)
}

/// The ranks, from 0, of the two sorted values between which the percentile of their distribution lies, of `count`
/// independent values. A missing rank means that there are too few values to know that end.
///
/// Each value is below the percentile with a known probability, so the number of values that are is binomial (David and
/// Nagaraja, Order Statistics, section 7.1).
pub fn percentile_ranks(count: usize, share: f64) -> (Option<usize>, Option<usize>) {
    // The percentile is below the value of rank r if at most r values are below it, and above it if more are.
    let low = first_rank(count, |rank| at_most(rank, count, share) > TAIL).checked_sub(1);
    let high = first_rank(count, |rank| 1.0 - at_most(rank, count, share) <= TAIL);
    (low, (high < count).then_some(high))
}

/// The first rank below `count` for which this holds, as it does for all later ones; `count` if there is none.
fn first_rank(count: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

/// Probability that at most `rank` of `count` values are below the percentile.
fn at_most(rank: usize, count: usize, share: f64) -> f64 {
    if rank >= count || share <= 0.0 {
        return 1.0;
    }
    if share >= 1.0 {
        return 0.0;
    }
    beta_reg((count - rank) as f64, rank as f64 + 1.0, 1.0 - share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_linear_between_values() {
        let values: Vec<f64> = (0..=1_000).map(f64::from).collect();
        let of = |share| percentile(&values, share);
        assert_eq!([0.0, 0.5, 0.99, 0.999, 1.0].map(of), [0.0, 500.0, 990.0, 999.0, 1_000.0]);
        assert!((of(0.9999) - 999.9).abs() < 1e-9);
        assert_eq!((percentile(&[1.0, 4.0], 0.5), percentile(&[1.0, 4.0], 0.9)), (2.5, 3.7));
        assert!(percentile(&[], 0.5).is_nan());
    }

    #[test]
    fn medians_have_the_ranks_of_the_tables() {
        // Exact coverages around the median: 31/32 for six values, 0.9785 for the second to the ninth of ten.
        assert_eq!(percentile_ranks(6, 0.5), (Some(0), Some(5)));
        assert_eq!(percentile_ranks(10, 0.5), (Some(1), Some(8)));
        assert_eq!(percentile_ranks(5, 0.5), (None, None), "fifteen sixteenths are too few");
        assert_eq!(percentile_ranks(0, 0.5), (None, None));
    }

    #[test]
    fn a_high_percentile_has_no_upper_bound_in_a_small_sample() {
        // The number of values above follows Binomial(10,000, 0.001): 4 to 17.
        let (low, high) = percentile_ranks(10_000, 0.999);
        assert!((9_981..=9_985).contains(&low.expect("enough")), "{low:?}");
        assert!((9_994..=9_997).contains(&high.expect("enough")), "{high:?}");
        let (low, high) = percentile_ranks(1_000, 0.999);
        assert!(low.is_some_and(|rank| (994..=997).contains(&rank)) && high.is_none(), "{low:?} {high:?}");
        // All of 3,688 values are below with a probability of just 2.5 %.
        assert!(
            percentile_ranks(3_687, 0.999).1.is_none() && percentile_ranks(3_688, 0.999).1 == Some(3_687)
        );
        assert_eq!(percentile_ranks(7, 0.0), (None, Some(0)));
        assert_eq!(percentile_ranks(7, 1.0), (Some(6), None));
    }

    #[test]
    fn large_samples_follow_the_normal_distribution() {
        for (count, share) in [(1_000_000, 0.5), (100_000_000, 0.9), (100_000_000, 0.9999)] {
            let (low, high) = percentile_ranks(count, share);
            let (mean, number) = (share * count as f64, count as f64);
            let reach = 1.96 * libm::sqrt(number * share * (1.0 - share));
            let close = |rank: Option<usize>, expected: f64| {
                rank.is_some_and(|rank| (rank as f64 - expected).abs() < 0.03 * reach + 2.0)
            };
            assert!(
                close(low, mean - reach) && close(high, mean + reach),
                "{count} {share}: {low:?} {high:?}"
            );
        }
    }
}
