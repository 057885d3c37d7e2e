//! Rules of the transmitter, one at a time.

use linkmend_llr::config::{
    Choices, CountedReplays, FrameAction, IneligibleInReplay, NackInReplay, ReplayTimerStart,
};
use linkmend_llr::{
    Admission, BlockedBy, Config, Control, Fate, FlushCause, Frame, FrameHandle, Instant, SequenceNumber,
    TransmitState, Transmitter,
};

const MICROSECOND: u64 = 1_000_000;

fn config() -> Config {
    Config {
        replay_timer_ns: 5_000,
        replay_count_max: 2,
        outstanding_frames_max: 8,
        outstanding_bytes_max: 1_000,
        first_sequence: 1,
        ..Config::default()
    }
}

fn us(time: u64) -> Instant {
    Instant(time * MICROSECOND)
}

fn frame(handle: u64) -> Frame {
    Frame { handle: FrameHandle(handle), bytes: 100, poisoned: false }
}

/// In ADVANCE at 0 us, with frames 1 to `frames` sent.
fn advancing(config: Config, frames: u64) -> Transmitter {
    let mut transmitter = Transmitter::new(config).expect("in range");
    transmitter.enable(us(0));
    let Some(Control::Init { first, data }) = transmitter.poll_control(us(0)) else { panic!("no INIT") };
    assert_eq!(transmitter.poll_control(us(0)), None, "one INIT in an interval");
    transmitter.handle_control(us(0), Control::InitEcho { first, data });
    for handle in 1..=frames {
        let sequence = SequenceNumber(handle as u32);
        assert_eq!(transmitter.handle_frame(us(0), frame(handle)), Admission::Numbered(sequence));
    }
    transmitter
}

fn replay(transmitter: &mut Transmitter, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| transmitter.poll_replay(now)).map(|numbered| numbered.sequence.0).collect()
}

fn ack(number: u32) -> Control {
    Control::Ack(SequenceNumber(number))
}

fn nack(number: u32) -> Control {
    Control::Nack(SequenceNumber(number))
}

#[test]
fn without_the_remote_switch_it_stays_off_and_sends_without_numbers() {
    let mut transmitter = Transmitter::new(Config { remote: false, ..config() }).expect("in range");
    transmitter.enable(us(0));
    assert_eq!((transmitter.state(), transmitter.poll_control(us(0))), (TransmitState::Off, None));
    assert_eq!(transmitter.handle_frame(us(0), frame(1)), Admission::Ineligible);
    assert_eq!(transmitter.counters().tx_ineligible, 1);
}

#[test]
fn an_echo_must_match_number_and_data() {
    let mut transmitter = Transmitter::new(config()).expect("in range");
    transmitter.enable(us(0));
    assert_eq!(transmitter.next_timeout(), Some(us(0)));
    let Some(Control::Init { first, data }) = transmitter.poll_control(us(0)) else { panic!("no INIT") };
    assert_eq!(first, SequenceNumber(1));
    transmitter.handle_control(us(1), Control::InitEcho { first: SequenceNumber(2), data });
    transmitter.handle_control(us(1), Control::InitEcho { first, data: data + 1 });
    assert_eq!((transmitter.state(), transmitter.counters().init_echo_mismatches), (TransmitState::Init, 2));
    assert_eq!(transmitter.next_timeout(), Some(us(10)), "INIT is repeated");
    assert!(transmitter.poll_control(us(10)).is_some());
    transmitter.handle_control(us(11), Control::InitEcho { first, data });
    assert_eq!((transmitter.state(), transmitter.round_trip()), (TransmitState::Advance, None));
}

#[test]
fn frames_and_bytes_outstanding_are_limited() {
    let mut transmitter = advancing(config(), 8);
    assert_eq!(transmitter.handle_frame(us(0), frame(9)), Admission::Blocked(BlockedBy::Frames));
    transmitter.handle_control(us(0), ack(1));
    let large = Frame { bytes: 301, ..frame(9) };
    assert_eq!(transmitter.handle_frame(us(0), large), Admission::Blocked(BlockedBy::Bytes));
    let fitting = Frame { bytes: 300, ..frame(9) };
    assert_eq!(transmitter.handle_frame(us(0), fitting), Admission::Numbered(SequenceNumber(9)));
    assert_eq!((transmitter.outstanding_frames(), transmitter.outstanding_bytes()), (8, 1_000));
}

