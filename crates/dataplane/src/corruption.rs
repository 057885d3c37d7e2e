//! Corruption for tests: frames that arrive on the link port are dropped before the protocol sees them, as a MAC drops
//! frames with a bad check sequence. Protected and unprotected frames take the same path.

use linkmend_control::CorruptionModel;
use linkmend_corruption::CorruptionProcess;
use linkmend_diagnose::ParameterError;
use linkmend_random::Random;

/// Draws the losses of a model.
#[derive(Debug, Clone)]
pub(crate) struct DrawnLosses {
    model: CorruptionModel,
    process: CorruptionProcess,
}

impl DrawnLosses {
    /// Begins to draw the losses of a model, which is checked first. Each `sample` of the same seed has losses of its
    /// own.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub(crate) fn new(model: CorruptionModel, seed: u64, sample: u64) -> Result<DrawnLosses, ParameterError> {
        let random = Random::new(seed, &format!("corruption {sample}"));
        Ok(DrawnLosses { model, process: model.start(random)? })
    }

    /// The model that losses are drawn from.
    pub(crate) fn model(&self) -> CorruptionModel {
        self.model
    }

    /// Whether the next frame is lost; `bytes` is its length with the check sequence.
    #[inline]
    pub(crate) fn corrupts(&mut self, bytes: u32) -> bool {
        self.process.corrupts(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: u32 = 1_000_000;
    const FRAME_BYTES: u32 = 1518;

    fn losses(model: CorruptionModel) -> (f64, f64) {
        let mut corruption = DrawnLosses::new(model, 7, 0).expect("valid");
        let (mut lost, mut bursts, mut before) = (0u32, 0u32, false);
        for _ in 0..FRAMES {
            let now = corruption.corrupts(FRAME_BYTES);
            lost += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        (f64::from(lost) / f64::from(FRAMES), f64::from(lost) / f64::from(bursts.max(1)))
    }

    #[test]
    fn iid_loses_at_its_rate() {
        let (rate, burst) = losses(CorruptionModel::Iid { rate: 1e-2 });
        // Five standard deviations: 5 * sqrt(p (1-p) / n).
        assert!((rate - 1e-2).abs() < 5e-4 && burst < 1.1, "{rate} {burst}");
        assert_eq!(losses(CorruptionModel::Iid { rate: 1.0 }).0, 1.0);
        assert_eq!(losses(CorruptionModel::Iid { rate: 0.0 }).0, 0.0);
    }

    #[test]
    fn gilbert_elliott_keeps_rate_and_burst_length() {
        let (rate, burst) = losses(CorruptionModel::GilbertElliott { rate: 1e-2, mean_burst: 4.0 });
        assert!((rate - 1e-2).abs() < 1.5e-3, "{rate}");
        assert!((burst - 4.0).abs() < 0.4, "{burst}");
    }

    #[test]
    fn a_repeated_model_draws_other_losses_and_a_repeated_run_the_same() {
        let model = CorruptionModel::Iid { rate: 0.5 };
        let draw = |seed, sample| -> Vec<bool> {
            let mut losses = DrawnLosses::new(model, seed, sample).expect("valid");
            (0..64).map(|_| losses.corrupts(FRAME_BYTES)).collect()
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }
}
