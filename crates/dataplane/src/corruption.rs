//! Corruption for tests: frames that arrive on the link port are dropped before the protocol sees them, as a MAC drops
//! frames with a bad check sequence. Protected and unprotected frames take the same path.
//!
//! What may be asked for is here; the loss processes are those of `linkmend-corruption`, as in the simulator.

use linkmend_corruption::{Corruption, CorruptionProcess};
use linkmend_diagnose::ParameterError;
use linkmend_random::Random;
use serde::{Deserialize, Serialize};

/// Which frames are lost, as the control socket spells it.
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
        /// Long-term loss rate, 0 to below 1.
        rate: f64,
        /// Mean length of a burst in frames, at least 1 and at least `rate / (1 - rate)`.
        mean_burst: f64,
    },
}

impl CorruptionModel {
    /// Checks the values.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.process().validate().map_err(renamed)
    }

    /// The loss process that it stands for.
    fn process(self) -> Corruption {
        match self {
            CorruptionModel::Iid { rate } => Corruption::iid(rate),
            CorruptionModel::GilbertElliott { rate, mean_burst } => {
                Corruption::GilbertElliott { loss: rate, mean_burst_frames: mean_burst }
            }
        }
    }
}

/// Names a value as the control socket does.
fn renamed(error: ParameterError) -> ParameterError {
    let parameter = match error.parameter {
        "loss" => "rate",
        "mean_burst_frames" => "mean_burst",
        other => other,
    };
    ParameterError { parameter, ..error }
}

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
        let process = CorruptionProcess::new(&model.process(), random).map_err(renamed)?;
        Ok(DrawnLosses { model, process })
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

    #[test]
    fn impossible_models_are_named() {
        let said = |model: CorruptionModel| model.validate().map_err(|error| error.to_string());
        let burst = |rate, mean_burst| CorruptionModel::GilbertElliott { rate, mean_burst };
        let cases = [
            (CorruptionModel::Iid { rate: 1.1 }, "rate = 1.1: must be from 0 to 1"),
            (burst(0.1, 0.5), "mean_burst = 0.5: must be at least 1 at a loss of 0.1"),
            (burst(0.75, 2.0), "mean_burst = 2: must be at least 3 at a loss of 0.75"),
            (burst(1.0, 4.0), "rate = 1: must be from 0 to below 1"),
        ];
        for (model, message) in cases {
            assert_eq!(said(model), Err(message.to_owned()));
            assert!(DrawnLosses::new(model, 1, 0).is_err());
        }
        assert_eq!(said(burst(0.75, 3.0)), Ok(()));
    }
}
