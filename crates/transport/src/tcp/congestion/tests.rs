//! What the tests of several algorithms share, and those of Reno.

use super::reno::Reno;
use super::{Congestion, CongestionControl, Context, Phase, Window, window_pacing_rate};
use crate::time::{Instant, Nanos};

/// An open connection that its window limits, 100 ms from its peer.
pub fn context(window: Window) -> Context {
    Context {
        now: Instant(1_000_000_000),
        mss: 1_000,
        window,
        phase: Phase::Open,
        in_flight: window.cwnd,
        smoothed_rtt: Some(Nanos::from_millis(100)),
        min_rtt: Some(Nanos::from_millis(100)),
        unacknowledged: 1,
        next: 1,
        is_window_limited: true,
    }
}

/// Lets a sender of ever full windows run for many round trips, with acknowledgements of `per_ack` segments and one loss
/// in `interval` segments. Returns its mean window.
fn mean_window(algorithm: &mut impl CongestionControl, interval: u64, per_ack: u32) -> f64 {
    let mut window = Window { cwnd: 2, ssthresh: 2 };
    let (mut until_loss, mut sent, mut rounds, mut losses) = (interval, 0_u64, 0_u64, 0);
    while losses < 60 {
        let size = window.cwnd;
        let mut left = size;
        while left > 0 {
            let acknowledged = per_ack.min(left);
            left -= acknowledged;
            algorithm.grow(&context(window), &mut window, acknowledged);
        }
        // The first losses belong to the way to the steady state.
        if losses >= 20 {
            sent += u64::from(size);
            rounds += 1;
        }
        match until_loss.checked_sub(u64::from(size)) {
            Some(rest) if rest > 0 => until_loss = rest,
            _ => {
                until_loss = until_loss + interval - u64::from(size);
                window.ssthresh = algorithm.ssthresh(&context(window), Congestion::Loss);
                window.cwnd = window.ssthresh;
                losses += 1;
            }
        }
    }
    sent as f64 / rounds as f64
}

/// M. Mathis et al., "The macroscopic behavior of the TCP congestion avoidance algorithm", 1997: with one loss in 1 / p
/// segments, the mean window is sqrt(3 / (2 p)). RFC 5681's growth by acknowledgements would make it sqrt(3 / (4 p)) with
/// delayed acknowledgements; that by acknowledged segments (RFC 3465) keeps it.
#[test]
fn renos_window_follows_the_square_root_law() {
    for (interval, per_ack) in [100_u64, 316, 1_000, 3_162, 10_000].into_iter().flat_map(|i| [(i, 1), (i, 2)])
    {
        let found = mean_window(&mut Reno::new(0), interval, per_ack);
        let law = libm::sqrt(1.5 * interval as f64);
        println!("p = 1/{interval}, {per_ack} per acknowledgement: {found:.2}, law {law:.2}");
        assert!((found / law - 1.0).abs() < 0.05, "p = 1/{interval}: {found} instead of {law}");
    }
}

/// RFC 5681, section 3.1.
#[test]
fn slow_start_ends_at_the_threshold_and_the_rest_counts_for_avoidance() {
    let mut reno = Reno::new(0);
    let mut window = Window { cwnd: 10, ssthresh: 12 };
    reno.grow(&context(window), &mut window, 8);
    assert_eq!(window.cwnd, 12, "two of the eight; six of a window of twelve are carried over");
    reno.grow(&context(window), &mut window, 5);
    assert_eq!(window.cwnd, 12);
    reno.grow(&context(window), &mut window, 1);
    assert_eq!(window.cwnd, 13);
    reno.grow(&context(window), &mut window, 39);
    assert_eq!(window.cwnd, 16, "three windows at once");
}

/// RFC 5681, section 3.1, equation 4.
#[test]
fn the_threshold_is_half_of_the_window_and_at_least_two() {
    for (cwnd, half) in [(1, 2), (3, 2), (5, 2), (10, 5), (u32::MAX, u32::MAX / 2)] {
        let at = context(Window { cwnd, ssthresh: u32::MAX });
        assert_eq!(Reno::new(0).ssthresh(&at, Congestion::Loss), half);
    }
}

#[test]
fn undo_returns_to_the_larger_window() {
    let before = Window { cwnd: 20, ssthresh: u32::MAX };
    for (cwnd, undone) in [(10, 20), (30, 30)] {
        assert_eq!(Reno::new(0).undo(&context(Window { cwnd, ssthresh: 10 }), before), undone);
    }
}

#[test]
fn a_window_is_paced_at_twice_its_rate_in_slow_start_and_at_six_fifths_later() {
    let rate = |cwnd, ssthresh| window_pacing_rate(&context(Window { cwnd, ssthresh }));
    assert_eq!(rate(10, u32::MAX), Some(200_000), "10 x 1,000 B in 100 ms, doubled");
    assert_eq!(rate(10, 21), Some(120_000), "the threshold is less than a doubling away");
    assert_eq!(rate(10, 10), Some(120_000));
    let unmeasured = Context { smoothed_rtt: None, ..context(Window { cwnd: 10, ssthresh: 10 }) };
    assert_eq!(window_pacing_rate(&unmeasured), None);
    let hostile = Context {
        smoothed_rtt: Some(Nanos(0)),
        mss: u32::MAX,
        ..context(Window { cwnd: u32::MAX, ssthresh: u32::MAX })
    };
    assert_eq!(window_pacing_rate(&hostile), Some(u64::MAX));
}
