//! The kernel's clocks, in nanoseconds.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// CLOCK_MONOTONIC: time since some moment, which nobody sets.
pub fn monotonic_ns() -> u64 {
    read(ClockId::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME: time since 1970, which may be set at any moment.
pub fn realtime_ns() -> u64 {
    read(ClockId::CLOCK_REALTIME)
}

fn read(clock: ClockId) -> u64 {
    // The call cannot fail for these clocks (clock_gettime(2)).
    let time = clock_gettime(clock).map_or(Duration::ZERO, Duration::from);
    time.as_secs() * 1_000_000_000 + u64::from(time.subsec_nanos())
}
