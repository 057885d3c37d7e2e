//! What is emitted is parsed to the same, and what is no frame of ours is left alone.

use super::*;
use crate::frame::{Feedback, LaneFeedback, SequenceRange};
use crate::mode::{Mode, PerMode};
use crate::paths::{Decision, Path, PathReport, Preference, Probe};
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::SessionNumber;
use proptest::prelude::*;
use std::vec;
use std::vec::Vec;

/// Applies an encapsulation as a driver does.
fn wrap(frame: &[u8], encapsulation: &Encapsulation) -> Vec<u8> {
    let rest = &frame[ADDRESSES_BYTES + usize::from(encapsulation.removes)..];
    [&frame[..ADDRESSES_BYTES], encapsulation.bytes(), rest].concat()
}

fn unwrap(frame: &[u8], decapsulation: &Decapsulation) -> Vec<u8> {
    let ethertype = decapsulation.ethertype.map(u16::to_be_bytes);
    let rest = &frame[ADDRESSES_BYTES + decapsulation.removes..];
    [&frame[..ADDRESSES_BYTES], ethertype.as_ref().map_or(&[][..], |bytes| bytes), rest].concat()
}

fn sequence() -> impl Strategy<Value = SequenceNumber> {
    (any::<u16>(), any::<bool>()).prop_map(|(number, era)| SequenceNumber::new(number, era))
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Ordered), Just(Mode::NonBlocking)]
}

fn format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Transparent), Just(Format::Compact)]
}

fn header() -> impl Strategy<Value = DataHeader> {
    let ack = proptest::option::of((mode(), sequence()).prop_map(|(mode, next)| PiggybackAck { mode, next }));
    (sequence(), mode(), any::<bool>(), ack).prop_map(|(sequence, mode, retransmitted, ack)| DataHeader {
        sequence,
        mode,
        retransmitted,
        ack,
    })
}

fn frame() -> impl Strategy<Value = Vec<u8>> {
    let ethertype = prop_oneof![
        any::<u16>(),
        proptest::sample::select(&[
            0x0800u16, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x8847, 0x8864, 0x88b5, 0xabcd, 60
        ])
    ];
    (any::<[u8; 12]>(), ethertype, proptest::collection::vec(any::<u8>(), 0..80)).prop_map(
        |(addresses, ethertype, rest)| [&addresses[..], &ethertype.to_be_bytes(), &rest[..]].concat(),
    )
}

fn lane() -> impl Strategy<Value = LaneFeedback> {
    (1u64 << 17..1 << 20, proptest::collection::vec((1u64..100, 1u16..50), 0..=32), any::<bool>(), 0u64..50)
        .prop_map(|(cumulative, runs, paused, tail)| {
            let mut at = cumulative;
            let mut ranges = Vec::new();
            for (gap, length) in runs {
                ranges.push(SequenceRange { first: SequenceNumber::from_absolute(at), length });
                at += u64::from(length) + gap;
            }
            let wire = SequenceNumber::from_absolute;
            // Whole eras away from each other, some of them.
            let long = LongSequenceNumber::from_absolute(cumulative + (tail << 17));
            let mut lane = LaneFeedback::new(long, wire(at + tail), paused);
            lane.by_clock = tail % 2 == 0;
            for range in ranges {
                let overflowed = range.length % 3 == 0;
                let fits = if overflowed { lane.push_overflowed(range) } else { lane.push_missing(range) };
                assert!(fits && lane.is_overflowed(lane.missing().len() - 1) == overflowed);
            }
            lane
        })
}

