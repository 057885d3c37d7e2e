//! What is done at the points of experiments with links.

use crate::corruption::Transceiver;
use crate::stress::StressConfig;

/// What is done at a point.
#[derive(Debug, Clone)]
pub enum Task {
    /// A stress run is simulated.
    Stress(Box<StressConfig>),
    /// The loss of an attenuated link is computed.
    Attenuation {
        /// The transceiver at both ends.
        transceiver: Transceiver,
        /// Attenuation in dB.
        attenuation_db: f64,
        /// Length of the frames.
        frame_bytes: u32,
    },
}
