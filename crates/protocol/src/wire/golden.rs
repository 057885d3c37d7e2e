//! The bytes of all formats, written down: two ends of different builds must agree on them, and a test that writes and
//! reads with the same code cannot check this.

use super::*;
use crate::frame::{Feedback, LaneFeedback, SequenceRange};
use crate::mode::{Mode, PerMode};
use crate::paths::{Decision, Path, PathReport, Preference, Probe};
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::SessionNumber;
use std::vec;
use std::vec::Vec;

/// Every code of an EtherType, and one EtherType that has none: code 0, and two bytes more.
const CODES: [(u16, u8); 8] =
    [(0x1234, 0), (0x0800, 1), (0x86dd, 2), (0x8100, 3), (0x88a8, 4), (0x0806, 5), (0x8847, 6), (0x8864, 7)];

const ADDRESSES: [u8; 12] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
const PAYLOAD: [u8; 6] = [0x45, 0xc0, 0x00, 0xff, 0x01, 0x80];

fn frame(ethertype: u16) -> Vec<u8> {
    [&ADDRESSES[..], &ethertype.to_be_bytes(), &PAYLOAD].concat()
}

/// What a driver puts on the link.
fn on_the_link(frame: &[u8], encapsulation: &Encapsulation) -> Vec<u8> {
    let rest = &frame[ADDRESSES_BYTES + usize::from(encapsulation.removes)..];
    [&frame[..ADDRESSES_BYTES], encapsulation.bytes(), rest].concat()
}

/// `header`, then the EtherType where no code stands for it, then the payload.
fn expected(header: &[u8], ethertype: u16, code: u8) -> Vec<u8> {
    let explicit = if code == 0 { ethertype.to_be_bytes().to_vec() } else { vec![] };
    [&ADDRESSES[..], header, &explicit, &PAYLOAD].concat()
}

fn restores(removes: usize, ethertype: u16, code: u8) -> Decapsulation {
    Decapsulation { removes, ethertype: (code != 0).then_some(ethertype) }
}

/// Fields of a data header, and the first byte without its EtherType code.
const DATA: [(Mode, bool, bool, u8); 6] = [
    (Mode::NonBlocking, false, false, 0b0000_0000),
    (Mode::Ordered, false, false, 0b0010_0000),
    (Mode::NonBlocking, true, false, 0b0001_0000),
    (Mode::NonBlocking, false, true, 0b0000_1000),
    (Mode::Ordered, true, false, 0b0011_0000),
    (Mode::Ordered, true, true, 0b0011_1000),
];

#[test]
fn transparent_data_headers_with_every_code() {
    for (ethertype, code) in CODES {
        for (mode, era, retransmitted, first) in DATA {
            let sequence = SequenceNumber::new(0x1234, era);
            let header = DataHeader { sequence, mode, retransmitted, ack: None };
            let frame = frame(ethertype);
            let encapsulation = encapsulate(Format::Transparent, &header, &frame).expect("any frame");
            let wrapped = on_the_link(&frame, &encapsulation);
            assert_eq!(wrapped, expected(&[0x88, 0xb5, first | code, 0x12, 0x34], ethertype, code));
            assert_eq!(encapsulation.growth(), if code == 0 { 5 } else { 3 });
            let decapsulation = restores(5, ethertype, code);
            assert_eq!(decapsulation.shrinkage(), encapsulation.growth());
            assert_eq!(parse(&wrapped), LinkFrame::Data { header, decapsulation });
        }
    }
}