fn control() -> impl Strategy<Value = Control> {
    let session = || any::<u32>().prop_map(SessionNumber);
    let feedback = (session(), any::<(u16, u16, u32, u16)>(), lane(), lane()).prop_map(
        |(session, (number, dummy_stamp, lost_total, rx_overflow_total), a, b)| {
            Control::Feedback(Feedback {
                session,
                number,
                dummy_stamp,
                lost_total,
                rx_overflow_total,
                lanes: PerMode([a, b]),
            })
        },
    );
    prop_oneof![
        Just(Control::OldHello),
        any::<(u64, u64)>().prop_map(|(nonce, echo)| Control::Hello { nonce, echo }),
        (session(), format()).prop_map(|(session, format)| Control::Init { session, format }),
        (session(), any::<(u32, u32)>(), format()).prop_map(|(session, (nonce, window_frames), format)| {
            Control::InitEcho { session, nonce, window_frames, format }
        }),
        (session(), any::<u32>()).prop_map(|(session, nonce)| Control::Start { session, nonce }),
        feedback,
        (session(), any::<u16>(), any::<[u32; 4]>()).prop_map(|(session, stamp, numbers)| {
            let [a, b, c, d] = numbers.map(LongSequenceNumber);
            Control::Dummy { session, stamp, next: PerMode([a, b]), held_from: PerMode([c, d]) }
        }),
        session().prop_map(|session| Control::Fin { session }),
        session().prop_map(|session| Control::FinEcho { session }),
        probe(),
        sequence().prop_map(|next| Control::CompactAck { next }),
        (mode(), sequence()).prop_map(|(mode, next)| Control::CompactDummy { mode, next }),
        (1u64 << 17..1 << 20, 0u64..65536, 1u16..=256).prop_map(|(next, ahead, length)| {
            let wire = SequenceNumber::from_absolute;
            // Before the leading ACK, as the authors have it, or behind it.
            let hole = SequenceRange { first: wire(next + ahead - 32768), length };
            Control::CompactNotification { next: wire(next), hole }
        }),
    ]
}

fn probe() -> impl Strategy<Value = Control> {
    (any::<[u32; 15]>(), any::<[bool; 8]>(), any::<[u8; 2]>()).prop_map(|(numbers, bits, lost)| {
        let path = |bit: usize| if bits[bit] { Path::Backup } else { Path::Primary };
        let report = |index: usize| PathReport {
            fails: bits[4 + index],
            loses_full: bits[6 + index],
            silent_us: numbers[11 + index],
            later_us: numbers[13 + index],
            lost: lost[index],
        };
        Control::Probe(Probe {
            writer: numbers[0],
            challenge: numbers[1],
            echo: numbers[2],
            path: path(0),
            is_full: bits[1],
            number: numbers[3],
            stamp_us: numbers[4],
            decision: Decision { number: numbers[5], active: path(2) },
            takes: numbers[6],
            preference: Preference { number: numbers[7], by: numbers[8], path: path(3) },
            needs_ns: numbers[9],
            interval_ns: numbers[10],
            reports: [report(0), report(1)],
        })
    })
}

