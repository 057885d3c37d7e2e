//! How protection begins, ends, and survives the restart of either end.

use crate::common::{A, B, Loss, LossCause, MICRO, MILLI, Pair, Settings, Source, Wire, pair::quick_config};
use linkmend_protocol::{CloseReason, Config, Control, Copies, Event, Mode, ReceiveState, Tick};

fn traffic(pair: &mut Pair, frames: u64) {
    for end in [A, B] {
        pair.nodes[end].source = Some(Source {
            next_at: pair.now,
            gap_max_ns: 2 * MICRO,
            burst_max: 4,
            bytes_max: 1_500,
            ordered: 1.0,
            remaining: frames,
        });
    }
}

/// Protection goes on and off under traffic in both directions.
fn on_and_off(loss: f64) -> Pair {
    let mut pair = Pair::default();
    pair.ledger.strict_order = true;
    traffic(&mut pair, 4_000);
    for round in 0..12 {
        // Loss occurs only while everything is protected, because unprotected frames cannot be recovered.
        pair.run_for(100 * MICRO);
        pair.protect(round % 2, Copies::Fixed(3));
        pair.run_until(10 * MILLI, |pair| pair.is_active(round % 2));
        pair.links[round % 2].loss = Loss::script({
            let mut random = crate::common::Random::new(round as u64);
            move |wire| !matches!(wire, Wire::Plain { .. }) && random.chance(loss)
        });
        pair.run_for(200 * MICRO);
        pair.unprotect(round % 2);
        pair.run_until(20 * MILLI, |pair| pair.is_dormant(round % 2));
    }
    pair.run_until_idle(100 * MILLI);
    pair
}

#[test]
fn switching_on_and_off_under_traffic_loses_duplicates_and_reorders_nothing() {
    let pair = on_and_off(0.0);
    for end in [A, B] {
        pair.assert_all_delivered(end);
        assert_eq!(pair.stats(end).sessions_opened, 6);
        assert_eq!(pair.stats(end).out_of_window_frames + pair.stats(end).duplicates_dropped, 0);
    }
}

#[test]
fn switching_on_and_off_on_a_lossy_link_loses_duplicates_and_reorders_nothing() {
    let pair = on_and_off(0.05);
    for end in [A, B] {
        pair.assert_all_delivered(end);
        assert!(pair.stats(1 - end).recovered_frames > 10);
    }
}

#[test]
fn the_handshake_survives_the_loss_of_each_of_its_frames() {
    type Kind = fn(&Control) -> bool;
    let kinds: [(usize, Kind); 6] = [
        (A, |control| matches!(control, Control::Init { .. })),
        (B, |control| matches!(control, Control::InitEcho { .. })),
        (A, |control| matches!(control, Control::Start { .. })),
        (B, |control| matches!(control, Control::Feedback(_))),
        (A, |control| matches!(control, Control::Fin { .. })),
        (B, |control| matches!(control, Control::FinEcho { .. })),
    ];
    for (end, kind) in kinds {
        let mut pair = Pair::default();
        let mut left = 2;
        pair.links[end].loss = Loss::script(move |wire| {
            let hit = left > 0 && matches!(wire, Wire::Control(control) if kind(control));
            left -= u32::from(hit);
            hit
        });
        pair.protect(A, Copies::Fixed(1));
        pair.run_until(20 * MILLI, |pair| pair.is_active(A));
        pair.offer(A, Mode::Ordered, 10, 100);
        pair.run_until_idle(10 * MILLI);
        pair.unprotect(A);
        pair.run_until(20 * MILLI, |pair| pair.is_dormant(A));
        pair.assert_all_delivered(A);
        assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Listening);
    }
}

#[test]
fn the_receiver_may_restart() {
    let mut pair = Pair::protected(Settings::default(), 2);
    pair.links[A].loss = Loss::Iid(0.02);
    pair.offer(A, Mode::Ordered, 500, 500);
    pair.run_for(50 * MICRO);
    pair.crash(B);
    pair.run_until(50 * MILLI, |pair| !pair.is_active(A));
    pair.run_until(50 * MILLI, |pair| pair.is_active(A));
    pair.run_until_idle(50 * MILLI);
    let frames = pair.offer(A, Mode::Ordered, 500, 500);
    pair.run_until_idle(50 * MILLI);
    assert!(frames.iter().all(|frame| pair.ledger.record(*frame).delivered_at.is_some()));
    assert!(pair.stats(B).orphan_frames > 0, "originals pass meanwhile");
    assert_eq!(pair.stats(A).peers_lost, 1);
    let lost = pair.nodes[A].events.iter().any(|event| {
        matches!(event, Event::SessionClosed { reason: CloseReason::PeerLost, abandoned, .. } if *abandoned > 0)
    });
    assert!(lost, "{:?}", pair.nodes[A].events);
}

