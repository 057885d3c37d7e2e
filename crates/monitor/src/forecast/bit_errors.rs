//! The bit error ratio before correction, and where it is going.

use super::{Corrections, codeword_bits};
use crate::counters::FecCode;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// Windows that a trend is taken from: an hour of minutes.
const WINDOWS_MOST: usize = 60;
/// Fewer say nothing of a trend.
const WINDOWS_LEAST: usize = 10;
/// A slope is a trend if it is this many of its standard errors from none: one of a thousand windows without one.
const DEVIATIONS: f64 = 3.3;
const HOUR_S: f64 = 3_600.0;

/// Wrong bits over all bits, before correction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BitErrors {
    /// Of the latest minute.
    pub ratio: f64,
    /// By what factor the ratio grows in an hour, if that is not by chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hourly_factor: Option<f64>,
}

/// The ratio of these corrections. A wrong symbol counts for one wrong bit if bits are not counted, which is the least;
/// uncorrectable codewords are left out.
pub(super) fn ratio(corrections: &Corrections, code: FecCode) -> Option<f64> {
    let counted = |codewords: &[u64]| codewords.iter().map(|&count| count as f64).sum::<f64>();
    let all = corrections.all.or(corrections.codewords.as_ref().map(|codewords| counted(codewords)));
    let all = all.filter(|&all| all > 0.0)?;
    let symbols = || {
        let codewords = corrections.codewords?;
        Some((0_u32..).zip(codewords).map(|(errors, count)| f64::from(errors) * count as f64).sum::<f64>())
    };
    let bits = corrections.corrected_bits.map(|bits| bits as f64).or_else(symbols)?;
    // Without a Reed-Solomon code, lanes are as fast as with the short one: 64 bits are sent as 66.
    let correctable = code.correctable().or_else(|| FecCode::Rs528.correctable())?;
    Some((bits / (all * codeword_bits(correctable))).min(1.0))
}

/// The ratios of the latest hour.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// When each window ended, and the logarithm of its ratio.
    windows: VecDeque<(Duration, f64)>,
}

impl History {
    /// Takes the ratio of the window that ends now.
    pub(super) fn push(&mut self, now: Duration, ratio: f64) -> BitErrors {
        if ratio > 0.0 {
            self.windows.push_back((now, libm::log(ratio)));
            if self.windows.len() > WINDOWS_MOST {
                self.windows.pop_front();
            }
        }
        BitErrors { ratio, hourly_factor: self.slope().map(|slope| libm::exp(slope * HOUR_S)) }
    }

    /// The slope of the logarithm per second, by least squares.
    fn slope(&self) -> Option<f64> {
        let count = self.windows.len();
        if count < WINDOWS_LEAST {
            return None;
        }
        let mean = |of: fn(&(Duration, f64)) -> f64| self.windows.iter().map(of).sum::<f64>() / count as f64;
        let (time, log) = (mean(|window| window.0.as_secs_f64()), mean(|window| window.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
            self.windows.iter().map(|&(at, value)| of(at.as_secs_f64() - time, value - log)).sum()
        };
        let squares = sum(&|time, _| time * time);
        let slope = sum(&|time, log| time * log) / squares;
        let rest = sum(&|time, log| (log - slope * time) * (log - slope * time));
        let error = libm::sqrt(rest / (count - 2) as f64 / squares);
        (squares > 0.0 && slope.abs() > DEVIATIONS * error && slope != 0.0).then_some(slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The latest of ratios that grow by this factor an hour, give or take a fifth.
    fn latest(factor: f64) -> BitErrors {
        let mut history = History::default();
        let mut latest = None;
        for minute in 0..60_u32 {
            let noise = 1.0 + 0.2 * libm::sin(f64::from(minute * minute));
            let ratio = 1e-8 * libm::pow(factor, f64::from(minute) / 60.0) * noise;
            latest = Some(history.push(Duration::from_mins(u64::from(minute)), ratio));
        }
        latest.expect("an hour")
    }

    #[test]
    fn a_trend_is_told_from_noise() {
        assert_eq!(latest(1.0).hourly_factor, None);
        for factor in [0.3, 4.0] {
            let found = latest(factor).hourly_factor.expect("a trend");
            assert!((found / factor - 1.0).abs() < 0.3, "{found}");
        }
    }

    #[test]
    fn bits_are_counted_or_are_as_many_as_symbols_at_least() {
        let mut codewords = [0; crate::counters::ERRORS_COUNTED];
        (codewords[0], codewords[2]) = (999, 1);
        let all = Some(1_000.0);
        let symbols = Corrections { all, codewords: Some(codewords), ..Corrections::default() };
        assert!((ratio(&symbols, FecCode::Rs544).expect("counted") - 2.0 / 5_440_000.0).abs() < 1e-15);
        let bits = Corrections { corrected_bits: Some(5), ..symbols };
        assert!((ratio(&bits, FecCode::Rs544).expect("counted") - 5.0 / 5_440_000.0).abs() < 1e-15);
        // RS(528,514) has 5,280 bits, as many as a line without such a code in the same time.
        for code in [FecCode::Rs528, FecCode::Other] {
            assert!((ratio(&bits, code).expect("counted") - 5.0 / 5_280_000.0).abs() < 1e-15);
        }
        assert_eq!(ratio(&Corrections::default(), FecCode::Rs544), None);
    }
}
