//! Control frames that come late, twice, never, or from somebody else (section 5, bidirectional corruption).

use crate::common::node::check_identities;
use crate::common::{
    A, B, ControlFaults, Loss, MICRO, MILLI, Pair, Random, Settings, Wire, pair::quick_config,
};
use linkmend_protocol::{
    Control, Copies, DataHeader, Feedback, Format, FrameHandle, Instant, LaneFeedback, LinkEnd,
    LongSequenceNumber, Mode, PerMode, PiggybackAck, Priority, Protection, SequenceNumber, SequenceRange,
    SessionNumber, Transmit,
};
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn duplicated_and_delayed_control_frames_change_nothing() {
    let mut pair = Pair::protected(Settings::default(), 2);
    for end in [A, B] {
        pair.links[end].loss = Loss::Iid(0.03);
        pair.links[end].control = ControlFaults { duplicate: 0.5, delay: 0.5, delay_max_ns: 300 * MICRO };
    }
    pair.offer(A, Mode::Ordered, 3_000, 500);
    pair.run_until_idle(200 * MILLI);
    pair.assert_all_delivered(A);
    assert_eq!(
        pair.stats(B).duplicates_dropped,
        pair.stats(A).retransmitted_copies
            - pair.ledger.frames.iter().map(|record| u64::from(record.corrupted)).sum::<u64>()
    );
}

/// Gives every control frame that the pair ever exchanged to both ends again, after the sessions that the frames belong
/// to.
#[test]
fn stale_handshakes_and_feedbacks_are_harmless() {
    let mut pair = Pair::default();
    let mut recorded = Vec::new();
    for _ in 0..3 {
        pair.protect(A, Copies::Fixed(1));
        pair.links[A].loss = Loss::Iid(0.1);
        pair.run_until(20 * MILLI, |pair| pair.is_active(A));
        pair.offer(A, Mode::Ordered, 50, 100);
        let session = session_of(&pair);
        for control in handshake(session) {
            recorded.push(control);
        }
        pair.run_until_idle(20 * MILLI);
        pair.unprotect(A);
        pair.run_until(50 * MILLI, |pair| pair.is_dormant(A));
    }
    pair.links[A].loss = Loss::None;
    pair.protect(A, Copies::Fixed(1));
    pair.run_until(20 * MILLI, |pair| pair.is_active(A));
    recorded.extend(handshake(session_of(&pair)));
    pair.offer(A, Mode::Ordered, 200, 1_000);
    for control in &recorded {
        for end in [A, B] {
            let now = pair.nodes[end].local(pair.now);
            pair.nodes[end].end.handle_control(now, control);
            pair.service(end);
        }
        pair.run_for(2 * MICRO);
    }
    pair.run_until_idle(20 * MILLI);
    pair.run_for(50 * MILLI);
    pair.assert_all_delivered(A);
    // The Fin of the present session ended the receiving session; the sender notices and protects again.
    pair.run_until(100 * MILLI, |pair| pair.is_active(A));
}

fn session_of(pair: &Pair) -> SessionNumber {
    let opened = |event: &linkmend_protocol::Event| match event {
        linkmend_protocol::Event::SessionOpened(session) => Some(*session),
        _ => None,
    };
    pair.nodes[A].events.iter().rev().find_map(opened).expect("a session was opened")
}

fn handshake(session: SessionNumber) -> Vec<Control> {
    vec![
        Control::Hello { nonce: 7, echo: 8 },
        Control::OldHello,
        Control::Init { session, format: Format::Transparent },
        Control::InitEcho { session, nonce: 7, window_frames: 64, format: Format::Transparent },
        Control::Start { session, nonce: 7 },
        Control::FinEcho { session: SessionNumber(session.0 ^ 1) },
        Control::Fin { session: SessionNumber(session.0 ^ 1) },
    ]
}

/// Random control frames that resemble those in use: no panic, no endless poll, bounds and identities hold, and no
/// handle is returned twice. What a forger acknowledges is lost, so the ledger is not checked.
#[test]
fn forged_control_frames_break_no_bound() {
    let mut accepted = 0;
    for seed in 0..3_000 {
        let mut pair = Pair::protected(Settings { seed, ..Settings::default() }, 1);
        let session = session_of(&pair);
        let mut random = Random::new(seed);
        pair.links[A].loss = Loss::Iid(0.2);
        for mode in Mode::ALL {
            pair.offer(A, mode, random.below(30), 300);
        }
        pair.run_for(random.below(20 * MICRO));
        for _ in 0..8 {
            let end = random.below(2) as usize;
            let control = forge(session, &mut random);
            let node = &mut pair.nodes[end];
            pair.now += random.below(100 * MICRO);
            let now = node.local(pair.now);
            accepted += u32::from(node.end.handle_control(now, &control));
            node.end.handle_timeout(now);
            let mut polls = 0;
            for priority in [Priority::High, Priority::Low] {
                while let Some(transmit) = node.end.poll_transmit(now, priority) {
                    if let Transmit::Retransmission { frame, .. } = transmit {
                        node.tx.frame(frame);
                    }
                    polls += 1;
                    assert!(polls < 10_000, "polls forever after {control:?}");
                }
            }
            while let Some(frame) = node.end.poll_deliver() {
                node.rx.remove(frame);
            }
            while let Some(frame) = node.end.poll_release() {
                node.tx.remove(frame);
            }
            let stats = node.end.stats();
            check_identities(&stats);
            assert_eq!(node.rx.live(), stats.rx_buffer.frames);
            assert_eq!(node.tx.live(), stats.tx_buffer.0.iter().map(|buffer| buffer.frames).sum::<u64>());
        }
    }
    assert!(accepted > 1_000, "most forgeries are refused at once: {accepted}");
}