#[test]
fn a_nack_acknowledges_and_everything_behind_it_is_sent_again() {
    let mut transmitter = advancing(config(), 6);
    transmitter.handle_control(us(1), nack(2));
    assert_eq!(transmitter.poll_release(), Some((FrameHandle(1), Fate::Acknowledged)));
    assert_eq!(transmitter.poll_release(), Some((FrameHandle(2), Fate::Acknowledged)));
    assert_eq!(transmitter.poll_release(), None);
    assert_eq!(transmitter.state(), TransmitState::Replay);
    assert_eq!(transmitter.handle_frame(us(1), frame(7)), Admission::Blocked(BlockedBy::Replay));
    assert_eq!(replay(&mut transmitter, us(1)), [3, 4, 5, 6]);
    let counters = *transmitter.counters();
    assert_eq!((counters.tx_ok, counters.tx_replay, counters.replayed_bytes), (10, 1, 400));
    assert_eq!(transmitter.state(), TransmitState::Advance);
}

#[test]
fn feedback_outside_of_the_window_is_counted_and_changes_nothing() {
    let mut transmitter = advancing(config(), 6);
    transmitter.handle_control(us(1), ack(2));
    for (errors, control) in [(1, ack(1)), (2, ack(7)), (3, nack(1)), (4, nack(7)), (5, nack(1 << 19))] {
        transmitter.handle_control(us(2), control);
        assert_eq!(transmitter.counters().rx_ack_nack_seq_error, errors, "{control:?}");
        assert_eq!((transmitter.outstanding_frames(), transmitter.state()), (4, TransmitState::Advance));
    }
    assert_eq!(transmitter.next_timeout(), Some(us(6)), "the timer still counts from the good ACK");
    transmitter.handle_control(us(3), ack(2));
    assert_eq!(transmitter.counters().rx_ack_nack_seq_error, 5, "an ACK without news is no error");
    assert_eq!(transmitter.next_timeout(), Some(us(6)), "and no progress");
}

#[test]
fn a_nack_of_everything_replays_nothing() {
    let mut transmitter = advancing(config(), 3);
    transmitter.handle_control(us(1), nack(3));
    assert_eq!((transmitter.state(), transmitter.counters().nack_replays), (TransmitState::Advance, 0));
    assert_eq!(transmitter.next_timeout(), None);
}

#[test]
fn the_count_limits_replays_without_progress() {
    let mut transmitter = advancing(config(), 2);
    for round in 1..=2 {
        let expiry = transmitter.next_timeout().expect("the timer runs");
        assert_eq!(expiry, us(5 * round));
        transmitter.handle_timeout(expiry);
        assert_eq!(replay(&mut transmitter, expiry), [1, 2], "round {round}");
    }
    transmitter.handle_timeout(us(15));
    assert_eq!(transmitter.state(), TransmitState::Flush);
    assert_eq!(transmitter.last_flush(), Some(FlushCause::ReplayCount));
    assert_eq!(transmitter.poll_release(), Some((FrameHandle(1), Fate::Flushed)));
    assert_eq!((transmitter.outstanding_frames(), transmitter.counters().flushed), (0, 2));
}

#[test]
fn progress_resets_the_count() {
    let mut transmitter = advancing(config(), 3);
    for round in 0..3 {
        transmitter.handle_control(us(round), ack(round as u32));
        for expiry in [us(round + 5), us(round + 10)] {
            transmitter.handle_timeout(expiry);
            replay(&mut transmitter, expiry);
        }
        assert_eq!(transmitter.state(), TransmitState::Advance, "round {round}");
    }
    assert_eq!(transmitter.counters().timer_replays, 6);
}

#[test]
fn a_count_of_255_has_no_limit() {
    let mut transmitter = advancing(Config { replay_count_max: 255, ..config() }, 1);
    for _ in 0..1_000 {
        let expiry = transmitter.next_timeout().expect("the timer runs");
        transmitter.handle_timeout(expiry);
        assert_eq!(replay(&mut transmitter, expiry), [1]);
    }
}

