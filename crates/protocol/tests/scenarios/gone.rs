//! Senders that are gone, and frames that never come: how long the frames that have arrived wait for them.

use crate::common::{A, B, FrameId, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{
    CloseReason, Config, Control, Event, Format, Mode, ReceiveState, SessionNumber, Tick, effective_loss,
};

/// The second of a few ordered frames is missing, and all its copies.
fn held_up(config: Config) -> (Pair, Vec<FrameId>) {
    let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
    pair.links[A].loss = Loss::script(|wire| matches!(wire, Wire::Data { frame: FrameId(1), .. }));
    let frames = pair.offer(A, Mode::Ordered, 20, 500);
    pair.run_for(20 * MICRO);
    assert_eq!(pair.ledger.deliveries[A], frames[..1]);
    assert_eq!(pair.stats(B).rx_buffer.frames, 18);
    (pair, frames)
}

/// The frames that wait for the missing one must not wait until the session expires, twice the peer timeout by default.
#[test]
fn frames_held_back_for_a_silent_sender_wait_for_the_peer_timeout() {
    let config = Config { session_expiry: Tick::Nanosecond.secs(1), max_rounds: 255, ..quick_config() };
    let (mut pair, frames) = held_up(config);
    let begun = pair.now;
    pair.links[A].loss = Loss::Iid(1.0);
    pair.run_until(50 * MILLI, |pair| pair.ledger.deliveries[A].len() == 19);
    let waited = pair.now - begun;
    assert!(waited <= config.peer_timeout.0, "{waited} ns");
    assert!(waited > config.peer_timeout.0 / 2, "a shorter silence changes nothing: {waited} ns");
    assert_eq!(pair.ledger.deliveries[A][1..], frames[2..]);
    assert_eq!((pair.stats(B).recovery_timeouts, pair.stats(B).unrecovered_frames), (1, 0));
    assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Active, "the session lives on");
}

/// A sender that hears nothing may still be heard: it announces that it has given the session up.
#[test]
fn a_sender_that_gives_up_its_session_sends_a_farewell() {
    for lost in [0, 1, 2] {
        let config = Config { session_expiry: Tick::Nanosecond.secs(1), max_rounds: 255, ..quick_config() };
        let (mut pair, _) = held_up(config);
        pair.links[B].loss = Loss::Iid(1.0);
        pair.run_until(50 * MILLI, |pair| pair.stats(A).peers_lost == 1);
        assert_eq!(pair.stats(B).rx_buffer.frames, 18, "dummies keep it waiting until then");
        let begun = pair.now;
        let mut fins = lost;
        pair.links[A].loss = Loss::script(move |wire| {
            let fin = matches!(wire, Wire::Control(control) if matches!(**control, Control::Fin { .. }));
            let hit = fin && fins > 0;
            fins -= u32::from(hit);
            hit
        });
        pair.run_until(50 * MILLI, |pair| pair.ledger.deliveries[A].len() == 19);
        let waited = pair.now - begun;
        // The announcement is repeated with each Init: at once, and then after growing waits.
        let bound = 5 * MICRO + (u64::from(lost) * 2) * config.handshake_min.0;
        assert!(waited < bound, "{lost} lost: waited {waited} ns, bound {bound} ns");
        assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Listening);
        // When they hear each other again, both agree, and the announcement ends.
        pair.links[B].loss = Loss::None;
        pair.run_until(50 * MILLI, |pair| pair.is_active(A));
        pair.run_for(20 * MILLI);
        assert_eq!(pair.stats(A).control_rejected, 0, "its confirmation is no fault");
        assert_eq!(pair.stats(A).sessions_opened, 2);
        let ended =
            |event: &Event| matches!(event, Event::SessionEnded { reason: CloseReason::Requested, .. });
        assert!(pair.nodes[B].events.iter().any(ended));
    }
}

