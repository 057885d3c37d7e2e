//! Clocks that jump, and ends that are not run.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, pair::quick_config};
use linkmend_protocol::{Config, Mode, ReceiveState, Tick};

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
        pair.run_until_idle(20 * MILLI);
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
        pair.run_until_idle(20 * MILLI);
        pair.assert_all_delivered(A);
        // The keepalives go on, too.
        pair.run_for(20 * MILLI);
        assert_eq!((pair.stats(A).sessions_opened, pair.stats(A).peers_lost), (1, 0));
    }
}

/// The clock jumps while the end waits for its next timeout, so that the first call after the jump does not come from
/// the driver itself. A driver waits for durations, not for readings of the clock, so it still wakes when it intended
/// to.
fn jump_asleep(pair: &mut Pair, end: usize, by_ns: i64) {
    let node = &mut pair.nodes[end];
    node.asleep_until = node.wake_at(pair.now, &pair.links[end]);
    node.clock_offset = node.clock_offset.checked_add_signed(by_ns).expect("in range");
}

const HOUR: i64 = 3_600_000_000_000;

/// Whether the end waits for a keepalive, for a dummy that reveals a lost tail, or for its next feedback: it goes on as
/// if the clock had not jumped, within one keepalive.
#[test]
fn a_clock_that_jumps_while_the_end_sleeps_costs_no_session_and_no_frame() {
    for end in [A, B] {
        for by in [HOUR, -HOUR / 4, 5 * MILLI as i64, -5 * MILLI as i64] {
            for awake_ns in [0, 300, MICRO, 5 * MICRO, 30 * MICRO, 2 * MILLI] {
                // No jump reaches the recovery timeout; only the session's timeout is affected.
                let config = Config { recovery_timeout: Tick::Nanosecond.secs(7_200), ..quick_config() };
                let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
                pair.links[A].loss = Loss::originals(|position| (95..100).contains(&position));
                pair.offer(A, Mode::Ordered, 100, 500);
                pair.run_for(40 * MICRO + awake_ns);
                let from = pair.now;
                jump_asleep(&mut pair, end, by);
                pair.run_until_idle(5 * MILLI);
                pair.offer(A, Mode::Ordered, 20, 500);
                pair.run_until_idle(5 * MILLI);
                pair.assert_all_delivered(A);
                assert!(pair.now - from < 4 * MILLI, "{} ns after a jump of {by}", pair.now - from);
                // Both ends still keep the session alive, and would still notice if the other did not.
                pair.run_for(30 * MILLI);
                let stats = pair.stats(A);
                assert_eq!((stats.sessions_opened, stats.peers_lost), (1, 0), "end {end}, jump of {by}");
                assert_eq!(pair.stats(B).sessions_accepted, 1);
                assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Active);
            }
        }
    }
}

#[test]
fn a_clock_that_is_set_back_again_and_again_delays_nothing() {
    for end in [A, B] {
        let mut pair = Pair::protected(Settings::default(), 1);
        pair.links[A].loss = Loss::Iid(0.05);
        for minutes in [10, 3, 1, 2] {
            pair.offer(A, Mode::Ordered, 200, 500);
            pair.run_for(20 * MICRO);
            jump_asleep(&mut pair, end, -HOUR / 60 * minutes);
            let from = pair.now;
            pair.run_until_idle(5 * MILLI);
            // The keepalives go on, too.
            pair.run_for(10 * MILLI);
            assert!(pair.stats(A).dummies_sent > 5 && pair.now - from < 15 * MILLI);
        }
        pair.assert_all_delivered(A);
        assert_eq!((pair.stats(A).sessions_opened, pair.stats(A).peers_lost), (1, 0), "end {end}");
    }
}

/// A jump excuses the silence that it caused, and none after it.
#[test]
fn a_peer_that_falls_silent_after_a_jump_is_still_noticed_in_time() {
    for end in [A, B] {
        for by in [HOUR, -HOUR / 4] {
            let mut pair = Pair::protected(Settings::default(), 1);
            pair.run_for(3 * MILLI);
            jump_asleep(&mut pair, end, by);
            for link in &mut pair.links {
                link.loss = Loss::Iid(1.0);
            }
            // A receiver forgets a session after 20 ms, a sender gives its peer up after 6.
            pair.run_for(23 * MILLI);
            assert_eq!(
                pair.nodes[B].end.status().receive,
                ReceiveState::Listening,
                "end {end}, jump of {by}"
            );
            assert_eq!(pair.stats(A).peers_lost, 1, "end {end}, jump of {by}");
        }
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
    pair.run_until_idle(20 * MILLI);
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
        pair.run_until_idle(50 * MILLI);
        pair.run_for(20 * MILLI);
        assert_eq!((pair.stats(A).sessions_opened, pair.stats(A).peers_lost), (1, 0), "end {end}");
    }
}

/// A gap between two calls is not always starvation. For an end that runs only when it asks to, the peer's silence must
/// still count, or the end waits forever.
#[test]
fn an_event_driven_end_notices_a_silent_peer() {
    let config = Config {
        // Nothing wakes the ends often.
        keepalive: Tick::Nanosecond.millis(2),
        dummy_interval_min: Tick::Nanosecond.millis(2),
        dummy_interval_max: Tick::Nanosecond.millis(2),
        hello_interval: Tick::Nanosecond.millis(15),
        ..quick_config()
    };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::Iid(1.0);
    pair.links[B].loss = Loss::Iid(1.0);
    pair.run_for(30 * MILLI);
    assert!(!pair.is_active(A));
    assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Listening);
}
