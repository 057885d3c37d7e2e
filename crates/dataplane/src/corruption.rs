//! Corruption for tests: frames that arrive on the link port are dropped before the protocol sees them, as a MAC drops
//! frames with a bad check sequence. Protected and unprotected frames take the same path.

use serde::{Deserialize, Serialize};

/// Which frames are lost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "model")]
pub enum CorruptionModel {
    /// Each frame with the same probability, independently.
    Iid {
        /// Loss rate, 0 to 1.
        rate: f64,
    },
    /// Bursts (Gilbert-Elliott): in the good state no frame is lost, in the bad state every one.
    GilbertElliott {
        /// Long-term loss rate, 0 to 1.
        rate: f64,
        /// Mean length of a burst in frames, at least 1.
        mean_burst: f64,
    },
}

/// A model with an impossible value.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum CorruptionError {
    /// The loss rate is not between 0 and 1.
    #[error("loss rate {0}: must lie in 0..=1")]
    Rate(f64),
    /// The mean length of a burst is below 1.
    #[error("mean burst length {0}: must be at least 1 and finite")]
    MeanBurst(f64),
    /// The good state would be too short: such a link loses nearly everything.
    #[error(
        "loss rate {rate} with bursts of {mean_burst}: the bursts would have to overlap; lower the rate or lengthen the bursts"
    )]
    Overlap {
        /// Long-term loss rate.
        rate: f64,
        /// Mean burst length.
        mean_burst: f64,
    },
}

impl CorruptionModel {
    /// Checks the values.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn validate(&self) -> Result<(), CorruptionError> {
        let (CorruptionModel::Iid { rate } | CorruptionModel::GilbertElliott { rate, .. }) = *self;
        if !(0.0..=1.0).contains(&rate) {
            return Err(CorruptionError::Rate(rate));
        }
        if let CorruptionModel::GilbertElliott { mean_burst, .. } = *self {
            if !(1.0..f64::INFINITY).contains(&mean_burst) {
                return Err(CorruptionError::MeanBurst(mean_burst));
            }
            if rate < 1.0 && rate / (mean_burst * (1.0 - rate)) > 1.0 {
                return Err(CorruptionError::Overlap { rate, mean_burst });
            }
        }
        Ok(())
    }
}

/// Draws the losses of a model from a seed.
#[derive(Debug, Clone)]
pub struct Corruption {
    model: CorruptionModel,
    random: u64,
    bad: bool,
    /// Frames dropped so far.
    pub dropped_frames: u64,
}

impl Corruption {
    /// Begins to draw the losses of a model, which is checked first.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn new(model: CorruptionModel, seed: u64) -> Result<Corruption, CorruptionError> {
        model.validate()?;
        Ok(Corruption { model, random: seed, bad: false, dropped_frames: 0 })
    }

    /// The model that losses are drawn from.
    pub fn model(&self) -> CorruptionModel {
        self.model
    }

    /// Whether the next frame is lost.
    #[inline]
    pub fn corrupts(&mut self) -> bool {
        let draw = self.draw();
        let lost = match self.model {
            CorruptionModel::Iid { rate } => draw < rate,
            CorruptionModel::GilbertElliott { rate, mean_burst } => {
                // Stationary share of the bad state = enter / (enter + leave) = rate.
                let leave = 1.0 / mean_burst;
                let enter = if rate < 1.0 { leave * rate / (1.0 - rate) } else { 1.0 };
                self.bad = if self.bad { rate >= 1.0 || draw >= leave } else { draw < enter };
                self.bad
            }
        };
        self.dropped_frames += u64::from(lost);
        lost
    }

    /// Uniform in 0..1, from SplitMix64 (Steele, Lea, Flood 2014).
    fn draw(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: u32 = 1_000_000;

    fn losses(model: CorruptionModel) -> (f64, f64) {
        let mut corruption = Corruption::new(model, 7).expect("valid");
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for _ in 0..FRAMES {
            let now = corruption.corrupts();
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        assert_eq!(corruption.dropped_frames, u64::from(lost));
        (f64::from(lost) / f64::from(FRAMES), f64::from(lost) / f64::from(bursts.max(1)))
    }

    #[test]
    fn iid_loses_at_its_rate() {
        let (rate, burst) = losses(CorruptionModel::Iid { rate: 1e-2 });
        // Five standard deviations: 5 * sqrt(p (1-p) / n).
        assert!((rate - 1e-2).abs() < 5e-4 && burst < 1.1, "{rate} {burst}");
    }

    #[test]
    fn gilbert_elliott_keeps_rate_and_burst_length() {
        let (rate, burst) = losses(CorruptionModel::GilbertElliott { rate: 1e-2, mean_burst: 4.0 });
        assert!((rate - 1e-2).abs() < 1.5e-3, "{rate}");
        assert!((burst - 4.0).abs() < 0.4, "{burst}");
    }

    #[test]
    fn impossible_models_are_named() {
        assert_eq!(CorruptionModel::Iid { rate: 1.1 }.validate(), Err(CorruptionError::Rate(1.1)));
        let burst = |rate, mean_burst| CorruptionModel::GilbertElliott { rate, mean_burst }.validate();
        assert_eq!(burst(0.1, 0.5), Err(CorruptionError::MeanBurst(0.5)));
        assert!(matches!(burst(0.9, 1.0), Err(CorruptionError::Overlap { .. })));
        assert_eq!(burst(1.0, 4.0), Ok(()));
    }
}
