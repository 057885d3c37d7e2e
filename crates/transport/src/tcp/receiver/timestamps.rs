//! Timestamps of the peer: which one is echoed, and which segments are too old (RFC 7323, sections 4 and 5).

use crate::tcp::segment::Timestamps;
use crate::time::{Instant, Nanos};

/// Unit of the clock in the option: 1 ms, as in Linux (RFC 7323, section 5.4: 1 ms to 1 s).
const CLOCK_UNIT: Nanos = Nanos::from_millis(1);
/// A timestamp this old says nothing more about the order of segments (RFC 7323, section 5.5).
const TIMESTAMP_AGE_MAX: Nanos = Nanos::from_secs(24 * 86_400);

/// The clock of the option.
pub fn clock(now: Instant) -> u32 {
    (now.0 / CLOCK_UNIT.0) as u32
}

/// Whether `a` is older than `b`, modulo 2^32.
pub fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// TS.Recent: the timestamp that is echoed.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimestampEcho {
    recent: Option<(u32, Instant)>,
}

impl TimestampEcho {
    /// What an acknowledgement echoes.
    pub fn echo(&self) -> u32 {
        self.recent.map_or(0, |(value, _)| value)
    }

    /// PAWS: whether a segment is older than one that arrived before (RFC 7323, section 5.3, R1).
    pub fn is_too_old(&self, now: Instant, timestamps: Timestamps) -> bool {
        self.recent.is_some_and(|(recent, at)| {
            is_before(timestamps.value, recent) && now.since(at) < TIMESTAMP_AGE_MAX
        })
    }

    /// An acceptable segment arrived that begins at `sequence`; `last_acknowledged` is the number in the last
    /// acknowledgement (Last.ACK.sent). So a delayed acknowledgement echoes the first of the segments that it
    /// acknowledges (RFC 7323, section 4.3).
    pub fn handle(&mut self, now: Instant, timestamps: Timestamps, sequence: u64, last_acknowledged: u64) {
        let is_newer = self.recent.is_none_or(|(recent, at)| {
            !is_before(timestamps.value, recent) || now.since(at) >= TIMESTAMP_AGE_MAX
        });
        if sequence <= last_acknowledged && is_newer {
            self.recent = Some((timestamps.value, now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(value: u32) -> Timestamps {
        Timestamps { value, echo: 0 }
    }

    /// RFC 7323, section 4.3, case A: a delayed acknowledgement.
    #[test]
    fn the_first_of_two_segments_is_echoed() {
        let mut echo = TimestampEcho::default();
        echo.handle(Instant(0), at(1), 1, 1);
        echo.handle(Instant(1), at(2), 101, 1);
        assert_eq!(echo.echo(), 1);
    }

    /// RFC 7323, section 4.3, case B: a segment above a gap leaves the echo alone.
    #[test]
    fn a_segment_above_a_gap_is_not_echoed() {
        let mut echo = TimestampEcho::default();
        echo.handle(Instant(0), at(1), 1, 101);
        echo.handle(Instant(1), at(3), 201, 101);
        assert_eq!(echo.echo(), 1);
        echo.handle(Instant(2), at(4), 101, 101);
        assert_eq!(echo.echo(), 4);
    }

    /// RFC 7323, sections 5.3 and 5.5.
    #[test]
    fn an_older_timestamp_is_too_old_for_24_days() {
        let mut echo = TimestampEcho::default();
        echo.handle(Instant(0), at(5), 1, 1);
        assert!(echo.is_too_old(Instant(1), at(4)));
        assert!(!echo.is_too_old(Instant(1), at(5)));
        assert!(!echo.is_too_old(Instant(TIMESTAMP_AGE_MAX.0), at(4)));
    }

    #[test]
    fn the_order_survives_the_end_of_the_numbers() {
        assert!(is_before(u32::MAX, 3));
        assert!(!is_before(3, u32::MAX));
    }
}
