//! The ring, its format on the socket, classes and descriptions.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

use super::*;
use crate::frame_pool::{FramePool, PoolOptions};
use linkmend_control::Side;
use linkmend_control::capture::record::Record;
use linkmend_control::capture::{CaptureOptions, CaptureProgress, CapturedFrame, Direction, FrameClass};
use linkmend_protocol::wire::{CONTROL_FRAME_MAX, emit_control, encapsulate, escape};
use linkmend_protocol::{
    Control, DataHeader, Feedback, Format, LaneFeedback, LongSequenceNumber, Mode, PerMode, PiggybackAck,
    SequenceNumber, SequenceRange, SessionNumber,
};

fn options() -> CaptureOptions {
    CaptureOptions { port: None, snap_bytes: 65_535, classes: Vec::new(), filter: String::new() }
}

fn pool() -> FramePool {
    FramePool::new(PoolOptions { chunks: 64, chunk_bytes: 4096 }).unwrap()
}

fn ip_frame() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
    frame.extend([10, 77, 0, 1, 10, 77, 0, 2, 0x9c, 0x40, 0x14, 0x51]);
    frame.resize(74, 0);
    frame
}

fn data(retransmitted: bool, mode: Mode, ack: Option<PiggybackAck>) -> Vec<u8> {
    let header = DataHeader { sequence: SequenceNumber::new(123, false), mode, retransmitted, ack };
    let encapsulation = encapsulate(Format::Transparent, &header, &ip_frame()).unwrap();
    let mut out = ip_frame()[..12].to_vec();
    out.extend(encapsulation.bytes());
    out.extend(&ip_frame()[14..]);
    out
}

fn control(control: &Control) -> Vec<u8> {
    let mut buffer = [0; CONTROL_FRAME_MAX];
    let length = emit_control(control, [2, 0, 0, 0, 0, 9], &mut buffer);
    buffer[..length].to_vec()
}

fn feedback() -> Vec<u8> {
    let number = |number| SequenceNumber::new(number, false);
    let mut ordered = LaneFeedback::new(LongSequenceNumber(12), number(20), true);
    assert!(ordered.push_missing(SequenceRange { first: number(13), length: 3 }));
    assert!(ordered.push_missing(SequenceRange { first: number(18), length: 1 }));
    control(&Control::Feedback(Feedback {
        session: SessionNumber(9),
        number: 7,
        dummy_stamp: 0,
        lost_total: 4,
        rx_overflow_total: 0,
        lanes: PerMode([ordered, LaneFeedback::new(LongSequenceNumber(0), number(0), false)]),
    }))
}

fn dummy() -> Vec<u8> {
    let next = PerMode([LongSequenceNumber(5), LongSequenceNumber(65_536)]);
    control(&Control::Dummy { session: SessionNumber(9), stamp: 3, next, held_from: next })
}

/// Shows `frames` to a tap with `options` and returns those that it captured.
fn captured(options: CaptureOptions, frames: &[(Side, Vec<u8>)]) -> Vec<CapturedFrame> {
    captured_of(Taps::default(), options, frames)
}

fn captured_of(mut taps: Taps, options: CaptureOptions, frames: &[(Side, Vec<u8>)]) -> Vec<CapturedFrame> {
    let mut pool = pool();
    let (tap, capture) = Tap::new(options).unwrap();
    assert!(taps.add(tap));
    for (port, bytes) in frames {
        let frame = pool.copy_in(bytes).unwrap();
        taps.show(*port, Direction::Outbound, frame, &pool);
        pool.release(frame);
    }
    std::iter::from_fn(|| capture.try_next().ok()).collect()
}

fn all() -> Vec<(Side, Vec<u8>)> {
    let ack = PiggybackAck { mode: Mode::Ordered, next: SequenceNumber::new(45, false) };
    let mut escaped = ip_frame();
    escaped[12..14].copy_from_slice(&[0x88, 0xb5]);
    let encapsulation = escape(&escaped).unwrap();
    let escaped = [&escaped[..12], encapsulation.bytes(), &escaped[12..]].concat();
    vec![
        (Side::Link, data(false, Mode::Ordered, Some(ack))),
        (Side::Link, data(true, Mode::NonBlocking, None)),
        (Side::Link, feedback()),
        (Side::Link, dummy()),
        (Side::Link, escaped),
        (Side::Link, ip_frame()),
        (Side::Inner, ip_frame()),
    ]
}

