//! Clocks that jump, and ends that are not run.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, pair::quick_config};
use linkmend_protocol::{Config, Mode, Nanos, ReceiveState};

fn jump(pair: &mut Pair, end: usize, by_ns: i64) {
    let node = &mut pair.nodes[end];
    node.clock_offset = node.clock_offset.checked_add_signed(by_ns).expect("in range");
    pair.service(end);
}

#[test]
fn a_clock_that_jumps_forward_ends_no_session() {
    for end in [A, B] {
        let mut pair = Pair::protected(Settings::default(), 1);
        pair.offer(A, Mode::Ordered, 500, 500);
        pair.run_for(20 * MICRO);
        jump(&mut pair, end, 3_600_000_000_000);
        pair.settle(20 * MILLI);
        pair.run_for(20 * MILLI);
        pair.assert_all_delivered(A);
        assert_eq!(pair.stats(A).sessions_opened, 1);
        assert_eq!(pair.stats(A).peers_lost, 0);
    }
}

#[test]
fn a_clock_that_goes_back_an_hour_delays_nothing() {
    for end in [A, B] {
        let mut pair = Pair::protected(Settings::default(), 1);
        pair.links[A].loss = Loss::Iid(0.05);
        pair.offer(A, Mode::Ordered, 500, 500);
        pair.run_for(20 * MICRO);
        jump(&mut pair, end, -900_000_000_000);
        pair.settle(20 * MILLI);
        pair.assert_all_delivered(A);
        // The keepalives go on, too.
        pair.run_for(20 * MILLI);
        assert_eq!((pair.stats(A).sessions_opened, pair.stats(A).peers_lost), (1, 0));
    }
}

#[test]
fn small_steps_back_are_ignored() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.links[A].loss = Loss::Iid(0.05);
    pair.offer(A, Mode::Ordered, 2_000, 500);
    for step in 0..200 {
        pair.run_for(3 * MICRO);
        jump(&mut pair, step % 2, if step % 4 < 2 { -900 } else { 900 });
    }
    pair.settle(20 * MILLI);
    pair.assert_all_delivered(A);
}

#[test]
fn a_starved_end_does_not_blame_its_peer() {
    for end in [A, B] {
        let mut pair = Pair::protected(Settings::default(), 1);
        pair.links[A].loss = Loss::Iid(0.02);
        pair.offer(A, Mode::Ordered, 100, 500);
        pair.run_for(20 * MICRO);
        // Longer than the recovery timeout, shorter than the peer's patience.
        pair.starve(end, 4 * MILLI, false);
        pair.settle(50 * MILLI);
        pair.run_for(20 * MILLI);
        assert_eq!((pair.stats(A).sessions_opened, pair.stats(A).peers_lost), (1, 0), "end {end}");
    }
}

/// Any gap between two calls once counted as starvation: an end that is run only when it asks for it saw its peer's
/// silence shrink to nothing, and waited for ever.
#[test]
fn an_event_driven_end_notices_a_silent_peer() {
    let config = Config {
        // Nothing wakes the ends often.
        keepalive: Nanos::from_millis(2),
        dummy_interval_min: Nanos::from_millis(2),
        dummy_interval_max: Nanos::from_millis(2),
        hello_interval: Nanos::from_millis(15),
        ..quick_config()
    };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::Iid(1.0);
    pair.links[B].loss = Loss::Iid(1.0);
    pair.run_for(30 * MILLI);
    assert!(!pair.is_active(A));
    assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Listening);
}
