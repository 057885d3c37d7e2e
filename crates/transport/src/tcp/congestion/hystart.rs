//! HyStart: the end of slow start before the first loss.
//!
//! S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011, with the parameters of
//! Linux. Two signs end slow start: a train of closely spaced acknowledgements that is as long as the forward path, and a
//! round-trip time that has grown since the round's beginning.

use super::Window;
use crate::time::{Instant, Nanos};

/// Below this window, in segments, slow start continues whatever is measured.
const WINDOW_MIN: u32 = 16;
/// Acknowledgements no further apart than this belong to one train.
const TRAIN_SPACING_MAX: Nanos = Nanos::from_millis(2);
/// Number of samples in a round whose minimum is compared with the overall minimum.
const SAMPLES: u32 = 8;
/// The round-trip time has grown when it is larger by an eighth of itself, within these bounds.
const DELAY_INCREASE_MIN: Nanos = Nanos::from_millis(4);
const DELAY_INCREASE_MAX: Nanos = Nanos::from_millis(16);

/// The state of one connection.
#[derive(Debug, Clone, Default)]
pub struct HyStart {
    has_ended: bool,
    /// The round ends when a byte beyond this one is acknowledged.
    round_end: u64,
    round_start: Instant,
    /// The end of the train that began with the round.
    train_end: Instant,
    /// The minimum round-trip time of this round, from this many samples.
    round_rtt: Option<Nanos>,
    samples: u32,
    /// The overall minimum round-trip time.
    min_rtt: Option<Nanos>,
}

impl HyStart {
    /// An acknowledgement has arrived, with a round-trip time of `rtt`, for all before `unacknowledged`. If slow start
    /// should end, the threshold becomes the window.
    pub fn sample(&mut self, now: Instant, rtt: Nanos, unacknowledged: u64, next: u64, window: &mut Window) {
        let min_rtt = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(min_rtt);
        if self.has_ended || !window.in_slow_start() || window.cwnd < WINDOW_MIN {
            return;
        }
        // The first round begins when the window is large enough.
        if unacknowledged > self.round_end {
            self.begin_round(now, next);
        }
        if self.train_is_long(now, min_rtt) || self.delay_has_grown(rtt, min_rtt) {
            self.has_ended = true;
            window.ssthresh = window.cwnd;
        }
    }

    fn begin_round(&mut self, now: Instant, next: u64) {
        (self.round_start, self.train_end, self.round_end) = (now, now, next);
        (self.round_rtt, self.samples) = (None, 0);
    }

    /// The train has lasted for half of the minimum round-trip time, the estimate of the forward path's delay.
    fn train_is_long(&mut self, now: Instant, min_rtt: Nanos) -> bool {
        if now.since(self.train_end) > TRAIN_SPACING_MAX {
            return false;
        }
        self.train_end = now;
        now.since(self.round_start) > min_rtt / 2
    }

    fn delay_has_grown(&mut self, rtt: Nanos, min_rtt: Nanos) -> bool {
        let least = self.round_rtt.map_or(rtt, |least| least.min(rtt));
        self.round_rtt = Some(least);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        least > min_rtt + (min_rtt / 8).clamp(DELAY_INCREASE_MIN, DELAY_INCREASE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_000;

    /// Slow start over a path: each round, `spacing` apart, one acknowledgement for each segment. Returns the window at
    /// which it ended, or `None` if it never did within `rounds`.
    fn end_of_slow_start(rounds: u32, spacing: Nanos, rtt_of: impl Fn(u32, u32) -> Nanos) -> Option<u32> {
        let (mut hystart, mut window) = (HyStart::default(), Window { cwnd: 10, ssthresh: u32::MAX });
        let (mut start, mut unacknowledged) = (Instant(0), 1);
        for round in 0..rounds {
            let size = window.cwnd;
            let mut now = start + rtt_of(round, 0);
            start = now;
            let end = unacknowledged + u64::from(size) * MSS;
            for segment in 0..size {
                unacknowledged += MSS;
                hystart.sample(now, rtt_of(round, segment), unacknowledged, end, &mut window);
                if !window.in_slow_start() {
                    return Some(window.cwnd);
                }
                window.slow_start(1);
                now += spacing;
            }
        }
        None
    }

    /// The paper, section 4.2: at a bottleneck that spaces segments by 1 ms, a train of a window lasts as long as half of
    /// 100 ms from a window of 50 on.
    #[test]
    fn a_train_as_long_as_the_forward_path_ends_slow_start() {
        let rtt = |_, _| Nanos::from_millis(100);
        let end = end_of_slow_start(10, Nanos::from_millis(1), rtt);
        assert_eq!(end, Some(80 + 51), "51 ms into the first round that lasts for more than 50 ms");
        assert_eq!(end_of_slow_start(8, Nanos::from_millis(3), rtt), None, "no train: too far apart");
    }

    #[test]
    fn a_round_trip_time_that_grows_by_an_eighth_ends_slow_start() {
        let far = Nanos::from_millis(3);
        let growing = |round, _| Nanos::from_millis(if round < 3 { 100 } else { 113 });
        assert_eq!(end_of_slow_start(6, far, growing), Some(88), "the ninth sample of the fourth round");
        let barely = |round, _| Nanos::from_millis(if round < 3 { 100 } else { 112 });
        assert_eq!(end_of_slow_start(6, far, barely), None);
    }

    #[test]
    fn one_short_sample_among_the_first_eight_keeps_slow_start_going() {
        let far = Nanos::from_millis(3);
        let rtt = |_, segment| Nanos::from_millis(if segment == 5 { 100 } else { 150 });
        assert_eq!(end_of_slow_start(6, far, rtt), None);
    }

    #[test]
    fn a_window_below_sixteen_goes_on() {
        let mut hystart = HyStart::default();
        let mut window = Window { cwnd: 15, ssthresh: u32::MAX };
        for ack in 1..100_u64 {
            let rtt = Nanos::from_millis(if ack == 1 { 10 } else { 500 });
            hystart.sample(Instant(ack * 1_000_000), rtt, ack, 1_000, &mut window);
        }
        assert!(window.in_slow_start());
        window.cwnd = 16;
        for ack in 100..110_u64 {
            hystart.sample(Instant(ack * 1_000_000), Nanos::from_millis(500), ack, 1_000, &mut window);
        }
        assert_eq!(window.ssthresh, 16);
    }
}
