//! The parameters of two paths.

use super::Path;
use crate::config_error::ConfigError;
use crate::time::{Tick, Ticks};

/// How paths are watched, and when they change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathsConfig {
    /// A path has failed when nothing was heard on it for as long while the other one was heard all the time. A quarter of it
    /// passes from one probe to the next, so that one lost probe proves nothing. At least 20 us.
    pub detection: Ticks,
    /// The same while nothing is protected, if that is longer: nothing can be resent then, and probes would only cost.
    pub dormant_detection: Ticks,
    /// How long the preferred path must have been up without a break before it is used again.
    pub return_after: Ticks,
    /// The path to use while both are up, until either end is asked for another.
    pub preferred: Path,
    /// 20 us, in the driver's ticks: the shortest `detection` that can be used.
    pub detection_min: Ticks,
}

/// Probes in a detection time.
const PROBES: u64 = 4;
/// Probes in a detection time while the peer does not yet take frames of the path in use.
const UNCONFIRMED_PROBES: u64 = 16;

impl PathsConfig {
    /// 10 ms, a second while dormant, back after a second, and the primary path.
    pub const fn new(tick: Tick) -> PathsConfig {
        PathsConfig {
            detection: tick.millis(10),
            dormant_detection: tick.secs(1),
            return_after: tick.secs(1),
            preferred: Path::Primary,
            detection_min: tick.micros(20),
        }
    }

    /// # Errors
    /// The first parameter that is out of its bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        // Below, a quarter of it is less than what the ends take for a probe.
        if self.detection >= self.detection_min {
            return Ok(());
        }
        Err(ConfigError {
            parameter: "failure_detection",
            value: self.detection.0 as f64,
            requirement: "must be at least 20 us",
        })
    }

    /// The silence that counts as a failure.
    pub(super) fn silence(&self, dormant: bool) -> Ticks {
        if dormant { self.detection.max(self.dormant_detection) } else { self.detection }
    }
}

/// From one probe to the next.
pub(super) fn probe_interval(detection: Ticks, is_unconfirmed: bool) -> Ticks {
    Ticks(detection.0 / if is_unconfirmed { UNCONFIRMED_PROBES } else { PROBES })
}
