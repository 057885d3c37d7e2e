//! Who counts as the peer, and what a stranger who does not hear a link end can do to it.

use crate::common::pair::quick_config;
use linkmend_protocol::{
    Config, Control, Copies, DataHeader, Event, Feedback, Format, FrameHandle, Instant, LaneFeedback,
    LinkEnd, LongSequenceNumber, Mode, PerMode, PiggybackAck, Priority, Protection, ReceiveState, Reception,
    SequenceNumber, SessionNumber, Tick, Ticks, Transmit, TransmitState,
};

const START: Instant = Instant(1_000_000_000);

fn ends() -> [LinkEnd; 2] {
    [1, 2].map(|seed| LinkEnd::new(quick_config(), seed).expect("valid"))
}

/// What an end sends now.
fn sent(end: &mut LinkEnd, now: Instant) -> Vec<Control> {
    let mut sent = Vec::new();
    for priority in [Priority::High, Priority::Low] {
        while let Some(transmit) = end.poll_transmit(now, priority) {
            if let Transmit::Control(control) = transmit {
                sent.push(control);
            }
        }
    }
    sent
}

/// One exchange: what each end sends now reaches the other.
fn exchange(ends: &mut [LinkEnd; 2], now: Instant) -> usize {
    let frames = [0, 1].map(|end| sent(&mut ends[end], now));
    for (end, frames) in frames.iter().enumerate() {
        for control in frames {
            ends[1 - end].handle_control(now, control);
        }
    }
    frames.iter().map(Vec::len).sum()
}

fn is_seen(end: &mut LinkEnd) -> bool {
    std::iter::from_fn(|| end.poll_event()).any(|event| event == Event::PeerSeen)
}

#[test]
fn ends_without_protection_know_each_other_after_one_round_trip_and_say_no_more() {
    let mut ends = ends();
    assert_eq!(exchange(&mut ends, START), 2);
    assert!(!ends[0].peer_known() && !ends[1].peer_known(), "a hello alone proves nothing");
    assert_eq!(exchange(&mut ends, START + Ticks(1_000)), 2);
    assert!(ends[0].peer_known() && ends[1].peer_known());
    assert!(is_seen(&mut ends[0]) && is_seen(&mut ends[1]));
    assert_eq!(exchange(&mut ends, START + Ticks(2_000)), 0);
}

/// An end that starts again has another nonce, and must be told that of the one that went on.
#[test]
fn an_end_that_restarts_is_known_after_one_and_a_half_round_trips() {
    let mut ends = ends();
    for step in 0..3 {
        exchange(&mut ends, START + Ticks(step * 1_000));
    }
    ends[1] = LinkEnd::new(quick_config(), 3).expect("valid");
    let again = START + Ticks(10_000);
    for step in 0..3 {
        exchange(&mut ends, again + Ticks(step * 1_000));
    }
    assert!(ends[1].peer_known());
    let silent = quick_config().hello_interval * 3 + quick_config().peer_timeout;
    assert_eq!(exchange(&mut ends, again + Ticks(4_000)), 0);
    ends[0].handle_timeout(START + Ticks(2_000) + silent);
    assert!(ends[0].peer_known(), "by the new nonce, too");
}

#[test]
fn no_number_of_hellos_makes_a_stranger_known_or_is_answered_without_end() {
    let [mut end, _] = ends();
    let (mut now, mut answers) = (START, 0);
    for nonce in 1..=1_000 {
        now = now + Tick::Nanosecond.micros(10);
        for hello in [Control::Hello { nonce, echo: nonce }, Control::OldHello] {
            end.handle_control(now, &hello);
        }
        answers += sent(&mut end, now).len();
    }
    let intervals = 1_000 * Tick::Nanosecond.micros(10).0 / quick_config().hello_interval.0 + 2;
    assert!(answers as u64 <= 5 * intervals, "{answers} in {intervals} intervals");
    assert!(!end.peer_known() && !end.peer_was_known() && !is_seen(&mut end));
}

