//! The bit error ratio before correction, and where it is going.

use super::{Corrections, codeword_bits};
use crate::counters::{FecCode, Lanes};
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

/// Lanes are believed if their sum is that of the port, give or take this share: without error correction, some adapters
/// count the errors of the port on each of its lanes.
const LANES_BEYOND_MOST: f64 = 0.01;

/// Wrong bits over all bits, before correction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BitErrors {
    /// Of the latest minute.
    pub ratio: f64,
    /// By what factor the ratio grows in an hour, if that is not by chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hourly_factor: Option<f64>,
    /// The same of each lane, if the port counts by lane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lanes: Vec<LaneBitErrors>,
}

/// Wrong bits over all bits of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LaneBitErrors {
    pub ratio: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hourly_factor: Option<f64>,
}

/// The bits that came. Without a Reed-Solomon code, lanes are as fast as with the short one: 64 bits are sent as 66.
fn all_bits(corrections: &Corrections, code: FecCode) -> Option<f64> {
    let counted = |codewords: &[u64]| codewords.iter().map(|&count| count as f64).sum::<f64>();
    let all = corrections.all.or(corrections.codewords.as_ref().map(|codewords| counted(codewords)));
    let correctable = code.correctable().or_else(|| FecCode::Rs528.correctable())?;
    all.filter(|&all| all > 0.0).map(|all| all * codeword_bits(correctable))
}

/// The bits that were wrong. A wrong symbol counts for one wrong bit if bits are not counted, which is the least;
/// uncorrectable codewords are left out.
fn wrong_bits(corrections: &Corrections) -> Option<f64> {
    let symbols = || {
        let codewords = corrections.codewords?;
        Some((0_u32..).zip(codewords).map(|(errors, count)| f64::from(errors) * count as f64).sum::<f64>())
    };
    corrections.corrected_bits.map(|bits| bits as f64).or_else(symbols)
}

/// The wrong bits of each lane, if their sum is that of the port.
fn wrong_bits_of_lanes(corrections: &Corrections) -> Option<Lanes> {
    let (lanes, all) = (corrections.lane_corrected_bits?, corrections.corrected_bits? as f64);
    let sum: f64 = lanes.counts().iter().map(|&count| count as f64).sum();
    ((sum - all).abs() <= LANES_BEYOND_MOST * all).then_some(lanes)
}

/// The ratios of a port and of its lanes.
#[derive(Debug, Clone, Default)]
pub(super) struct Histories {
    port: History,
    lanes: Vec<History>,
}

impl Histories {
    /// Takes what was counted in the window that ends now; `None` if that is too little for a ratio.
    pub(super) fn push(
        &mut self,
        now: Duration,
        corrections: &Corrections,
        code: FecCode,
    ) -> Option<BitErrors> {
        let all = all_bits(corrections, code)?;
        let ratio = (wrong_bits(corrections)? / all).min(1.0);
        let hourly_factor = self.port.push(now, ratio);
        let lanes = wrong_bits_of_lanes(corrections).map_or_else(Vec::new, |lanes| {
            let counts = lanes.counts();
            self.lanes.resize_with(counts.len(), History::default);
            let of = |(history, &count): (&mut History, &u64)| {
                let ratio = (count as f64 * counts.len() as f64 / all).min(1.0);
                LaneBitErrors { ratio, hourly_factor: history.push(now, ratio) }
            };
            self.lanes.iter_mut().zip(counts).map(of).collect()
        });
        Some(BitErrors { ratio, hourly_factor, lanes })
    }
}

/// The ratios of the latest hour.
#[derive(Debug, Clone, Default)]
struct History {
    /// When each window ended, and the logarithm of its ratio.
    windows: VecDeque<(Duration, f64)>,
}

impl History {
    /// Takes the ratio of the window that ends now, and says by what factor it grows in an hour.
    fn push(&mut self, now: Duration, ratio: f64) -> Option<f64> {
        if ratio > 0.0 {
            self.windows.push_back((now, libm::log(ratio)));
            if self.windows.len() > WINDOWS_MOST {
                self.windows.pop_front();
            }
        }
        self.slope().map(|slope| libm::exp(slope * HOUR_S))
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

    /// By what factor ratios grow an hour that grow by this factor, give or take a fifth.
    fn found(factor: f64) -> Option<f64> {
        let mut history = History::default();
        (0..60_u32).fold(None, |_, minute| {
            let noise = 1.0 + 0.2 * libm::sin(f64::from(minute * minute));
            let ratio = 1e-8 * libm::pow(factor, f64::from(minute) / 60.0) * noise;
            history.push(Duration::from_mins(u64::from(minute)), ratio)
        })
    }

    fn ratios(corrections: &Corrections, code: FecCode) -> Option<BitErrors> {
        Histories::default().push(Duration::ZERO, corrections, code)
    }

    #[test]
    fn a_trend_is_told_from_noise() {
        assert_eq!(found(1.0), None);
        for factor in [0.3, 4.0] {
            let found = found(factor).expect("a trend");
            assert!((found / factor - 1.0).abs() < 0.3, "{found}");
        }
    }

    #[test]
    fn bits_are_counted_or_are_as_many_as_symbols_at_least() {
        let mut codewords = [0; crate::counters::ERRORS_COUNTED];
        (codewords[0], codewords[2]) = (999, 1);
        let symbols =
            Corrections { all: Some(1_000.0), codewords: Some(codewords), ..Corrections::default() };
        let bits = Corrections { corrected_bits: Some(5), ..symbols };
        // RS(528,514) has 5,280 bits, as many as a line without such a code in the same time.
        for (corrections, code, expected) in [
            (symbols, FecCode::Rs544, 2.0 / 5_440_000.0),
            (bits, FecCode::Rs544, 5.0 / 5_440_000.0),
            (bits, FecCode::Rs528, 5.0 / 5_280_000.0),
            (bits, FecCode::Other, 5.0 / 5_280_000.0),
        ] {
            let ratio = ratios(&corrections, code).expect("counted").ratio;
            assert!((ratio - expected).abs() < 1e-15, "{code:?}: {ratio:e}");
        }
        assert_eq!(ratios(&Corrections::default(), FecCode::Rs544), None);
    }

    /// Public dumps of adapters with the driver mlx5: four lanes with a Reed-Solomon code, and four without one.
    #[test]
    fn lanes_are_believed_if_they_add_up() {
        let of = |lanes: [u64; 4], corrected_bits| {
            let lane_corrected_bits = Lanes::new(lanes);
            let all = Some(1e9);
            let corrections =
                Corrections { all, corrected_bits, lane_corrected_bits, ..Corrections::default() };
            ratios(&corrections, FecCode::Rs528).map(|found| found.lanes)
        };
        let lanes = of([28_116, 0, 0, 17_722_623], Some(17_750_739)).expect("counted");
        let bits = 1e9 * 5_280.0 / 4.0;
        assert_eq!((lanes.len(), lanes[1].ratio), (4, 0.0));
        assert!((lanes[3].ratio / (17_722_623.0 / bits) - 1.0).abs() < 1e-9, "{lanes:?}");
        assert_eq!(of([6, 2, 190, 0], Some(198)).expect("counted").len(), 4);
        assert_eq!(of([13_115_284; 4], Some(13_115_284)), Some(Vec::new()));
        assert_eq!(of([13_115_284; 4], None), None);
    }
}