#[test]
fn classes_choose_kinds_and_lanes() {
    use FrameClass::*;
    let chosen = |classes: &[FrameClass]| {
        let options = CaptureOptions { classes: classes.to_vec(), ..options() };
        let kept = captured(options, &all());
        all()
            .iter()
            .enumerate()
            .filter(|(_, (port, bytes))| kept.iter().any(|it| it.port == *port && it.bytes == *bytes))
            .map(|(index, _)| index)
            .collect::<Vec<_>>()
    };
    assert_eq!(chosen(&[]), [0, 1, 2, 3, 4, 5, 6]);
    assert_eq!(chosen(&[Data]), [0]);
    assert_eq!(chosen(&[Copies]), [1]);
    assert_eq!(chosen(&[Control]), [2, 3]);
    assert_eq!(chosen(&[Acks]), [0, 2]);
    assert_eq!(chosen(&[Dummies]), [3]);
    assert_eq!(chosen(&[Unprotected]), [4, 5, 6]);
    assert_eq!(chosen(&[Ordered]), [0, 2, 3]);
    assert_eq!(chosen(&[NonBlocking, Data, Copies]), [1]);
}

/// With a key, tags used to look like the beginning of what frames carry, so filters did not find that.
#[test]
fn tags_are_told_from_what_frames_carry_on_a_link_with_a_key() {
    let tagged = |plain: Vec<u8>, at: usize| [&plain[..at], &[0xca, 0xfe, 0, 1], &plain[at..]].concat();
    let mut lldp = ip_frame();
    lldp[12..14].copy_from_slice(&[0x88, 0xcc]);
    let header = DataHeader {
        sequence: SequenceNumber::new(5, false),
        mode: Mode::Ordered,
        retransmitted: false,
        ack: None,
    };
    let encapsulation = encapsulate(Format::Transparent, &header, &lldp).unwrap();
    let lldp = [&lldp[..12], encapsulation.bytes(), &lldp[12..]].concat();
    let frames = [
        (Side::Link, tagged(data(false, Mode::Ordered, None), 17)),
        // Its EtherType follows the tag.
        (Side::Link, tagged(lldp, 17)),
        (Side::Link, dummy()),
        (Side::Inner, ip_frame()),
    ];
    let kept = captured_of(Taps::new(true), options(), &frames);
    let lines: Vec<String> = kept.iter().map(|frame| describe::line(frame)[26..].to_owned()).collect();
    let dummy = "dummy 3 of session 9: ordered before 5, non-blocking before 65536, 60 bytes";
    assert_eq!(
        lines,
        [
            "data ordered 123, tag cafe0001, IPv4 10.77.0.1:40000 > 10.77.0.2:5201 TCP, 81 bytes",
            "data ordered 5, tag cafe0001, EtherType 0x88cc, 83 bytes",
            dummy,
            "IPv4 10.77.0.1:40000 > 10.77.0.2:5201 TCP, 74 bytes",
        ]
    );
    let json = serde_json::to_value(describe::description(&kept[0])).unwrap();
    assert_eq!((json["tag"].as_str(), json["source_port"].as_u64()), (Some("cafe0001"), Some(40_000)));
    let filter = CaptureOptions { filter: "tcp port 5201".to_owned(), ..options() };
    assert_eq!(captured_of(Taps::new(true), filter, &frames).len(), 2);
}

#[test]
fn frames_are_put_into_words() {
    let kept = captured(options(), &all());
    let comments: Vec<_> = kept.iter().map(|frame| describe::comment(frame).unwrap_or_default()).collect();
    let expected = [
        "data ordered 123, ACK of ordered before 45",
        "copy of non-blocking 123",
        "loss notification 7 of session 9: ordered before 12, missing 13-15 18, paused; non-blocking before 0",
        "dummy 3 of session 9: ordered before 5, non-blocking before 65536",
        "unprotected, escaped",
        "unprotected",
        "",
    ];
    assert_eq!(comments, expected);
    let mut first = kept[0].clone();
    first.at_ns = 1_700_000_000_123_456_789;
    first.corrupted = true;
    assert_eq!(
        describe::line(&first),
        "22:13:20.123456 link  out data ordered 123, ACK of ordered before 45, IPv4 10.77.0.1:40000 > 10.77.0.2:5201 \
         TCP, 80 bytes, dropped on purpose"
    );
    assert_eq!(
        describe::line(&kept[3])[16..],
        *"link  out dummy 3 of session 9: ordered before 5, non-blocking before 65536, 60 bytes"
    );
}

#[test]
fn ports_filters_and_snap_lengths_are_kept_to() {
    let inner = CaptureOptions { port: Some(Side::Inner), ..options() };
    assert_eq!(captured(inner, &all()).len(), 1);
    let filtered = CaptureOptions { filter: "tcp port 5201".to_owned(), snap_bytes: 20, ..options() };
    let kept = captured(filtered, &all());
    assert_eq!(kept.len(), 4);
    assert!(kept.iter().all(|frame| frame.bytes.len() == 20 && frame.length > 20));
    assert!(Tap::new(CaptureOptions { filter: "prot".to_owned(), ..options() }).is_err());
}

/// A frame of several chunks is whole in the ring.
#[test]
fn jumbo_frames_are_kept_whole() {
    let mut jumbo = ip_frame();
    jumbo.resize(9000, 0x5a);
    let kept = captured(options(), &[(Side::Inner, jumbo.clone())]);
    assert!(kept[0].bytes == jumbo && kept[0].length == 9000);
}