#[test]
fn the_sender_may_restart() {
    let mut pair = Pair::protected(Settings::default(), 2);
    pair.links[A].loss = Loss::originals(|position| position == 2);
    pair.offer(A, Mode::Ordered, 40, 500);
    pair.run_for(3 * MICRO);
    pair.crash(A);
    pair.run_until(50 * MILLI, |pair| pair.is_active(A));
    pair.run_until_idle(50 * MILLI);
    assert_eq!(pair.stats(B).sessions_accepted, 2);
    // Only what was corrupted, or had no protection, is missing; what the receiver held back was delivered.
    for record in &pair.ledger.frames {
        assert!(record.delivered_at.is_some() || record.corrupted > 0, "{record:?}");
    }
    let replaced = |event: &Event| matches!(event, Event::SessionEnded { reason: CloseReason::Replaced, .. });
    assert!(pair.nodes[B].events.iter().any(replaced));
}

#[test]
fn a_peer_that_never_answers_leaves_the_end_dormant_and_frames_pass() {
    let mut pair = Pair::default();
    pair.links[B].loss = Loss::Iid(1.0);
    pair.protect(A, Copies::Fixed(1));
    pair.offer(A, Mode::Ordered, 100, 500);
    pair.run_for(100 * MILLI);
    pair.assert_all_delivered(A);
    assert_eq!((pair.stats(A).protected_frames, pair.stats(A).unprotected_frames), (0, 100));
    assert!(!pair.nodes[A].end.peer_known());
}

#[test]
fn a_receiver_forgets_a_silent_peer() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.links[A].loss = Loss::Iid(1.0);
    pair.links[B].loss = Loss::Iid(1.0);
    pair.run_for(30 * MILLI);
    assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Listening);
    assert!(!pair.is_active(A));
    assert_eq!(pair.stats(A).peers_lost, 1);
}

#[test]
fn frames_held_back_are_delivered_when_the_sender_falls_silent() {
    // The recovery timeout is beyond the expiry, so that the silence decides.
    let config = Config { recovery_timeout: Tick::Nanosecond.secs(1), ..quick_config() };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    let mut originals = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        originals += u32::from(wire.is_original());
        originals == 1 || wire.is_copy() || originals >= 5
    });
    let frames = pair.offer(A, Mode::Ordered, 5, 200);
    pair.run_for(10 * MICRO);
    pair.links[B].loss = Loss::Iid(1.0);
    pair.run_for(60 * MILLI);
    assert_eq!(pair.ledger.deliveries[A], frames[1..4]);
    assert_eq!((pair.stats(B).unrecovered_frames, pair.stats(B).recovery_timeouts), (0, 1));
    assert_eq!(pair.ledger.count(A, LossCause::Abandoned), 2);
}

#[test]
fn a_stall_ends_the_receiving_session_and_nothing_is_delivered_twice() {
    let mut pair = Pair::protected(Settings::default(), 2);
    pair.links[A].loss = Loss::Iid(0.05);
    pair.offer(A, Mode::Ordered, 2_000, 700);
    pair.run_for(50 * MICRO);
    pair.starve(B, 3 * MILLI, true);
    pair.run_until_idle(100 * MILLI);
    pair.run_until(50 * MILLI, |pair| pair.is_active(A));
    let stalled = |event: &Event| matches!(event, Event::SessionEnded { reason: CloseReason::Stalled, .. });
    assert!(pair.nodes[B].events.iter().any(stalled));
    for record in &pair.ledger.frames {
        assert!(record.delivered_at.is_some() || record.corrupted > 0, "{record:?}");
    }
}

#[test]
fn an_end_that_stops_says_so_and_not_that_it_was_stalled() {
    let mut pair = Pair::protected(Settings::default(), 2);
    pair.run_until(10 * MILLI, |pair| pair.is_active(A));
    let now = pair.nodes[B].local(pair.now);
    pair.nodes[B].end.handle_stop(now);
    pair.run_for(5 * MILLI);
    let reasons: Vec<_> = pair.nodes[B]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::SessionEnded { reason, .. } => Some(*reason),
            _ => None,
        })
        .collect();
    assert_eq!(reasons, [CloseReason::Stopped]);
}

