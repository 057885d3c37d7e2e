//! Round-trip times and the retransmission timeout (RFC 6298).

use crate::tcp::Config;
use crate::time::{Instant, Nanos};

/// The minimum round-trip time covers this much time (Linux's `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(300);
/// Doublings of the timeout that are counted.
const BACKOFF_MAX: u8 = 32;

/// Smoothed round-trip time, its variation, and the timeout that they give.
///
/// RFC 6298 leaves the minimum timeout to the implementation; as in Linux, the minimum applies to the term 4 RTTVAR, so
/// the timeout is never below the round-trip time plus that minimum. The variation falls at most once in a round trip,
/// by a quarter of the way, so that the many samples of a large window do not make it forget within one.
#[derive(Debug, Clone)]
pub struct RoundTrip {
    /// 8 SRTT in nanoseconds; 0 before the first sample.
    smoothed_times_8: u64,
    /// 4 times the mean deviation, and the largest of this round trip.
    deviation_times_4: u64,
    round_maximum: u64,
    /// 4 RTTVAR.
    variation_times_4: u64,
    /// The round trip ends when this byte is acknowledged.
    round_end: u64,
    backoff: u8,
    minimum: Nanos,
    initial: Nanos,
    maximum: Nanos,
    unit: Nanos,
}

impl RoundTrip {
    /// Before any measurement.
    pub fn new(config: &Config) -> RoundTrip {
        RoundTrip {
            smoothed_times_8: 0,
            deviation_times_4: 0,
            round_maximum: 0,
            variation_times_4: 0,
            round_end: 0,
            backoff: 0,
            minimum: config.rto_min,
            initial: config.rto_initial,
            maximum: config.rto_max,
            unit: config.rto_unit,
        }
    }

    /// RFC 6298, sections 2.2 and 2.3. `unacknowledged` and `next` are the first byte not acknowledged and not sent.
    /// The timeout is computed anew, without backoff (section 5, last note).
    pub fn sample(&mut self, rtt: Nanos, unacknowledged: u64, next: u64) {
        let rtt = rtt.0.clamp(1, u64::MAX >> 5);
        self.backoff = 0;
        if self.smoothed_times_8 == 0 {
            self.smoothed_times_8 = rtt << 3;
            self.deviation_times_4 = rtt << 1;
            self.variation_times_4 = self.deviation_times_4.max(self.minimum.0);
            self.round_maximum = self.variation_times_4;
            self.round_end = next;
            return;
        }
        let smoothed = self.smoothed_times_8 >> 3;
        self.smoothed_times_8 = self.smoothed_times_8 - smoothed + rtt;
        let mean = self.deviation_times_4 >> 2;
        let deviation = rtt.abs_diff(smoothed);
        self.deviation_times_4 = if rtt < smoothed && deviation > mean {
            // A round trip that has become shorter must not make the timeout much longer.
            self.deviation_times_4 + ((deviation - mean) >> 3)
        } else {
            self.deviation_times_4 - mean + deviation
        };
        if self.deviation_times_4 > self.round_maximum {
            self.round_maximum = self.deviation_times_4;
            self.variation_times_4 = self.variation_times_4.max(self.round_maximum);
        }
        if unacknowledged > self.round_end {
            let fall = self.variation_times_4.saturating_sub(self.round_maximum) >> 2;
            self.variation_times_4 -= fall;
            self.round_end = next;
            self.round_maximum = self.minimum.0;
        }
    }

    /// SRTT, once measured.
    pub fn smoothed(&self) -> Option<Nanos> {
        (self.smoothed_times_8 > 0).then_some(Nanos(self.smoothed_times_8 >> 3))
    }

    /// The mean deviation (Linux reports it as `tcpi_rttvar`).
    pub fn deviation(&self) -> Nanos {
        Nanos(self.deviation_times_4 >> 2)
    }

    /// The minimum value of the term 4 RTTVAR.
    pub fn minimum(&self) -> Nanos {
        self.minimum
    }

    /// RTO with its backoff (RFC 6298, sections 2 and 5.5).
    pub fn timeout(&self) -> Nanos {
        let base = match self.smoothed() {
            None => self.initial,
            Some(smoothed) => self.rounded_up(smoothed + Nanos(self.variation_times_4)),
        };
        let doubled = u128::from(base.0) << self.backoff;
        Nanos(u64::try_from(doubled).unwrap_or(u64::MAX)).min(self.maximum)
    }

    /// A timeout without backoff in whole units: it is what doubles (Linux: `__tcp_set_rto()`).
    fn rounded_up(&self, timeout: Nanos) -> Nanos {
        match self.unit {
            Nanos(0) => timeout,
            Nanos(unit) => Nanos(timeout.0.div_ceil(unit).saturating_mul(unit)),
        }
    }

    /// RFC 6298, section 5.5: the timeout doubles.
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(BACKOFF_MAX);
    }

    /// Number of doublings since the last sample.
    pub fn backoff(&self) -> u8 {
        self.backoff
    }
}

/// The minimum round-trip time of the last five minutes: the least of all, and of the later parts of the window, so
/// that the next is known when one becomes too old.
#[derive(Debug, Clone, Default)]
pub struct MinRoundTrip {
    best: [(Instant, Nanos); 3],
    is_known: bool,
}

