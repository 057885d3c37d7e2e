//! How near forecasts from forward error correction come to a loss rate that is known.

use super::{EvaluationOptions, ForecastCell};
use crate::counters::ERRORS_COUNTED;
use crate::forecast::{Corrections, NegativeBinomial, codewords_in, forecast, frames_lost};
use linkmend_random::Random;

/// A minute of 100 Gbit/s.
const SPEED: u64 = 100_000_000_000;
const SECONDS: f64 = 60.0;
/// What RS(544,514) corrects.
const CORRECTABLE: u32 = 15;
/// How much less likely each further error of a burst is.
const BURST_RATIO: f64 = 0.5;
/// Means above this are drawn from a normal distribution.
const POISSON_MEAN_MOST: f64 = 200.0;

/// How errors come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Errors {
    Independent,
    /// At a rate that varies from codeword to codeword as a gamma distribution of shape 1 does.
    Varying,
    /// Nearly always none, and in a few codewords many.
    Bursts,
}

/// All of them.
pub(super) const ERRORS: [Errors; 3] = [Errors::Independent, Errors::Varying, Errors::Bursts];

impl Errors {
    fn name(self) -> &'static str {
        match self {
            Errors::Independent => "independent",
            Errors::Varying => "at a varying rate",
            Errors::Bursts => "rare bursts",
        }
    }

    /// The probabilities of codewords with no error, one, and so on, with which so many frames are lost.
    fn probabilities(self, loss_rate: f64) -> [f64; ERRORS_COUNTED] {
        match self {
            Errors::Independent => spread(loss_rate, 1e12),
            Errors::Varying => spread(loss_rate, 1.0),
            Errors::Bursts => {
                let beyond = loss_rate / frames_lost(1e-9) * 1e-9;
                let bursts = beyond / libm::pow(BURST_RATIO, f64::from(CORRECTABLE));
                let mut probabilities = [0.0; ERRORS_COUNTED];
                let mut burst = bursts * (1.0 - BURST_RATIO);
                for probability in &mut probabilities[1..] {
                    *probability = burst;
                    burst *= BURST_RATIO;
                }
                probabilities[0] = 1.0 - bursts;
                probabilities
            }
        }
    }
}

impl Errors {
    /// The same, with which this share of codewords has more errors than so many; bursts are not made for this.
    pub(super) fn with_beyond(self, beyond: f64, correctable: u32) -> [f64; ERRORS_COUNTED] {
        let shape = if self == Errors::Varying { 1.0 } else { 1e12 };
        let mut probabilities = spread_with(shape, |found| found.beyond(correctable) < beyond);
        probabilities[correctable as usize + 1..].fill(0.0);
        probabilities
    }
}

/// A negative binomial distribution of this shape.
fn spread(loss_rate: f64, shape: f64) -> [f64; ERRORS_COUNTED] {
    spread_with(shape, |found| frames_lost(found.beyond(CORRECTABLE)) < loss_rate)
}

/// The one with the smallest mean of which this is not true.
fn spread_with(shape: f64, is_less: impl Fn(NegativeBinomial) -> bool) -> [f64; ERRORS_COUNTED] {
    let (mut low, mut high) = (-20.0, 3.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        let mean = libm::exp(middle);
        if is_less(NegativeBinomial { mean, shape }) { low = middle } else { high = middle }
    }
    let mut probabilities = [0.0; ERRORS_COUNTED];
    let distribution = NegativeBinomial { mean: libm::exp(low), shape };
    probabilities.iter_mut().zip(distribution.probabilities()).for_each(|(to, from)| *to = from);
    probabilities
}

/// Forecasts again and again.
pub(super) fn measure(options: &EvaluationOptions, errors: Errors, loss_rate: f64) -> ForecastCell {
    let probabilities = errors.probabilities(loss_rate);
    let all = codewords_in(SPEED, SECONDS);
    let mut random = Random::new(options.seed, &format!("forecast {} {loss_rate:e}", errors.name()));
    let (mut found, mut inside, mut armed) = (Vec::new(), 0, 0);
    for _ in 0..options.runs {
        let codewords = probabilities.map(|probability| poisson(&mut random, probability * all));
        let corrections = Corrections { codewords: Some(codewords), ..Corrections::default() };
        let Some(forecast) = forecast(&corrections, CORRECTABLE) else { continue };
        found.push(forecast.loss_rate);
        inside +=
            usize::from(forecast.least <= loss_rate && forecast.most.is_none_or(|most| loss_rate <= most));
        armed += usize::from(forecast.least >= options.settings.activate);
    }
    found.sort_by(f64::total_cmp);
    ForecastCell {
        errors: errors.name(),
        loss_rate,
        runs: options.runs,
        median: found.get(found.len() / 2).copied(),
        inside,
        armed,
    }
}

pub(super) fn poisson(random: &mut Random, mean: f64) -> u64 {
    if mean > POISSON_MEAN_MOST {
        let radius = libm::sqrt(2.0 * random.exponential());
        let normal = radius * libm::cos(std::f64::consts::TAU * random.uniform());
        return libm::round(mean + libm::sqrt(mean) * normal).max(0.0) as u64;
    }
    let mut count = 0;
    let mut sum = random.exponential();
    while sum < mean {
        count += 1;
        sum += random.exponential();
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_the_truth_as_often_as_they_say() {
        let options = EvaluationOptions::default();
        for errors in ERRORS {
            for loss_rate in options.foreseen.clone() {
                let cell = measure(&options, errors, loss_rate);
                // 95 % of 200, less four standard deviations.
                assert!(cell.inside >= 178, "{cell:?}");
                if loss_rate > 2e-8 {
                    assert!(cell.armed >= 190, "{cell:?}");
                }
                if loss_rate < 0.5e-8 {
                    assert_eq!(cell.armed, 0, "{cell:?}");
                }
            }
        }
    }
}
