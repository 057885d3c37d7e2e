//! How the window follows the curve: with fractions as in RFC 9438, or in whole segments as in Linux.

use super::super::Context;
use super::super::reno::Reno;
use super::{Epoch, WINDOW_BITS, units};
use crate::time::{Instant, Nanos};

/// alpha_cubic = 3 (1 - beta) / (1 + beta) (section 4.3).
const ALPHA: (u64, u64) = (9, 17);

/// The windows that were reached before the latest reduction.
#[derive(Debug, Clone, Copy)]
pub struct Plateau {
    /// Whether there is a plateau: not before the first reduction, nor after a timeout.
    pub is_known: bool,
    /// The window before the reduction, with fractions.
    pub cwnd_prior: u64,
}

/// Growth within one epoch of congestion avoidance.
pub trait Growth: Clone {
    /// Whether time in which the application limits the sender does not count for the curve (section 5.8).
    const PAUSES_WHILE_LIMITED: bool;

    /// The state at the beginning of an epoch, with a window of `cwnd` segments.
    fn begin(cwnd: u32) -> Self;

    /// The window in segments after an acknowledgement of `acknowledged`.
    fn grow(&mut self, context: &Context, epoch: &Epoch, acknowledged: u32, plateau: Plateau) -> u32;
}

/// Exactly as in RFC 9438; windows have fractions.
#[derive(Debug, Clone)]
pub struct Rfc9438 {
    /// The window that Reno would have.
    w_est: u64,
    /// The fractional part of the window.
    pub(super) fraction: u64,
}

impl Growth for Rfc9438 {
    const PAUSES_WHILE_LIMITED: bool = true;

    fn begin(cwnd: u32) -> Rfc9438 {
        Rfc9438 { w_est: u64::from(cwnd) << WINDOW_BITS, fraction: 0 }
    }

    /// Sections 4.2 to 4.5.
    fn grow(&mut self, context: &Context, epoch: &Epoch, acknowledged: u32, plateau: Plateau) -> u32 {
        let size = u64::from(context.window.cwnd.max(1));
        let exact = (size << WINDOW_BITS) + self.fraction;
        // Section 4.3: Reno's estimate grows as fast as Reno once it has reached what was lost.
        let (numerator, denominator) = if self.w_est >= plateau.cwnd_prior { (1, 1) } else { ALPHA };
        let segments = u64::from(acknowledged) << WINDOW_BITS;
        self.w_est = self.w_est.saturating_add(segments / size * numerator / denominator);
        let elapsed = epoch.elapsed(context.now);
        let grown = if epoch.w_cubic(elapsed) < self.w_est {
            exact.max(self.w_est)
        } else {
            // Section 4.2: the target is the curve in a round-trip time, limited to half a window of growth in it.
            let rtt = units(context.smoothed_rtt.unwrap_or_default());
            let target = epoch.w_cubic(elapsed.saturating_add(rtt)).clamp(exact, exact / 2 * 3);
            exact + (target - exact) / size * u64::from(acknowledged)
        };
        self.fraction = grown & ((1 << WINDOW_BITS) - 1);
        u32::try_from(grown >> WINDOW_BITS).unwrap_or(u32::MAX)
    }
}

/// As long as the window stays the same, Linux evaluates the curve no more often than this (`HZ / 32`).
const LOOK_INTERVAL: Nanos = Nanos::from_millis(31);
/// It does not evaluate the curve again within a tick of its clock, even if the window has grown.
const TICK: Nanos = Nanos::from_millis(1);
/// Acknowledged segments for which the window grows by one: at least, at most while there is no plateau, and in windows
/// where the curve asks for no growth.
const PER_SEGMENT_MIN: u64 = 2;
const PER_SEGMENT_WITHOUT_PLATEAU: u64 = 20;
const WINDOWS_PER_SEGMENT_MAX: u64 = 100;
/// Windows acknowledged for which Reno's estimate grows by a segment: 1 / alpha_cubic, in whole eighths.
const RENO_WINDOWS: (u64, u64) = (15, 8);

/// Linux, to version 6.18 (net/ipv4/tcp_cubic.c): in whole segments.
#[derive(Debug, Clone)]
pub struct Linux {
    /// Acknowledged segments for which the window grows by one, and those counted towards it.
    per_segment: u32,
    steps: Reno,
    /// The window and the time when that number was last computed.
    pub(super) looked: Option<(u32, Instant)>,
    /// The window that Reno would have, and the acknowledged segments that it has not counted.
    w_est: u64,
    acknowledged: u64,
}

impl Growth for Linux {
    const PAUSES_WHILE_LIMITED: bool = false;

    fn begin(cwnd: u32) -> Linux {
        Linux {
            per_segment: u32::MAX,
            steps: Reno::new(0),
            looked: None,
            w_est: u64::from(cwnd),
            acknowledged: 0,
        }
    }

    fn grow(&mut self, context: &Context, epoch: &Epoch, acknowledged: u32, plateau: Plateau) -> u32 {
        self.acknowledged += u64::from(acknowledged);
        let is_recent = self
            .looked
            .is_some_and(|(cwnd, at)| cwnd == context.window.cwnd && context.now.since(at) <= LOOK_INTERVAL);
        if !is_recent {
            self.look(context, epoch, plateau);
        }
        let mut window = context.window;
        self.steps.avoid(&mut window, self.per_segment, acknowledged);
        window.cwnd
    }
}

impl Linux {
    /// Computes how fast the window grows.
    fn look(&mut self, context: &Context, epoch: &Epoch, plateau: Plateau) {
        let size = u64::from(context.window.cwnd.max(1));
        let tick = |at: Instant| at.0 / TICK.0;
        let is_same_tick = self.looked.is_some_and(|(_, at)| tick(at) == tick(context.now));
        self.looked = Some((context.window.cwnd, context.now));
        let mut per_segment = u64::from(self.per_segment);
        if !is_same_tick {
            // The target is the curve one minimum round trip ahead, regardless of queueing delay.
            let ahead = units(context.min_rtt.unwrap_or_default());
            let target = epoch.w_cubic(epoch.elapsed(context.now).saturating_add(ahead));
            // Whole segments from the inflection, so below it the next higher one.
            let target =
                if target < epoch.origin { target.div_ceil(1 << WINDOW_BITS) } else { target >> WINDOW_BITS };
            per_segment = match target.saturating_sub(size) {
                0 => size * WINDOWS_PER_SEGMENT_MAX,
                growth => size / growth,
            };
            if !plateau.is_known {
                per_segment = per_segment.min(PER_SEGMENT_WITHOUT_PLATEAU);
            }
        }
        // Section 4.3, but without growing faster beyond the window of the latest loss.
        let per_reno_segment = (size * RENO_WINDOWS.0 / RENO_WINDOWS.1).max(1);
        let steps = self.acknowledged.saturating_sub(1) / per_reno_segment;
        self.acknowledged -= steps * per_reno_segment;
        self.w_est = self.w_est.saturating_add(steps);
        if let Some(growth) = self.w_est.checked_sub(size).filter(|&growth| growth > 0) {
            per_segment = per_segment.min(size / growth);
        }
        self.per_segment = u32::try_from(per_segment.max(PER_SEGMENT_MIN)).unwrap_or(u32::MAX);
    }
}
