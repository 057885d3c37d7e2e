//! Inner ports that take one buffered frame at a time: what the receiver holds back must stay in order, and leave
//! before anything may pass it.

use crate::common::{A, B, Loss, MICRO, MILLI, Pair, Settings, Wire, pair::quick_config};
use linkmend_protocol::{CloseReason, Config, Control, Event, Mode, ReceiveState, Tick};

/// How long the inner port takes for a frame: much longer than the link, which delivers one in about a microsecond.
const GAP: u64 = 20 * MICRO;

/// Protected frames of which the first is lost, so that those behind it wait in the Rx buffer of a slow driver.
fn held_back(settings: Settings, frames: u64) -> Pair {
    let mut pair = Pair::protected(settings, 1);
    pair.ledger.strict_order = true;
    pair.nodes[B].delivery_gap_ns = GAP;
    pair.links[A].loss = Loss::originals(|position| position == 0);
    pair.offer(A, Mode::Ordered, frames, 1_000);
    pair
}

fn buffered(pair: &Pair) -> u64 {
    pair.stats(B).rx_buffer.frames
}

#[test]
fn a_slow_inner_port_gets_every_frame_in_order() {
    let mut pair = held_back(Settings::default(), 60);
    pair.run_until_idle(10 * MILLI);
    pair.assert_all_delivered(A);
    assert!(pair.stats(B).rx_buffer.max > 20_000, "nothing was held back: {:?}", pair.stats(B).rx_buffer);
    assert!(pair.ledger.deliveries[A].is_sorted());
    pair.assert_accounts();
}

/// When the sender is done and nothing is missing, only the buffer's level can request the pause and end it.
#[test]
fn a_slow_inner_port_pauses_the_sender_and_lets_it_go_on() {
    let config = Config { pause_bytes: 10_000, resume_bytes: 0, ..quick_config() };
    let mut pair = held_back(Settings { config, ..Settings::default() }, 200);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.status().paused);
    pair.run_until_idle(20 * MILLI);
    pair.assert_all_delivered(A);
    assert_eq!(pair.stats(B).rx_buffer_overflows, 0);
    pair.run_for(MILLI);
    assert!(!pair.nodes[A].end.status().paused);
}

/// The window counts from the next delivery: what was received and not delivered still takes its places.
#[test]
fn frames_not_yet_delivered_count_in_the_window() {
    let config = Config { window_frames: 16, ..quick_config() };
    let mut pair = held_back(Settings { config, ..Settings::default() }, 100);
    pair.run_until_idle(20 * MILLI);
    pair.assert_all_delivered(A);
    pair.assert_accounts();
}

#[test]
fn a_session_ends_only_when_its_last_frame_is_delivered() {
    let mut pair = held_back(Settings::default(), 30);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.status().outstanding_frames == 0);
    pair.unprotect(A);
    // These pass without protection, and could overtake what is held back.
    pair.offer(A, Mode::Ordered, 10, 500);
    let held = buffered(&pair);
    assert!(held > 10, "{held} frames held back when the end of the session was asked for");
    pair.run_for((held - 2) * GAP);
    assert!(buffered(&pair) > 0 && pair.nodes[B].end.status().receive == ReceiveState::Active);
    pair.run_until_idle(10 * MILLI);
    pair.assert_all_delivered(A);
    assert!(pair.is_dormant(A));
    let requested =
        |event: &Event| matches!(event, Event::SessionEnded { reason: CloseReason::Requested, .. });
    assert!(pair.nodes[B].events.iter().any(requested));
}

/// Frames held back by a session that ended with a stall, and the next session in progress.
fn stalled() -> Pair {
    // The sender asks soon, so that the next session begins while much is still held back.
    let config = Config { keepalive: Tick::Nanosecond.micros(50), ..quick_config() };
    let mut pair = held_back(Settings { config, ..Settings::default() }, 40);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.status().outstanding_frames == 0);
    let now = pair.nodes[B].local(pair.now);
    pair.nodes[B].end.handle_stall(now);
    pair.service(B);
    pair.run_until(MILLI, |pair| pair.stats(A).sessions_opened == 2);
    assert!(buffered(&pair) > 20, "the first session's frames wait");
    pair
}

#[test]
fn frames_held_back_by_an_ended_session_go_out_before_the_next_session() {
    let mut pair = stalled();
    let frames = pair.offer(A, Mode::Ordered, 20, 500);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.status().outstanding_frames == 0);
    assert!(buffered(&pair) > 30, "both sessions' frames wait");
    pair.run_until_idle(10 * MILLI);
    pair.assert_all_delivered(A);
    assert_eq!(pair.ledger.deliveries[A][40..], frames);
    assert_eq!(pair.stats(B).rx_buffer.now, 0);
}

#[test]
fn the_next_session_ends_only_when_the_last_ones_frames_are_delivered() {
    let mut pair = stalled();
    pair.unprotect(A);
    let frames = pair.offer(A, Mode::Ordered, 20, 500);
    pair.run_until_idle(10 * MILLI);
    assert!(pair.is_dormant(A));
    assert_eq!(pair.ledger.deliveries[A][40..], frames, "sent without protection");
}

/// The sender restarts after its Fin, while the receiver still delivers: the new session is not the one that was to end.
#[test]
fn a_session_begun_over_an_ending_one_does_not_end_with_it() {
    let mut pair = held_back(Settings::default(), 30);
    pair.run_until(MILLI, |pair| pair.nodes[A].end.status().outstanding_frames == 0);
    let protection = pair.nodes[A].protection;
    pair.unprotect(A);
    let mut fins = 0;
    pair.links[A].loss = Loss::script(move |wire| {
        let fin = matches!(wire, Wire::Control(control) if matches!(**control, Control::Fin { .. }));
        fins += u32::from(fin);
        fin && fins > 1
    });
    pair.run_for(10 * MICRO);
    assert!(buffered(&pair) > 10, "the Fin found frames that were not delivered");
    pair.nodes[A].protection = protection;
    pair.crash(A);
    pair.run_until(10 * MILLI, |pair| pair.is_active(A));
    pair.run_until_idle(10 * MILLI);
    pair.run_for(10 * MILLI);
    assert_eq!(pair.nodes[B].end.status().receive, ReceiveState::Active);
    assert_eq!((pair.stats(A).sessions_opened, pair.stats(A).peers_lost), (1, 0));
    assert_eq!(pair.stats(B).sessions_accepted, 2);
}
