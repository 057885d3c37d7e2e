//! CUBIC: RFC 9438, with HyStart, and as Linux has it.
//!
//! Linux differs from the RFC in how the window grows, in three places ([`Linux`], [`Rfc9438`]). Its Reno-friendly estimate
//! does not grow faster once it has reached the window at which the last segment was lost (section 4.3). And where the
//! curve has no plateau to go to, after slow start has ended without a loss or after a timeout (sections 4.8 and 4.10), the
//! window grows by a twentieth in each round trip at least. Both matter where random losses keep the window small: with a
//! round trip of 10 ms and a loss of 1e-3 the RFC's window is a quarter larger. The curve is aimed a round trip ahead, which
//! is the smoothed one in the RFC and the least one in Linux.
//!
//! Times are in units of 2^-20 s and windows in units of 2^-24 segments, so that the curve needs multiplications and
//! shifts only; the cube root is taken once for each reduction.

use super::hystart::HyStart;
use super::{AckSample, Congestion, CongestionControl, Context, SSTHRESH_MIN, Window};
use crate::time::{Instant, Nanos};
use std::marker::PhantomData;

/// Fractional bits of a time in seconds.
const TIME_BITS: u32 = 20;
/// Fractional bits of a window in segments.
const WINDOW_BITS: u32 = 24;
/// The curve is not computed farther than this from its inflection (1,024 s), where it is 4e8 segments away.
const DISTANCE_MAX: u64 = 1 << 30;
/// beta_cubic = 0.7 (RFC 9438, section 4.6).
const BETA: (u32, u32) = (7, 10);
/// (1 + beta_cubic) / 2 of fast convergence (section 4.7).
const FAST_CONVERGENCE: (u64, u64) = (17, 20);
/// C = 0.4 segments / s^3 (section 5.1).
const C: (u64, u64) = (2, 5);
/// alpha_cubic = 3 (1 - beta) / (1 + beta) (section 4.3).
const ALPHA: (u64, u64) = (9, 17);

/// Where CUBICs differ.
pub trait Variant {
    /// Segments that the Reno-friendly estimate gains in a round trip once it has reached the window before the latest
    /// reduction.
    const ALPHA_BEYOND: (u64, u64);
    /// Acknowledged segments for each of which, at the latest, the window grows by one while the curve has no plateau.
    const PROBE_SEGMENTS: u64;
    /// How far ahead of the present the curve is aimed at (section 4.2: a round trip).
    fn look_ahead(context: &Context) -> Option<Nanos>;
}

/// RFC 9438 to the letter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rfc9438;

impl Variant for Rfc9438 {
    const ALPHA_BEYOND: (u64, u64) = (1, 1);
    const PROBE_SEGMENTS: u64 = u64::MAX;

    fn look_ahead(context: &Context) -> Option<Nanos> {
        context.smoothed_rtt
    }
}

/// Linux, to version 6.18 (net/ipv4/tcp_cubic.c, `bictcp_update`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Linux;

impl Variant for Linux {
    const ALPHA_BEYOND: (u64, u64) = ALPHA;
    const PROBE_SEGMENTS: u64 = 20;

    /// The least round trip (`delay_min`), whatever the queue adds to it.
    fn look_ahead(context: &Context) -> Option<Nanos> {
        context.min_rtt
    }
}

/// Lets the window grow along a cubic function of the time since the last reduction.
#[derive(Debug, Clone, Default)]
pub struct Cubic<V> {
    variant: PhantomData<V>,
    hystart: HyStart,
    curve: Curve,
    /// The curve before the latest reduction, which may turn out to be spurious (section 4.9).
    before: Curve,
    /// When the last acknowledgement was seen.
    last_seen: Instant,
}

/// The variables of section 4.1.2; windows with fractions.
#[derive(Debug, Clone, Default)]
struct Curve {
    /// The window before the latest reduction, made smaller by fast convergence; 0 before the first.
    w_max: u64,
    /// The window just before the latest reduction, from which on the Reno-friendly estimate grows as fast as Reno.
    cwnd_prior: u64,
    /// The part of congestion avoidance that began at this time, if it has begun.
    epoch: Option<Epoch>,
}

/// What was reached before the latest reduction.
#[derive(Debug, Clone, Copy)]
struct Plateau {
    /// Whether there is one: not before the first reduction, nor after a timeout.
    is_known: bool,
    cwnd_prior: u64,
}

#[derive(Debug, Clone)]
struct Epoch {
    start: Instant,
    /// The time after `start` at which the curve reaches `origin`, and that window.
    k: u64,
    origin: u64,
    /// The window that Reno would have.
    w_est: u64,
    /// What the window is above its whole segments.
    fraction: u64,
}

impl Curve {
    fn begin(&self, now: Instant, cwnd: u32) -> Epoch {
        let cwnd = u64::from(cwnd) << WINDOW_BITS;
        let distance = self.w_max.saturating_sub(cwnd);
        let origin = self.w_max.max(cwnd);
        Epoch { start: now, k: time_to_grow(distance), origin, w_est: cwnd, fraction: 0 }
    }
}

