//! Pacing of algorithms that only set a window.

use super::Context;

/// While the window may still double within a round trip: percent of the window per round trip (Linux's
/// `tcp_pacing_ss_ratio`).
const SLOW_START_PERCENT: u64 = 200;
/// Otherwise (Linux's `tcp_pacing_ca_ratio`).
const AVOIDANCE_PERCENT: u64 = 120;

/// The rate in bytes a second at which Linux paces a sender whose algorithm names no rate of its own, where pacing is on:
/// what the window sends in a round trip, and so much more that pacing never limits it. `None` before a round trip was
/// measured.
pub fn window_pacing_rate(context: &Context) -> Option<u64> {
    let rtt = context.smoothed_rtt?.0.max(1);
    // Half of the threshold: slow start of the next round ends in congestion avoidance, and its burst is spread already.
    let percent = if context.window.cwnd < context.window.ssthresh / 2 {
        SLOW_START_PERCENT
    } else {
        AVOIDANCE_PERCENT
    };
    let segments = context.window.cwnd.max(context.in_flight);
    let bytes = u64::from(segments) * u64::from(context.mss);
    let rate = u128::from(bytes) * u128::from(percent) * 10_000_000 / u128::from(rtt);
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}
