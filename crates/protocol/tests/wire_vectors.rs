//! The test vectors in `docs/design/wire.md` are what the code writes and reads.

use linkmend_protocol::paths::{Decision, Path, PathReport, Preference, Probe};
use linkmend_protocol::wire::{
    ADDRESSES_BYTES, CONTROL_FRAME_MAX, Encapsulation, FRAME_BYTES_MIN_IN_MEMORY, LinkFrame, LinkKey, Seal,
    Tagged, TaggedHeader, emit_control, emit_sealed, encapsulate, encapsulate_ack, escape, parse,
    parse_priority_pause,
};
use linkmend_protocol::{
    Control, DataHeader, Feedback, Format, LaneFeedback, LongSequenceNumber, Mode, PerMode, PiggybackAck,
    SequenceNumber, SequenceRange, SessionNumber,
};
use std::fmt::Write as _;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/design/wire.md");
const BEGIN: &str = "<!-- vectors:begin -->\n```text\n";
const END: &str = "```\n<!-- vectors:end -->";
/// A line of the document has room for this many bytes.
const BYTES_A_LINE: usize = 32;

/// Addresses, EtherType and payload of a host's frame.
const ADDRESSES: [u8; ADDRESSES_BYTES] = [2, 0, 0, 0, 0, 0x0b, 2, 0, 0, 0, 0, 0x0a];
const PAYLOAD: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];
/// The source address of control frames.
const LINK_END: [u8; 6] = [2, 0, 0, 0, 0, 9];
const SESSION: SessionNumber = SessionNumber(0x1234_5678);
const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const NONCES: [u64; 2] = [0x0102_0304_0506_0708, 0x090a_0b0c_0d0e_0f10];

struct Vector {
    says: &'static str,
    bytes: Vec<u8>,
}

fn host_frame(ethertype: u16) -> Vec<u8> {
    [&ADDRESSES[..], &ethertype.to_be_bytes(), &PAYLOAD].concat()
}

/// What a driver puts on the link.
fn wrapped(frame: &[u8], encapsulation: &Encapsulation) -> Vec<u8> {
    let rest = &frame[ADDRESSES_BYTES + usize::from(encapsulation.removes)..];
    [&frame[..ADDRESSES_BYTES], encapsulation.bytes(), rest].concat()
}

/// The frame that a driver restores.
fn restored(bytes: &[u8]) -> Vec<u8> {
    let (LinkFrame::Data { decapsulation, .. }
    | LinkFrame::Acknowledging { decapsulation, .. }
    | LinkFrame::Escaped(decapsulation)) = parse(bytes)
    else {
        panic!("{bytes:02x?} has no frame of a host")
    };
    let ethertype = decapsulation.ethertype.map(u16::to_be_bytes);
    let own = ethertype.as_ref().map_or(&[][..], |bytes| bytes);
    [&bytes[..ADDRESSES_BYTES], own, &bytes[ADDRESSES_BYTES + decapsulation.removes..]].concat()
}

fn data(says: &'static str, format: Format, header: DataHeader, ethertype: u16) -> Vector {
    let frame = host_frame(ethertype);
    let bytes = wrapped(&frame, &encapsulate(format, &header, &frame).expect("the format carries it"));
    assert!(matches!(parse(&bytes), LinkFrame::Data { header: read, .. } if read == header), "{says}");
    assert_eq!(restored(&bytes), frame, "{says}");
    Vector { says, bytes }
}

fn acknowledging(says: &'static str, format: Format, ack: PiggybackAck, ethertype: u16) -> Vector {
    let frame = host_frame(ethertype);
    let bytes = wrapped(&frame, &encapsulate_ack(format, ack, &frame).expect("the format carries it"));
    assert!(matches!(parse(&bytes), LinkFrame::Acknowledging { ack: read, .. } if read == ack), "{says}");
    assert_eq!(restored(&bytes), frame, "{says}");
    Vector { says, bytes }
}

fn control(says: &'static str, control: &Control) -> Vector {
    let mut out = [0xff; CONTROL_FRAME_MAX];
    let length = emit_control(control, LINK_END, &mut out);
    let bytes = out[..length].to_vec();
    match control {
        Control::PriorityPause { .. } => assert_eq!(parse_priority_pause(&bytes), Some(*control), "{says}"),
        _ => assert_eq!(parse(&bytes), LinkFrame::Control(*control), "{says}"),
    }
    Vector { says, bytes }
}

