//! DCQCN (Zhu et al., SIGCOMM 2015, section 3): congestion control of RoCEv2.
//!
//! Switches mark packets (ECN). The receiver's notification point answers marks with congestion notification packets
//! (CNPs). The sender's reaction point lowers its rate at each CNP and raises it by a timer and a byte counter. Rates
//! need no timers: they are updated when a packet is about to leave or a CNP arrives.

use super::config::Dcqcn;
use crate::time::{Instant, Nanos};

/// A rate this close to the line rate counts as the line rate, and the limiter is off, because each increase only
/// halves the distance.
const RECOVERED: f64 = 0.999;
const BITS_PER_BYTE: f64 = 8.0;
const NANOS_PER_SECOND: f64 = 1e9;

/// The receiver's part: at most one CNP in 50 us (section 3.1, "NP algorithm").
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NotificationPoint {
    last: Option<Instant>,
    is_due: bool,
}

impl NotificationPoint {
    /// A marked packet has arrived.
    pub fn handle_mark(&mut self, now: Instant, interval: Nanos) {
        if self.last.is_none_or(|last| now.since(last) >= interval) {
            self.last = Some(now);
            self.is_due = true;
        }
    }

    /// Whether a CNP must be sent now; asking resets it.
    pub fn take_due(&mut self) -> bool {
        std::mem::take(&mut self.is_due)
    }
}

/// The sender's part (section 3.1, "RP algorithm"; figure 7, algorithm 1).
#[derive(Debug, Clone)]
pub(super) struct ReactionPoint {
    /// R_C, in bits per second.
    current: f64,
    /// R_T, in bits per second.
    target: f64,
    alpha: f64,
    /// When alpha was last updated; `None` before the first CNP, until which it keeps its initial value.
    alpha_at: Option<Instant>,
    /// When the timer last began.
    timer_at: Instant,
    timer_steps: u32,
    byte_steps: u32,
    bytes: u64,
    /// The limiter is off until the first CNP, and again at the line rate.
    is_limiting: bool,
    next_packet: Instant,
    /// The fraction of a nanosecond that `next_packet` leaves out.
    fraction: f64,
}

impl ReactionPoint {
    pub fn new(parameters: &Dcqcn) -> ReactionPoint {
        ReactionPoint {
            current: parameters.line_rate as f64,
            target: parameters.line_rate as f64,
            // "The initial value of alpha is 1": the first CNP halves the rate.
            alpha: 1.0,
            alpha_at: None,
            timer_at: Instant::default(),
            timer_steps: 0,
            byte_steps: 0,
            bytes: 0,
            is_limiting: false,
            next_packet: Instant::default(),
            fraction: 0.0,
        }
    }

    /// The current rate in bits per second, as of the last call with an instant.
    pub fn rate(&self) -> f64 {
        self.current
    }

    /// Cuts the rate (equation 1): the old rate becomes the target, the rate falls by half of alpha, and alpha rises.
    pub fn handle_cnp(&mut self, now: Instant, parameters: &Dcqcn) {
        self.advance(now, parameters);
        self.decay(now, parameters);
        self.target = self.current;
        self.current = (self.current * (1.0 - self.alpha / 2.0)).max(parameters.min_rate as f64);
        self.alpha = (1.0 - parameters.gain) * self.alpha + parameters.gain;
        self.alpha_at = Some(now);
        self.timer_at = now;
        self.timer_steps = 0;
        self.byte_steps = 0;
        self.bytes = 0;
        self.is_limiting = true;
        // Earlier time is not credited.
        self.next_packet = self.next_packet.max(now);
    }

    /// When the next packet may leave; `None` if it may leave now.
    pub fn blocked_until(&mut self, now: Instant, parameters: &Dcqcn) -> Option<Instant> {
        self.advance(now, parameters);
        (self.is_limiting && self.next_packet > now).then_some(self.next_packet)
    }

    /// A packet of this many bytes leaves.
    pub fn handle_sent(&mut self, now: Instant, bytes: u16, parameters: &Dcqcn) {
        if !self.is_limiting {
            return;
        }
        let gap = f64::from(bytes) * BITS_PER_BYTE * NANOS_PER_SECOND / self.current + self.fraction;
        // The rate is at least 1 bit/s and a packet has less than 2^16 bytes, so it fits.
        let whole = gap as u64;
        self.fraction = gap - whole as f64;
        // A packet that waited for the port makes up for one gap, but not for more.
        self.next_packet = self.next_packet.max(now - Nanos(whole)) + Nanos(whole);
        self.bytes += u64::from(bytes);
        while self.bytes >= parameters.increase_bytes && self.is_limiting {
            self.bytes -= parameters.increase_bytes;
            self.byte_steps = self.byte_steps.saturating_add(1);
            self.increase(parameters);
        }
    }

