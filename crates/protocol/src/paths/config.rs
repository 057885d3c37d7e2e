//! The parameters of two paths.

use super::Path;
use crate::config_error::ConfigError;
use crate::time::{Tick, Ticks};

/// How paths are monitored, and when they change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathsConfig {
    /// A path has failed if nothing was heard on it for this time while the peer was heard on the other one throughout.
    /// The interval between the peer's probes is a quarter of it, so a single lost probe proves nothing. At least 20
    /// us.
    pub detection: Ticks,
    /// The same while nothing is protected, if this is longer: nothing can be retransmitted then, so frequent probes
    /// would only waste capacity.
    pub dormant_detection: Ticks,
    /// How long the preferred path must have been up without a break before it is used again.
    pub return_after: Ticks,
    /// The path to use while both are up, until either end is asked for another.
    pub preferred: Path,
    /// How long a tick of the driver's clock lasts.
    pub tick: Tick,
}

/// Number of probes per detection time.
pub(super) const PROBES: u64 = 4;
/// Number of probes per detection time until the peer accepts frames from the path in use, and maximum number of
/// answers to ends that have not proved that they are the peer.
const QUICK_PROBES: u64 = 16;
/// Minimum interval between full-size probes, at which they take 1.2 % of 1 Gbit/s.
const FULL_TURN_MIN_MS: u64 = 1;
const REPLACED_AFTER_MS: u64 = 400;
/// Minimum detection time. Below this, a quarter of it would be shorter than the time that the ends need for a probe.
const DETECTION_MIN_US: u64 = 20;

/// Interval between probes when something is waiting for them.
pub(super) const fn quick_interval(detection: Ticks) -> Ticks {
    Ticks(detection.0 / QUICK_PROBES)
}

impl PathsConfig {
    /// 10 ms, one second while dormant, return after one second, and the primary path preferred.
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

    /// How long the peer must be silent on both paths before another end may take its place: at least as long as a
    /// session survives the silence, and as long as it takes to notice it.
    pub(super) fn replaced_after(&self, detection: Ticks) -> Ticks {
        detection.max(self.tick.millis(REPLACED_AFTER_MS))
    }

    /// Interval between probes for a peer that `needs` this detection time.
    pub(super) fn interval(&self, detection: Ticks, needs: Ticks) -> Ticks {
        let detection = detection.min(needs.max(self.tick.micros(DETECTION_MIN_US)));
        Ticks(detection.0 / PROBES).min(self.tick.nanos(u32::MAX.into()))
    }

    /// Interval between full-size probes: every other probe has full size, unless that would fill a slow link.
    pub(super) fn full_turn(&self, interval: Ticks) -> Ticks {
        (interval * 2).max(self.tick.millis(FULL_TURN_MIN_MS))
    }

    /// A time in us, as in probes.
    pub(super) fn micros(&self, ticks: Ticks) -> u32 {
        (self.tick.to_nanos(ticks) / 1_000) as u32
    }

    /// A duration in ns, as in probes; at most 4.29 s.
    pub(super) fn nanos(&self, ticks: Ticks) -> u32 {
        self.tick.to_nanos(ticks).try_into().unwrap_or(u32::MAX)
    }
}
