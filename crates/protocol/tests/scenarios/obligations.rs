//! What a link end reports to owe, call by call.

use crate::common::pair::quick_config;
use linkmend_protocol::{
    Config, Control, Copies, Format, FrameHandle, Instant, LinkEnd, Mode, PerMode, Priority, Protection,
    ReceiveState, SessionNumber, Tick, Ticks, Transmit, TransmitState, Undisturbed,
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
    let mut now = Instant(1_000_000_000);
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

/// A header has 17 bits of a number, and a tag covers all 64, however many frames were sent and lost before.
#[test]
fn both_ends_know_the_whole_number_of_a_frame_and_of_an_ack() {
    let (mut ends, mut now) = in_session(Format::Transparent);
    for count in 0..300_000_u32 {
        now = now + Ticks(100);
        let header = ends[0].send(now, Mode::Ordered, FrameHandle(count), 100).expect("admitted");
        let sent = ends[0].number_sent(&header).expect("in the window");
        assert!(count % 100 != 7 || sent.1 != u64::from(header.sequence.number()), "it is longer");
        assert_eq!(ends[1].number_received(&header), Some(sent));
        if count % 100 != 7 {
            ends[1].handle_data(now, &header, FrameHandle(count), 100);
        }
        while let Some(Transmit::Retransmission { header, frame }) = ends[0].poll_retransmission() {
            let sent = ends[0].number_sent(&header);
            assert_eq!(ends[1].number_received(&header), sent, "a copy");
            ends[1].handle_data(now, &header, frame, 100);
        }
        for from in [0, 1] {
            while let Some(control) = ends[from].poll_urgent(now) {
                ends[1 - from].handle_control(now, &control);
            }
        }
        while ends[1].poll_deliver().is_some() {}
        while ends[0].poll_release().is_some() {}
        if count % 10 == 0
            && let Some(ack) = ends[1].poll_piggyback(now)
        {
            let numbered = ends[1].number_acknowledging(ack);
            assert!(numbered.is_some());
            assert_eq!(ends[0].number_acknowledged(ack), numbered);
            ends[0].handle_ack(now, ack);
        }
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
    send(&mut ends, now, 1, true);
    send(&mut ends, now, 2, false);
    assert!(steady(&ends[0], now) && !steady(&ends[1], now), "the receiver misses a frame");
    while let Some(control) = ends[1].poll_urgent(now) {
        ends[0].handle_control(now, &control);
    }
    assert!(!steady(&ends[0], now), "the sender repairs it");
}

/// What recurs are distances from the present, which a clock that was set back does not change.
#[test]
fn an_end_whose_clock_was_set_back_is_in_the_same_state() {
    let (mut ends, now) = in_session(Format::Compact);
    send(&mut ends, now, 0, true);
    let later = now + Ticks(100);
    let before = ends[0].steady_state(later, FAR);
    assert!(before.is_some_and(|state| state.dummy_wait.0 > Ticks::ZERO), "{before:?}");
    let back = FAR.0 * 2;
    ends[0].handle_timeout(Instant(now.0 - back));
    assert_eq!(ends[0].steady_state(Instant(later.0 - back), FAR), before);
}

/// The moment at which a peer that fell silent counts as lost, if the clock shows `first` next, and never jumps again.
fn lost_at(first: impl Fn(&LinkEnd, Instant) -> Instant) -> Instant {
    let ([mut end, _], now) = in_session(Format::Transparent);
    end.handle_timeout(now);
    let mut now = first(&end, now);
    while end.stats().peers_lost == 0 {
        end.handle_timeout(now);
        // The same moments whatever happened before.
        now = Instant(now.0.next_multiple_of(1_000_000)) + Ticks(1);
    }
    now
}

/// An end is excused only if it is late by more than a keepalive: otherwise its peer's silence counts.
#[test]
fn an_end_that_is_late_by_a_keepalive_is_not_excused() {
    let late = |by: Ticks| lost_at(|end, _| end.next_timeout().expect("a keepalive is due") + by);
    assert_eq!(late(FAR), late(Ticks(0)));
    assert!(late(FAR + Ticks(1)) > late(FAR));
}

/// A clock that goes back by a keepalive catches up; one that was set back further is followed.
#[test]
fn a_clock_that_goes_back_by_a_keepalive_is_waited_for() {
    let back = |by: u64| lost_at(|_, now| Instant(now.0 - by));
    assert_eq!(back(FAR.0), back(0));
    assert!(back(FAR.0 + 1) < back(0));
}

/// Traffic in one direction is no sign of life in the other.
#[test]
fn what_is_skipped_in_one_direction_excuses_no_silence_in_the_other() {
    let (mut ends, now) = in_session(Format::Compact);
    let (elapsed, config) = (FAR, *ends[0].config());
    // Time passes in steps that no end takes for a standstill.
    let silent = |end: &mut LinkEnd, span: Ticks| {
        for step in 0..=20 {
            end.handle_timeout(Instant(now.0 + span.0 * step / 20));
        }
    };
    let sends = Undisturbed { elapsed, sent: PerMode([1, 0]), ..Undisturbed::default() };
    ends[1].fast_forward(&sends);
    silent(&mut ends[1], config.session_expiry);
    assert_eq!(ends[1].status().receive, ReceiveState::Listening, "it has heard nothing since");
    send(&mut ends, now, 0, true);
    let receives = Undisturbed { elapsed, received: PerMode([1, 0]), ..Undisturbed::default() };
    ends[0].fast_forward(&receives);
    silent(&mut ends[0], config.peer_timeout);
    assert_eq!(ends[0].stats().peers_lost, 1, "nothing was acknowledged");
}

#[test]
fn a_repeated_confirmation_of_the_end_is_no_fault_but_one_of_another_session_is() {
    let (mut ends, mut now) = in_session(Format::Transparent);
    ends[0].unprotect(now);
    let mut confirmation = None;
    for _ in 0..10 {
        now = now + Tick::Nanosecond.micros(1);
        for from in [0, 1] {
            while let Some(control) = ends[from].poll_urgent(now) {
                confirmation = confirmation.or(matches!(control, Control::FinEcho { .. }).then_some(control));
                ends[1 - from].handle_control(now, &control);
            }
        }
    }
    assert_eq!(ends[0].status().transmit, TransmitState::Dormant);
    let Some(Control::FinEcho { session }) = confirmation else { panic!("it was confirmed") };
    assert!(ends[0].handle_control(now, &Control::FinEcho { session }));
    assert!(!ends[0].handle_control(now, &Control::FinEcho { session: SessionNumber(session.0 ^ 1) }));
    assert_eq!(ends[0].stats().control_rejected, 1);
}

#[test]
fn the_extremes_of_both_buffers_begin_again_when_they_are_reset() {
    let (mut ends, now) = in_session(Format::Transparent);
    send(&mut ends, now, 0, true);
    send(&mut ends, now, 1, false);
    let levels = |ends: &[LinkEnd; 2]| [ends[0].stats().tx_buffer[Mode::Ordered], ends[1].stats().rx_buffer];
    assert_eq!(
        levels(&ends).map(|buffer| (buffer.min, buffer.now, buffer.max)),
        [(0, 200, 200), (0, 100, 100)]
    );
    ends.iter_mut().for_each(LinkEnd::reset_buffer_extremes);
    assert_eq!(
        levels(&ends).map(|buffer| (buffer.min, buffer.now, buffer.max)),
        [(200, 200, 200), (100, 100, 100)]
    );
}

/// A dummy announces both lanes, so it counts as the next repeat of a lane that only repeats its dummies.
#[test]
fn one_dummy_an_interval_is_enough_for_two_silent_lanes() {
    let (mut ends, mut now) = in_session(Format::Transparent);
    let interval = ends[0].config().dummy_interval_max;
    let mut dummies_in = |end: &mut LinkEnd, span: Ticks| {
        let until = now + span;
        let mut dummies = 0;
        while now < until {
            now = now + Tick::Nanosecond.micros(1);
            dummies += u64::from(end.poll_transmit(now, Priority::Low).is_some());
        }
        (now, dummies)
    };
    for mode in Mode::ALL {
        let (now, _) = dummies_in(&mut ends[0], Ticks(interval.0 / 3));
        assert!(ends[0].send(now, mode, FrameHandle(mode as u32), 100).is_some());
    }
    dummies_in(&mut ends[0], interval * 10);
    let (_, dummies) = dummies_in(&mut ends[0], interval * 20);
    assert!((19..=21).contains(&dummies), "{dummies}");
}

/// A pause of a priority means a sender of the authors' protocol that protects its frames, and nobody else.
#[test]
fn a_priority_pause_that_concerns_nobody_is_refused() {
    let pause = Control::PriorityPause { paused: true };
    let (mut ends, now) = in_session(Format::Compact);
    let config = Config { format: Format::Linkguardian, ..quick_config() };
    let mut dormant = LinkEnd::new(config, 1).expect("valid");
    for end in [&mut ends[0], &mut dormant] {
        assert!(!end.handle_control(now, &pause));
        assert_eq!((end.status().paused, end.stats().control_rejected), (false, 1));
    }
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
    let hello = |end: &mut LinkEnd, now| matches!(end.poll_urgent(now), Some(Control::Hello { .. }));
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
