//! Measured values and their confidence intervals.

use linkmend_statistics::{Counted, mean_interval, percentile, percentile_ranks};

/// A measured value in the unit of its quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    pub value: f64,
    /// Lowest and highest value of the confidence interval, if the value was counted or is the mean of several runs.
    pub interval: Option<(f64, f64)>,
}

impl Measurement {
    /// A value without an interval; `None` if it is not a number, like the mean of nothing.
    pub fn exact(value: f64) -> Option<Measurement> {
        value.is_finite().then_some(Measurement { value, interval: None })
    }

    /// The share of `trials` that are `successes`, times a scale, with its interval; `None` without trials.
    pub fn counted(successes: u64, trials: u64, scale: f64) -> Option<Measurement> {
        if trials == 0 {
            return None;
        }
        let each = scale / trials as f64;
        let (low, high) = Counted::single(successes, 1.0).interval(1.0);
        let interval = Some((low * each, (high * each).min(scale)));
        Some(Measurement { value: successes as f64 * each, interval })
    }

    /// Mean of independent values, with its interval if there are several; `None` without values.
    pub fn mean(values: &[f64]) -> Option<Measurement> {
        if values.is_empty() {
            return None;
        }
        let value = values.iter().sum::<f64>() / values.len() as f64;
        Some(Measurement { value, interval: mean_interval(values) })
    }

    /// Median of independent values, with its interval if there are at least six; `None` without values.
    pub fn median(mut values: Vec<f64>) -> Option<Measurement> {
        values.sort_unstable_by(f64::total_cmp);
        let (low, high) = percentile_ranks(values.len(), 0.5);
        let interval = low.zip(high).map(|(low, high)| (values[low], values[high]));
        Some(Measurement { interval, ..Measurement::exact(percentile(&values, 0.5))? })
    }
}

#[cfg(test)]
mod tests {
    use super::Measurement;

    #[test]
    fn a_median_needs_six_values_for_an_interval() {
        let of = |values: &[f64]| Measurement::median(values.to_vec());
        let six = [6.0, 1.0, 90.0, 3.0, 2.0, 4.0];
        assert_eq!(of(&six), Some(Measurement { value: 3.5, interval: Some((1.0, 90.0)) }));
        assert_eq!(of(&six[..5]), Measurement::exact(3.0));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn an_interval_surrounds_its_mean() {
        let estimate = Measurement::mean(&[1.0, 2.0, 3.0]).expect("three values");
        let (low, high) = estimate.interval.expect("more than one");
        assert_eq!(estimate.value, 2.0);
        assert!((2.0 - low - 4.303 / 3_f64.sqrt()).abs() < 1e-3 && (high + low - 4.0).abs() < 1e-9);
        assert!(
            Measurement::mean(&[]).is_none()
                && Measurement::mean(&[1.0]).is_some_and(|one| one.interval.is_none())
        );
    }
}