const fn number(number: u16, era: bool) -> SequenceNumber {
    SequenceNumber::new(number, era)
}

const fn header(mode: Mode, sequence: SequenceNumber, ack: Option<PiggybackAck>) -> DataHeader {
    DataHeader { sequence, mode, retransmitted: false, ack }
}

fn transparent() -> Vec<Vector> {
    let format = Format::Transparent;
    let ack = PiggybackAck { mode: Mode::NonBlocking, next: number(0x0102, true) };
    let plain = header(Mode::Ordered, number(0x1234, false), None);
    let copy = DataHeader { retransmitted: true, ..header(Mode::NonBlocking, number(0xffff, true), None) };
    let escaped = host_frame(0x88b5);
    let escape = wrapped(&escaped, &escape(&escaped).expect("its EtherType is Linkmend's"));
    assert_eq!(restored(&escape), escaped);
    vec![
        data("data, IPv4: ordered, era 0, number 0x1234", format, plain, 0x0800),
        data(
            "data, EtherType 0x1234: non-blocking, era 1, number 0xffff, retransmitted",
            format,
            copy,
            0x1234,
        ),
        data(
            "data, IPv6, with an ACK: as the first; ACK of the non-blocking lane, era 1, number 0x0102",
            format,
            header(Mode::Ordered, number(0x1234, false), Some(ack)),
            0x86dd,
        ),
        acknowledging("the same ACK on an unprotected frame, ARP", format, ack, 0x0806),
        Vector { says: "escaped, EtherType 0x88b5", bytes: escape },
    ]
}

fn feedback() -> Control {
    let long = LongSequenceNumber;
    let mut ordered = LaneFeedback::new(long(0xabcc_fff0), number(0x0030, true), true);
    (ordered.from, ordered.seen) = (number(0xfff8, false), number(0x0040, true));
    assert!(ordered.push_missing(SequenceRange { first: number(0xfff9, false), length: 3 }));
    assert!(ordered.push_overflowed(SequenceRange { first: number(0x0002, true), length: 1 }));
    let mut other = LaneFeedback::new(long(0x0a0b_0102), number(0x0304, true), false);
    (other.from, other.seen, other.by_clock) = (number(0x0203, true), number(0x0405, true), true);
    Control::Feedback(Feedback {
        session: SESSION,
        number: 0x1112,
        dummy_stamp: 0x2122,
        lost_total: 0x3132_3334,
        rx_overflow_total: 0x4142,
        lanes: PerMode([ordered, other]),
    })
}

fn probe() -> Control {
    let report = |fails, loses_full, silent_us, later_us, lost| PathReport {
        fails,
        loses_full,
        silent_us,
        later_us,
        lost,
    };
    Control::Probe(Probe {
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
        reports: [
            report(true, false, 0x2d2e_2f30, 0x3132_3334, 0x35),
            report(false, true, 0x3637_3839, 0x3a3b_3c3d, 0x3e),
        ],
    })
}

fn controls() -> Vec<Vector> {
    let (session, nonce, window_frames) = (SESSION, 0x9abc_def1, 0x8000);
    let format = Format::Transparent;
    let long = LongSequenceNumber;
    vec![
        control("hello: nonce 0x0102030405060708, echo 0x090a0b0c0d0e0f10", &hello()),
        control("init of session 0x12345678, compact", &Control::Init { session, format: Format::Compact }),
        control(
            "init-echo: nonce 0x9abcdef1, window 32,768 frames, transparent",
            &Control::InitEcho { session, nonce, window_frames, format },
        ),
        control("start: the same nonce", &Control::Start { session, nonce }),
        control(
            "feedback 0x1112: ordered lane paused, 3 frames lost from 0xfff9, 1 without room at 0x0002 of the next era; \
             non-blocking lane given up by the clock",
            &feedback(),
        ),
        control(
            "dummy 0x0a0b: ordered lane next 0x01020304, held from 0x090a0b0c; non-blocking 0x05060708, 0x0d0e0f10",
            &Control::Dummy {
                session,
                stamp: 0x0a0b,
                next: PerMode([long(0x0102_0304), long(0x0506_0708)]),
                held_from: PerMode([long(0x090a_0b0c), long(0x0d0e_0f10)]),
            },
        ),
        control("fin", &Control::Fin { session }),
        control("fin-echo", &Control::FinEcho { session }),
        control("probe on the backup link: primary fails, backup loses full-size probes", &probe()),
    ]
}

