//! What a link end reports to owe, call by call.

use crate::common::pair::quick_config;
use linkmend_protocol::{
    Config, Control, Copies, Format, FrameHandle, Instant, LinkEnd, Mode, Priority, Protection,
    SessionNumber, Tick, Ticks, Transmit, TransmitState,
};

/// Out of the reach of what happens here.
const FAR: Ticks = Tick::Nanosecond.millis(100);

/// Two ends in a session from the first to the second, after all their exchanges.
fn in_session(format: Format) -> ([LinkEnd; 2], Instant) {
    let config = Config {
        format,
        keepalive: FAR,
        ack_interval: FAR,
        peer_timeout: FAR * 4,
        session_expiry: FAR * 4,
        ..quick_config()
    };
    let mut ends = [1, 2].map(|seed| LinkEnd::new(config, seed).expect("valid"));
    let mut now = Instant(1_000_000);
    ends[0].protect(now, Protection { copies: Copies::Fixed(1) });
    for _ in 0..10 {
        now = now + Tick::Nanosecond.micros(1);
        for from in [0, 1] {
            while let Some(control) = ends[from].poll_urgent(now) {
                ends[1 - from].handle_control(now, &control);
            }
        }
    }
    assert_eq!(ends[0].status().transmit, TransmitState::Active);
    (ends, now + Tick::Nanosecond.micros(100))
}

fn send(ends: &mut [LinkEnd; 2], now: Instant, frame: u32, lost: bool) {
    let header = ends[0].send(now, Mode::Ordered, FrameHandle(frame), 100).expect("admitted");
    if !lost {
        ends[1].handle_data(now, &header, FrameHandle(frame), 100);
    }
}

#[test]
fn a_loss_is_urgent_until_it_has_been_reported() {
    let (mut ends, now) = in_session(Format::Transparent);
    assert!(!ends[1].is_urgent());
    send(&mut ends, now, 0, true);
    send(&mut ends, now, 1, false);
    assert!(ends[1].is_urgent());
    assert!(matches!(ends[1].poll_urgent(now), Some(Control::Feedback(_))));
    assert!(!ends[1].is_urgent());
}

#[test]
fn an_init_of_the_session_in_use_asks_for_its_confirmation_again() {
    let (mut ends, now) = in_session(Format::Transparent);
    let init = |session| Control::Init { session, format: Format::Transparent };
    let used = ends[0].poll_event().into_iter().chain(std::iter::from_fn(|| ends[0].poll_event()));
    let session = used.into_iter().find_map(|event| match event {
        linkmend_protocol::Event::SessionOpened(session) => Some(session),
        _ => None,
    });
    let session = session.expect("it was opened");
    ends[1].handle_control(now, &init(SessionNumber(session.0 ^ 1)));
    assert!(!ends[1].is_urgent(), "another session's Init confirms nothing");
    assert!(matches!(ends[1].poll_urgent(now), Some(Control::InitEcho { .. })));
    ends[1].handle_control(now, &init(session));
    assert!(ends[1].is_urgent());
    assert!(matches!(ends[1].poll_urgent(now), Some(Control::Feedback(_))));
}

#[test]
fn an_ack_that_is_only_a_number_waits_while_frames_are_missing() {
    let (mut ends, mut now) = in_session(Format::Compact);
    send(&mut ends, now, 0, false);
    now = now + Tick::Nanosecond.micros(5);
    assert!(ends[1].poll_compact_ack(now).is_some());
    assert!(ends[1].poll_compact_ack(now).is_none(), "nothing new");
    send(&mut ends, now, 1, true);
    send(&mut ends, now, 2, false);
    now = now + Tick::Nanosecond.micros(5);
    assert_eq!(ends[1].missing(), 1);
    assert!(ends[1].poll_compact_ack(now).is_none());
}

#[test]
fn an_end_is_steady_only_with_nothing_left_to_send() {
    let (mut ends, mut now) = in_session(Format::Compact);
    let steady = |end: &LinkEnd, now| end.steady_state(now, FAR).is_some();
    send(&mut ends, now, 0, false);
    assert!(steady(&ends[1], now), "an ACK may wait");
    let session = std::iter::from_fn(|| ends[0].poll_event()).find_map(|event| match event {
        linkmend_protocol::Event::SessionOpened(session) => Some(session),
        _ => None,
    });
    let session = session.expect("it was opened");
    ends[1].handle_control(now, &Control::Init { session, format: Format::Compact });
    assert!(!steady(&ends[1], now), "a confirmation is owed");
    now = now + Tick::Nanosecond.micros(5);
    while ends[1].poll_urgent(now).is_some() {}
    assert!(steady(&ends[1], now));
}

/// An end that acknowledges need not announce separately that it speaks Linkmend.
#[test]
fn an_ack_in_the_authors_format_postpones_the_hello() {
    let (mut ends, now) = in_session(Format::Compact);
    let interval = quick_config().hello_interval;
    let acked_at = now + Ticks(interval.0 / 5 * 2);
    send(&mut ends, acked_at, 0, false);
    let at = acked_at + Tick::Nanosecond.micros(5);
    assert!(ends[1].poll_compact_ack(at).is_some());
    let hello = |end: &mut LinkEnd, now| matches!(end.poll_urgent(now), Some(Control::Hello));
    assert!(!hello(&mut ends[1], at + interval - Ticks(1)));
    assert!(hello(&mut ends[1], at + interval));
}

/// Both modes share the numbers of the authors' protocol: the lane in use hands them to the other when it is drained.
#[test]
fn numbers_of_the_authors_protocol_continue_across_a_change_of_mode() {
    let config = Config { format: Format::Linkguardian, ..quick_config() };
    let mut end = LinkEnd::new(config, 1).expect("valid");
    let mut now = Instant(1_000_000);
    end.protect(now, Protection { copies: Copies::Fixed(1) });
    let Some(Transmit::Control(Control::CompactDummy { next, .. })) = end.poll_transmit(now, Priority::High)
    else {
        panic!("it knocks")
    };
    end.handle_control(now, &Control::CompactAck { next });
    for count in 0..6 {
        let mode = Mode::ALL[count as usize / 2 % 2];
        now = now + Tick::Nanosecond.micros(1);
        let header = end.send(now, mode, FrameHandle(count), 100).expect("admitted");
        assert_eq!(header.sequence, next.plus(u64::from(count)), "{mode}");
        end.handle_control(now, &Control::CompactAck { next: header.sequence.plus(1) });
    }
}