#[test]
fn whether_nacks_count_is_a_choice() {
    for (counted_replays, expected) in
        [(CountedReplays::All, TransmitState::Flush), (CountedReplays::Timer, TransmitState::Replay)]
    {
        let choices = Choices { counted_replays, ..Choices::default() };
        let mut transmitter = advancing(Config { choices, ..config() }, 2);
        for _ in 0..3 {
            transmitter.handle_control(us(1), nack(0));
        }
        assert_eq!(transmitter.state(), expected);
    }
}

#[test]
fn a_nack_in_a_replay_restarts_it_or_not() {
    for (nack_in_replay, rest) in
        [(NackInReplay::Restart, vec![3, 4, 5]), (NackInReplay::AcknowledgeOnly, vec![5])]
    {
        let choices = Choices { nack_in_replay, ..Choices::default() };
        let mut transmitter = advancing(Config { choices, ..config() }, 5);
        transmitter.handle_control(us(1), nack(1));
        for expected in [2, 3, 4] {
            let sent = transmitter.poll_replay(us(1)).map(|numbered| numbered.sequence.0);
            assert_eq!(sent, Some(expected));
        }
        transmitter.handle_control(us(2), nack(2));
        assert_eq!(replay(&mut transmitter, us(2)), rest);
        assert_eq!(transmitter.counters().tx_replay, 1, "an interrupted replay is not completed");
    }
}

#[test]
fn an_ack_ahead_of_the_replay_shortens_it() {
    let mut transmitter = advancing(config(), 5);
    transmitter.handle_timeout(us(5));
    assert!(transmitter.poll_replay(us(5)).is_some());
    transmitter.handle_control(us(5), ack(3));
    assert_eq!(replay(&mut transmitter, us(5)), [4, 5]);
    transmitter.handle_timeout(us(10));
    transmitter.handle_control(us(10), ack(5));
    assert_eq!((transmitter.state(), transmitter.counters().tx_replay), (TransmitState::Advance, 2));
}

#[test]
fn the_timer_counts_from_progress_or_from_the_oldest_frame() {
    for (replay_timer_start, expected) in
        [(ReplayTimerStart::LastProgress, us(7)), (ReplayTimerStart::OldestFrame, us(6))]
    {
        let choices = Choices { replay_timer_start, ..Choices::default() };
        let mut transmitter = advancing(Config { choices, ..config() }, 1);
        transmitter.handle_frame(us(1), frame(2));
        transmitter.handle_control(us(2), ack(1));
        assert_eq!(transmitter.next_timeout(), Some(expected));
    }
}

#[test]
fn the_frame_actions_decide_about_new_frames_in_init_and_flush() {
    let actions = [
        (FrameAction::Discard, Admission::Discarded),
        (FrameAction::Block, Admission::Blocked(BlockedBy::Action)),
        (FrameAction::BestEffort, Admission::Ineligible),
    ];
    for (action, expected) in actions {
        let config = Config { init_action: action, flush_action: action, replay_count_max: 1, ..config() };
        let mut transmitter = Transmitter::new(config).expect("in range");
        transmitter.enable(us(0));
        assert_eq!(transmitter.handle_frame(us(0), frame(1)), expected);
        let mut transmitter = advancing(config, 1);
        transmitter.handle_timeout(us(5));
        replay(&mut transmitter, us(5));
        transmitter.handle_timeout(us(10));
        assert_eq!(
            (transmitter.state(), transmitter.handle_frame(us(10), frame(2))),
            (TransmitState::Flush, expected)
        );
        assert_eq!(transmitter.counters().tx_discard, u64::from(action == FrameAction::Discard));
    }
}