/// Everything that somebody can write who knows neither the session nor a nonce.
fn blind_forgeries() -> Vec<Control> {
    let session = SessionNumber(0xdead_beef);
    let format = Format::Transparent;
    let far = PerMode([LongSequenceNumber(9); 2]);
    let lane = LaneFeedback::new(LongSequenceNumber(9), SequenceNumber::from_absolute(9), true);
    let feedback = Feedback {
        session,
        number: 1,
        dummy_stamp: 1,
        lost_total: 9,
        rx_overflow_total: 9,
        lanes: PerMode([lane; 2]),
    };
    vec![
        Control::Hello { nonce: 7, echo: 8 },
        Control::OldHello,
        Control::Init { session, format },
        Control::Init { session, format: Format::Compact },
        Control::InitEcho { session, nonce: 7, window_frames: 1, format },
        Control::InitEcho { session, nonce: 7, window_frames: 1, format: Format::Compact },
        Control::Start { session, nonce: 7 },
        Control::Feedback(feedback),
        Control::Dummy { session, stamp: 9, next: far, held_from: far },
        Control::Fin { session },
        Control::FinEcho { session },
        Control::Fin { session: SessionNumber(0) },
        Control::FinEcho { session: SessionNumber(0) },
        Control::PriorityPause { paused: true },
    ]
}

#[test]
fn nothing_written_blindly_makes_a_peer_known() {
    let [mut end, _] = ends();
    for control in blind_forgeries() {
        end.handle_control(START, &control);
        assert!(!end.peer_known(), "{control:?}");
        sent(&mut end, START);
    }
    end.protect(START, Protection { copies: Copies::Fixed(1) });
    sent(&mut end, START);
    for control in blind_forgeries() {
        end.handle_control(START, &control);
        assert!(!end.peer_known(), "{control:?}, while it opens a session");
    }
}

#[test]
fn nothing_written_blindly_ends_a_session_or_keeps_a_dead_peer_known() {
    let mut ends = ends();
    for end in &mut ends {
        end.protect(START, Protection { copies: Copies::Fixed(1) });
    }
    let mut now = START;
    for _ in 0..20 {
        now = now + Tick::Nanosecond.micros(1);
        exchange(&mut ends, now);
    }
    let in_session = |end: &LinkEnd| {
        let status = end.status();
        (status.transmit, status.receive) == (TransmitState::Active, ReceiveState::Active)
    };
    assert!(ends.iter().all(in_session));
    for _ in 0..100 {
        for control in blind_forgeries() {
            now = now + Tick::Nanosecond.micros(1);
            ends[0].handle_control(now, &control);
            exchange(&mut ends, now);
            assert!(ends.iter().all(in_session), "{control:?}");
            assert!(!ends[0].status().paused, "{control:?}");
        }
    }
    assert!(ends[0].peer_known());
    let Config { hello_interval, peer_timeout, .. } = quick_config();
    let gone = now + hello_interval * 3 + peer_timeout;
    while now < gone {
        now = now + Tick::Nanosecond.micros(100);
        for control in blind_forgeries() {
            ends[0].handle_control(now, &control);
        }
        ends[0].handle_timeout(now);
        sent(&mut ends[0], now);
    }
    assert!(!ends[0].peer_known(), "a stranger's frames are no sign of life");
}

/// The number of an acknowledgement has 17 bits, so one that is kept back until as many frames have passed speaks of frames
/// that are still on their way.
#[test]
fn a_repeated_frame_acknowledges_nothing() {
    let mut ends = ends();
    let mut now = START;
    for end in &mut ends {
        end.protect(START, Protection { copies: Copies::Fixed(1) });
    }
    for _ in 0..20 {
        now = now + Tick::Nanosecond.micros(1);
        exchange(&mut ends, now);
    }
    let [receiver, sender] = &mut ends;
    let received = sender.send(now, Mode::Ordered, FrameHandle(1), 100).expect("it is protected");
    assert_eq!(receiver.handle_data(now, &received, FrameHandle(1), 100), Reception::Deliver);
    let sent = receiver.send(now, Mode::Ordered, FrameHandle(2), 100).expect("it is protected");
    let ack = PiggybackAck { mode: Mode::Ordered, next: sent.sequence.plus(1) };
    let repeated = DataHeader { ack: Some(ack), retransmitted: false, ..received };
    assert_eq!(receiver.handle_data(now, &repeated, FrameHandle(3), 100), Reception::Drop);
    assert_eq!(receiver.outstanding(), 1, "nobody has received it");
}

/// Version 0.1 has no nonce, and is known by its sessions alone.
#[test]
fn an_older_peer_is_told_of_once() {
    let [mut end, _] = ends();
    for _ in 0..3 {
        end.handle_control(START, &Control::OldHello);
    }
    let events: Vec<Event> = std::iter::from_fn(|| end.poll_event()).collect();
    assert_eq!(events, [Event::PeerIsOlder]);
}