fn forge(session: SessionNumber, random: &mut Random) -> Control {
    let near = |mode: usize, random: &mut Random| {
        let base = [session.0, session.0 >> 15][mode];
        SequenceNumber::from_absolute(u64::from(base) + (1 << 20) + random.below(80) - 20)
    };
    let long = |mode: usize, random: &mut Random| {
        let first = session.first(Mode::ALL[mode]);
        let base = u64::from(first.number()) + (u64::from(first.era()) << 16) + (1 << 17);
        LongSequenceNumber::from_absolute(base + random.below(80) - 20)
    };
    let lane = |mode: usize, random: &mut Random| {
        let mut lane = LaneFeedback::new(long(mode, random), near(mode, random), random.chance(0.5));
        lane.by_clock = random.chance(0.5);
        for _ in 0..random.below(4) {
            let run = SequenceRange { first: near(mode, random), length: random.next() as u16 % 99 };
            if random.chance(0.5) {
                lane.push_missing(run)
            } else {
                lane.push_overflowed(run)
            };
        }
        lane
    };
    match random.below(8) {
        0 => Control::Dummy {
            session,
            stamp: random.next() as u16,
            next: PerMode([long(0, random), long(1, random)]),
            held_from: PerMode([long(0, random), long(1, random)]),
        },
        1 => Control::Fin { session },
        2 => Control::FinEcho { session },
        3 => Control::CompactAck { next: near(0, random) },
        4 => Control::CompactNotification {
            next: near(0, random),
            hole: SequenceRange { first: near(0, random), length: 1 + random.below(255) as u16 },
        },
        5 => Control::CompactDummy { mode: Mode::Ordered, next: near(0, random) },
        _ => Control::Feedback(Feedback {
            session,
            number: random.next() as u16,
            dummy_stamp: random.next() as u16,
            lost_total: random.next() as u32,
            rx_overflow_total: random.next() as u16,
            lanes: PerMode([lane(0, random), lane(1, random)]),
        }),
    }
}

#[test]
fn an_ack_beyond_what_was_sent_is_refused() {
    let mut pair = Pair::protected(Settings::default(), 1);
    let now = pair.nodes[A].local(pair.now);
    let next = SequenceNumber::from_absolute(u64::from(session_of(&pair).0) + (1 << 20) + 1);
    assert!(!pair.nodes[A].end.handle_ack(now, PiggybackAck { mode: Mode::Ordered, next }));
    assert_eq!(pair.stats(A).control_rejected, 1);
}

#[test]
fn a_feedback_of_another_session_is_refused() {
    let mut pair = Pair::protected(Settings::default(), 1);
    let other = SessionNumber(session_of(&pair).0.wrapping_add(1));
    let first = SequenceNumber::from_absolute(0);
    let lane = LaneFeedback::new(LongSequenceNumber::from_absolute(0), first, true);
    let feedback = Feedback {
        session: other,
        number: 9,
        dummy_stamp: 0,
        lost_total: 0,
        rx_overflow_total: 0,
        lanes: PerMode([lane, lane]),
    };
    let now = pair.nodes[A].local(pair.now);
    assert!(!pair.nodes[A].end.handle_control(now, &Control::Feedback(feedback)));
    assert!(!pair.nodes[A].end.status().paused);
}