#[test]
fn what_finds_the_ring_full_is_counted_and_room_comes_back() {
    let mut pool = pool();
    let (tap, capture) = Tap::new(options()).unwrap();
    let mut taps = Taps::default();
    assert!(taps.add(tap));
    let frame = pool.copy_in(&[7; 4000]).unwrap();
    let mut shown = 0u64;
    while capture.progress().dropped < 10 {
        taps.show(Side::Inner, Direction::Inbound, frame, &pool);
        shown += 1;
    }
    let mut kept = 0;
    while capture.try_next().is_ok() {
        kept += 1;
    }
    assert_eq!(kept + capture.progress().dropped, shown);
    // The ring is bounded in bytes, too, not only in frames.
    assert!(kept * 4000 <= 16 << 20 && kept < 8192, "{kept}");
    taps.show(Side::Inner, Direction::Inbound, frame, &pool);
    assert!(capture.try_next().is_ok());
}

#[test]
fn a_capture_that_nobody_takes_any_more_is_let_go() {
    let mut taps = Taps::default();
    let mut captures = Vec::new();
    for _ in 0..CAPTURES_MAX {
        let (tap, capture) = Tap::new(options()).unwrap();
        assert!(taps.add(tap));
        captures.push(capture);
    }
    assert!(!taps.add(Tap::new(options()).unwrap().0), "a bounded number");
    taps.set_kernel_forwards(true);
    assert!(captures[0].progress().kernel_forwards);
    captures.pop();
    assert!(taps.add(Tap::new(options()).unwrap().0));
    drop(captures);
}

#[test]
fn records_come_apart_again() {
    let mut bytes = Vec::new();
    let frame = captured(options(), &all()).remove(0);
    let records = [
        Record::Frame(frame.clone()),
        Record::Progress(CaptureProgress { dropped: 7, kernel_forwards: true }),
        Record::Frame(CapturedFrame {
            corrupted: true,
            is_tagged: true,
            direction: Direction::Inbound,
            ..frame
        }),
    ];
    for record in &records {
        record.write(&mut bytes);
    }
    let mut at = 0;
    for record in &records {
        let (read, length) = Record::read(&bytes[at..]).unwrap().unwrap();
        assert_eq!(read, *record);
        // A part of a record is not a record.
        for cut in 0..length {
            assert_eq!(Record::read(&bytes[at..at + cut]), Ok(None));
        }
        at += length;
    }
    assert_eq!(at, bytes.len());
    assert!(Record::read(b"{\"response\"").is_err());
}

#[test]
fn what_a_link_with_nothing_to_do_says_is_a_repetition_until_something_changes() {
    let numbers = |ordered| PerMode([LongSequenceNumber(ordered), LongSequenceNumber(0)]);
    let dummy = |stamp, ordered| {
        let (next, held_from) = (numbers(ordered), numbers(ordered));
        control(&Control::Dummy { session: SessionNumber(9), stamp, next, held_from })
    };
    let ack = |number, dummy_stamp, ordered| {
        let lane = |next| {
            LaneFeedback::new(LongSequenceNumber(next), SequenceNumber::new(next as u16, false), false)
        };
        control(&Control::Feedback(Feedback {
            session: SessionNumber(9),
            number,
            dummy_stamp,
            lost_total: 0,
            rx_overflow_total: 0,
            lanes: PerMode([lane(ordered), lane(0)]),
        }))
    };
    let mut repetition = Repetition::default();
    let mut is_in = |bytes: Vec<u8>, direction, corrupted| {
        let (length, port) = (bytes.len() as u32, Side::Link);
        repetition.is_in(&CapturedFrame {
            at_ns: 0,
            port,
            direction,
            corrupted,
            is_tagged: false,
            length,
            bytes,
        })
    };
    use Direction::{Inbound, Outbound};
    for (bytes, direction, expected) in [
        (dummy(1, 5), Outbound, false),
        (ack(1, 1, 5), Inbound, false),
        (dummy(2, 5), Outbound, true),
        (dummy(1, 5), Inbound, false),
        (ack(2, 2, 5), Inbound, true),
        (ack(3, 3, 5), Inbound, true),
        // With both directions protected, dummies and ACKs alternate.
        (ack(1, 1, 7), Outbound, false),
        (dummy(3, 5), Outbound, true),
        (ack(2, 2, 7), Outbound, true),
        (data(false, Mode::Ordered, None), Outbound, false),
        (dummy(4, 6), Outbound, false),
        (ack(4, 4, 6), Inbound, false),
        (dummy(5, 6), Outbound, true),
        (control(&Control::Fin { session: SessionNumber(9) }), Outbound, false),
        (control(&Control::Fin { session: SessionNumber(9) }), Outbound, false),
    ] {
        assert_eq!(is_in(bytes.clone(), direction, false), expected, "{direction:?} {bytes:?}");
    }
    assert!(!is_in(dummy(6, 6), Outbound, true), "dropped on purpose");
}
