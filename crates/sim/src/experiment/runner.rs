//! What one run does at a point.

use super::outcome::Outcome;
use super::task::Task;
use crate::corruption::optics;
use crate::link::config::ParameterError;
use crate::stress::{self, StressConfig};

/// Simulates a stress run, or computes the losses of an attenuated link. `progress` takes the share that is done, and
/// says whether to go on.
///
/// # Errors
/// The parameters were checked when the experiment was read, but whether a session opens shows only now.
pub(super) fn run(
    task: &Task,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Outcome, ParameterError> {
    match *task {
        Task::Stress(ref config) => {
            let config = StressConfig { seed, ..(**config).clone() };
            let report = stress::run(&config, &mut |frames| progress(frames as f64 / config.frames as f64))?;
            Ok(Outcome::Stress(Box::new(report)))
        }
        Task::Attenuation { transceiver, attenuation_db, frame_bytes } => Ok(Outcome::Attenuation {
            frame_loss_rate: optics::frame_loss(transceiver, attenuation_db, frame_bytes),
            bit_error_rate: optics::bit_error_rate(transceiver, attenuation_db),
        }),
    }
}
