//! Confidence intervals of values that have no formula for theirs: the runs are drawn again and again.

use crate::pool::Pooled;
use linkmend_random::Random;

/// How often all runs are drawn. Of a 95 % interval, 50 drawn values then lie beyond each end.
const DRAWS: u64 = 2_000;
/// The seed of the draws. It is always the same, so that the same outcomes always have the same interval.
const SEED: u64 = 1;

/// The two-sided interval of a value computed from two outcomes, by the percentile bootstrap (Efron 1979). `None` if
/// the outcomes do not keep their runs apart, or if some of what is drawn has no value.
///
/// The runs of both outcomes are drawn by the same numbers. If runs of the same number had the same seed, what they share
/// cancels. If they share nothing, drawing them together does no harm.
pub fn bootstrap_interval<O: Pooled>(
    outcomes: [&O; 2],
    confidence: f64,
    value: impl Fn(&O, &O) -> Option<f64>,
) -> Option<(f64, f64)> {
    let drawn = |number: u64| {
        let [one, other] = outcomes.map(|outcome| {
            let mut random = Random::new(SEED, &format!("bootstrap {number}"));
            outcome.resampled(&mut |count| (random.uniform() * count as f64) as usize)
        });
        value(&one?, &other?).filter(|value| value.is_finite())
    };
    let mut values = (0..DRAWS).map(drawn).collect::<Option<Vec<f64>>>()?;
    values.sort_by(f64::total_cmp);
    let beyond = (0.5 * (1.0 - confidence) * DRAWS as f64) as usize;
    Some((values[beyond], values[values.len() - 1 - beyond]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::CONFIDENCE;
    use crate::pool::pooled;
    use crate::runs::Runs;

    fn mean(runs: &Runs<f64>) -> Option<f64> {
        runs.mean(|value| Some(*value)).map(|mean| mean.value)
    }

    fn ratio(one: &Runs<f64>, other: &Runs<f64>) -> Option<f64> {
        Some(mean(one)? / mean(other)?)
    }

    /// As many runs as requested, evenly spread from 1 to 2, in an order that follows the seed.
    fn sample(seed: u64, count: usize) -> Runs<f64> {
        let mut random = Random::new(seed, "sample");
        pooled((0..count).map(|_| Runs::one(1.0 + random.uniform()))).expect("there are runs")
    }

    /// Of 100 ratios of independent samples whose true value is 1, some 95 should have it in their interval. With twenty
    /// runs the percentile bootstrap is known to be a little too narrow.
    #[test]
    fn about_95_of_100_intervals_contain_the_true_ratio() {
        let contains = |number: &u64| {
            let (one, other) = (sample(2 * number, 20), sample(2 * number + 1, 20));
            let (low, high) = bootstrap_interval([&one, &other], CONFIDENCE, ratio).expect("many runs");
            (low..=high).contains(&1.0)
        };
        let inside = (0..100).filter(contains).count();
        assert!((85..100).contains(&inside), "{inside} of 100");
    }

    #[test]
    fn what_paired_runs_share_cancels() {
        let one = sample(1, 20);
        let tenfold = pooled(one.iter().map(|value| Runs::one(10.0 * value))).expect("as many runs");
        let (low, high) = bootstrap_interval([&tenfold, &one], CONFIDENCE, ratio).expect("many runs");
        assert!((low - 10.0).abs() < 1e-9 && (high - 10.0).abs() < 1e-9, "{low} to {high}");
        let (low, high) = bootstrap_interval([&sample(2, 20), &one], CONFIDENCE, ratio).expect("many runs");
        assert!(high - low > 0.1, "nothing is shared: {low} to {high}");
    }

    #[test]
    fn a_ratio_that_may_not_exist_has_no_interval() {
        let zeros = pooled([0.0, 0.0, 1.0].map(Runs::one)).expect("three runs");
        assert_eq!(bootstrap_interval([&zeros, &zeros], CONFIDENCE, ratio), None, "all may be 0");
        assert_eq!(bootstrap_interval([&sample(1, 1), &sample(2, 1)], CONFIDENCE, ratio), None);
    }
}
