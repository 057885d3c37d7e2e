//! Instants and durations: two types, so that they cannot be mixed up, in ticks of the driver's clock.

use core::ops::{Add, Mul, Sub};
use core::time::Duration;

/// How long a tick of the driver's clock lasts. The state machines only compare times and add durations from their
/// configuration, so any tick works as long as it is always the same: a daemon counts nanoseconds, the simulator
/// picoseconds. Durations are made from a tick, so that one clock's cannot be mistaken for another's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    Nanosecond,
    Picosecond,
}

/// A point in time, in ticks since an epoch that the driver chooses (boot, start of a simulation).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Instant(pub u64);

/// A duration, in ticks of the driver's clock. [`Tick`] makes it from a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticks(pub u64);

impl Instant {
    /// Time since `earlier`; zero if `earlier` is in the future.
    pub const fn since(self, earlier: Instant) -> Ticks {
        Ticks(self.0.saturating_sub(earlier.0))
    }
}

impl Ticks {
    /// A duration of zero ticks.
    pub const ZERO: Ticks = Ticks(0);
}

impl Tick {
    /// Ticks in a nanosecond.
    const fn per_nano(self) -> u64 {
        match self {
            Tick::Nanosecond => 1,
            Tick::Picosecond => 1_000,
        }
    }

    /// This many nanoseconds, limited to the longest duration that 64 bits of ticks can hold.
    pub const fn nanos(self, nanos: u64) -> Ticks {
        Ticks(nanos.saturating_mul(self.per_nano()))
    }

    /// A duration in ticks, limited like [`Tick::nanos`].
    pub const fn duration(self, duration: Duration) -> Ticks {
        let nanos = duration.as_nanos();
        self.nanos(if nanos > u64::MAX as u128 { u64::MAX } else { nanos as u64 })
    }

    /// How many whole nanoseconds these ticks last.
    pub(crate) const fn to_nanos(self, ticks: Ticks) -> u64 {
        ticks.0 / self.per_nano()
    }

    /// This many microseconds.
    pub const fn micros(self, micros: u64) -> Ticks {
        self.nanos(micros.saturating_mul(1_000))
    }

    /// This many milliseconds.
    pub const fn millis(self, millis: u64) -> Ticks {
        self.nanos(millis.saturating_mul(1_000_000))
    }

    /// This many seconds.
    pub const fn secs(self, seconds: u64) -> Ticks {
        self.nanos(seconds.saturating_mul(1_000_000_000))
    }
}

impl Add<Ticks> for Instant {
    type Output = Instant;
    fn add(self, span: Ticks) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl Sub<Ticks> for Instant {
    type Output = Instant;
    fn sub(self, span: Ticks) -> Instant {
        Instant(self.0.saturating_sub(span.0))
    }
}

impl Add for Ticks {
    type Output = Ticks;
    fn add(self, other: Ticks) -> Ticks {
        Ticks(self.0.saturating_add(other.0))
    }
}

impl Mul<u64> for Ticks {
    type Output = Ticks;
    fn mul(self, factor: u64) -> Ticks {
        Ticks(self.0.saturating_mul(factor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_thousands_and_every_operation_saturates() {
        assert_eq!((Tick::Nanosecond.nanos(7), Tick::Picosecond.nanos(7)), (Ticks(7), Ticks(7_000)));
        assert_eq!(
            (Tick::Nanosecond.micros(7), Tick::Picosecond.micros(7)),
            (Ticks(7_000), Ticks(7_000_000))
        );
        assert_eq!(Tick::Nanosecond.millis(7), Ticks(7_000_000));
        assert_eq!(Tick::Nanosecond.secs(7), Ticks(7_000_000_000));
        assert_eq!(Tick::Picosecond.secs(7), Ticks(7_000_000_000_000));
        assert_eq!(Tick::Picosecond.duration(Duration::from_nanos(7)), Ticks(7_000));
        assert_eq!(Tick::Nanosecond.duration(Duration::MAX), Ticks(u64::MAX));
        assert_eq!(Tick::Nanosecond.secs(u64::MAX), Ticks(u64::MAX));
        assert_eq!(Tick::Picosecond.nanos(u64::MAX / 2), Ticks(u64::MAX));
        assert_eq!((Instant(5) + Ticks(3), Instant(5) - Ticks(3)), (Instant(8), Instant(2)));
        assert_eq!((Instant(u64::MAX) + Ticks(1), Instant(0) - Ticks(1)), (Instant(u64::MAX), Instant(0)));
        assert_eq!((Ticks(5) + Ticks(3), Ticks(5) * 3), (Ticks(8), Ticks(15)));
        assert_eq!((Instant(5).since(Instant(3)), Instant(3).since(Instant(5))), (Ticks(2), Ticks::ZERO));
    }
}
