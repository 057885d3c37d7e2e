//! What a host adds to the time of the network: its stack, its card, and the ticks of its timers.

use crate::random::{Random, mix};
use crate::time::Time;
use linkmend_transport::timer_wheel;

/// The latency of a host. What is sent at one moment leaves at once; the whole delay of stack and card, in both
/// directions, is added where frames are received: from the arrival of a frame to the moment when the transport handles
/// it, together with all frames that have arrived by then (interrupt moderation and receive offload).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostLatency {
    /// What every frame waits for at least.
    pub least: Time,
    /// Median of what is added to it. The added delay is log-normal.
    pub median: Time,
    /// Standard deviation of the logarithm of the added delay; 0 for a constant delay.
    pub sigma: f64,
    /// Median of what is added once more if several frames arrive before the stack runs: joining them, and copying them to
    /// the application. Log-normal, too.
    pub burst_median: Time,
    /// Standard deviation of its logarithm.
    pub burst_sigma: f64,
    /// Whether the card gathers frames of bulk traffic before it interrupts its host (dynamic interrupt moderation).
    pub is_moderated: bool,
    /// A transport's timers expire with a tick, as in a kernel whose timers count jiffies; zero for timers without ticks.
    pub timer_tick: Time,
    /// Share of timers that expire one tick late. One processor keeps the kernel's clock. All processors look at their timers
    /// with the same tick, so another one that is faster than the keeper still sees the time before the tick.
    pub late_ticks: f64,
}

impl HostLatency {
    /// No delay at all, and exact timers.
    pub const NONE: HostLatency = HostLatency {
        least: Time::ZERO,
        median: Time::ZERO,
        sigma: 0.0,
        burst_median: Time::ZERO,
        burst_sigma: 0.0,
        is_moderated: false,
        timer_tick: Time::ZERO,
        late_ticks: 0.0,
    };

    /// Draws the delay of a frame.
    pub(crate) fn draw(&self, random: &mut Random) -> Time {
        self.least + log_normal(self.median, self.sigma, random)
    }

    /// Draws what several frames wait for beyond that.
    pub(crate) fn draw_burst(&self, random: &mut Random) -> Time {
        log_normal(self.burst_median, self.burst_sigma, random)
    }

    /// When a timer that is set at `now` for `at` expires, on a host whose ticks are `phase` after those of time zero. The
    /// phase also decides which ticks of the host are late.
    pub(crate) fn expiry(&self, now: Time, at: Time, phase: Time) -> Time {
        let tick = self.timer_tick.0;
        if tick == 0 || at == Time::NEVER {
            return at;
        }
        let since_tick = |time: Time| time.0.saturating_sub(phase.0);
        let due = timer_wheel::expiry(since_tick(now), since_tick(at), tick);
        let is_late = self.late_ticks > 0.0 && uniform(due / tick, phase.0) < self.late_ticks;
        Time(due.saturating_add(phase.0).saturating_add(if is_late { tick } else { 0 }))
    }
}

fn log_normal(median: Time, sigma: f64, random: &mut Random) -> Time {
    if median == Time::ZERO {
        return Time::ZERO;
    }
    Time((median.0 as f64 * libm::exp(sigma * normal(random))) as u64)
}

/// A number from 0 to 1 that depends on two others as if it were random.
fn uniform(one: u64, other: u64) -> f64 {
    /// What spreads the first number over all bits. `mix` adds it once more, which would make other ticks late than in recorded results.
    const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mixed = mix((one.wrapping_mul(SPREAD) ^ other).wrapping_sub(SPREAD));
    (mixed >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number from the standard normal distribution (Box and Muller, 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = libm::sqrt(2.0 * random.exponential());
    radius * libm::cos(std::f64::consts::TAU * random.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_delays_are_below_the_median_and_none_below_the_least() {
        let latency = HostLatency {
            least: Time::from_nanos(5_000),
            median: Time::from_nanos(3_000),
            sigma: 0.5,
            ..HostLatency::NONE
        };
        let mut random = Random::new(1, "latency");
        let delays: Vec<Time> = (0..100_000).map(|_| latency.draw(&mut random)).collect();
        assert!(delays.iter().all(|delay| *delay >= latency.least));
        let below = delays.iter().filter(|delay| **delay < Time::from_nanos(8_000)).count();
        assert!((49_000..51_000).contains(&below), "{below} of 100,000");
        // One standard deviation above the median lies a factor of e^0.5: 84.1 % are below.
        let below = delays.iter().filter(|delay| **delay < Time::from_nanos(5_000 + 4_946)).count();
        assert!((83_400..84_900).contains(&below), "{below} of 100,000");
    }

    #[test]
    fn some_ticks_are_late_for_all_timers_of_a_host_and_no_others() {
        let exact = HostLatency { timer_tick: Time(4_000), ..HostLatency::NONE };
        let late = HostLatency { late_ticks: 0.3, ..exact };
        let is_late = |tick: u64, phase: u64| {
            let (now, at, phase) = (Time(tick * 4_000 + 100), Time(tick * 4_000 + 4_100), Time(phase));
            let (due, expiry) = (exact.expiry(now, at, phase), late.expiry(now, at, phase));
            assert!(expiry == due || expiry == due + Time(4_000));
            assert_eq!(late.expiry(now + Time(9), at, phase), expiry, "the same tick is late for all timers");
            expiry != due
        };
        let number = (0..10_000).filter(|tick| is_late(*tick, 1)).count();
        assert!((2_800..3_200).contains(&number), "{number} of 10,000");
        assert!((0..100).any(|tick| is_late(tick, 1) != is_late(tick, 2)), "each host has its own");
    }

    #[test]
    fn timers_expire_with_a_tick() {
        let latency = HostLatency { timer_tick: Time(4_000), ..HostLatency::NONE };
        let expiry = |now, at, phase| latency.expiry(Time(now), Time(at), Time(phase)).0;
        assert_eq!([expiry(0, 1, 0), expiry(0, 4_000, 0), expiry(0, 4_001, 0)], [8_000, 8_000, 12_000]);
        assert_eq!([expiry(1, 2, 0), expiry(1, 4_001, 0), expiry(4_000, 4_001, 0)], [8_000, 8_000, 12_000]);
        assert_eq!([expiry(600, 700, 500), expiry(500, 700, 500)], [8_500, 8_500]);
        assert_eq!(expiry(9_000, 8_000, 0), 12_000, "what is overdue waits for a tick, too");
        assert_eq!(expiry(1, 252_001, 0), 256_000, "63 ticks and more: at a multiple of 8");
        assert_eq!(latency.expiry(Time(5), Time::NEVER, Time(3)), Time::NEVER);
        assert_eq!(HostLatency::NONE.expiry(Time(5), Time(7), Time(3)), Time(7));
    }
}
