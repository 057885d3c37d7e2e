//! The kernel's clocks, in nanoseconds.

use nix::time::{ClockId, clock_gettime};

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
    clock_gettime(clock)
        .map_or(0, |time| time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
}
