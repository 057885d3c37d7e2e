//! Reports that are late by half of the range in which they are counted, and reports of numbers beyond the sender's
//! window.

use crate::common::MICRO;
use linkmend_protocol::{
    Config, Control, Copies, DataHeader, Feedback, Format, FrameHandle, Instant, LaneFeedback, LinkEnd,
    LongSequenceNumber, Mode, PerMode, Priority, Protection, Reception, SequenceNumber, SequenceRange,
    SessionNumber, Tick, Transmit, TransmitState,
};

const MODE: Mode = Mode::Ordered;

fn long(session: SessionNumber, mode: Mode, ahead: u32) -> LongSequenceNumber {
    let first = session.first(mode);
    LongSequenceNumber((2 << 16) + u32::from(first.number()) + (u32::from(first.era()) << 16) + ahead)
}

/// A sender whose peer is the test.
struct SenderAlone {
    end: LinkEnd,
    session: SessionNumber,
    now: Instant,
    sent: u32,
}

impl SenderAlone {
    fn new(config: Config) -> SenderAlone {
        let now = Instant(1);
        let mut end = LinkEnd::new(config, 7).expect("valid");
        end.protect(now, Protection { copies: Copies::Fixed(1) });
        let mut session = SessionNumber(0);
        while let Some(transmit) = end.poll_transmit(now, Priority::High) {
            if let Transmit::Control(Control::Init { session: begun, .. }) = transmit {
                session = begun;
            }
        }
        let window_frames = 32_768;
        let format = Format::Transparent;
        end.handle_control(now, &Control::InitEcho { session, nonce: 1, window_frames, format });
        let mut alone = SenderAlone { end, session, now, sent: 0 };
        assert!(alone.feedback(1, alone.lane(0, 0)));
        assert_eq!(alone.end.status().transmit, TransmitState::Active);
        alone
    }

    /// The report of a receiver that has everything before `cumulative` and has seen `seen`; all frames between are
    /// missing.
    fn lane(&self, cumulative: u32, seen: u32) -> LaneFeedback {
        let first = self.session.first(MODE);
        let covered = first.plus(u64::from(seen));
        let mut lane = LaneFeedback::new(long(self.session, MODE, cumulative), covered, false);
        if seen > cumulative {
            let missing = first.plus(u64::from(cumulative));
            assert!(lane.push_missing(SequenceRange { first: missing, length: (seen - cumulative) as u16 }));
        }
        lane
    }

    fn feedback(&mut self, number: u16, lane: LaneFeedback) -> bool {
        let other = Mode::NonBlocking;
        let (cumulative, covered) = (long(self.session, other, 0), self.session.first(other));
        let feedback = Feedback {
            session: self.session,
            number,
            dummy_stamp: 0,
            lost_total: 0,
            rx_overflow_total: 0,
            lanes: PerMode([lane, LaneFeedback::new(cumulative, covered, false)]),
        };
        self.end.handle_control(self.now, &Control::Feedback(feedback))
    }

    fn send(&mut self) -> SequenceNumber {
        self.sent += 1;
        self.end.send(self.now, MODE, FrameHandle(self.sent), 100).expect("protected").sequence
    }

    fn copies(&mut self) -> usize {
        std::iter::from_fn(|| self.end.poll_retransmission()).count()
    }
}

/// When the receiver's window is the larger one, its report must not claim to have seen more than it has: each report
/// in flight would send the copies again, or release the frames.
#[test]
fn a_receiver_that_saw_a_number_beyond_the_window_does_not_take_copies_under_way_for_lost() {
    let mut alone =
        SenderAlone::new(Config { window_frames: 256, max_rounds: 1, ..Config::new(Tick::Nanosecond) });
    (0..10).for_each(|_| _ = alone.send());
    let report = alone.lane(3, 400);
    assert!(alone.feedback(2, report));
    assert_eq!(alone.copies(), 7);
    for number in 3..6 {
        alone.send();
        assert!(alone.feedback(number, report), "written before the copies came");
    }
    assert_eq!(alone.end.stats().exhausted_frames, 0);
    assert_eq!(alone.copies(), 3, "the new frames, once each");
}

/// A receiver that gives up by its clock must not drop frames whose numbers it has wrongly taken for lost.
#[test]
fn numbers_that_the_receiver_gave_up_beyond_the_window_are_left_out() {
    let mut alone = SenderAlone::new(Config { window_frames: 256, ..Config::new(Tick::Nanosecond) });
    (0..10).for_each(|_| _ = alone.send());
    let report = alone.lane(500, 500);
    assert!(alone.feedback(2, report));
    assert_eq!(alone.end.outstanding(), 0);
    assert_eq!(alone.send(), alone.session.first(MODE).plus(500));
}

