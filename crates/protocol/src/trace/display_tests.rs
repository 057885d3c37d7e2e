//! Tests that every call is recorded and carried out alike, and that every step and event has its text.

use super::*;
use crate::paths::Path;
use crate::time::Tick;
use crate::{
    CloseReason, Config, Control, Copies, DataHeader, Event, Feedback, FrameHandle, Instant, LaneFeedback,
    LinkEnd, LongSequenceNumber, Mode, PerMode, PiggybackAck, Priority, Protection, Reception,
    SequenceNumber, SequenceRange, SessionNumber, Ticks, Transmit,
};
use std::boxed::Box;
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

/// Makes a step's call on a traced link end; `None` as [`Step::repeat`].
fn call<S: StepSink>(step: &Step, end: &mut TracedLinkEnd<S>, at: Instant) -> Option<Step> {
    let mut step = step.clone();
    match &mut step {
        Step::Protect { protection } => end.protect(at, *protection),
        Step::Unprotect => end.unprotect(at),
        Step::Reconfigure { config } => end.reconfigure(**config).ok()?,
        Step::Stall => end.handle_stall(at),
        Step::Leave => end.leave(at),
        Step::Stop => end.handle_stop(at),
        Step::ChangePath { resent } => *resent = end.change_path(at),
        Step::CleanOther { is_clean } => end.set_clean_other(at, *is_clean),
        // Its answer is for the record alone.
        Step::Timeout { .. } => end.handle_timeout(at),
        Step::Control { control, accepted } => *accepted = end.handle_control(at, control),
        Step::Ack { ack, accepted } => *accepted = end.handle_ack(at, *ack),
        Step::Data { header, frame, bytes, reception } => {
            *reception = end.handle_data(at, header, *frame, *bytes);
        }
        Step::Send { mode, frame, bytes, header } => *header = end.send(at, *mode, *frame, *bytes),
        Step::LeftOn { path, header } => end.left_on(at, *path, header),
        Step::PollTransmit { priority, transmit } => *transmit = end.poll_transmit(at, *priority),
        Step::PollPiggyback { ack } => *ack = end.poll_piggyback(at),
        Step::PollDeliver { frame } => *frame = end.poll_deliver(),
        Step::Released { frame } => *frame = end.poll_release()?,
        Step::Event { event } => *event = end.poll_event()?,
        Step::Offered { .. } | Step::Corrupted { .. } => end.note(at, || step.clone()),
    }
    Some(step)
}

/// What one end of a lossy run was asked, and then everything else that a link end can be asked.
fn every_call(of: usize) -> Vec<Record> {
    let mut steps = super::tests::lossy_run()[of].clone();
    let last = steps.last().expect("a run").at;
    let mode = Mode::Ordered;
    let next = SequenceNumber::new(3, false);
    // One more frame, so that an ACK is owed, and one too many.
    let arrived = steps.iter().rev().find_map(|record| match record.step {
        Step::Data { header, .. } => Some(header.sequence),
        _ => None,
    });
    let header =
        DataHeader { sequence: arrived.unwrap_or(next).plus(1), mode, retransmitted: false, ack: None };
    let smaller = Config { window_bytes: 80_000, ..Config::new(Tick::Nanosecond) };
    let more = [
        Step::CleanOther { is_clean: true },
        Step::ChangePath { resent: 0 },
        Step::LeftOn { path: Path::Backup, header },
        Step::Offered { mode, bytes: 70 },
        Step::Data { header, frame: FrameHandle(900), bytes: 70, reception: Reception::Drop },
        Step::PollPiggyback { ack: None },
        Step::Ack { ack: PiggybackAck { mode, next }, accepted: true },
        Step::Reconfigure { config: Box::new(smaller) },
        Step::Send { mode, frame: FrameHandle(901), bytes: 70, header: None },
        Step::Corrupted { frame: CorruptedFrame::Unprotected },
        Step::PollTransmit { priority: Priority::Low, transmit: None },
        Step::Unprotect,
        Step::PollTransmit { priority: Priority::High, transmit: None },
        Step::Stall,
        Step::Leave,
        Step::Stop,
        Step::Event { event: Event::PeerSeen },
        Step::Timeout { given_up: 0 },
        Step::PollDeliver { frame: None },
        Step::Released { frame: FrameHandle(0) },
    ];
    steps.extend((1..).zip(more).map(|(after, step)| Record { at: last + Ticks(after * 1_000_000), step }));
    steps
}

