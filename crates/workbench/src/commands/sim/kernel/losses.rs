//! Which data frames are lost.

use linkmend_sim::random::Random;
use serde::Serialize;
use std::sync::Arc;

/// The first frame that is lost by itself or with others: when every congestion control has left slow start.
const FIRST: u64 = 20_000;
const BURST_FRAMES: u64 = 10;
const PERIOD_FRAMES: u64 = 1_000;

/// A pattern of lost data frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossPattern {
    /// No losses except frames that the queue drops
    None,
    /// Frame 20,000
    Single,
    /// Ten frames in a row, starting with frame 20,000
    Burst,
    /// Every 1,000th frame
    Periodic,
    /// Each frame with a probability of 1e-3
    #[value(name = "random-1e-3")]
    #[serde(rename = "random-1e-3")]
    RandomThousandth,
    /// Each frame with a probability of 1e-2
    #[value(name = "random-1e-2")]
    #[serde(rename = "random-1e-2")]
    RandomHundredth,
}

impl LossPattern {
    /// Its name on the command line and in tables.
    pub fn name(self) -> &'static str {
        match self {
            LossPattern::None => "none",
            LossPattern::Single => "single",
            LossPattern::Burst => "burst",
            LossPattern::Periodic => "periodic",
            LossPattern::RandomThousandth => "random-1e-3",
            LossPattern::RandomHundredth => "random-1e-2",
        }
    }

    /// The numbers of the lost frames, in ascending order, among the first `frames`.
    pub fn lost(self, frames: u64, seed: u64) -> Arc<[u64]> {
        match self {
            LossPattern::None => Arc::new([]),
            LossPattern::Single => Arc::new([FIRST]),
            LossPattern::Burst => (FIRST..FIRST + BURST_FRAMES).collect(),
            LossPattern::Periodic => {
                (1..=frames / PERIOD_FRAMES).map(|nth| nth * PERIOD_FRAMES - 1).collect()
            }
            LossPattern::RandomThousandth => random(1e-3, frames, seed),
            LossPattern::RandomHundredth => random(1e-2, frames, seed),
        }
    }
}

/// Each frame independently with this probability.
fn random(probability: f64, frames: u64, seed: u64) -> Arc<[u64]> {
    let mut random = Random::new(seed, "lost frames");
    (0..frames).filter(|_| random.uniform() < probability).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn lists_ascend_and_have_as_many_frames_as_they_say() {
        for &pattern in LossPattern::value_variants() {
            let lost = pattern.lost(81_275, 1);
            assert!(lost.windows(2).all(|pair| pair[0] < pair[1]), "{pattern:?}");
            let expected = match pattern {
                LossPattern::None => 0..1,
                LossPattern::Single => 1..2,
                LossPattern::Burst => 10..11,
                LossPattern::Periodic => 81..82,
                LossPattern::RandomThousandth => 55..110,
                LossPattern::RandomHundredth => 730..900,
            };
            assert!(expected.contains(&lost.len()), "{pattern:?}: {}", lost.len());
        }
        assert_eq!(LossPattern::Periodic.lost(2_500, 1)[..], [999, 1_999]);
        assert_ne!(LossPattern::RandomHundredth.lost(1_000, 1), LossPattern::RandomHundredth.lost(1_000, 2));
    }
}