impl Epoch {
    /// W_cubic(t) = C (t - K)^3 + W_max (section 4.2, equation 1), not below 0.
    fn w_cubic(&self, elapsed: u64) -> u64 {
        let distance = elapsed.abs_diff(self.k).min(DISTANCE_MAX);
        let cube = u128::from(distance).pow(3) >> (3 * TIME_BITS - WINDOW_BITS);
        // The cube of the largest distance has 90 bits, of which 54 are left.
        let difference = cube as u64 * C.0 / C.1;
        if elapsed < self.k { self.origin.saturating_sub(difference) } else { self.origin + difference }
    }

    fn elapsed(&self, now: Instant) -> u64 {
        units(now.since(self.start))
    }

    /// The growth of sections 4.2 to 4.5 for `acknowledged` segments.
    fn grow<V: Variant>(&mut self, context: &Context, cwnd: u32, acknowledged: u32, curve: Plateau) -> u32 {
        let size = u64::from(cwnd.max(1));
        let exact = (size << WINDOW_BITS) + self.fraction;
        // Section 4.3: Reno's estimate. It grows as fast as Reno once it has reached what was lost.
        let (numerator, denominator) = if self.w_est >= curve.cwnd_prior { V::ALPHA_BEYOND } else { ALPHA };
        let segments = u64::from(acknowledged) << WINDOW_BITS;
        self.w_est = self.w_est.saturating_add(segments / size * numerator / denominator);
        let elapsed = self.elapsed(context.now);
        let grown = if self.w_cubic(elapsed) < self.w_est {
            exact.max(self.w_est)
        } else {
            // Section 4.2: the target is the curve in a round-trip time, limited to half a window of growth in it.
            let rtt = units(V::look_ahead(context).unwrap_or_default());
            let target = self.w_cubic(elapsed.saturating_add(rtt)).clamp(exact, exact / 2 * 3);
            exact + (target - exact) / size * u64::from(acknowledged)
        };
        let grown = if curve.is_known { grown } else { grown.max(exact + segments / V::PROBE_SEGMENTS) };
        self.fraction = grown & ((1 << WINDOW_BITS) - 1);
        u32::try_from(grown >> WINDOW_BITS).unwrap_or(u32::MAX)
    }
}

/// The time K in which the curve grows by `distance` segments: the cube root of distance / C (section 4.2, equation 2).
fn time_to_grow(distance: u64) -> u64 {
    let segments = distance as f64 / f64::from(1 << WINDOW_BITS);
    let seconds = libm::cbrt(segments * C.1 as f64 / C.0 as f64);
    (seconds * f64::from(1 << TIME_BITS)) as u64
}

/// A duration in units of 2^-20 s.
fn units(span: Nanos) -> u64 {
    // 2^20 / 10^9 = 2^11 / 5^9.
    if span.0 >> 53 == 0 { (span.0 << 11) / 1_953_125 } else { (span.0 / 1_953_125) << 11 }
}

impl<V: Variant + Default> Cubic<V> {
    /// For a new connection. Nothing is drawn at random.
    pub fn new(_seed: u64) -> Cubic<V> {
        Cubic::default()
    }

    /// Time that did not limit the sender does not count for the curve (section 5.8; in Linux after idle times).
    fn shift_epoch(&mut self, now: Instant, span: Nanos) {
        let span = span.min(now.since(self.last_seen));
        if let Some(epoch) = &mut self.curve.epoch {
            epoch.start += span;
        }
    }
}

impl<V: Variant + Default> CongestionControl for Cubic<V> {
    /// Multiplicative decrease (section 4.6) and fast convergence (section 4.7). After a timeout the next congestion
    /// avoidance begins at its own plateau (section 4.8), and slow start looks for its end again.
    fn ssthresh(&mut self, context: &Context, congestion: Congestion) -> u32 {
        let cwnd = u64::from(context.window.cwnd) << WINDOW_BITS;
        self.before = self.curve.clone();
        self.curve.w_max = if congestion == Congestion::Timeout {
            self.hystart = HyStart::default();
            0
        } else if cwnd < self.curve.w_max {
            cwnd / FAST_CONVERGENCE.1 * FAST_CONVERGENCE.0
        } else {
            cwnd
        };
        self.curve.cwnd_prior = cwnd;
        self.curve.epoch = None;
        let reduced = u64::from(context.window.cwnd) * u64::from(BETA.0) / u64::from(BETA.1);
        (reduced as u32).max(SSTHRESH_MIN)
    }

    fn grow(&mut self, context: &Context, window: &mut Window, acknowledged: u32) {
        let rest = window.slow_start(acknowledged);
        if rest == 0 {
            return;
        }
        let curve = &mut self.curve;
        if curve.epoch.is_none() {
            curve.epoch = Some(curve.begin(context.now, window.cwnd));
        }
        let plateau = Plateau { is_known: curve.w_max > 0, cwnd_prior: curve.cwnd_prior };
        if let Some(epoch) = &mut curve.epoch {
            window.cwnd = epoch.grow::<V>(context, window.cwnd, rest, plateau);
        }
    }