/// It asks its peer to end the session in which it receives, and takes part in no other.
#[test]
fn an_end_that_leaves_a_busy_link_loses_nothing_in_either_direction() {
    for loss in [0.0, 0.05] {
        let mut pair = Pair::protected(Settings::default(), 2);
        pair.protect(B, Copies::Fixed(2));
        pair.run_until(10 * MILLI, |pair| pair.is_active(B));
        for end in [A, B] {
            pair.links[end].loss = Loss::Iid(loss);
            pair.offer(end, Mode::Ordered, 2_000, 700);
        }
        pair.run_for(50 * MICRO);
        let now = pair.nodes[A].local(pair.now);
        pair.nodes[A].protection = None;
        pair.nodes[A].end.leave(now);
        pair.run_until(100 * MILLI, |pair| pair.nodes[A].end.has_left(pair.nodes[A].local(pair.now)));
        pair.run_until_idle(100 * MILLI);
        pair.run_for(100 * MILLI);
        // What follows the end of the sessions travels unprotected.
        let mut missing = pair.ledger.frames.iter().filter(|record| record.delivered_at.is_none());
        assert!(
            missing.all(|record| record.loss_cause == Some(LossCause::Unprotected)),
            "at a loss of {loss}"
        );
        let ended = |end: usize, because: CloseReason| {
            pair.nodes[end].events.iter().any(|event| match event {
                Event::SessionClosed { reason, abandoned: 0, .. } | Event::SessionEnded { reason, .. } => {
                    *reason == because
                }
                _ => false,
            })
        };
        assert!(ended(A, CloseReason::Stopped) && ended(B, CloseReason::PeerStopped), "at a loss of {loss}");
        assert!(pair.is_dormant(A) && !pair.is_active(B), "none has begun again");
        assert_eq!((pair.stats(A).sessions_accepted, pair.stats(B).sessions_opened), (1, 1));
    }
}

#[test]
fn protect_during_the_end_of_a_session_begins_another() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.offer(A, Mode::Ordered, 50, 500);
    pair.unprotect(A);
    pair.protect(A, Copies::Fixed(2));
    pair.run_until(10 * MILLI, |pair| pair.stats(A).sessions_opened == 2);
    pair.run_until_idle(10 * MILLI);
    pair.assert_all_delivered(A);
}

/// Dummy stamps must begin anew with a session, as the receiver does. Otherwise, above 32,767, every report looks as if
/// it had been written after the copies.
#[test]
fn a_second_session_after_many_dummies_sends_no_needless_copy() {
    let config = Config {
        keepalive: Tick::Nanosecond.micros(20),
        ack_interval: Tick::Nanosecond.micros(2),
        ..quick_config()
    };
    let settings = Settings { config, delay_ns: 50 * MICRO, ..Settings::default() };
    let mut pair = Pair::protected(settings, 1);
    pair.run_until(2_000 * MILLI, |pair| pair.stats(A).dummies_sent > 33_000);
    pair.unprotect(A);
    pair.run_until(20 * MILLI, |pair| pair.is_dormant(A));
    pair.protect(A, Copies::Fixed(1));
    pair.run_until(20 * MILLI, |pair| pair.is_active(A));
    pair.links[A].loss = Loss::originals(|position| position == 0);
    pair.offer(A, Mode::Ordered, 3, 100);
    pair.run_until_idle(10 * MILLI);
    assert_eq!(pair.stats(A).retransmitted_copies, 1);
}

/// An ACK that is owed when the session ends must not travel on the next frame, where it would acknowledge missing
/// frames.
#[test]
fn an_ended_session_acknowledges_nothing() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.protect(B, Copies::Fixed(1));
    pair.run_until(10 * MILLI, |pair| pair.is_active(B));
    pair.links[B].loss = Loss::script(|wire| wire.is_feedback());
    pair.links[A].loss = Loss::script(|wire| matches!(wire, Wire::Data { frame, .. } if frame.0 == 1));
    pair.offer(A, Mode::Ordered, 3, 100);
    pair.run_for(10 * MICRO);
    let now = pair.nodes[B].local(pair.now);
    pair.nodes[B].end.handle_stall(now);
    pair.offer(B, Mode::Ordered, 5, 100);
    pair.run_for(MILLI);
    assert_eq!(pair.stats(B).piggybacked_acks_sent, 0);
    assert_eq!(pair.ledger.frames[1].loss_cause, Some(LossCause::Abandoned), "not acknowledged");
}

/// A sender whose peer has restarted must not fill its window and then hold every frame until the peer timeout.
#[test]
fn a_restart_of_the_receiver_is_noticed_long_before_the_peer_timeout() {
    let config = Config {
        peer_timeout: Tick::Nanosecond.secs(1),
        session_expiry: Tick::Nanosecond.secs(2),
        ..quick_config()
    };
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.crash(B);
    pair.offer(A, Mode::Ordered, 5_000, 500);
    pair.run_until_idle(10 * MILLI);
    pair.run_until(MILLI, |pair| pair.is_active(A) && pair.stats(A).sessions_opened == 2);
    pair.assert_all_delivered(A);
}
