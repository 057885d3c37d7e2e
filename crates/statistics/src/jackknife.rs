//! Intervals of values that have no formula for theirs: each run is left out once.

use crate::mean::student_t;

/// Runs are left out in at most this many groups: the percentiles of groups that are too small are too much alike.
const GROUPS_MAX: usize = 10;

/// With fewer groups, Student's t distribution is wide enough for a single rare event.
const OF_ONE_GROUPS_MIN: usize = 5;

/// The interval of a value about which nothing is known.
const ANYTHING: (f64, f64) = (0.0, f64::INFINITY);

/// The interval of a value computed from several independent runs (the jackknife of Quenouille and Tukey, with Student's
/// t distribution). `value` computes it from the runs for whose numbers its argument returns true.
///
/// Positive values are compared by their logarithms, which suits ratios and never reaches below 0. If one of at least
/// five groups makes up more than half of the value, the interval is everything from 0 on. `None` for fewer than two runs,
/// or if some value does not exist.
pub fn jackknife_interval(
    runs: usize,
    value: impl Fn(&dyn Fn(usize) -> bool) -> Option<f64>,
) -> Option<(f64, f64)> {
    Some(interval(&LeftOut::of(runs, value)?))
}

/// The interval of the ratio of two values, each computed from runs of its own: the jackknife of the ratio, where runs of the same
/// number are left out together. If they had the same seed, what they share cancels. If one of at least five groups makes up
/// more than half of either value, the ratio can be anything, even if the other value shares that event.
pub fn ratio_interval(
    runs: usize,
    value: impl Fn(&dyn Fn(usize) -> bool) -> Option<f64>,
    divisor: impl Fn(&dyn Fn(usize) -> bool) -> Option<f64>,
) -> Option<(f64, f64)> {
    let (value, divisor) = (LeftOut::of(runs, value)?, LeftOut::of(runs, divisor)?);
    let ratio = interval(&value.over(&divisor)?);
    Some(if value.is_of_one() || divisor.is_of_one() { ANYTHING } else { ratio })
}

/// A value of all runs, and without each group of them.
struct LeftOut {
    whole: f64,
    without: Vec<f64>,
}

impl LeftOut {
    /// `None` for fewer than two runs, or if some value is not a finite number.
    fn of(runs: usize, value: impl Fn(&dyn Fn(usize) -> bool) -> Option<f64>) -> Option<LeftOut> {
        let groups = runs.min(GROUPS_MAX);
        if groups < 2 {
            return None;
        }
        let without = (0..groups).map(|group| value(&|run| run % groups != group));
        LeftOut { whole: value(&|_| true)?, without: without.collect::<Option<_>>()? }.finite()
    }

    fn over(&self, divisor: &LeftOut) -> Option<LeftOut> {
        let without = self.without.iter().zip(&divisor.without).map(|(value, divisor)| value / divisor);
        LeftOut { whole: self.whole / divisor.whole, without: without.collect() }.finite()
    }

    fn finite(self) -> Option<LeftOut> {
        (self.whole.is_finite() && self.without.iter().all(|value| value.is_finite())).then_some(self)
    }

    /// Whether one group makes up more than half of the value: a single rare event, of which other runs may have more or none.
    fn is_of_one(&self) -> bool {
        self.without.len() >= OF_ONE_GROUPS_MIN
            && self.without.iter().all(|value| *value >= 0.0)
            && self.without.iter().any(|value| *value < self.whole / 2.0)
    }
}

fn interval(left_out: &LeftOut) -> (f64, f64) {
    let LeftOut { whole, without } = left_out;
    if left_out.is_of_one() {
        return ANYTHING;
    }
    if *whole > 0.0 && without.iter().all(|value| *value > 0.0) {
        let logarithms: Vec<f64> = without.iter().map(|value| libm::log(*value)).collect();
        let reach = libm::exp(reach(&logarithms));
        return (whole / reach, whole * reach);
    }
    let reach = reach(without);
    (whole - reach, whole + reach)
}