    /// Alpha falls by its gain for each interval without a CNP (equation 2).
    fn decay(&mut self, now: Instant, parameters: &Dcqcn) {
        let Some(last) = self.alpha_at else { return };
        let steps = now.since(last).0 / parameters.alpha_interval.0.max(1);
        self.alpha *= libm::pow(1.0 - parameters.gain, steps as f64);
    }

    /// Raises the rate for each time that the timer has expired.
    fn advance(&mut self, now: Instant, parameters: &Dcqcn) {
        while self.is_limiting && now.since(self.timer_at) >= parameters.increase_interval {
            self.timer_at += parameters.increase_interval;
            self.timer_steps = self.timer_steps.saturating_add(1);
            self.increase(parameters);
        }
    }

    /// One rise (figure 7): fast recovery while neither the timer nor the byte counter has expired more than F times,
    /// hyper increase once both have, and additive increase in between. The rate then moves half of the way to the
    /// target (equations 3 and 4). Hyper increase is that of QCN (IEEE 802.1Qau): its i-th step adds i times R_HAI.
    fn increase(&mut self, parameters: &Dcqcn) {
        let least = self.timer_steps.min(self.byte_steps);
        let most = self.timer_steps.max(self.byte_steps);
        if least > parameters.fast_recovery {
            let step = f64::from(least - parameters.fast_recovery);
            self.target += step * parameters.hyper_increase as f64;
        } else if most > parameters.fast_recovery {
            self.target += parameters.additive_increase as f64;
        }
        let line_rate = parameters.line_rate as f64;
        self.target = self.target.min(line_rate);
        self.current = (self.target + self.current) / 2.0;
        if self.target >= line_rate && self.current >= RECOVERED * line_rate {
            self.current = line_rate;
            self.is_limiting = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: u64 = 100_000_000_000;

    fn micros(micros: u64) -> Instant {
        Instant(micros * 1_000)
    }

    fn parameters() -> Dcqcn {
        Dcqcn::of_paper(LINE)
    }

    fn close(rate: f64, expected: f64) {
        assert!((rate / expected - 1.0).abs() < 1e-9, "{rate} instead of {expected}");
    }

    fn rate_at(point: &mut ReactionPoint, now: Instant) -> f64 {
        point.advance(now, &parameters());
        point.rate()
    }

    /// Section 3.1: one CNP for however many marks within 50 us.
    #[test]
    fn marks_within_fifty_microseconds_give_one_cnp() {
        let mut point = NotificationPoint::default();
        let interval = parameters().cnp_interval;
        let mut cnps = Vec::new();
        for time in 0..=150 {
            point.handle_mark(micros(time), interval);
            if point.take_due() {
                cnps.push(time);
            }
        }
        assert_eq!(cnps, [0, 50, 100, 150]);
        assert!(!point.take_due(), "one mark, one CNP");
    }

    /// Equation 1 with alpha at its initial 1, where it stays while CNPs come faster than it falls: every CNP halves.
    #[test]
    fn k_cnps_in_a_row_divide_the_rate_by_two_to_the_k() {
        let mut point = ReactionPoint::new(&parameters());
        for count in 1..=10_u32 {
            point.handle_cnp(micros(50 * u64::from(count)), &parameters());
            close(point.rate(), LINE as f64 / f64::from(1_u32 << count));
        }
        for count in 11..=20 {
            point.handle_cnp(micros(50 * count), &parameters());
        }
        close(point.rate(), 1e7);
    }

    /// Equation 2: n intervals without a CNP multiply alpha by (1 - g)^n, and the next CNP cuts by half of it.
    #[test]
    fn alpha_falls_by_its_gain_in_each_quiet_interval() {
        let mut point = ReactionPoint::new(&parameters());
        point.handle_cnp(micros(0), &parameters());
        // 100 intervals and a bit later the rate is the line rate again.
        let later = micros(55 * 100 + 7);
        close(rate_at(&mut point, later), LINE as f64);
        point.handle_cnp(later, &parameters());
        let alpha = libm::pow(255.0 / 256.0, 100.0);
        close(point.rate(), LINE as f64 * (1.0 - alpha / 2.0));
        close(point.alpha, alpha * 255.0 / 256.0 + 1.0 / 256.0);
    }

    /// The first CNP halves the rate however late it comes. Equation 3: in fast recovery the distance to the target halves
    /// with each expiry: 50, 75, 87.5, ... of 100 Gb/s.
    #[test]
    fn fast_recovery_halves_the_distance_to_the_target_five_times() {
        let mut point = ReactionPoint::new(&parameters());
        point.handle_cnp(micros(1_000), &parameters());
        close(rate_at(&mut point, micros(1_054)), 50e9);
        for step in 1..=5_u32 {
            let rate = rate_at(&mut point, micros(1_000 + 55 * u64::from(step)));
            close(rate, 100e9 - 50e9 / f64::from(1 << step));
        }
    }

    /// Equation 4, from a second CNP at half of the rate, so that the target lies below the line rate. After fast
    /// recovery the target rises by R_AI with each expiry, R_T = 50 Gb/s + n R_AI. The distance d of the rate follows
    /// d' = (d + R_AI) / 2, so d = R_AI + (d_5 - R_AI) / 2^n.
    #[test]
    fn additive_increase_follows_its_closed_form() {
        let mut point = ReactionPoint::new(&parameters());
        point.handle_cnp(micros(0), &parameters());
        point.handle_cnp(micros(50), &parameters());
        close(point.rate(), 25e9);
        let after_fast_recovery = 25e9 / 32.0;
        for step in 1..=40_u32 {
            let rate = rate_at(&mut point, micros(50 + 55 * (5 + u64::from(step))));
            let target = 50e9 + f64::from(step) * 40e6;
            let distance = 40e6 + (after_fast_recovery - 40e6) / libm::pow(2.0, f64::from(step));
            close(rate, target - distance);
        }
    }

    /// Once the timer and the byte counter have both expired more than five times, the i-th step adds i times R_HAI.
    /// Here bytes raise the rate while no time passes, and then the timer does.
    #[test]
    fn hyper_increase_waits_for_both_the_timer_and_the_byte_counter() {
        let mut point = ReactionPoint::new(&parameters());
        point.handle_cnp(micros(0), &parameters());
        point.handle_cnp(micros(50), &parameters());
        let start = point.target;
        for _ in 0..20 {
            // 10 MB: twenty expiries of the byte counter in all, five of fast recovery and 15 of additive increase.
            for _ in 0..2_500 {
                point.handle_sent(micros(50), 4_000, &parameters());
            }
        }
        assert_eq!((point.byte_steps, point.timer_steps), (20, 0));
        close(point.target, start + 15.0 * 40e6);
        // Five expiries of the timer: still additive, because the byte counter alone is beyond fast recovery.
        rate_at(&mut point, micros(50 + 5 * 55));
        close(point.target, start + 20.0 * 40e6);
        rate_at(&mut point, micros(50 + 8 * 55));
        close(point.target, start + 20.0 * 40e6 + (1.0 + 2.0 + 3.0) * 200e6);
    }

    /// At 1 Gb/s a packet of 1,086 B takes 8,688 ns; at 50 Gb/s 173.76 ns, whose fractions add up.
    #[test]
    fn packets_leave_at_the_current_rate_to_the_nanosecond() {
        let mut point = ReactionPoint::new(&parameters());
        let (mut now, end) = (micros(0), micros(54));
        point.handle_cnp(now, &parameters());
        let mut packets = 0;
        while now < end {
            match point.blocked_until(now, &parameters()) {
                Some(later) => now = later,
                None => {
                    point.handle_sent(now, 1_086, &parameters());
                    packets += 1;
                }
            }
        }
        // 54,000 ns / 173.76 ns = 310.8, begun ones counted.
        assert_eq!(packets, 311);
    }

    #[test]
    fn the_limiter_is_off_before_the_first_cnp_and_after_recovery() {
        let mut point = ReactionPoint::new(&parameters());
        point.handle_sent(micros(0), 4_000, &parameters());
        assert_eq!(point.blocked_until(micros(0), &parameters()), None);
        point.handle_cnp(micros(0), &parameters());
        point.handle_sent(micros(0), 4_000, &parameters());
        assert_eq!(point.blocked_until(micros(0), &parameters()), Some(Instant(640)));
        // 50 Gb/s below the line rate, halved each 55 us: within a thousandth after nine expiries.
        assert!(rate_at(&mut point, micros(8 * 55)) < LINE as f64);
        close(rate_at(&mut point, micros(9 * 55)), LINE as f64);
        point.handle_sent(micros(600), 4_000, &parameters());
        assert_eq!(point.blocked_until(micros(600), &parameters()), None);
    }

    #[test]
    fn extreme_times_and_parameters_do_not_panic() {
        let extreme = Dcqcn { min_rate: 1, increase_bytes: 1, ..Dcqcn::of_paper(1_000_000) };
        let mut point = ReactionPoint::new(&extreme);
        for now in [Instant(0), Instant(u64::MAX / 2), Instant(u64::MAX), Instant(3)] {
            for _ in 0..64 {
                point.handle_cnp(now, &extreme);
                point.handle_sent(now, u16::MAX, &extreme);
                point.blocked_until(now, &extreme);
            }
        }
        assert!(point.rate() >= 1.0);
    }
}