#[test]
fn transparent_data_headers_with_an_ack_and_every_code() {
    let acks = [
        (Mode::NonBlocking, false, 0b0000_0000),
        (Mode::Ordered, false, 0b1000_0000),
        (Mode::NonBlocking, true, 0b0100_0000),
        (Mode::Ordered, true, 0b1100_0000),
    ];
    for (ethertype, code) in CODES {
        for (ack_mode, ack_era, flags) in acks {
            let ack = PiggybackAck { mode: ack_mode, next: SequenceNumber::new(0xfedc, ack_era) };
            let sequence = SequenceNumber::new(0x8001, false);
            let header = DataHeader { sequence, mode: Mode::Ordered, retransmitted: false, ack: Some(ack) };
            let frame = frame(ethertype);
            let encapsulation = encapsulate(Format::Transparent, &header, &frame).expect("any frame");
            let wrapped = on_the_link(&frame, &encapsulation);
            let bytes = [0x88, 0xb5, 0b0110_0000 | code, 0x80, 0x01, flags, 0xfe, 0xdc];
            assert_eq!(wrapped, expected(&bytes, ethertype, code));
            assert_eq!(encapsulation.growth(), if code == 0 { 8 } else { 6 });
            assert_eq!(
                parse(&wrapped),
                LinkFrame::Data { header, decapsulation: restores(8, ethertype, code) }
            );
        }
    }
}

#[test]
fn transparent_acks_on_unprotected_frames_with_every_code() {
    let acks = [
        (Mode::NonBlocking, false, 0b1110_0000),
        (Mode::Ordered, false, 0b1111_0000),
        (Mode::NonBlocking, true, 0b1110_1000),
        (Mode::Ordered, true, 0b1111_1000),
    ];
    for (ethertype, code) in CODES {
        for (mode, era, first) in acks {
            let ack = PiggybackAck { mode, next: SequenceNumber::new(0x0102, era) };
            let frame = frame(ethertype);
            let encapsulation = encapsulate_ack(Format::Transparent, ack, &frame).expect("any frame");
            let wrapped = on_the_link(&frame, &encapsulation);
            assert_eq!(wrapped, expected(&[0x88, 0xb5, first | code, 1, 2], ethertype, code));
            assert_eq!(
                parse(&wrapped),
                LinkFrame::Acknowledging { ack, decapsulation: restores(5, ethertype, code) }
            );
        }
    }
}

/// An explicit EtherType that is cut off leaves no frame to restore.
#[test]
fn a_cut_header_is_malformed() {
    let whole: [&[u8]; 3] = [
        &[0x88, 0xb5, 0b0010_0000, 0x12, 0x34, 0x12, 0x34],
        &[0x88, 0xb5, 0b0110_0001, 0x80, 0x01, 0x80, 0xfe, 0xdc],
        &[0x88, 0xb5, 0b1110_0000, 1, 2, 0x12, 0x34],
    ];
    for bytes in whole {
        let frame = [&ADDRESSES[..], bytes].concat();
        assert!(matches!(parse(&frame), LinkFrame::Data { .. } | LinkFrame::Acknowledging { .. }));
        for length in ADDRESSES_BYTES + 3..frame.len() {
            assert_eq!(parse(&frame[..length]), LinkFrame::Malformed, "{length} bytes of {bytes:x?}");
        }
    }
    for bit in 0..6 {
        let unused = [0x88, 0xb5, 0b0110_0001, 0x80, 0x01, 1 << bit, 0xfe, 0xdc, 0];
        assert_eq!(parse(&[&ADDRESSES[..], &unused].concat()), LinkFrame::Malformed, "bit {bit}");
    }
}

#[test]
fn escaped_frames_keep_their_own_ethertype() {
    for ethertype in [0x88b5, 0xabcd] {
        let frame = frame(ethertype);
        let encapsulation = escape(&frame).expect("one of Linkmend's");
        let wrapped = on_the_link(&frame, &encapsulation);
        let own = [&[0x88, 0xb5, 0b1100_0000, b'L', b'M', b'1'], &ethertype.to_be_bytes()[..]].concat();
        assert_eq!(wrapped, [&ADDRESSES[..], &own, &PAYLOAD].concat());
        assert_eq!(parse(&wrapped), LinkFrame::Escaped(Decapsulation { removes: 6, ethertype: None }));
    }
    for (ethertype, _) in CODES {
        assert_eq!(escape(&frame(ethertype)), None);
    }
}

