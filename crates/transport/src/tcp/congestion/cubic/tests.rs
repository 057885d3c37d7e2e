//! Both growths against closed forms and counts by hand.

use super::super::tests::context;
use super::*;

/// A queue that fills delays acknowledgements, and must not make the window grow faster: Linux aims the curve at the least
/// round trip ahead, the RFC at the smoothed one.
#[test]
fn a_longer_queue_does_not_steepen_the_curve_of_linux() {
    /// In two round trips, if acknowledgements of ten segments come at the same times.
    fn grown<G: Growth>(smoothed_rtt: Nanos) -> u32 {
        let mut flow = Flow::<G>::after_loss(1_000, smoothed_rtt);
        for _ in 0..200 {
            flow.at.window = flow.window;
            flow.cubic.grow(&flow.at, &mut flow.window, 10);
            flow.at.now += Nanos::from_millis(1);
        }
        flow.window.cwnd
    }
    let [short, long] = [100, 300].map(Nanos::from_millis);
    assert_eq!(grown::<Linux>(long), grown::<Linux>(short));
    assert!(grown::<Rfc9438>(long) > grown::<Rfc9438>(short));
}

/// One connection in congestion avoidance, with acknowledgements evenly spaced over each round trip.
struct Flow<G = Rfc9438> {
    cubic: Cubic<G>,
    at: Context,
    window: Window,
    /// Segments in an acknowledgement.
    per_ack: u32,
}

impl<G: Growth> Flow<G> {
    /// After a loss at a window of `w_max`.
    fn after_loss(w_max: u32, rtt: Nanos) -> Flow<G> {
        let window = Window { cwnd: w_max, ssthresh: w_max };
        let at = Context { smoothed_rtt: Some(rtt), ..context(window) };
        let mut flow = Flow { cubic: Cubic::new(0), at, window, per_ack: w_max.div_ceil(200) };
        flow.congestion(Congestion::Loss);
        flow
    }

    /// After slow start that ended without a loss.
    fn after_slow_start(cwnd: u32, rtt: Nanos) -> Flow<G> {
        let window = Window { cwnd, ssthresh: cwnd };
        let at = Context { smoothed_rtt: Some(rtt), ..context(window) };
        Flow { cubic: Cubic::new(0), at, window, per_ack: 1 }
    }

    fn congestion(&mut self, congestion: Congestion) {
        self.at.window = self.window;
        self.window.ssthresh = self.cubic.ssthresh(&self.at, congestion);
        self.window.cwnd = self.window.ssthresh;
    }

    fn acknowledge(&mut self) {
        self.at.window = self.window;
        self.cubic.acknowledged(&self.at, &AckSample::default(), &mut self.window);
        if self.at.is_window_limited {
            self.cubic.grow(&self.at, &mut self.window, self.per_ack);
        }
        let rtt = self.at.smoothed_rtt.unwrap_or_default();
        self.at.now += rtt * u64::from(self.per_ack) / u64::from(self.window.cwnd);
    }

    fn run(&mut self, span: Nanos) {
        let end = self.at.now + span;
        while self.at.now < end {
            self.acknowledge();
        }
    }
}

impl Flow {
    fn exact_window(&self) -> f64 {
        let fraction = self.cubic.curve.epoch.as_ref().map_or(0, |(_, growth)| growth.fraction);
        f64::from(self.window.cwnd) + fraction as f64 / f64::from(1 << WINDOW_BITS)
    }
}

/// RFC 9438, equations 1 to 4: the larger of C (t - K)^3 + W_max and Reno's estimate, which gains 9/17 of a segment a
/// round trip until W_max and a whole one from there on.
fn closed_form(w_max: f64, seconds: f64, rtt: f64) -> f64 {
    let k = libm::cbrt(0.3 * w_max / 0.4);
    let cubic = 0.4 * (seconds - k) * (seconds - k) * (seconds - k) + w_max;
    let rounds = seconds / rtt;
    let rounds_to_w_max = 0.3 * w_max / (9.0 / 17.0);
    let friendly = if rounds < rounds_to_w_max {
        0.7 * w_max + rounds * 9.0 / 17.0
    } else {
        w_max + rounds - rounds_to_w_max
    };
    cubic.max(friendly)
}

