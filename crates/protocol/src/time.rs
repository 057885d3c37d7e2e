//! Instants and durations: two types, so that they cannot be mixed up.

use core::ops::{Add, Mul, Sub};

/// A point in time, in nanoseconds since an epoch that the driver chooses (boot, start of a simulation).
///
/// The state machines only compare times and add lengths of time that their configuration gives them. A driver that
/// needs a finer tick may therefore use one throughout; the simulator counts picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Instant(pub u64);

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Nanos(pub u64);

impl Instant {
    /// Time since `earlier`; zero if `earlier` lies ahead.
    pub const fn since(self, earlier: Instant) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Nanos {
    /// Zero length.
    pub const ZERO: Nanos = Nanos(0);

    /// From microseconds.
    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros.saturating_mul(1_000))
    }

    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// From seconds.
    pub const fn from_secs(seconds: u64) -> Nanos {
        Nanos(seconds.saturating_mul(1_000_000_000))
    }
}

impl Add<Nanos> for Instant {
    type Output = Instant;
    fn add(self, span: Nanos) -> Instant {
        Instant(self.0.saturating_add(span.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_thousands_and_every_operation_saturates() {
        assert_eq!(Nanos::from_micros(7), Nanos(7_000));
        assert_eq!(Nanos::from_millis(7), Nanos(7_000_000));
        assert_eq!(Nanos::from_secs(7), Nanos(7_000_000_000));
        assert_eq!(Nanos::from_secs(u64::MAX), Nanos(u64::MAX));
        assert_eq!((Instant(5) + Nanos(3), Instant(5) - Nanos(3)), (Instant(8), Instant(2)));
        assert_eq!((Instant(u64::MAX) + Nanos(1), Instant(0) - Nanos(1)), (Instant(u64::MAX), Instant(0)));
        assert_eq!((Nanos(5) + Nanos(3), Nanos(5) * 3), (Nanos(8), Nanos(15)));
        assert_eq!((Instant(5).since(Instant(3)), Instant(3).since(Instant(5))), (Nanos(2), Nanos::ZERO));
    }
}
