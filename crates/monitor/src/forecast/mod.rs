//! The loss rate that forward error correction expects, before frames are lost.
//!
//! A codeword with more wrong symbols than can be corrected is lost, with all frames that have a part in it. Long before, there
//! are codewords with fewer errors. How many there are of each number says how likely one too many is:
//!
//! - From a **histogram**, a negative binomial distribution is fitted (errors that are independent, at a rate that varies). If
//!   it does not fit, the codewords with the most errors alone are extrapolated, as a geometric tail.
//! - From **corrected bits and codewords**, its mean and its share of codewords without errors give the same distribution.
//! - From **corrected bits** alone, errors are taken to be independent, which is the least that there can be.
//!
//! A [`Forecast`] has an interval, which is wide where the counters say little.

mod bit_errors;
mod distribution;
mod early_warning;
mod tail;

pub use bit_errors::{BitErrors, LaneBitErrors};
pub(crate) use distribution::NegativeBinomial;
pub use early_warning::EarlyWarning;

pub use crate::counters::codewords_in;
use crate::counters::{ERRORS_COUNTED, FRAME_BITS, Lanes, frames_lost as lost};
use distribution::Further;
use linkmend_statistics::Counted;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bits of a codeword on the line: 514 symbols of ten bits, and two for each that can be corrected.
fn codeword_bits(correctable: u32) -> f64 {
    5_140.0 + 20.0 * f64::from(correctable)
}

/// Independent errors, as a shape.
const INDEPENDENT: f64 = 1e12;

/// What forward error correction has counted in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Corrections {
    /// Codewords that were received, if they are known from the speed.
    pub all: Option<f64>,
    pub corrected_codewords: Option<u64>,
    pub corrected_bits: Option<u64>,
    /// The same of each lane.
    pub lane_corrected_bits: Option<Lanes>,
    /// Codewords that had more errors than can be corrected.
    pub uncorrectable: Option<u64>,
    /// By the number of their errors; this is used alone if it is there.
    pub codewords: Option<[u64; ERRORS_COUNTED]>,
}

/// What a forecast was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// A distribution was fitted to a histogram.
    Histogram,
    /// The histogram's end was extrapolated.
    Tail,
    /// Uncorrectable codewords, where neither a distribution nor a tail explains them.
    Uncorrectable,
    /// Corrected bits and codewords.
    BitsAndCodewords,
    /// Corrected bits alone, so that errors are taken to be independent.
    Bits,
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Basis::Histogram => "codewords by their errors",
            Basis::Tail => "codewords with the most errors",
            Basis::Uncorrectable => "uncorrectable codewords",
            Basis::BitsAndCodewords => "corrected bits and codewords",
            Basis::Bits => "corrected bits, if errors are independent",
        })
    }
}

/// The share of frames of 1,518 bytes that will be lost, if errors stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    pub loss_rate: f64,
    /// The least and the most that the counters allow, with a confidence of 95 %; `None` where they do not bound it.
    pub least: f64,
    pub most: Option<f64>,
    pub basis: Basis,
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Forecast { loss_rate, least, most, basis } = self;
        write!(f, "{loss_rate:.1e} expected (")?;
        match most {
            Some(most) => write!(f, "{least:.1e} to {most:.1e}")?,
            None => write!(f, "at least {least:.1e}")?,
        }
        write!(f, ", from {basis})")
    }
}

impl Forecast {
    /// This many times as much.
    fn times(self, factor: f64) -> Forecast {
        let of = |rate: f64| (rate * factor).min(1.0);
        let Forecast { loss_rate, least, most, basis } = self;
        Forecast { loss_rate: of(loss_rate), least: of(least), most: most.map(of), basis }
    }
}

/// The long frames that are lost with this share of codewords.
pub(crate) fn frames_lost(codewords: f64) -> f64 {
    lost(codewords, FRAME_BITS)
}

/// Extrapolates. `correctable` is how many wrong symbols of a codeword can be corrected: 15 by RS(544,514), 7 by RS(528,514).
/// `None` if nothing was wrong, or too little is known.
pub fn forecast(corrections: &Corrections, correctable: u32) -> Option<Forecast> {
    match &corrections.codewords {
        Some(codewords) => from_histogram(codewords, corrections.uncorrectable, correctable),
        None => from_sums(corrections, correctable),
    }
}

fn from_histogram(
    codewords: &[u64; ERRORS_COUNTED],
    uncorrectable: Option<u64>,
    correctable: u32,
) -> Option<Forecast> {
    let further = uncorrectable.map(|count| Further { count, correctable });
    let fit = distribution::fit(codewords, further)?;
    let [tail_least, tail_likely, tail_most] = tail::extrapolate(codewords, correctable)?;
    if !fit.fits
        && let Some(count) = uncorrectable.filter(|&count| count > 0)
    {
        let all = codewords.iter().map(|&count| count as f64).sum::<f64>() + count as f64;
        let (least, most) = Counted::single(count, 1.0).interval(1.0);
        return Some(Forecast {
            loss_rate: frames_lost(count as f64 / all),
            least: frames_lost(least / all).min(frames_lost(tail_least)),
            most: Some(frames_lost(most / all).max(frames_lost(tail_most))),
            basis: Basis::Uncorrectable,
        });
    }
    if !fit.fits {
        return Some(Forecast {
            loss_rate: frames_lost(tail_likely),
            least: frames_lost(tail_least),
            most: Some(frames_lost(tail_most)),
            basis: Basis::Tail,
        });
    }
    Some(Forecast {
        loss_rate: frames_lost(fit.likely.beyond(correctable)),
        least: frames_lost(fit.interval.0.beyond(correctable)),
        most: Some(frames_lost(fit.interval.1.beyond(correctable))),
        basis: Basis::Histogram,
    })
}

fn from_sums(corrections: &Corrections, correctable: u32) -> Option<Forecast> {
    let all = corrections.all.filter(|&all| all > 0.0)?;
    let bits = corrections.corrected_bits.filter(|&bits| bits > 0)? as f64;
    // Several wrong bits of a symbol are one error: these are the fewest errors, and as many as there are bits at most.
    let wrong_bit = (bits / (all * codeword_bits(correctable))).min(1.0);
    let symbols = codeword_bits(correctable) / 10.0;
    let fewest = symbols * -libm::expm1(10.0 * libm::log1p(-wrong_bit));
    let independent = NegativeBinomial { mean: fewest, shape: INDEPENDENT };
    let least = frames_lost(independent.beyond(correctable));
    let mean = bits / all;
    let spread = corrections.corrected_codewords.and_then(|wrong| shape(mean, wrong as f64 / all));
    Some(match spread {
        Some(shape) => Forecast {
            loss_rate: frames_lost(NegativeBinomial { mean, shape }.beyond(correctable)).max(least),
            least,
            most: None,
            basis: Basis::BitsAndCodewords,
        },
        None => Forecast { loss_rate: least, least, most: None, basis: Basis::Bits },
    })
}

/// The shape with which this share of codewords has errors; `None` if there are no more errors than so many codewords need.
fn shape(mean: f64, share: f64) -> Option<f64> {
    let with_errors = |log_shape: f64| {
        let shape = libm::exp(log_shape);
        -libm::expm1(-shape * libm::log1p(mean / shape))
    };
    let (mut bursty, mut smooth) = (-16.0, 27.0);
    if !(with_errors(bursty)..with_errors(smooth)).contains(&share) {
        return None;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(bursty, smooth);
        if with_errors(middle) < share { bursty = middle } else { smooth = middle }
    }
    Some(libm::exp(bursty))
}