#[test]
fn the_window_follows_the_curve_within_a_segment() {
    for w_max in [100_u32, 1_000, 10_000] {
        for rtt_ms in [10_u64, 30, 100] {
            let mut flow = Flow::<Rfc9438>::after_loss(w_max, Nanos::from_millis(rtt_ms));
            let (start, mut worst) = (flow.at.now, 0.0_f64);
            let seconds = 1.5 * libm::cbrt(0.75 * f64::from(w_max));
            while flow.at.now.since(start).as_secs_f64() < seconds {
                let elapsed = flow.at.now.since(start).as_secs_f64();
                flow.acknowledge();
                let expected = closed_form(f64::from(w_max), elapsed, rtt_ms as f64 / 1e3);
                worst = worst.max((flow.exact_window() - expected).abs());
            }
            println!("W_max {w_max}, {rtt_ms} ms: at most {worst:.3} segments from the curve");
            assert!(worst < 1.0, "W_max {w_max}, {rtt_ms} ms: {worst} segments");
        }
    }
}

/// RFC 9438, section 4.3: with short round trips the window is Reno's.
#[test]
fn with_short_round_trips_the_window_grows_like_renos() {
    let mut flow = Flow::<Rfc9438>::after_loss(100, Nanos::from_millis(1));
    flow.run(Nanos::from_millis(170));
    assert_eq!(flow.window.cwnd, 100 + 113, "56.7 rounds to 100, then one segment in each of 113");
}

/// tcp_cubic.c, `tcp_friendliness`: a segment for each 1.9 windows acknowledged, whatever the window was before.
#[test]
fn in_linux_the_estimate_of_reno_grows_no_faster_beyond_the_last_loss() {
    let mut flow = Flow::<Linux>::after_loss(100, Nanos::from_millis(1));
    flow.run(Nanos::from_millis(170));
    // 9/17 of a segment in each of 170 rounds are 90; the window follows by one for every 31 rounds or less.
    assert_eq!(flow.window.cwnd, 70 + 88);
}

/// Without a plateau (`last_max_cwnd` is 0 in Linux) one segment more for each 20 that are acknowledged; RFC 9438, section 4.10:
/// along the curve from its plateau, or with the estimate, which counts as beyond the last loss.
#[test]
fn in_linux_the_window_grows_by_a_twentieth_each_round_until_something_is_lost() {
    let rtt = Nanos::from_millis(10);
    let mut linux = Flow::<Linux>::after_slow_start(100, rtt);
    let mut rfc = Flow::<Rfc9438>::after_slow_start(100, rtt);
    linux.run(rtt * 10);
    rfc.run(rtt * 10);
    let grown = 100.0 * libm::exp(10.0 / 20.0);
    assert!((f64::from(linux.window.cwnd) - grown).abs() <= 2.0, "{} instead of {grown}", linux.window.cwnd);
    assert!((rfc.exact_window() - 110.0).abs() < 0.5, "as Reno does: {}", rfc.exact_window());
    linux.congestion(Congestion::Loss);
    let reduced = linux.window.cwnd;
    linux.run(rtt * 2);
    assert!(linux.window.cwnd < reduced + reduced / 20, "with a plateau the curve decides");
    linux.congestion(Congestion::Timeout);
    let reduced = linux.window.cwnd;
    linux.run(rtt * 10);
    assert!(linux.window.cwnd > reduced + reduced / 2, "and after a timeout there is none");
}

/// However far the curve is ahead, two acknowledged segments are worth one more in Linux.
#[test]
fn in_linux_the_window_grows_by_half_of_what_is_acknowledged_at_most() {
    let mut flow = Flow::<Linux>::after_loss(1_000, Nanos::from_millis(100));
    flow.run(Nanos::from_secs(8));
    flow.at.now += Nanos::from_secs(40);
    for _ in 0..10 {
        let before = flow.window.cwnd;
        flow.acknowledge();
        assert!(flow.window.cwnd - before <= flow.per_ack.div_ceil(2));
    }
    let before = flow.window.cwnd;
    (0..100).for_each(|_| flow.acknowledge());
    assert_eq!(flow.window.cwnd - before, 50 * flow.per_ack);
}

/// Linux computes how fast the window grows every 31 ms at most, as long as the window is the same.
#[test]
fn in_linux_the_curve_is_looked_at_every_31_ms() {
    let mut flow = Flow::<Linux>::after_loss(10, Nanos::from_millis(100));
    let start = flow.at.now;
    let mut looked_at = |after_ms: u64| {
        flow.at = Context { now: start + Nanos::from_millis(after_ms), window: flow.window, ..flow.at };
        flow.cubic.grow(&flow.at, &mut flow.window, 1);
        let (_, growth) = flow.cubic.curve.epoch.as_ref().expect("congestion avoidance");
        growth.looked.expect("it has looked").1.since(start).as_micros() / 1_000
    };
    assert_eq!([0, 20, 31, 32, 63, 64].map(&mut looked_at), [0, 0, 0, 32, 32, 64]);
}

