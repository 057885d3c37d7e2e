//! The parameters of two paths.

use super::Path;
use crate::config_error::ConfigError;
use crate::time::{Tick, Ticks};

/// How paths are watched, and when they change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathsConfig {
    /// A path has failed when nothing was heard on it for as long while the other one was heard all the time. A quarter of it
    /// passes from one probe of the peer to the next, so that one lost probe proves nothing. At least 20 us.
    pub detection: Ticks,
    /// The same while nothing is protected, if that is longer: nothing can be resent then, and probes would only cost.
    pub dormant_detection: Ticks,
    /// How long the preferred path must have been up without a break before it is used again.
    pub return_after: Ticks,
    /// The path to use while both are up, until either end is asked for another.
    pub preferred: Path,
    /// How long a tick of the driver's clock lasts.
    pub tick: Tick,
}

/// Probes in a detection time.
pub(super) const PROBES: u64 = 4;
/// Probes in a detection time while the peer does not yet take frames of the path in use, and most answers to ends that have not
/// proved that they are the peer.
const QUICK_PROBES: u64 = 16;
/// The shortest time from one probe of full size to the next. They take 1.2 % of 1 Gbit/s then.
const FULL_TURN_MIN_MS: u64 = 1;
const REPLACED_AFTER_MS: u64 = 400;
/// The shortest detection time. Below, a quarter of it is less than what the ends take for a probe.
const DETECTION_MIN_US: u64 = 20;

/// From one probe to the next when something waits for it.
pub(super) const fn quick_interval(detection: Ticks) -> Ticks {
    Ticks(detection.0 / QUICK_PROBES)
}

impl PathsConfig {
    /// 10 ms, a second while dormant, back after a second, and the primary path.
    pub const fn new(tick: Tick) -> PathsConfig {
        PathsConfig {
            detection: tick.millis(10),
            dormant_detection: tick.secs(1),
            return_after: tick.secs(1),
            preferred: Path::Primary,
            tick,
        }
    }

    /// # Errors
    /// The first parameter that is out of its bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.detection >= self.tick.micros(DETECTION_MIN_US) {
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

    /// How long the peer must be silent on both paths before another may take its place: as long as a session outlives it at least,
    /// and as long as it takes to notice.
    pub(super) fn replaced_after(&self, detection: Ticks) -> Ticks {
        detection.max(self.tick.millis(REPLACED_AFTER_MS))
    }

    /// From one probe to the next, for a peer that `needs` this detection time.
    pub(super) fn interval(&self, detection: Ticks, needs: Ticks) -> Ticks {
        let detection = detection.min(needs.max(self.tick.micros(DETECTION_MIN_US)));
        Ticks(detection.0 / PROBES).min(self.tick.nanos(u32::MAX.into()))
    }

    /// From one probe of full size to the next: every other probe is one, but none that would fill a slow link.
    pub(super) fn full_turn(&self, interval: Ticks) -> Ticks {
        (interval * 2).max(self.tick.millis(FULL_TURN_MIN_MS))
    }

    /// A time in us, as probes have it.
    pub(super) fn micros(&self, ticks: Ticks) -> u32 {
        (self.tick.to_nanos(ticks) / 1_000) as u32
    }

    /// A duration in ns, as probes have it: what is longer than 4.29 s is that.
    pub(super) fn nanos(&self, ticks: Ticks) -> u32 {
        self.tick.to_nanos(ticks).try_into().unwrap_or(u32::MAX)
    }
}
