//! Means of independent values.

use crate::TAIL;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The interval of the mean by Student's t distribution; `None` for fewer than two values.
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let reach = student_t(values.len() - 1) * libm::sqrt(squares / (count - 1.0) / count);
    Some((mean - reach, mean + reach))
}

/// The number of standard errors between the mean and either end.
pub(crate) fn student_t(degrees: usize) -> f64 {
    StudentsT::new(0.0, 1.0, degrees as f64).map_or(f64::NAN, |student| student.inverse_cdf(1.0 - TAIL))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_agree_with_tables() {
        for (degrees, quantile) in [
            (1, 12.706),
            (2, 4.303),
            (4, 2.776),
            (5, 2.571),
            (10, 2.228),
            (30, 2.042),
            (120, 1.980),
            (9_999, 1.960),
        ] {
            assert!((student_t(degrees) - quantile).abs() < 1e-3, "{degrees}: {}", student_t(degrees));
        }
    }

    #[test]
    fn an_interval_surrounds_its_mean() {
        let (low, high) = mean_interval(&[1.0, 2.0, 3.0]).expect("three values");
        assert!((2.0 - low - 4.303 / 3_f64.sqrt()).abs() < 1e-3 && (high + low - 4.0).abs() < 1e-9);
        assert_eq!(mean_interval(&[1.0]), None);
        assert_eq!(mean_interval(&[1.0, 1.0]), Some((1.0, 1.0)));
    }
}