    /// Section 4.9: all variables return to what they were.
    fn undo(&mut self, context: &Context, before: Window) -> u32 {
        self.curve = self.before.clone();
        before.cwnd.max(context.window.cwnd)
    }

    fn acknowledged(&mut self, context: &Context, sample: &AckSample, window: &mut Window) {
        if let Some(rtt) = sample.rtt {
            self.hystart.sample(context.now, rtt, context.unacknowledged, context.next, window);
        }
        if !context.is_window_limited {
            self.shift_epoch(context.now, Nanos::MAX);
        }
        self.last_seen = context.now;
    }

    fn idle_ended(&mut self, context: &Context, idle: Nanos) {
        self.shift_epoch(context.now, idle);
        self.last_seen = context.now;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::*;

    /// A queue that fills delays acknowledgements, and must not make the window grow faster: Linux aims the curve at the least
    /// round trip ahead, the RFC at the smoothed one.
    #[test]
    fn a_longer_queue_does_not_steepen_the_curve_of_linux() {
        fn grown<V: Variant + Clone + Default>(smoothed_rtt: Nanos) -> u64 {
            let window = Window { cwnd: 100, ssthresh: 50 };
            let curve = Curve { w_max: 120 << WINDOW_BITS, cwnd_prior: 120 << WINDOW_BITS, epoch: None };
            let start = context(window).now;
            let now = start + Nanos::from_millis(200);
            let mut epoch = curve.begin(start, window.cwnd);
            let at = Context { now, smoothed_rtt: Some(smoothed_rtt), ..context(window) };
            let cwnd = epoch.grow::<V>(&at, 100, 1, Plateau { is_known: true, cwnd_prior: curve.cwnd_prior });
            (u64::from(cwnd) << WINDOW_BITS) + epoch.fraction
        }
        let [short, long] = [100, 300].map(Nanos::from_millis);
        assert_eq!(grown::<Linux>(long), grown::<Linux>(short));
        assert!(grown::<Rfc9438>(long) > grown::<Rfc9438>(short));
    }

    /// One connection in congestion avoidance, with acknowledgements evenly spaced over each round trip.
    struct Flow<V = Rfc9438> {
        cubic: Cubic<V>,
        at: Context,
        window: Window,
        /// Segments in an acknowledgement.
        per_ack: u32,
    }

    impl<V: Variant + Clone + Default> Flow<V> {
        /// After a loss at a window of `w_max`.
        fn after_loss(w_max: u32, rtt: Nanos) -> Flow<V> {
            let window = Window { cwnd: w_max, ssthresh: w_max };
            let at = Context { smoothed_rtt: Some(rtt), ..context(window) };
            let mut flow = Flow { cubic: Cubic::new(0), at, window, per_ack: w_max.div_ceil(200) };
            flow.congestion(Congestion::Loss);
            flow
        }

        /// After slow start that ended without a loss.
        fn after_slow_start(cwnd: u32, rtt: Nanos) -> Flow<V> {
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

        fn exact_window(&self) -> f64 {
            let fraction = self.cubic.curve.epoch.as_ref().map_or(0, |epoch| epoch.fraction);
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
        assert_eq!(flow.window.cwnd, 70 + 90, "9/17 of a segment in each of 170 rounds");
    }

    /// tcp_cubic.c: "increase cwnd 5% per RTT" while `last_max_cwnd` is 0; RFC 9438, section 4.10: along the curve from its
    /// plateau, or with the estimate, which counts as beyond the last loss.
    #[test]
    fn in_linux_the_window_grows_by_a_twentieth_each_round_until_something_is_lost() {
        let rtt = Nanos::from_millis(10);
        let mut linux = Flow::<Linux>::after_slow_start(100, rtt);
        let mut rfc = Flow::<Rfc9438>::after_slow_start(100, rtt);
        linux.run(rtt * 10);
        rfc.run(rtt * 10);
        let grown = 100.0 * libm::exp(10.0 / 20.0);
        assert!((linux.exact_window() - grown).abs() < 1.5, "{} instead of {grown}", linux.exact_window());
        assert!((rfc.exact_window() - 110.0).abs() < 0.5, "as Reno does: {}", rfc.exact_window());
        linux.congestion(Congestion::Loss);
        let reduced = linux.exact_window();
        linux.run(rtt * 2);
        assert!(linux.exact_window() < reduced * 1.05, "with a plateau the curve decides");
        linux.congestion(Congestion::Timeout);
        let reduced = linux.exact_window();
        linux.run(rtt * 10);
        assert!(linux.exact_window() > reduced * 1.5, "and after a timeout there is none");
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
        for (seconds, expected) in
            [(1, 1 << 20), (1_000, 1_000 << 20), (10_000_000_000, 10_000_000_000 << 20)]
        {
            assert_eq!(units(Nanos::from_secs(seconds)), expected);
        }
        assert_eq!(units(Nanos(1_953_125)), 1 << 11);
    }
}