fn compact() -> Vec<Vector> {
    let format = Format::Compact;
    let next = number(0x1235, false);
    let hole = SequenceRange { first: next, length: 5 };
    let ack = PiggybackAck { mode: Mode::Ordered, next };
    vec![
        data(
            "compact data: ordered, era 1, number 0x1234",
            format,
            header(ack.mode, number(0x1234, true), None),
            0x0800,
        ),
        acknowledging("compact ACK on an unprotected frame: leading ACK 0x1234", format, ack, 0x0800),
        control("compact ACK: the same", &Control::CompactAck { next }),
        control(
            "compact notification: the same, then 5 frames lost from 0x1235",
            &Control::CompactNotification { next, hole },
        ),
        control("compact dummy: ordered, announces 0x1235", &Control::CompactDummy { mode: ack.mode, next }),
        control("pause of class 1", &Control::PriorityPause { paused: true }),
    ]
}

fn hello() -> Control {
    Control::Hello { nonce: NONCES[0], echo: NONCES[1] }
}

/// The same frames of an end with a key, which has met its peer.
fn sealed() -> Vec<Vector> {
    let mut seal = Seal::new(KEY.parse::<LinkKey>().expect("a key"), NONCES[0]);
    seal.meet(NONCES[1], NONCES[0]);
    let mut control = |says, control: &Control| {
        let mut out = [0xff; CONTROL_FRAME_MAX];
        let length = emit_sealed(control, LINK_END, &mut out, &mut seal).expect("the peer is known");
        Vector { says, bytes: out[..length].to_vec() }
    };
    let controls = [
        control("with the key: the hello above, counter 1", &hello()),
        control("with the key: the fin above, counter 2", &Control::Fin { session: SESSION }),
    ];
    let frame = host_frame(0x0800);
    let header = header(Mode::Ordered, number(0x1234, false), None);
    let mut encapsulation = encapsulate(Format::Transparent, &header, &frame).expect("any frame");
    let tagged = Tagged {
        session: SESSION,
        number: 0x0002_1234,
        header: TaggedHeader::Data(header),
        addresses: &ADDRESSES,
        ethertype: 0x0800,
        // The frame is shorter than what a link carries, and padded there.
        link_bytes: FRAME_BYTES_MIN_IN_MEMORY as u32,
    };
    seal.close(&tagged, &mut encapsulation).expect("the peer is known");
    let says = "with the key: the first data frame above, whole number 0x21234";
    controls.into_iter().chain([Vector { says, bytes: wrapped(&frame, &encapsulation) }]).collect()
}

fn text() -> String {
    let mut text = String::new();
    for Vector { says, bytes } in [transparent(), controls(), compact(), sealed()].into_iter().flatten() {
        writeln!(text, "{says}").expect("a string");
        for line in bytes.chunks(BYTES_A_LINE) {
            let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "  {hex}").expect("a string");
        }
    }
    text
}

#[test]
fn the_first_numbers_of_a_session_are_those_in_the_document() {
    let firsts = Mode::ALL.map(|mode| SESSION.first(mode));
    assert_eq!(firsts, [number(0x5678, false), number(0x2468, false)]);
    assert!(std::fs::read_to_string(DOCUMENT).expect("docs/design/wire.md").contains("0x25678 and 0x22468"));
}

/// `UPDATE_EXPECT=1` writes them anew. Two ends of different versions must agree on these bytes, so a changed one needs a
/// new control type, or a new version of the format.
#[test]
#[expect(clippy::disallowed_methods, reason = "only whether the document is written anew is asked here")]
fn the_vectors_in_the_document_are_what_the_code_writes() {
    let document = std::fs::read_to_string(DOCUMENT).expect("docs/design/wire.md");
    let (before, rest) = document.split_once(BEGIN).expect("the document has vectors");
    let (vectors, after) = rest.split_once(END).expect("the vectors end");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(DOCUMENT, [before, BEGIN, &text(), END, after].concat()).expect("written");
        return;
    }
    assert_eq!(vectors, text());
}
