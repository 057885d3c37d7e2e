//! Measured values and their confidence intervals.

use crate::interval::poisson_interval;

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

    /// The share of `trials` that are `successes`, times a scale, with an interval of this confidence; `None` without
    /// trials.
    pub fn counted(successes: u64, trials: u64, scale: f64, confidence: f64) -> Option<Measurement> {
        if trials == 0 {
            return None;
        }
        let each = scale / trials as f64;
        let (low, high) = poisson_interval(successes, confidence);
        let interval = Some((low * each, (high * each).min(scale)));
        Some(Measurement { value: successes as f64 * each, interval })
    }

    /// Mean and 95 % confidence interval by Student's t distribution; `None` without values.
    pub fn mean(values: &[f64]) -> Option<Measurement> {
        if values.is_empty() {
            return None;
        }
        let count = values.len() as f64;
        let value = values.iter().sum::<f64>() / count;
        if values.len() < 2 {
            return Some(Measurement { value, interval: None });
        }
        let variance = values.iter().map(|other| (other - value).powi(2)).sum::<f64>() / (count - 1.0);
        let half = student_t_975(values.len() - 1) * libm::sqrt(variance / count);
        Some(Measurement { value, interval: Some((value - half, value + half)) })
    }
}

/// The 97.5 % quantile of Student's t distribution, by the expansion of Cornish and Fisher, within 0.1 % from 5 degrees of
/// freedom on; below, from tables.
fn student_t_975(degrees: usize) -> f64 {
    const FEW: [f64; 5] = [f64::INFINITY, 12.706, 4.303, 3.182, 2.776];
    if let Some(quantile) = FEW.get(degrees) {
        return *quantile;
    }
    let (z, n) = (1.959_964_f64, degrees as f64);
    let (z3, z5) = (z.powi(3), z.powi(5));
    z + (z3 + z) / (4.0 * n) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use super::{Measurement, student_t_975};

    #[test]
    fn quantiles_agree_with_tables() {
        for (degrees, quantile) in
            [(1, 12.706), (4, 2.776), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)]
        {
            assert!((student_t_975(degrees) / quantile - 1.0).abs() < 1e-2, "{degrees}");
        }
    }

    #[test]
    fn an_interval_surrounds_its_mean() {
        let estimate = Measurement::mean(&[1.0, 2.0, 3.0]).expect("three values");
        let (low, high) = estimate.interval.expect("more than one");
        assert_eq!(estimate.value, 2.0);
        assert!((2.0 - low - 4.303 / 3_f64.sqrt()).abs() < 1e-9 && (high + low - 4.0).abs() < 1e-9);
        assert!(
            Measurement::mean(&[]).is_none()
                && Measurement::mean(&[1.0]).is_some_and(|one| one.interval.is_none())
        );
    }
}