#[test]
fn compact_headers_are_for_ipv4_alone() {
    let rows = [
        (Mode::NonBlocking, false, false, 0b0000_0000),
        (Mode::Ordered, false, false, 0b0000_0010),
        (Mode::NonBlocking, true, false, 0b0001_0000),
        (Mode::NonBlocking, false, true, 0b0000_1000),
        (Mode::Ordered, true, true, 0b0001_1010),
    ];
    let ack = |era| PiggybackAck { mode: Mode::Ordered, next: SequenceNumber::new(0x0103, era) };
    for (ethertype, code) in CODES {
        let ipv4 = code == 1;
        let frame = frame(ethertype);
        assert_eq!(can_protect(Format::Compact, &frame), ipv4);
        assert!(can_protect(Format::Transparent, &frame));
        for (mode, era, retransmitted, first) in rows {
            let sequence = SequenceNumber::new(0x1234, era);
            let header = DataHeader { sequence, mode, retransmitted, ack: None };
            let encapsulation = encapsulate(Format::Compact, &header, &frame);
            assert_eq!(encapsulation.is_some(), ipv4);
            let Some(encapsulation) = encapsulation else { continue };
            let wrapped = on_the_link(&frame, &encapsulation);
            assert_eq!(wrapped, expected(&[0xab, 0xcd, first, 0x12, 0x34], ethertype, code));
            let decapsulation = restores(5, ethertype, code);
            assert_eq!(parse(&wrapped), LinkFrame::Data { header, decapsulation });
        }
        for (era, first) in [(false, 0b0110_0000), (true, 0b0111_0000)] {
            let encapsulation = encapsulate_ack(Format::Compact, ack(era), &frame);
            assert_eq!(encapsulation.is_some(), ipv4);
            let Some(encapsulation) = encapsulation else { continue };
            let wrapped = on_the_link(&frame, &encapsulation);
            // The leading ACK is the last number received in order.
            assert_eq!(wrapped, expected(&[0xab, 0xcd, first, 1, 2], ethertype, code));
            assert_eq!(
                parse(&wrapped),
                LinkFrame::Acknowledging { ack: ack(era), decapsulation: restores(5, ethertype, code) }
            );
        }
    }
    for length in 0..14 {
        assert!(!can_protect(Format::Transparent, &frame(0x0800)[..length]));
        assert_eq!(parse(&frame(0x88b5)[..length]), LinkFrame::Foreign);
    }
}

#[test]
fn the_retransmitted_flag_is_the_same_bit_in_both_formats() {
    for (format, first) in [(Format::Transparent, 0b0010_1001), (Format::Compact, 0b0000_1010)] {
        let sequence = SequenceNumber::new(0x1234, false);
        let header = DataHeader { sequence, mode: Mode::Ordered, retransmitted: false, ack: None };
        let frame = frame(0x0800);
        let mut wrapped = on_the_link(&frame, &encapsulate(format, &header, &frame).expect("IPv4"));
        for _ in 0..2 {
            mark_retransmitted(&mut wrapped);
            assert_eq!(wrapped[14], first, "{format:?}");
        }
    }
    mark_retransmitted(&mut [0; 14]);
}

/// A control frame from the EtherType on, without its padding.
fn control_bytes(control: &Control) -> Vec<u8> {
    let mut out = [0xff; CONTROL_FRAME_MAX];
    let length = emit_control(control, [2, 0, 0, 0, 0, 9], &mut out);
    assert_eq!(out[..12], [3, b'L', b'i', b'n', b'k', b'm', 2, 0, 0, 0, 0, 9], "addresses");
    assert_eq!(parse(&out[..length]), LinkFrame::Control(*control));
    assert!(length >= 60, "{length} bytes");
    let mut bytes = out[12..length].to_vec();
    while length == 60 && bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// A frame of this type with the magic, as far as its last byte that is not zero.
fn with_magic(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[0x88, 0xb5, 0x80 | kind, b'L', b'M', b'1'], body].concat()
}