/// The distance from the value to either end.
fn reach(without: &[f64]) -> f64 {
    let count = without.len() as f64;
    let mean = without.iter().sum::<f64>() / count;
    let squares: f64 = without.iter().map(|value| (value - mean) * (value - mean)).sum();
    student_t(without.len() - 1) * libm::sqrt(squares * (count - 1.0) / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mean::mean_interval;

    fn mean(values: &[f64], keeps: &dyn Fn(usize) -> bool) -> Option<f64> {
        let kept: Vec<f64> = (0..values.len()).filter(|run| keeps(*run)).map(|run| values[run]).collect();
        Some(kept.iter().sum::<f64>() / kept.len() as f64)
    }

    fn ratio(values: &[(f64, f64)]) -> Option<(f64, f64)> {
        let (one, other): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
        ratio_interval(values.len(), |keeps| mean(&one, keeps), |keeps| mean(&other, keeps))
    }

    #[test]
    fn of_a_mean_it_is_the_interval_of_student() {
        let values = [-3.0, 3.0, 0.5, 2.0];
        let (low, high) = jackknife_interval(4, |keeps| mean(&values, keeps)).expect("four runs");
        let expected = mean_interval(&values).expect("four values");
        assert!(
            (low - expected.0).abs() < 1e-9 && (high - expected.1).abs() < 1e-9,
            "{low} {high} {expected:?}"
        );
    }

    #[test]
    fn a_ratio_stays_positive_and_has_the_interval_of_its_inverse() {
        let (low, high) = ratio(&[(1.0, 1.0), (8.0, 2.0)]).expect("two runs");
        assert!(low > 0.0 && high > 100.0, "{low} {high}");
        let inverse = ratio(&[(1.0, 1.0), (2.0, 8.0)]).expect("two runs");
        assert!((inverse.0 * high - 1.0).abs() < 1e-9 && (inverse.1 * low - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_value_that_one_run_makes_has_no_bounds() {
        let values = [1.0, 1.0, 1.0, 30.0, 1.0];
        let of = |values: &[f64]| jackknife_interval(values.len(), |keeps| mean(values, keeps));
        assert_eq!(of(&values), Some((0.0, f64::INFINITY)));
        assert!(of(&[1.0, 1.0, 1.0, 1.2, 1.0]).is_some_and(|(low, high)| low > 0.8 && high < 1.3));
        // Both parts of the ratio have the same event, which cancels. It is a single event all the same.
        let shared = values.map(|value| (value, 2.0 * value));
        assert_eq!(ratio(&shared), Some(ANYTHING));
    }

    #[test]
    fn what_both_share_cancels() {
        let (low, high) = ratio(&[(10.0, 1.0), (20.0, 2.0), (70.0, 7.0)]).expect("three runs");
        assert!((low - 10.0).abs() < 1e-9 && (high - 10.0).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn many_runs_are_left_out_in_groups() {
        let values: Vec<f64> = (0..1_000).map(|run| f64::from(run % 10)).collect();
        let (low, high) = jackknife_interval(1_000, |keeps| mean(&values, keeps)).expect("many runs");
        let of_groups: Vec<f64> = (0..10).map(f64::from).collect();
        let expected = mean_interval(&of_groups).expect("ten groups");
        assert!(low < 4.5 && high > 4.5 && (high - low) > 0.9 * (expected.1 - expected.0), "{low} {high}");
    }

    #[test]
    fn without_several_finite_values_there_is_no_interval() {
        assert_eq!(jackknife_interval(1, |_| Some(1.0)), None);
        assert_eq!(jackknife_interval(2, |_| None), None);
        assert_eq!(jackknife_interval(2, |keeps| Some(if keeps(0) { 1.0 } else { f64::NAN })), None);
        assert_eq!(jackknife_interval(2, |_| Some(1.0)), Some((1.0, 1.0)));
    }
}