#[test]
fn an_old_feedback_does_not_revert_the_pause_state() {
    let mut pair = Pair::protected(Settings::default(), 1);
    let session = session_of(&pair);
    pair.offer(A, Mode::Ordered, 1, 100);
    pair.run_until_idle(MILLI);
    let lane = |pair: &Pair, mode: Mode, paused: bool| {
        // What the receiver would report now.
        let sent = if mode == Mode::Ordered { pair.stats(A).protected_frames } else { 0 };
        let bits = [session.0 % (1 << 17), (session.0 >> 15) % (1 << 17)][mode as usize];
        let next = LongSequenceNumber::from_absolute(u64::from(bits) + (1 << 17) + sent);
        LaneFeedback::new(next, next.short(), paused)
    };
    let feedback = |pair: &Pair, number: u16, paused: bool| {
        Control::Feedback(Feedback {
            session,
            number,
            dummy_stamp: 0,
            lost_total: 0,
            rx_overflow_total: 0,
            lanes: PerMode(Mode::ALL.map(|mode| lane(pair, mode, paused))),
        })
    };
    let (newer, older) = (feedback(&pair, 1_000, true), feedback(&pair, 999, false));
    let now = pair.nodes[A].local(pair.now);
    assert!(pair.nodes[A].end.handle_control(now, &newer));
    assert!(pair.nodes[A].end.handle_control(now, &older));
    assert!(pair.nodes[A].end.status().paused);
}

/// A copy repeats the bytes of its first sending, and their ACK may belong to a session that has ended.
#[test]
fn the_ack_on_a_copy_is_not_used() {
    let mut pair = Pair::protected(Settings::default(), 1);
    pair.links[A].loss = Loss::Iid(1.0);
    pair.offer(A, Mode::Ordered, 3, 100);
    pair.run_for(MICRO);
    let first = SequenceNumber::from_absolute(u64::from(session_of(&pair).0) + (1 << 20));
    let ack = Some(PiggybackAck { mode: Mode::Ordered, next: first.plus(2) });
    let now = pair.nodes[A].local(pair.now);
    for (retransmitted, outstanding) in [(true, 3), (false, 1)] {
        let header = DataHeader { sequence: first, mode: Mode::Ordered, retransmitted, ack };
        pair.nodes[A].end.handle_data(now, &header, FrameHandle(99), 100);
        assert_eq!(pair.nodes[A].end.status().outstanding_frames, outstanding);
    }
}

/// Session numbers keep stale frames apart, so they must differ as random numbers do: those of SplitMix64, whose first
/// values for this seed are published with it.
#[test]
fn session_numbers_are_drawn_from_splitmix64() {
    let published: [u64; 5] = [
        6_457_827_717_110_365_317,
        3_203_168_211_198_807_973,
        9_817_491_932_198_370_423,
        4_593_380_528_125_082_431,
        16_408_922_859_458_223_821,
    ];
    let mut end = LinkEnd::new(quick_config(), 1_234_567).expect("valid");
    for value in published {
        end.protect(Instant(1), Protection { copies: Copies::Fixed(1) });
        let drawn = std::iter::from_fn(|| end.poll_urgent(Instant(1))).find_map(|control| match control {
            Control::Init { session, .. } => Some(session),
            _ => None,
        });
        assert_eq!(drawn, Some(SessionNumber(value as u32)));
        end.unprotect(Instant(1));
    }
}

/// Keeps the latest feedback that a link carries.
fn latest_feedback(pair: &mut Pair, end: usize) -> Rc<RefCell<Option<Control>>> {
    let latest = Rc::new(RefCell::new(None));
    let keep = Rc::clone(&latest);
    pair.links[end].loss = Loss::script(move |wire| {
        if let Wire::Control(control) = wire
            && wire.is_feedback()
        {
            *keep.borrow_mut() = Some(**control);
        }
        false
    });
    latest
}

/// 17 bits of a number mean something else after 131,072 frames. A feedback that comes so late must not release frames
/// that have not arrived.
#[test]
fn a_feedback_late_by_an_era_is_refused_and_releases_nothing() {
    const ERAS: u64 = 1 << 17;
    for mode in Mode::ALL {
        let mut pair = Pair::protected(Settings::default(), 1);
        let latest = latest_feedback(&mut pair, B);
        pair.offer(A, mode, 200, 100);
        pair.run_until_idle(MILLI);
        let late = latest.borrow().expect("it was acknowledged");
        let mut left = ERAS - 60;
        while left > 0 {
            let batch = left.min(1_000);
            pair.offer(A, mode, batch, 64);
            pair.run_until_idle(MILLI);
            left -= batch;
        }
        // A hundred frames are lost, and nothing has revealed that yet.
        pair.links[A].loss = Loss::script(|wire| wire.is_original());
        pair.offer(A, mode, 100, 64);
        pair.run_for(4 * MICRO);
        let outstanding = pair.nodes[A].end.status().outstanding_frames;
        assert!(outstanding >= 60, "{outstanding}");
        let rejected = pair.stats(A).control_rejected;
        let now = pair.nodes[A].local(pair.now);
        assert!(!pair.nodes[A].end.handle_control(now, &late));
        assert_eq!(pair.stats(A).control_rejected, rejected + 1);
        assert_eq!(pair.nodes[A].end.status().outstanding_frames, outstanding);
        pair.run_until_idle(20 * MILLI);
        pair.assert_all_delivered(A);
    }
}
