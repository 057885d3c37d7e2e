//! CUBIC: RFC 9438, with HyStart, and as in Linux.
//!
//! Linux differs from the RFC in how the window grows ([`Linux`], [`Rfc9438`]). Its Reno-friendly estimate does not
//! grow faster once it has reached the window at which the last segment was lost (section 4.3). And if the curve has no
//! plateau, because slow start ended without a loss or after a timeout (sections 4.8 and 4.10), the window grows by at
//! least a twentieth per round trip. Both matter where random losses keep the window small: with a round trip of 10 ms
//! and a loss of 1e-3 the RFC's window is a quarter larger. The target is the curve one round trip ahead: the smoothed
//! round trip in the RFC, and the minimum one in Linux. Moreover, Linux counts in whole segments, evaluates the curve
//! at most every 31 ms while the window stays the same, and lets the window grow by at most one segment for every two
//! acknowledged ones.
//!
//! Times are in units of 2^-20 s and windows in units of 2^-24 segments, so that the curve needs only multiplications
//! and shifts; the cube root is taken once per reduction.

mod growth;

pub use growth::{Linux, Rfc9438};

use super::hystart::HyStart;
use super::{AckSample, Congestion, CongestionControl, Context, SSTHRESH_MIN, Window};
use crate::time::{Instant, Nanos};
use growth::{Growth, Plateau};

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

/// Lets the window grow along a cubic function of the time since the last reduction.
#[derive(Debug, Clone)]
pub struct Cubic<G> {
    hystart: HyStart,
    curve: Curve<G>,
    /// The curve before the latest reduction, which may turn out to be spurious (section 4.9).
    before: Curve<G>,
    /// When the last acknowledgement was seen.
    last_seen: Instant,
}

/// The variables of section 4.1.2; windows with fractions.
#[derive(Debug, Clone)]
struct Curve<G> {
    /// The window before the latest reduction, made smaller by fast convergence; 0 before the first.
    w_max: u64,
    /// The window just before the latest reduction, from which on the Reno-friendly estimate grows as fast as Reno.
    cwnd_prior: u64,
    /// The part of congestion avoidance that began at this time, if it has begun.
    epoch: Option<(Epoch, G)>,
}

/// Where the curve lies.
#[derive(Debug, Clone)]
pub struct Epoch {
    start: Instant,
    /// The time after `start` at which the curve reaches `origin`, and that window.
    k: u64,
    origin: u64,
}

impl<G: Growth> Curve<G> {
    fn begin(&self, now: Instant, cwnd: u32) -> (Epoch, G) {
        let window = u64::from(cwnd) << WINDOW_BITS;
        let distance = self.w_max.saturating_sub(window);
        let origin = self.w_max.max(window);
        (Epoch { start: now, k: time_to_grow(distance), origin }, G::begin(cwnd))
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

impl<G: Growth> Cubic<G> {
    /// For a new connection. There are no random choices.
    pub fn new(_seed: u64) -> Cubic<G> {
        let curve = Curve { w_max: 0, cwnd_prior: 0, epoch: None };
        Cubic { hystart: HyStart::default(), before: curve.clone(), curve, last_seen: Instant::default() }
    }

    /// Time in which nothing was sent does not count for the curve (section 5.8).
    fn shift_epoch(&mut self, now: Instant, span: Nanos) {
        if let Some((epoch, _)) = &mut self.curve.epoch {
            epoch.start = (epoch.start + span).min(now);
        }
    }
}

impl<G: Growth> CongestionControl for Cubic<G> {
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
        if let Some((epoch, growth)) = &mut curve.epoch {
            let context = Context { window: *window, ..*context };
            window.cwnd = growth.grow(&context, epoch, rest, plateau);
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
        if G::PAUSES_WHILE_LIMITED && !context.is_window_limited {
            self.shift_epoch(context.now, context.now.since(self.last_seen));
        }
        self.last_seen = context.now;
    }

    fn idle_ended(&mut self, context: &Context, idle: Nanos) {
        // Time that an acknowledgement has already counted is not counted again.
        let counted = if G::PAUSES_WHILE_LIMITED { context.now.since(self.last_seen) } else { Nanos::MAX };
        self.shift_epoch(context.now, idle.min(counted));
        self.last_seen = context.now;
    }
}

#[cfg(test)]
mod tests;