#[test]
fn flush_is_left_by_itself_or_by_management() {
    let mut transmitter = advancing(Config { re_init_on_discard: true, replay_count_max: 1, ..config() }, 2);
    transmitter.handle_timeout(us(5));
    replay(&mut transmitter, us(5));
    transmitter.handle_timeout(us(10));
    assert_eq!((transmitter.state(), transmitter.entries(TransmitState::Flush)), (TransmitState::Init, 1));
    let Some(Control::Init { first, data }) = transmitter.poll_control(us(10)) else { panic!("no INIT") };
    assert_eq!(first, SequenceNumber(3), "numbers go on");
    transmitter.handle_control(us(10), Control::InitEcho { first, data: data - 1 });
    assert_eq!(transmitter.state(), TransmitState::Init, "that was the echo of the first initialisation");
    let mut transmitter = advancing(Config { replay_count_max: 1, ..config() }, 2);
    transmitter.handle_timeout(us(5));
    replay(&mut transmitter, us(5));
    transmitter.handle_timeout(us(10));
    transmitter.enable(us(11));
    assert_eq!((transmitter.state(), transmitter.next_timeout()), (TransmitState::Flush, None));
    transmitter.reinitialise(us(12));
    assert_eq!(transmitter.state(), TransmitState::Init);
    transmitter.disable(us(13));
    assert_eq!((transmitter.state(), transmitter.next_timeout()), (TransmitState::Off, None));
}

#[test]
fn a_lost_pcs_flushes_after_its_timer_or_immediately() {
    let mut transmitter = advancing(config(), 1);
    transmitter.handle_pcs(us(1), false);
    assert_eq!(transmitter.last_flush(), Some(FlushCause::PcsLost));
    let patient = Config { pcs_lost_timeout_ns: 3_000, re_init_on_discard: true, ..config() };
    let mut transmitter = advancing(patient, 1);
    transmitter.handle_pcs(us(1), false);
    assert_eq!(transmitter.handle_frame(us(1), frame(2)), Admission::Blocked(BlockedBy::Pcs));
    transmitter.handle_pcs(us(3), true);
    assert_eq!((transmitter.state(), transmitter.next_timeout()), (TransmitState::Advance, Some(us(5))));
    transmitter.handle_pcs(us(3), false);
    transmitter.handle_pcs(us(4), false);
    transmitter.handle_timeout(us(5));
    assert_eq!((transmitter.state(), transmitter.poll_replay(us(5))), (TransmitState::Replay, None));
    transmitter.handle_timeout(us(6));
    assert_eq!((transmitter.state(), transmitter.next_timeout()), (TransmitState::Flush, None));
    transmitter.handle_pcs(us(7), true);
    assert_eq!((transmitter.state(), transmitter.next_timeout()), (TransmitState::Init, Some(us(7))));
}

#[test]
fn a_frame_that_is_too_old_flushes_however_often_it_was_sent() {
    let config = Config { data_age_timeout_ns: 12_000, replay_count_max: 255, ..config() };
    let mut transmitter = advancing(config, 1);
    for expiry in [us(5), us(10)] {
        transmitter.handle_timeout(expiry);
        replay(&mut transmitter, expiry);
    }
    assert_eq!(transmitter.next_timeout(), Some(us(12)));
    transmitter.handle_timeout(us(12));
    assert_eq!(transmitter.last_flush(), Some(FlushCause::DataAge));
}

#[test]
fn pause_stops_new_frames_only() {
    let mut transmitter = advancing(config(), 3);
    transmitter.handle_pause(true);
    assert_eq!(transmitter.handle_frame(us(1), frame(4)), Admission::Blocked(BlockedBy::Pause));
    assert_eq!(transmitter.handle_ineligible(), Admission::Blocked(BlockedBy::Pause));
    transmitter.handle_control(us(1), nack(1));
    assert_eq!(replay(&mut transmitter, us(1)), [2, 3]);
    transmitter.handle_pause(false);
    assert_eq!(transmitter.handle_frame(us(1), frame(4)), Admission::Numbered(SequenceNumber(4)));
}

#[test]
fn ineligible_frames_wait_for_a_replay_or_overtake_it() {
    for (ineligible_in_replay, expected) in [
        (IneligibleInReplay::Waits, Admission::Blocked(BlockedBy::Replay)),
        (IneligibleInReplay::Overtakes, Admission::Ineligible),
    ] {
        let choices = Choices { ineligible_in_replay, ..Choices::default() };
        let mut transmitter = advancing(Config { choices, ..config() }, 3);
        transmitter.handle_control(us(1), nack(1));
        assert_eq!(transmitter.handle_ineligible(), expected);
    }
}