/// The peer has begun another session, or ended this one itself, so there is nothing to announce.
#[test]
fn a_farewell_is_repeated_until_the_next_session_is_open() {
    let (mut pair, _) = held_up(quick_config());
    pair.links[A].loss = Loss::None;
    pair.crash(B);
    let fins = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = std::rc::Rc::clone(&fins);
    pair.links[A].loss = Loss::script(move |wire| {
        let fin = matches!(wire, Wire::Control(control) if matches!(**control, Control::Fin { .. }));
        count.set(count.get() + u32::from(fin));
        false
    });
    pair.run_until(50 * MILLI, |pair| pair.is_active(A) && pair.stats(A).sessions_opened == 2);
    pair.run_for(20 * MILLI);
    assert_eq!(fins.get(), 0, "a peer that has lost the session knows");
}

/// A device between the ends does not take a frame of this length with its header.
#[test]
fn a_frame_that_can_never_pass_holds_the_lane_for_32_rounds() {
    for copies in [1, 3] {
        let mut config = Config::new(Tick::Nanosecond);
        config.fallback.enabled = false;
        let settings = Settings { config, delay_ns: 20 * MICRO, ..Settings::default() };
        let mut pair = Pair::protected(settings, copies);
        pair.links[A].loss = Loss::script(|wire| matches!(wire, Wire::Data { frame: FrameId(3), .. }));
        let begun = pair.now;
        pair.offer(A, Mode::Ordered, 10, 1_500);
        pair.run_until(400 * MILLI, |pair| pair.ledger.deliveries[A].len() == 9);
        let took = pair.now - begun;
        let stats = pair.stats(A);
        assert_eq!((stats.exhausted_frames, pair.stats(B).withdrawn_frames), (1, 1), "counted apart");
        assert_eq!(stats.retransmitted_copies, 32 * u64::from(copies));
        // A round: there and back, a dummy, and the report that echoes it.
        let round = 40 * MICRO + config.dummy_delay.0 + config.dummy_interval_min.0 + config.ack_interval.0;
        assert!(took < 33 * round, "{copies} copies: {took} ns");
    }
    // Where protection is not given up, with a single copy: none in a year of 100G in minimum frames.
    let worst = linkmend_protocol::FallbackConfig::new(Tick::Nanosecond).non_blocking_loss_max;
    assert!(effective_loss(worst, 32) < 1e-16, "{}", effective_loss(worst, 32));
    assert_eq!(Config::new(Tick::Nanosecond).max_rounds, 32);
}

/// A Fin of a session that is not in use ends nothing and gives nothing up.
#[test]
fn a_stale_fin_gives_up_nothing() {
    let (mut pair, _) = held_up(Config { max_rounds: 255, ..quick_config() });
    let now = pair.nodes[B].local(pair.now);
    pair.nodes[B].end.handle_control(now, &Control::Fin { session: SessionNumber(77) });
    pair.service(B);
    assert_eq!((pair.stats(B).missing_frames, pair.stats(B).rx_buffer.frames), (1, 18));
}

/// The sender's port is never idle, but the frames that fill it cannot be protected (in the compact format, all but
/// IPv4). Dummies must not wait for an idle port, or the session ends every peer timeout.
#[test]
fn a_port_full_of_frames_that_cannot_be_protected_costs_no_session() {
    for format in [Format::Compact, Format::Transparent] {
        let config = Config { format, ..quick_config() };
        let mut pair = Pair::protected(Settings { config, ..Settings::default() }, 1);
        pair.links[A].loss = Loss::originals(|position| position == 0);
        pair.nodes[A].filler_bytes = Some(1_500);
        let begun = pair.now;
        let frame = pair.offer(A, Mode::Ordered, 1, 500)[0];
        pair.run_for(20 * config.peer_timeout.0);
        let (sender, receiver) = (pair.stats(A), pair.stats(B));
        assert_eq!((sender.sessions_opened, sender.peers_lost, sender.abandoned_frames), (1, 0, 0));
        assert_eq!(receiver.unrecovered_frames, 0);
        // The lost tail takes a dummy that was due and went ahead of the filler, and the copy.
        let took = pair.ledger.record(frame).delivered_at.expect("recovered") - begun;
        let bound = config.dummy_delay.0 + config.dummy_interval_min.0 + 6 * MICRO + 6 * MICRO;
        assert!(took < bound, "{format}: {took} ns, bound {bound} ns");
    }
}