#[test]
fn control_frames() {
    let session = SessionNumber(0x1234_5678);
    let long = LongSequenceNumber;
    let format = Format::Compact;
    let (nonce, window_frames) = (0x9abc_def1, 0x8000);
    let id = [0x12, 0x34, 0x56, 0x78];
    let report = |fails, loses_full, first: u8| PathReport {
        fails,
        loses_full,
        silent_us: u32::from_be_bytes([first, first + 1, first + 2, first + 3]),
        later_us: u32::from_be_bytes([first + 4, first + 5, first + 6, first + 7]),
        lost: first + 8,
    };
    let backup = Probe {
        writer: 0x0102_0304,
        challenge: 0x0506_0708,
        echo: 0x090a_0b0c,
        path: Path::Backup,
        is_full: false,
        number: 0x0d0e_0f10,
        stamp_us: 0x1112_1314,
        decision: Decision { number: 0x1516_1718, active: Path::Backup },
        takes: 0x191a_1b1c,
        preference: Preference { number: 0x1d1e_1f20, by: 0x2122_2324, path: Path::Primary },
        needs_ns: 0x2526_2728,
        interval_ns: 0x292a_2b2c,
        reports: [report(true, false, 0x2d), report(false, true, 0x36)],
    };
    let primary = Probe {
        path: Path::Primary,
        is_full: true,
        decision: Decision { active: Path::Primary, ..backup.decision },
        preference: Preference { path: Path::Backup, ..backup.preference },
        reports: [report(false, true, 0x2d), report(true, false, 0x36)],
        ..backup
    };
    let [numbers, reports] = [1..=44, 0x2d..=0x3e].map(|range| range.collect::<Vec<u8>>());
    for (probe, flags) in [(backup, 0b1001_0011), (primary, 0b0110_1100)] {
        let body = [&numbers[..], &[flags], &reports].concat();
        assert_eq!(control_bytes(&Control::Probe(probe)), with_magic(12, &body));
    }
    let hello = Control::Hello { nonce: 0x0102_0304_0506_0708, echo: 0x090a_0b0c_0d0e_0f10 };
    assert_eq!(control_bytes(&hello), with_magic(13, &(1..=16).collect::<Vec<u8>>()));
    assert_eq!(control_bytes(&Control::OldHello), with_magic(0, &[]));
    let frames: [(Control, u8, Vec<u8>); 6] = [
        (Control::Init { session, format }, 1, vec![1]),
        (
            Control::InitEcho { session, nonce, window_frames, format },
            2,
            vec![0x9a, 0xbc, 0xde, 0xf1, 0, 0, 0x80, 0, 1],
        ),
        (Control::Start { session, nonce }, 3, vec![0x9a, 0xbc, 0xde, 0xf1]),
        (
            Control::Dummy {
                session,
                stamp: 0x0a0b,
                next: PerMode([long(0x0102_0304), long(0x0506_0708)]),
                held_from: PerMode([long(0x090a_0b0c), long(0x0d0e_0f10)]),
            },
            9,
            vec![0x0a, 0x0b, 1, 2, 3, 4, 9, 10, 11, 12, 5, 6, 7, 8, 13, 14, 15, 16],
        ),
        (Control::Fin { session }, 6, vec![]),
        (Control::FinEcho { session }, 7, vec![]),
    ];
    for (control, kind, body) in frames {
        assert_eq!(control_bytes(&control), with_magic(kind, &[&id[..], &body].concat()), "{control:?}");
    }
}