/// RFC 9438, section 4.7.
#[test]
fn fast_convergence_releases_a_share_when_the_window_has_shrunk() {
    let mut flow = Flow::<Rfc9438>::after_loss(1_000, Nanos::from_millis(100));
    flow.window.cwnd = 800;
    flow.congestion(Congestion::Loss);
    assert_eq!(flow.window.cwnd, 560);
    assert_eq!(flow.cubic.curve.w_max >> WINDOW_BITS, 680, "800 x 0.85");
    let k = libm::cbrt((680.0 - 560.0) / 0.4);
    flow.run(Nanos((k * 1e9) as u64));
    assert!((flow.exact_window() - 680.0).abs() < 1.0, "{} at the plateau", flow.exact_window());
    flow.window.cwnd = 900;
    flow.congestion(Congestion::Loss);
    assert_eq!(flow.cubic.curve.w_max >> WINDOW_BITS, 900, "above the last: all of it");
}

/// RFC 9438, section 4.8: K = 0, and the plateau is where congestion avoidance begins.
#[test]
fn after_a_timeout_the_curve_begins_at_its_plateau() {
    let mut flow = Flow::<Rfc9438>::after_loss(1_000, Nanos::from_millis(100));
    flow.congestion(Congestion::Timeout);
    assert_eq!(flow.window.ssthresh, 490);
    flow.window.cwnd = 1;
    while flow.window.cwnd < 490 {
        flow.acknowledge();
    }
    flow.run(Nanos::from_secs(5));
    // The estimate that equals Reno gains 9/17 a round trip: 26 segments; the curve 0.4 x 5^3 = 50.
    assert!((flow.exact_window() - 540.0).abs() < 1.5, "{}", flow.exact_window());
}

/// RFC 9438, section 4.9.
#[test]
fn undo_brings_the_window_and_its_curve_back() {
    let mut flow = Flow::<Rfc9438>::after_loss(1_000, Nanos::from_millis(100));
    flow.run(Nanos::from_secs(4));
    let (before, twin) = (flow.window, flow.cubic.clone());
    flow.congestion(Congestion::Loss);
    flow.at.window = flow.window;
    flow.window.cwnd = flow.cubic.undo(&flow.at, before);
    assert_eq!(flow.window.cwnd, before.cwnd);
    let mut twin = Flow { cubic: twin, at: flow.at, window: before, per_ack: flow.per_ack };
    flow.window.ssthresh = before.ssthresh;
    flow.run(Nanos::from_secs(4));
    twin.run(Nanos::from_secs(4));
    assert_eq!(flow.window, twin.window);
}

/// RFC 9438, section 5.8.
#[test]
fn neither_idle_time_nor_the_applications_limits_count_for_the_curve() {
    let busy = {
        let mut flow = Flow::<Rfc9438>::after_loss(1_000, Nanos::from_millis(100));
        flow.run(Nanos::from_secs(8));
        flow.window.cwnd
    };
    let mut idle = Flow::<Rfc9438>::after_loss(1_000, Nanos::from_millis(100));
    idle.run(Nanos::from_secs(4));
    idle.at.now += Nanos::from_secs(30);
    idle.cubic.idle_ended(&idle.at, Nanos::from_secs(30));
    idle.run(Nanos::from_secs(4));
    assert!(idle.window.cwnd.abs_diff(busy) <= 1, "{} and {busy}", idle.window.cwnd);
    let mut limited = Flow::<Rfc9438>::after_loss(1_000, Nanos::from_millis(100));
    limited.run(Nanos::from_secs(4));
    limited.at.is_window_limited = false;
    limited.run(Nanos::from_secs(30));
    limited.at.is_window_limited = true;
    limited.run(Nanos::from_secs(4));
    assert!(limited.window.cwnd.abs_diff(busy) <= 1, "{} and {busy}", limited.window.cwnd);
}

#[test]
fn no_time_and_no_window_overflows() {
    for cwnd in [1, 2, 10_000, u32::MAX] {
        let mut flow = Flow::<Rfc9438>::after_loss(cwnd, Nanos(1));
        for now in [0, 1, u64::MAX / 2, u64::MAX] {
            (flow.at.now, flow.at.window) = (Instant(now), flow.window);
            flow.cubic.grow(&flow.at, &mut flow.window, u32::MAX);
            flow.at.smoothed_rtt = Some(Nanos(now));
        }
        flow.congestion(Congestion::Mark);
    }
}

#[test]
fn units_of_time_are_powers_of_two_of_a_second() {
    for (seconds, expected) in [(1, 1 << 20), (1_000, 1_000 << 20), (10_000_000_000, 10_000_000_000 << 20)] {
        assert_eq!(units(Nanos::from_secs(seconds)), expected);
    }
    assert_eq!(units(Nanos(1_953_125)), 1 << 11);
}