#[test]
fn a_traced_link_end_behaves_like_a_plain_one_and_records_it() {
    for of in [0, 1] {
        let end = || LinkEnd::new(Config::new(Tick::Nanosecond), of as u64 + 1).expect("valid");
        let mut plain = end();
        let mut silent = TracedLinkEnd::<Vec<Record>>::new(end(), None);
        let mut boxed = TracedLinkEnd::new(end(), Some(Box::new(Vec::new())));
        let mut expected = Vec::new();
        let mut latest = Instant(0);
        for Record { at, step } in every_call(of) {
            let answer = step.repeat(&mut plain, at);
            let given_up = match answer {
                Some(Step::Timeout { given_up }) => Some(given_up),
                _ => None,
            };
            for called in [call(&step, &mut silent, at), call(&step, &mut boxed, at)] {
                assert!(given_up.is_some() || called == answer, "{called:?} instead of {answer:?}");
            }
            for (stats, next) in
                [(silent.stats(), silent.next_timeout()), (boxed.stats(), boxed.next_timeout())]
            {
                assert_eq!((stats, next), (plain.stats(), plain.next_timeout()), "after {step:?}");
            }
            // These calls take no time: the record has that of the call before.
            let timeless = matches!(
                step,
                Step::PollDeliver { .. }
                    | Step::Released { .. }
                    | Step::Event { .. }
                    | Step::Reconfigure { .. }
            );
            latest = if timeless { latest } else { at };
            expected.extend(answer.map(|step| Record { at: latest, step }));
        }
        let written = boxed.sink_mut().expect("a sink");
        assert_eq!(**written, expected);
        for kind in ["Send", "Data", "PollPiggyback", "Ack", "Stall", "Unprotect", "Reconfigure", "Event"] {
            assert!(
                expected.iter().any(|record| format!("{:?}", record.step).starts_with(kind)),
                "no {kind}"
            );
        }
        // The extremes are statistics: they are reset, and the record does not say so.
        boxed.reset_buffer_extremes();
        assert_eq!(boxed.stats().tx_buffer[Mode::Ordered].max, boxed.stats().tx_buffer[Mode::Ordered].now);
        assert_eq!(boxed.sink_mut().expect("a sink").len(), expected.len());
    }
}

fn number(number: u16) -> SequenceNumber {
    SequenceNumber::new(number, false)
}

fn header(sequence: u16, retransmitted: bool, ack: Option<u16>) -> DataHeader {
    let mode = Mode::Ordered;
    let ack = ack.map(|next| PiggybackAck { mode: Mode::NonBlocking, next: number(next) });
    DataHeader { sequence: number(sequence), mode, retransmitted, ack }
}

fn feedback(next: u16, paused: bool) -> Control {
    let mut ordered = LaneFeedback::new(LongSequenceNumber(next.into()), number(next + 10), paused);
    for (first, length) in [(next, 1), (next + 4, 3)] {
        assert!(ordered.push_missing(SequenceRange { first: number(first), length }));
    }
    let other = LaneFeedback::new(LongSequenceNumber(0), number(0), false);
    Control::Feedback(Feedback {
        session: SessionNumber(1),
        number: 1,
        dummy_stamp: 0,
        lost_total: 0,
        rx_overflow_total: 0,
        lanes: PerMode([ordered, other]),
    })
}

fn sent(control: Control) -> Step {
    Step::PollTransmit { priority: Priority::High, transmit: Some(Transmit::Control(control)) }
}

