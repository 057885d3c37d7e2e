//! Rules of the receiver, one at a time, and of a port.

use linkmend_llr::config::{Choices, InitWhileRunning, NackRearm};
use linkmend_llr::link::{A, B, Link, LinkConfig};
use linkmend_llr::{
    Config, Control, Instant, Integrity, ReceiveState, Receiver, SequenceNumber, Span, TransmitState, Verdict,
};

const RATE_BPS: u64 = 400_000_000_000;
/// 400 bytes at 400 Gb/s.
const SPACING: u64 = 8_000;

fn receiving(choices: Choices) -> Receiver {
    let config = Config { ctlos_spacing_bytes: 400, choices, ..Config::default() };
    let mut receiver = Receiver::new(config, RATE_BPS).expect("in range");
    assert!(!receiver.handle_init(Instant(0), SequenceNumber(1), 7));
    let echo = Control::InitEcho { first: SequenceNumber(1), data: 7 };
    assert_eq!(receiver.poll_control(Instant(0)), Some(echo));
    receiver
}

fn take(receiver: &mut Receiver, now: u64, number: u32, integrity: Integrity) -> Verdict {
    receiver.handle_frame(Instant(now), SequenceNumber(number), integrity)
}

fn ack(number: u32) -> Option<Control> {
    Some(Control::Ack(SequenceNumber(number)))
}

fn nack(number: u32) -> Option<Control> {
    Some(Control::Nack(SequenceNumber(number)))
}

#[test]
fn without_the_local_switch_an_init_is_counted_and_not_echoed() {
    let config = Config { local: false, ..Config::default() };
    let mut receiver = Receiver::new(config, RATE_BPS).expect("in range");
    receiver.handle_init(Instant(0), SequenceNumber(1), 7);
    assert_eq!((receiver.state(), receiver.poll_control(Instant(0))), (ReceiveState::Off, None));
    assert_eq!(receiver.counters().rx_init, 1);
    assert_eq!(take(&mut receiver, 1, 9, Integrity::Good), Verdict::Deliver, "numbers mean nothing in OFF");
    assert_eq!(take(&mut receiver, 1, 9, Integrity::Bad), Verdict::DropBad);
    assert_eq!((receiver.counters().rx_ineligible, receiver.counters().arrived()), (2, 0));
}

#[test]
fn acks_are_cumulative_and_spaced() {
    let mut receiver = receiving(Choices::default());
    take(&mut receiver, 0, 1, Integrity::Good);
    assert_eq!(receiver.poll_control(Instant(0)), ack(1));
    assert_eq!(receiver.poll_control(Instant(100_000)), None, "nothing is new");
    take(&mut receiver, 1, 2, Integrity::Good);
    take(&mut receiver, 2, 3, Integrity::Good);
    assert_eq!(receiver.poll_control(Instant(SPACING - 1)), None);
    assert_eq!(receiver.next_timeout(), Some(Instant(SPACING)));
    assert_eq!(receiver.poll_control(Instant(SPACING)), ack(3));
}

#[test]
fn one_nack_for_a_gap_then_silence_until_the_expected_number() {
    let mut receiver = receiving(Choices::default());
    take(&mut receiver, 0, 1, Integrity::Good);
    assert_eq!(take(&mut receiver, 0, 3, Integrity::Good), Verdict::DropAfterGap);
    assert_eq!(receiver.poll_control(Instant(SPACING)), nack(1));
    for number in [4, 5, 3, 4, 1] {
        assert_ne!(take(&mut receiver, SPACING, number, Integrity::Good), Verdict::Deliver);
        assert_eq!(receiver.poll_control(Instant(10 * SPACING)), None);
    }
    assert_eq!((receiver.state(), receiver.counters().rx_missing_seq), (ReceiveState::NackSent, 5));
    assert_eq!(receiver.counters().rx_replay, 2, "3 after 5, and 1 after 4");
    assert_eq!(take(&mut receiver, 20 * SPACING, 2, Integrity::Good), Verdict::Deliver);
    assert_eq!(receiver.poll_control(Instant(20 * SPACING)), ack(2));
    take(&mut receiver, 21 * SPACING, 4, Integrity::Good);
    assert_eq!(receiver.poll_control(Instant(21 * SPACING)), nack(2), "another gap, another NACK");
    assert!(receiver.counters().add_up());
}

#[test]
fn a_bad_frame_makes_a_nack_only_with_the_expected_number() {
    let mut receiver = receiving(Choices::default());
    assert_eq!(take(&mut receiver, 0, 3, Integrity::Bad), Verdict::DropBad);
    assert_eq!(receiver.state(), ReceiveState::SendAcks, "its number is not trusted");
    assert_eq!(take(&mut receiver, 0, 1, Integrity::Bad), Verdict::DropBad);
    assert_eq!(receiver.poll_control(Instant(0)), nack(0));
    let counters = receiver.counters();
    assert_eq!((counters.rx_bad, counters.rx_expected_seq_bad, counters.rx_missing_seq), (2, 1, 1));
    assert!(counters.add_up());
}