proptest! {
    #[test]
    fn transparent_frames_read_back_as_written(header in header(), frame in frame()) {
        let encapsulation = encapsulate(Format::Transparent, &header, &frame).expect("any frame");
        prop_assert!(encapsulation.growth() <= HEADER_GROWTH_MAX);
        let mut wrapped = wrap(&frame, &encapsulation);
        let LinkFrame::Data { header: parsed, decapsulation } = parse(&wrapped) else {
            panic!("not data: {wrapped:x?}")
        };
        prop_assert_eq!(parsed, header);
        prop_assert_eq!(unwrap(&wrapped, &decapsulation), frame);
        mark_retransmitted(&mut wrapped);
        let copy = DataHeader { retransmitted: true, ..header };
        prop_assert_eq!(parse(&wrapped), LinkFrame::Data { header: copy, decapsulation });
    }

    #[test]
    fn compact_frames_read_back_as_written(header in header(), mut frame in frame()) {
        frame[12..14].copy_from_slice(&ethertype::IPV4.to_be_bytes());
        let header = DataHeader { ack: None, ..header };
        let encapsulation = encapsulate(Format::Compact, &header, &frame).expect("IPv4");
        prop_assert_eq!(encapsulation.growth(), 3);
        let wrapped = wrap(&frame, &encapsulation);
        let LinkFrame::Data { header: parsed, decapsulation } = parse(&wrapped) else { panic!("not data") };
        prop_assert_eq!(parsed, header);
        prop_assert_eq!(unwrap(&wrapped, &decapsulation), frame);
    }

    #[test]
    fn acks_ride_on_unprotected_frames(next in sequence(), mode in mode(), mut frame in frame(), compact in any::<bool>()) {
        let (format, ack) = if compact {
            frame[12..14].copy_from_slice(&ethertype::IPV4.to_be_bytes());
            // The authors' ACK does not name its lane.
            (Format::Compact, PiggybackAck { mode: Mode::Ordered, next })
        } else {
            (Format::Transparent, PiggybackAck { mode, next })
        };
        let wrapped = wrap(&frame, &encapsulate_ack(format, ack, &frame).expect("carries it"));
        let LinkFrame::Acknowledging { ack: parsed, decapsulation } = parse(&wrapped) else { panic!("no ACK") };
        prop_assert_eq!(parsed, ack);
        prop_assert_eq!(unwrap(&wrapped, &decapsulation), frame);
    }

    #[test]
    fn escaped_frames_read_back_as_written(mut frame in frame(), compact in any::<bool>()) {
        let ethertype = if compact { ethertype::COMPACT } else { ethertype::TRANSPARENT };
        frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        let wrapped = wrap(&frame, &escape(&frame).expect("own EtherType"));
        let LinkFrame::Escaped(decapsulation) = parse(&wrapped) else { panic!("not escaped") };
        prop_assert_eq!(unwrap(&wrapped, &decapsulation), frame);
    }

    #[test]
    fn control_frames_read_back_as_written(control in control()) {
        let mut out = [0xff; CONTROL_FRAME_MAX];
        let length = emit_control(&control, [2, 0, 0, 0, 0, 1], &mut out);
        prop_assert!(length >= 60);
        prop_assert_eq!(parse(&out[..length]), LinkFrame::Control(control));
    }

    #[test]
    fn any_bytes_parse_without_a_panic(mut frame in frame(), own in 0usize..3) {
        if own > 0 && frame.len() >= 18 {
            let ethertype = [ethertype::TRANSPARENT, ethertype::COMPACT][own - 1];
            frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
            if frame[14] & 1 == 0 {
                frame[15..18].copy_from_slice(&MAGIC);
            }
        }
        for length in 0..frame.len() {
            parse(&frame[..length]);
        }
    }
}

#[test]
fn compact_headers_have_the_authors_bits() {
    // Bit layouts of the authors' program: data, ACK, loss notification.
    let data = DataHeader {
        sequence: SequenceNumber::new(0x1234, true),
        mode: Mode::Ordered,
        retransmitted: true,
        ack: None,
    };
    assert_eq!(compact::encapsulate(&data).bytes(), [0xab, 0xcd, 0b0001_1010, 0x12, 0x34]);
    let body = |control| compact::control_body(&control).expect("compact");
    let next = SequenceNumber::new(0x0001, true);
    assert_eq!(body(Control::CompactAck { next }), ([0b0101_0000, 0, 0, 0, 0, 0], 3));
    let hole = SequenceRange { first: SequenceNumber::new(0x0102, true), length: 7 };
    assert_eq!(body(Control::CompactNotification { next, hole }), ([0b1001_0000, 0, 0, 7, 1, 2], 6));
    let dummy = Control::CompactDummy { mode: Mode::NonBlocking, next };
    assert_eq!(body(dummy), ([0b0001_0100, 0, 1, 0, 0, 0], 3));
}

#[test]
fn header_costs_are_as_documented() {
    let header = DataHeader {
        sequence: SequenceNumber::new(0, false),
        mode: Mode::Ordered,
        retransmitted: false,
        ack: None,
    };
    let acked = DataHeader {
        ack: Some(PiggybackAck { mode: Mode::Ordered, next: SequenceNumber::new(0, false) }),
        ..header
    };
    let growth = |header: &DataHeader, ethertype: u16| {
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        encapsulate(Format::Transparent, header, &frame).expect("any").growth()
    };
    assert_eq!([growth(&header, 0x0800), growth(&header, 0x86dd), growth(&header, 0x1234)], [3, 3, 5]);
    assert_eq!([growth(&acked, 0x0800), growth(&acked, 0x1234)], [6, HEADER_GROWTH_MAX]);
}