fn received(control: Control) -> Step {
    Step::Control { control, accepted: true }
}

fn data(sequence: u16, copy: bool, reception: Reception) -> Step {
    let (header, frame) = (header(sequence, copy, Some(50)), FrameHandle(sequence.into()));
    Step::Data { header, frame, bytes: 70, reception }
}

/// Steps with frames and ACKs, in order, and their texts.
fn steps_with_frames() -> Vec<(Step, Vec<&'static str>)> {
    let mode = Mode::NonBlocking;
    let session = SessionNumber(1);
    let send = |sequence: u16, ack| Step::Send {
        mode: Mode::Ordered,
        frame: FrameHandle(sequence.into()),
        bytes: 70,
        header: Some(header(sequence, false, ack)),
    };
    let unprotected = Step::Send { mode, frame: FrameHandle(1), bytes: 70, header: None };
    let copy = Transmit::Retransmission { frame: FrameHandle(7), header: header(7, true, None) };
    let ack = |next| PiggybackAck { mode, next: number(next) };
    let closed = Event::SessionEnded { session, reason: CloseReason::Requested };
    vec![
        (Step::Offered { mode, bytes: 70 }, vec!["offered a frame of 70 bytes, non-blocking"]),
        (send(7, None), vec!["sent ordered 7, 70 bytes"]),
        (send(8, Some(3)), vec!["sent ordered 8, 70 bytes", "sent ACK of non-blocking before 3"]),
        (send(9, Some(3)), vec!["sent ordered 9, 70 bytes"]),
        (unprotected, vec![]),
        (
            Step::PollTransmit { priority: Priority::High, transmit: Some(copy) },
            vec!["sent copy of ordered 7"],
        ),
        (
            data(5, false, Reception::Deliver),
            vec!["received ordered 5", "received ACK of non-blocking before 50", "delivered ordered 5"],
        ),
        (data(6, true, Reception::Drop), vec!["received copy of ordered 6", "discarded ordered 6"]),
        (data(8, false, Reception::Buffered), vec!["received ordered 8"]),
        (Step::PollDeliver { frame: Some(FrameHandle(8)) }, vec!["delivered ordered 8"]),
        (Step::PollDeliver { frame: Some(FrameHandle(8)) }, vec![]),
        (Step::PollDeliver { frame: None }, vec![]),
        (Step::Released { frame: FrameHandle(7) }, vec!["released ordered 7"]),
        (Step::Released { frame: FrameHandle(7) }, vec![]),
        (Step::Timeout { given_up: 0 }, vec![]),
        (Step::Timeout { given_up: 2 }, vec!["gave up 2"]),
        (
            Step::Event { event: closed },
            vec!["SessionEnded { session: SessionNumber(1), reason: Requested }"],
        ),
        (
            Step::Corrupted { frame: CorruptedFrame::Data(header(4, true, None)) },
            vec!["corrupted copy of ordered 4"],
        ),
        (
            Step::Corrupted { frame: CorruptedFrame::Data(header(4, false, None)) },
            vec!["corrupted ordered 4"],
        ),
        (
            Step::Corrupted { frame: CorruptedFrame::Control(Control::OldHello) },
            vec!["corrupted a control frame"],
        ),
        (Step::Corrupted { frame: CorruptedFrame::Unprotected }, vec!["corrupted an unprotected frame"]),
        (Step::Ack { ack: ack(51), accepted: true }, vec!["received ACK of non-blocking before 51"]),
        (Step::Ack { ack: ack(52), accepted: false }, vec![]),
        (Step::PollPiggyback { ack: Some(ack(4)) }, vec!["sent ACK of non-blocking before 4"]),
        (Step::PollPiggyback { ack: None }, vec![]),
    ]
}

