//! Which frames a link end drops for tests, as requests say it. The loss processes are those of `linkmend-corruption`, as
//! in the simulator.

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

    /// Begins to draw its losses, after it is checked.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn start(self, random: Random) -> Result<CorruptionProcess, ParameterError> {
        CorruptionProcess::new(&self.process(), random).map_err(renamed)
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

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(model.start(Random::new(1, "test")).is_err());
        }
        assert_eq!(said(burst(0.75, 3.0)), Ok(()));
    }
}
