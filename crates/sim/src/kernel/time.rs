//! Simulated time and rates, in integers.
//!
//! The tick is a picosecond: a 64-byte frame at 800 Gbit/s lasts 0.64 ns, and one byte lasts a whole number of
//! picoseconds at every Ethernet rate from 10G to 800G, so nothing is ever rounded. 64 bits of picoseconds last 213 days.

use linkmend_protocol::{Instant, Tick, Ticks};
use linkmend_quantity::Span;
use std::cmp::Reverse;
use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// The tick of the protocol's state machines in the simulator.
pub const TICK: Tick = Tick::Picosecond;

/// A point in simulated time or a duration, in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

impl Time {
    /// The beginning of a run, or no duration.
    pub const ZERO: Time = Time(0);
    /// Later than everything.
    pub const NEVER: Time = Time(u64::MAX);

    /// Converts nanoseconds to picoseconds.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos.saturating_mul(1_000))
    }

    /// The instant that the protocol's state machines use for this time.
    pub const fn instant(self) -> Instant {
        Instant(self.0)
    }

    /// The duration that the protocol's state machines use for this one.
    pub const fn ticks(self) -> Ticks {
        Ticks(self.0)
    }

    /// Nanoseconds, with a fraction.
    pub fn as_nanos(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Microseconds, with a fraction.
    pub fn as_micros(self) -> f64 {
        self.as_nanos() / 1e3
    }

    /// Seconds, with a fraction.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / 1e12
    }
}

impl Add for Time {
    type Output = Time;
    fn add(self, other: Time) -> Time {
        Time(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Time) {
        self.0 += other.0;
    }
}

impl Sub for Time {
    type Output = Time;
    /// # Panics
    /// If `other` lies ahead, in debug builds.
    fn sub(self, other: Time) -> Time {
        Time(self.0 - other.0)
    }
}

/// As people write it. What is longer than the clock is [`Time::NEVER`].
impl From<Span> for Time {
    fn from(Span(duration): Span) -> Time {
        u64::try_from(duration.as_nanos()).map_or(Time::NEVER, Time::from_nanos)
    }
}

/// As people write it, rounded down to nanoseconds.
impl From<Time> for Span {
    fn from(time: Time) -> Span {
        Span(Duration::from_nanos(time.0 / 1_000))
    }
}

/// A link rate whose byte lasts a whole number of picoseconds (10G, 25G, 40G, 50G, 100G, 200G, 400G, 800G and others).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate {
    /// How long a byte lasts, ps: what every frame needs. The shorter, the higher the rate.
    byte_ps: Reverse<u64>,
}

/// Picoseconds in a second, times bits in a byte.
const BYTE_PICOSECONDS: u64 = 8_000_000_000_000;

impl Rate {
    /// `None` if it is zero, above 8 Tbit/s, or a byte does not last a whole number of picoseconds.
    pub const fn from_bits_per_second(bits_per_second: u64) -> Option<Rate> {
        if bits_per_second == 0 || !BYTE_PICOSECONDS.is_multiple_of(bits_per_second) {
            return None;
        }
        Some(Rate { byte_ps: Reverse(BYTE_PICOSECONDS / bits_per_second) })
    }

    /// The rate in bit/s.
    pub const fn bits_per_second(self) -> u64 {
        BYTE_PICOSECONDS / self.byte_ps.0
    }

    /// How long `bytes` last on the wire.
    pub const fn time_of(self, bytes: u64) -> Time {
        Time(bytes * self.byte_ps.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ethernet_rates_are_exact() {
        for gbps in [10, 25, 40, 50, 100, 200, 400, 800] {
            let rate = Rate::from_bits_per_second(gbps * 1_000_000_000).expect("exact");
            assert_eq!(rate.time_of(1).0 * gbps, 8_000);
            assert_eq!(rate.bits_per_second(), gbps * 1_000_000_000);
        }
        let [slow, fast] = [10, 100].map(|gbps| Rate::from_bits_per_second(gbps * 1_000_000_000));
        assert!(slow < fast);
        assert_eq!(Rate::from_bits_per_second(0), None);
        assert_eq!(Rate::from_bits_per_second(3_000_000_007), None);
    }
}