/// Steps with control frames, after those with frames, and their texts.
fn steps_with_control_frames() -> Vec<(Step, Vec<&'static str>)> {
    let mode = Mode::NonBlocking;
    let session = SessionNumber(1);
    let hole = SequenceRange { first: number(9), length: 2 };
    let next = PerMode([LongSequenceNumber(1); 2]);
    vec![
        (
            sent(feedback(20, true)),
            vec![
                "sent ACK of ordered before 20",
                "sent notification of ordered 20 and 0 behind",
                "sent notification of ordered 24 and 2 behind",
                "sent pause of ordered",
                "sent ACK of non-blocking before 0",
            ],
        ),
        (
            received(feedback(20, true)),
            vec![
                "received ACK of ordered before 20",
                "received notification of ordered 20 and 0 behind",
                "received notification of ordered 24 and 2 behind",
                "received pause of ordered",
                "received ACK of non-blocking before 0",
            ],
        ),
        (
            sent(feedback(20, false)),
            vec![
                "sent notification of ordered 20 and 0 behind",
                "sent notification of ordered 24 and 2 behind",
                "sent resume of ordered",
            ],
        ),
        (Step::Control { control: feedback(21, false), accepted: false }, vec![]),
        (sent(Control::Dummy { session, stamp: 1, next, held_from: next }), vec!["sent dummy"]),
        (received(Control::CompactDummy { mode, next: number(1) }), vec!["received dummy"]),
        (received(Control::CompactAck { next: number(30) }), vec!["received ACK of ordered before 30"]),
        (
            sent(Control::CompactNotification { next: number(31), hole }),
            vec!["sent ACK of ordered before 31", "sent notification of ordered 9 and 1 behind"],
        ),
        (sent(Control::OldHello), vec!["sent hello"]),
        (received(Control::Init { session, format: Default::default() }), vec!["received init"]),
        (received(Control::Start { session, nonce: 1 }), vec!["received start"]),
        (sent(Control::Fin { session }), vec!["sent fin"]),
        (received(Control::FinEcho { session }), vec!["received fin echo"]),
        (Step::Protect { protection: Protection { copies: Copies::Fixed(1) } }, vec![]),
        (Step::Stall, vec![]),
        (Step::Leave, vec![]),
        (Step::Stop, vec![]),
        (Step::ChangePath { resent: 3 }, vec![]),
        (Step::LeftOn { path: Path::Backup, header: header(3, true, None) }, vec![]),
        (Step::CleanOther { is_clean: true }, vec![]),
    ]
}

#[test]
fn every_step_has_a_description() {
    let mut tracer = Tracer::new();
    for (step, expected) in steps_with_frames().into_iter().chain(steps_with_control_frames()) {
        let mut reported: Vec<String> = Vec::new();
        tracer.trace(&step, &mut |event| reported.push(event.to_string()));
        assert_eq!(reported, expected, "{step:?}");
    }
}

/// The authors' headers name no lane: they speak of the lane of the latest frame that went the other way.
#[test]
fn a_compact_ack_is_described_with_the_lane_in_use() {
    let mut tracer = Tracer::new();
    let mut tell = |step: Step| {
        let mut reported: Vec<String> = Vec::new();
        tracer.trace(&step, &mut |event| reported.push(event.to_string()));
        reported.pop().expect("an event")
    };
    let non_blocking = DataHeader { mode: Mode::NonBlocking, ..header(1, false, None) };
    tell(Step::Send {
        mode: Mode::NonBlocking,
        frame: FrameHandle(1),
        bytes: 70,
        header: Some(non_blocking),
    });
    assert_eq!(
        tell(received(Control::CompactAck { next: number(2) })),
        "received ACK of non-blocking before 2"
    );
    assert_eq!(tell(sent(Control::CompactAck { next: number(2) })), "sent ACK of ordered before 2");
    let frame = FrameHandle(2);
    tell(Step::Data { header: non_blocking, frame, bytes: 70, reception: Reception::Deliver });
    assert_eq!(tell(sent(Control::CompactAck { next: number(3) })), "sent ACK of non-blocking before 3");
}
