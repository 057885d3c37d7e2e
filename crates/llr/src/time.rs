//! Instants and durations in picoseconds: a 64-byte frame at 800 Gb/s lasts less than a nanosecond.

use std::ops::{Add, AddAssign};

/// Picoseconds in a nanosecond.
const PER_NANO: u64 = 1_000;
/// Picoseconds per second, times bits per octet.
const OCTET_PICOSECONDS: u128 = 8 * 1_000_000_000_000;

/// A point in time, in picoseconds since an epoch that the driver chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(pub u64);

/// A duration in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub u64);

impl Instant {
    /// Time since `earlier`; zero if `earlier` is in the future.
    pub const fn since(self, earlier: Instant) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A duration of zero.
    pub const ZERO: Span = Span(0);

    /// This many nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Span {
        Span(nanos.saturating_mul(PER_NANO))
    }

    /// In nanoseconds, with a fraction.
    pub fn as_nanos_f64(self) -> f64 {
        self.0 as f64 / PER_NANO as f64
    }

    /// How long this many octets take at a rate in bits per second, rounded up. A rate of 0 counts as 1.
    pub fn of_octets(octets: u64, rate_bps: u64) -> Span {
        let picoseconds = (u128::from(octets) * OCTET_PICOSECONDS).div_ceil(u128::from(rate_bps.max(1)));
        Span(u64::try_from(picoseconds).unwrap_or(u64::MAX))
    }

    /// How many octets are sent in this time at a rate in bits per second, rounded up.
    pub fn octets(self, rate_bps: u64) -> u64 {
        let octets = (u128::from(self.0) * u128::from(rate_bps)).div_ceil(OCTET_PICOSECONDS);
        u64::try_from(octets).unwrap_or(u64::MAX)
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    fn add(self, span: Span) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Span) {
        *self = *self + other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_and_times_are_inverse_and_rounded_up() {
        assert_eq!(Span::of_octets(2_048, 400_000_000_000), Span(40_960), "Meta's 41 ns");
        assert_eq!(Span::of_octets(1, 3), Span(2_666_666_666_667));
        assert_eq!(Span::from_nanos(2_708).octets(400_000_000_000), 135_400, "Meta's buffer");
        assert_eq!(Span(1).octets(400_000_000_000), 1);
        assert_eq!((Span::ZERO.octets(u64::MAX), Span::of_octets(0, 0)), (0, Span::ZERO));
        assert_eq!(Instant(3).since(Instant(5)), Span::ZERO);
    }
}