/// A feedback is of one moment: if one of its lanes is late by an era, the other one says nothing of the present either.
#[test]
fn a_feedback_late_by_an_era_in_one_lane_releases_nothing_of_the_other() {
    let other = Mode::NonBlocking;
    let mut alone = SenderAlone::new(Config::new(Tick::Nanosecond));
    (0..10).for_each(|_| _ = alone.send());
    let late = LongSequenceNumber(long(alone.session, other, 0).0.wrapping_sub(1 << 16));
    let lanes = |other_lane| {
        PerMode([alone.lane(5, 5), LaneFeedback::new(other_lane, alone.session.first(other), false)])
    };
    let feedback = |number, lanes| {
        let (session, dummy_stamp, lost_total, rx_overflow_total) = (alone.session, 0, 0, 0);
        Control::Feedback(Feedback { session, number, dummy_stamp, lost_total, rx_overflow_total, lanes })
    };
    let (stale, fresh) = (feedback(2, lanes(late)), feedback(3, lanes(long(alone.session, other, 0))));
    assert!(!alone.end.handle_control(alone.now, &stale));
    assert_eq!(alone.end.outstanding(), 10);
    assert!(alone.end.handle_control(alone.now, &fresh));
    assert_eq!(alone.end.outstanding(), 5);
}

/// Feedbacks are numbered with 16 bits, and are more frequent than frames. One that is late by half of that range must
/// not be taken for the newest, or the lane stays paused until the count wraps.
#[test]
fn a_feedback_late_by_half_its_count_does_not_pause_the_lane_again() {
    let mut alone = SenderAlone::new(Config { window_frames: 32_768, ..Config::new(Tick::Nanosecond) });
    let mut late = alone.lane(0, 0);
    late.paused = true;
    for frame in 1..=12_000_u32 {
        alone.send();
        for part in 0..3 {
            assert!(alone.feedback((3 * frame + part) as u16, alone.lane(frame, frame)));
        }
        while alone.end.poll_release().is_some() {}
    }
    alone.feedback(2, late);
    assert!(!alone.end.is_paused());
    let mut newest = alone.lane(12_000, 12_000);
    newest.paused = true;
    assert!(alone.feedback(36_003, newest));
    assert!(alone.end.is_paused(), "what follows is news");
}

/// Dummies are numbered with 16 bits, too. The receiver must not echo an old one from then on, which its sender would
/// take for one far ahead of all its copies.
#[test]
fn a_dummy_late_by_half_its_stamps_is_not_echoed() {
    let session = SessionNumber(4_711);
    let now = Instant(1);
    let mut end = LinkEnd::new(Config::new(Tick::Nanosecond), 7).expect("valid");
    end.handle_control(now, &Control::Init { session, format: Format::Transparent });
    while let Some(transmit) = end.poll_transmit(now, Priority::High) {
        if let Transmit::Control(Control::InitEcho { nonce, .. }) = transmit {
            end.handle_control(now, &Control::Start { session, nonce });
        }
    }
    let dummy = |stamp: u32, sent: u32| Control::Dummy {
        session,
        stamp: stamp as u16,
        next: PerMode([long(session, MODE, sent), long(session, Mode::NonBlocking, 0)]),
        held_from: PerMode([long(session, MODE, sent), long(session, Mode::NonBlocking, 0)]),
    };
    let sent = 12_000;
    for frame in 0..sent {
        let sequence = session.first(MODE).plus(u64::from(frame));
        let header = DataHeader { sequence, mode: MODE, retransmitted: false, ack: None };
        assert_eq!(end.handle_data(now, &header, FrameHandle(frame), 100), Reception::Deliver);
        for part in 1..=3 {
            assert!(end.handle_control(now, &dummy(3 * frame + part, frame + 1)));
        }
    }
    end.handle_control(now, &dummy(2, 1));
    let later = Instant(MICRO * 100_000);
    end.handle_timeout(later);
    let echoed =
        std::iter::from_fn(|| end.poll_transmit(later, Priority::High)).find_map(|transmit| match transmit {
            Transmit::Control(Control::Feedback(feedback)) => Some(feedback.dummy_stamp),
            _ => None,
        });
    assert_eq!(echoed, Some((3 * sent) as u16));
}