/// One lane each with every flag set and clear, and with no run and two.
#[test]
fn feedbacks() {
    let number = SequenceNumber::new;
    let long = LongSequenceNumber;
    let mut ordered = LaneFeedback::new(long(0xabcc_fff0), number(0x0030, true), true);
    (ordered.from, ordered.seen) = (number(0xfff8, false), number(0x0040, true));
    // The era of a run is that of the cumulative number, or the other one beyond the wrap.
    assert!(ordered.push_missing(SequenceRange { first: number(0xfff9, false), length: 0x7fff }));
    assert!(ordered.push_overflowed(SequenceRange { first: number(0x0002, true), length: 1 }));
    assert!(!ordered.push_missing(SequenceRange { first: number(0x0020, true), length: 0x8000 }), "too long");
    let mut other = LaneFeedback::new(long(0x0a0b_0102), number(0x0304, false), false);
    (other.from, other.seen, other.by_clock) = (number(0x0506, true), number(0x0708, false), true);
    let feedback = Feedback {
        session: SessionNumber(0x1234_5678),
        number: 0x1112,
        dummy_stamp: 0x2122,
        lost_total: 0x3132_3334,
        rx_overflow_total: 0x4142,
        lanes: PerMode([ordered, other]),
    };
    let head = [0x12, 0x34, 0x56, 0x78, 0x11, 0x12, 0x21, 0x22, 0x31, 0x32, 0x33, 0x34, 0x41, 0x42];
    let runs = [2, 0xff, 0xf9, 0x7f, 0xff, 0, 2, 0x80, 1];
    let first = [&[0b1_0110, 0xab, 0xcc, 0xff, 0xf0, 0xff, 0xf8, 0, 0x30, 0, 0x40][..], &runs].concat();
    let second = [0b0_1001, 0x0a, 0x0b, 1, 2, 5, 6, 3, 4, 7, 8, 0];
    let body = [&head[..], &first, &second].concat();
    assert_eq!(control_bytes(&Control::Feedback(feedback)), with_magic(10, &body));
    // Cut anywhere within its body it is none, and nor is one with an unknown flag or an empty run.
    let whole = [&ADDRESSES[..], &with_magic(10, &body)].concat();
    assert_eq!(parse(&whole), LinkFrame::Control(Control::Feedback(feedback)));
    for length in ADDRESSES_BYTES + 6..whole.len() {
        assert_eq!(parse(&whole[..length]), LinkFrame::Malformed, "{length} bytes");
    }
    let flags = whole.len() - first.len() - second.len();
    for bit in 5..8 {
        let mut unknown = whole.clone();
        unknown[flags] |= 1 << bit;
        assert_eq!(parse(&unknown), LinkFrame::Malformed, "flag {bit}");
    }
    let mut empty = whole;
    (empty[flags + 14], empty[flags + 15]) = (0, 0);
    assert_eq!(parse(&empty), LinkFrame::Malformed, "an empty run");
}

#[test]
fn the_longest_feedback_fits_a_control_frame() {
    let number = SequenceNumber::new;
    let mut lane = LaneFeedback::new(LongSequenceNumber(0), number(1_000, false), false);
    for run in 0..32 {
        assert!(lane.push_missing(SequenceRange { first: number(2 * run, false), length: 1 }));
    }
    assert!(!lane.push_missing(SequenceRange { first: number(99, false), length: 1 }), "no room for more");
    let feedback = Feedback {
        session: SessionNumber(1),
        number: 1,
        dummy_stamp: 1,
        lost_total: 1,
        rx_overflow_total: 1,
        lanes: PerMode([lane, lane]),
    };
    let mut out = [0; CONTROL_FRAME_MAX];
    assert_eq!(
        emit_control(&Control::Feedback(feedback), [0; 6], &mut out),
        CONTROL_FRAME_MAX - CONTROL_SEAL_BYTES
    );
    assert_eq!(parse(&out), LinkFrame::Control(Control::Feedback(feedback)));
    // One run more than there is room for.
    out[12 + 6 + 14 + 11] = 33;
    assert_eq!(parse(&out), LinkFrame::Malformed);
}

#[test]
fn unknown_control_frames_and_unknown_magic_are_distinguished() {
    let with = |bytes: &[u8]| parse(&[&ADDRESSES[..], bytes, &[0; 50]].concat());
    assert_eq!(with(&[0x88, 0xb5, 0x80 | 63, b'L', b'M', b'1']), LinkFrame::Malformed);
    for magic in [[b'X', b'M', b'1'], [b'L', b'X', b'1'], [b'L', b'M', b'X']] {
        assert_eq!(with(&[&[0x88, 0xb5, 0x80], &magic[..]].concat()), LinkFrame::Foreign, "a host's own");
        assert_eq!(with(&[&[0x88, 0xb5, 0xc0], &magic[..]].concat()), LinkFrame::Foreign, "a host's own");
    }
    // Era bits beyond the two lanes, and a format that there is not.
    let dummy = [0, 0, 0, 1, 0, 1, 4, 0, 0, 0, 0];
    assert_eq!(with(&with_magic(5, &dummy)), LinkFrame::Malformed);
    assert_eq!(with(&with_magic(1, &[0, 0, 0, 1, 200])), LinkFrame::Malformed);
}
