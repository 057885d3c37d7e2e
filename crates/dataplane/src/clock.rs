//! The clock of the loop, and its source of randomness.

use linkmend_linux::clock;

#[cfg(feature = "bench")]
thread_local! {
    static SET_NS: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
}

/// Stops the calling thread's clock at `now_ns`, for benchmarks.
#[cfg(feature = "bench")]
pub(crate) fn set(now_ns: u64) {
    SET_NS.set(Some(now_ns));
}

/// CLOCK_MONOTONIC in nanoseconds, which is also what the in-kernel bypass reads.
pub(crate) fn now_ns() -> u64 {
    #[cfg(feature = "bench")]
    if let Some(now_ns) = SET_NS.get() {
        return now_ns;
    }
    clock::monotonic_ns()
}

/// CLOCK_REALTIME in nanoseconds since 1970, for output that people read.
pub(crate) fn unix_ns() -> u64 {
    clock::realtime_ns()
}

/// Returns a seed that differs from start to start: the standard library seeds its hash maps from the system's
/// randomness.
#[expect(clippy::disallowed_types, reason = "that it differs in each run is what it is here for")]
pub(crate) fn random_seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(now_ns())
}
