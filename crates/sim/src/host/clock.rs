//! The simulator's clock counts picoseconds, that of the transports nanoseconds: the only place where one becomes the other.

use crate::time::Time;
use linkmend_transport::{Instant, Nanos};

const PICOS_PER_NANO: u64 = 1_000;

/// The transport's instant for a simulated time: the nanosecond that has begun last.
pub(crate) fn instant(now: Time) -> Instant {
    Instant(now.0 / PICOS_PER_NANO)
}

/// The transport's duration for a simulated one, rounded down.
pub(crate) const fn nanos(duration: Time) -> Nanos {
    Nanos(duration.0 / PICOS_PER_NANO)
}

/// The beginning of a transport's nanosecond.
pub(crate) fn time(at: Instant) -> Time {
    Time(at.0.saturating_mul(PICOS_PER_NANO))
}
