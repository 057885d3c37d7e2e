//! Instants and durations, in nanoseconds: two types, so that they cannot be mixed up.
//!
//! They are types of this crate, so a simulator's picoseconds or a protocol's ticks cannot be mistaken for them.

use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time, in nanoseconds since an epoch that the driver chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(pub u64);

/// A duration in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Instant {
    /// Time since `earlier`; zero if `earlier` is in the future.
    pub const fn since(self, earlier: Instant) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Nanos = Nanos(0);
    /// The longest possible duration.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// This many microseconds, limited to what 64 bits of nanoseconds hold (585 years).
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1_000))
    }

    /// This many milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// This many seconds.
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }

    /// Microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Seconds, with a fraction.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The difference; zero if `other` is longer.
    pub const fn saturating_sub(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(other.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    fn add(self, span: Nanos) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Nanos> for Instant {
    fn add_assign(&mut self, span: Nanos) {
        *self = *self + span;
    }
}

impl Sub<Nanos> for Instant {
    type Output = Instant;
    fn sub(self, span: Nanos) -> Instant {
        Instant(self.0.saturating_sub(span.0))
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Nanos;
    fn mul(self, factor: u64) -> Nanos {
        Nanos(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Nanos {
    type Output = Nanos;
    fn div(self, divisor: u64) -> Nanos {
        Nanos(self.0 / divisor)
    }
}