#[test]
fn a_poisoned_frame_is_accepted_and_a_gap_before_it_makes_a_nack() {
    let mut receiver = receiving(Choices::default());
    assert_eq!(take(&mut receiver, 0, 1, Integrity::Poisoned), Verdict::Deliver);
    assert_eq!((receiver.state(), receiver.expected_sequence()), (ReceiveState::SendAcks, SequenceNumber(2)));
    assert_eq!(take(&mut receiver, 0, 3, Integrity::Poisoned), Verdict::DropAfterGap);
    assert_eq!(receiver.state(), ReceiveState::SendNack);
    let counters = receiver.counters();
    assert_eq!((counters.rx_poisoned, counters.rx_expected_seq_poisoned, counters.rx_ok), (2, 1, 0));
    assert!(counters.add_up());
}

#[test]
fn a_duplicate_is_dropped_and_acknowledged_again() {
    let mut receiver = receiving(Choices::default());
    take(&mut receiver, 0, 1, Integrity::Good);
    assert_eq!(receiver.poll_control(Instant(0)), ack(1));
    assert_eq!(take(&mut receiver, SPACING, 1, Integrity::Good), Verdict::DropDuplicate);
    assert_eq!(receiver.poll_control(Instant(SPACING)), ack(1));
    take(&mut receiver, SPACING, 1, Integrity::Bad);
    let counters = receiver.counters();
    assert_eq!((counters.rx_duplicate_seq, counters.duplicate_good, counters.rx_replay), (2, 1, 2));
    assert!(counters.add_up());
}

#[test]
fn a_nack_that_is_still_due_is_withdrawn_by_the_expected_frame() {
    let mut receiver = receiving(Choices::default());
    take(&mut receiver, 0, 2, Integrity::Good);
    take(&mut receiver, 0, 1, Integrity::Good);
    assert_eq!(receiver.poll_control(Instant(0)), ack(1));
}

#[test]
fn with_each_replay_a_frame_that_is_lost_again_is_nacked_again() {
    for (nack_rearm, expected) in [(NackRearm::Never, None), (NackRearm::EachReplay, nack(1))] {
        let mut receiver = receiving(Choices { nack_rearm, ..Choices::default() });
        for number in [1, 3] {
            take(&mut receiver, 0, number, Integrity::Good);
        }
        assert_eq!(receiver.poll_control(Instant(0)), nack(1));
        take(&mut receiver, 0, 4, Integrity::Good);
        assert_eq!(receiver.poll_control(Instant(SPACING)), None, "not the replay yet");
        take(&mut receiver, 0, 3, Integrity::Good);
        assert_eq!(receiver.poll_control(Instant(2 * SPACING)), expected, "3 came again without 2");
        take(&mut receiver, 0, 4, Integrity::Good);
        assert_eq!(receiver.poll_control(Instant(3 * SPACING)), None, "once in a replay");
        take(&mut receiver, 0, 2, Integrity::Bad);
        assert_eq!(receiver.poll_control(Instant(4 * SPACING)), expected, "2 came, and was bad");
    }
}

/// Two ports whose A sends, 50 m apart.
fn link(choices: Choices) -> Link {
    let config = Config { replay_timer_ns: 60_000, choices, ..Config::default() };
    let delay = Span::from_nanos(250);
    let mut link = Link::new(LinkConfig { rate_bps: RATE_BPS, delay, ports: [config, config], seed: 1 })
        .expect("in range");
    link.enable();
    link.run_for(Span::from_nanos(100_000));
    link
}

/// Both ends would answer each INIT with their own, and never do anything else.
#[test]
fn two_ends_that_restart_both_directions_do_not_restart_each_other_for_ever() {
    for (init_while_running, restarts) in [
        (InitWhileRunning::RestartReceiver, 0),
        (InitWhileRunning::RestartBoth, 1),
        (InitWhileRunning::Ignore, 0),
    ] {
        let mut link = link(Choices { init_while_running, ..Choices::default() });
        let inits = link.port(B).transmitter().entries(TransmitState::Init);
        let now = link.now();
        link.port_mut(A).transmitter_mut().reinitialise(now);
        link.run_for(Span::from_nanos(1_000_000));
        let found = link.port(B).transmitter().entries(TransmitState::Init) - inits;
        assert_eq!(found, restarts, "{init_while_running:?}");
        let ignores = init_while_running == InitWhileRunning::Ignore;
        let expected = if ignores { TransmitState::Init } else { TransmitState::Advance };
        // An INIT at the number at which the receiver stands interrupts as well: its data are new.
        assert_eq!(link.port(A).transmitter().state(), expected, "{init_while_running:?}");
    }
}

/// A lost echo is repaired by the next INIT, which is no new session.
#[test]
fn a_lost_echo_is_sent_again() {
    let config = Config {
        choices: Choices { init_while_running: InitWhileRunning::Ignore, ..Choices::default() },
        ..Config::default()
    };
    let parameters =
        LinkConfig { rate_bps: RATE_BPS, delay: Span::from_nanos(250), ports: [config, config], seed: 1 };
    let mut link = Link::new(parameters).expect("in range");
    link.faults_mut(B).lose_control.extend([2]);
    link.enable();
    link.run_for(Span::from_nanos(9_000));
    assert_eq!(link.port(A).transmitter().state(), TransmitState::Init);
    link.run_for(Span::from_nanos(2_000));
    assert_eq!(link.port(A).transmitter().state(), TransmitState::Advance);
    assert_eq!(link.port(A).counters().transmit.tx_init, 2);
}