impl MinRoundTrip {
    /// Takes a measurement into account.
    pub fn sample(&mut self, now: Instant, rtt: Nanos) {
        let sample = (now, rtt);
        let is_old = now.since(self.best[2].0) > MIN_RTT_WINDOW;
        if !self.is_known || rtt <= self.best[0].1 || is_old {
            self.best = [sample; 3];
            self.is_known = true;
            return;
        }
        if rtt <= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if rtt <= self.best[2].1 {
            self.best[2] = sample;
        }
        let age = now.since(self.best[0].0);
        if age > MIN_RTT_WINDOW {
            self.best = [self.best[1], self.best[2], sample];
            if now.since(self.best[0].0) > MIN_RTT_WINDOW {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > MIN_RTT_WINDOW / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && age > MIN_RTT_WINDOW / 2 {
            self.best[2] = sample;
        }
    }

    /// The least of the window, once measured.
    pub fn least(&self) -> Option<Nanos> {
        self.is_known.then_some(self.best[0].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn fresh(minimum: Nanos) -> RoundTrip {
        RoundTrip::new(&Config { rto_min: minimum, ..Config::default() })
    }

    #[test]
    fn a_timeout_is_rounded_up_to_units_before_it_doubles() {
        let config = Config { rto_min: Nanos(4 * MS), rto_unit: Nanos(4 * MS), ..Config::default() };
        let mut rtt = RoundTrip::new(&config);
        assert_eq!(rtt.timeout(), Nanos::from_secs(1));
        rtt.sample(Nanos(MS / 10), 0, 10);
        assert_eq!(rtt.timeout(), Nanos(8 * MS));
        rtt.back_off();
        assert_eq!(rtt.timeout(), Nanos(16 * MS));
    }

    /// RFC 6298, sections 2.1 and 2.2: RTO is 1 s before a sample, then R + 4 (R / 2).
    #[test]
    fn the_first_sample_sets_srtt_to_it_and_rttvar_to_its_half() {
        let mut rtt = fresh(Nanos::ZERO);
        assert_eq!(rtt.timeout(), Nanos::from_secs(1));
        rtt.sample(Nanos(100 * MS), 0, 10);
        assert_eq!(rtt.smoothed(), Some(Nanos(100 * MS)));
        assert_eq!(rtt.timeout(), Nanos(300 * MS));
    }

    /// RFC 6298, section 2.3, with alpha = 1/8 and beta = 1/4 for a single sample in a round trip.
    #[test]
    fn later_samples_move_srtt_by_an_eighth_and_rttvar_by_a_quarter() {
        let mut rtt = fresh(Nanos::ZERO);
        rtt.sample(Nanos(100 * MS), 0, 10);
        rtt.sample(Nanos(180 * MS), 5, 20);
        assert_eq!(rtt.smoothed(), Some(Nanos(110 * MS)));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5 ms.
        assert_eq!(rtt.timeout(), Nanos(110 * MS + 4 * 57_500_000));
    }

    #[test]
    fn the_least_timeout_is_the_round_trip_and_the_minimum() {
        let mut rtt = fresh(Nanos::from_millis(200));
        for round in 0..200 {
            rtt.sample(Nanos(100 * MS), round * 10 + 1, round * 10 + 10);
        }
        assert_eq!(rtt.timeout(), Nanos(300 * MS));
    }

    /// RFC 6298, sections 5.5 and 2.5.
    #[test]
    fn backoff_doubles_the_timeout_to_its_maximum_and_a_sample_ends_it() {
        let mut rtt = fresh(Nanos::from_millis(200));
        rtt.sample(Nanos(100 * MS), 0, 10);
        for doubled in [300, 600, 1_200, 2_400] {
            assert_eq!(rtt.timeout(), Nanos(doubled * MS));
            rtt.back_off();
        }
        for _ in 0..100 {
            rtt.back_off();
        }
        assert_eq!(rtt.timeout(), Nanos::from_secs(120));
        rtt.sample(Nanos(100 * MS), 20, 30);
        assert!(rtt.timeout() < Nanos(400 * MS));
    }

    #[test]
    fn a_shorter_round_trip_hardly_raises_the_timeout() {
        let mut rtt = fresh(Nanos::ZERO);
        for round in 0..100 {
            rtt.sample(Nanos(100 * MS), round * 10 + 1, round * 10 + 10);
        }
        let before = rtt.timeout();
        rtt.sample(Nanos(20 * MS), 1_100, 1_200);
        assert!(rtt.timeout() < before + Nanos(5 * MS), "{:?} after {before:?}", rtt.timeout());
    }

    /// Against all samples of the window.
    #[test]
    fn the_least_round_trip_is_forgotten_when_it_is_too_old() {
        let mut filter = MinRoundTrip::default();
        assert_eq!(filter.least(), None);
        filter.sample(Instant(0), Nanos(10));
        for second in 1..=300 {
            filter.sample(Instant(second * 1_000 * MS), Nanos(20 + second));
            assert_eq!(filter.least(), Some(Nanos(10)), "second {second}");
        }
        filter.sample(Instant(301_000 * MS), Nanos(500));
        let least = filter.least().expect("there are samples");
        assert!((Nanos(21)..=Nanos(200)).contains(&least), "{least:?} is of the window's later part");
        filter.sample(Instant(302_000 * MS), Nanos(5));
        assert_eq!(filter.least(), Some(Nanos(5)));
        filter.sample(Instant(10_000_000 * MS), Nanos(7));
        assert_eq!(filter.least(), Some(Nanos(7)));
    }
}
