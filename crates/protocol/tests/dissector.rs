//! `dist/linkmend.lua`, the Wireshark dissector: its numbers against what the wire formats write, and what it shows of
//! frames.

use linkmend_protocol::paths::{self, Decision, PathReport, Preference, Probe};
use linkmend_protocol::wire::{
    ADDRESSES_BYTES, CONTROL_FRAME_MAX, CONTROL_SEAL_BYTES, HEARD_BYTES, MAGIC, Seal, TAG_BYTES,
    emit_control, emit_sealed, encapsulate, encapsulate_ack, escape, ethertype,
};
use linkmend_protocol::{
    Control, DataHeader, Feedback, Format, LaneFeedback, LongSequenceNumber, Mode, PerMode, PiggybackAck,
    SequenceNumber, SequenceRange, SessionNumber,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const DISSECTOR: &str = "dist/linkmend.lua";

/// `local NAME = NUMBER` lines.
fn numbers() -> BTreeMap<String, u32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(DISSECTOR);
    let text = std::fs::read_to_string(&path).expect(DISSECTOR);
    let value = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    text.lines()
        .filter_map(|line| line.strip_prefix("local ")?.split_once(" = "))
        .filter_map(|(name, number)| Some((name.to_owned(), value(number)?)))
        .collect()
}

fn plain() -> DataHeader {
    let sequence = SequenceNumber::new(0, false);
    DataHeader { sequence, mode: Mode::NonBlocking, retransmitted: false, ack: None }
}

const fn report(first: u8) -> PathReport {
    PathReport {
        fails: false,
        loses_full: false,
        silent_us: u32::from_be_bytes([first, first + 1, first + 2, first + 3]),
        later_us: u32::from_be_bytes([first + 4, first + 5, first + 6, first + 7]),
        lost: first + 8,
    }
}

const NO_PROBE: Probe = Probe {
    writer: 0x0102_0304,
    challenge: 0x0506_0708,
    echo: 0x090a_0b0c,
    path: paths::Path::Primary,
    is_full: false,
    number: 0x0d0e_0f10,
    stamp_us: 0x1112_1314,
    decision: Decision { number: 0x1516_1718, active: paths::Path::Primary },
    takes: 0x191a_1b1c,
    preference: Preference { number: 0x1d1e_1f20, by: 0x2122_2324, path: paths::Path::Primary },
    needs_ns: 0x2526_2728,
    interval_ns: 0x292a_2b2c,
    reports: [report(0x2e), report(0x37)],
};

fn probe_bits() -> Vec<(&'static str, u32)> {
    let flags = |probe: Probe| u32::from(control(&Control::Probe(probe))[48]);
    let path = paths::Path::Backup;
    let Probe { decision, preference, reports: [primary, backup], .. } = NO_PROBE;
    let reports = |primary, backup| flags(Probe { reports: [primary, backup], ..NO_PROBE });
    vec![
        ("PROBE_PATH", flags(Probe { path, ..NO_PROBE })),
        ("PROBE_ACTIVE", flags(Probe { decision: Decision { active: path, ..decision }, ..NO_PROBE })),
        ("PROBE_PREFERRED", flags(Probe { preference: Preference { path, ..preference }, ..NO_PROBE })),
        ("PROBE_FULL", flags(Probe { is_full: true, ..NO_PROBE })),
        ("PROBE_PRIMARY_FAILS", reports(PathReport { fails: true, ..primary }, backup)),
        ("PROBE_BACKUP_FAILS", reports(primary, PathReport { fails: true, ..backup })),
        ("PROBE_PRIMARY_LOSES_FULL", reports(PathReport { loses_full: true, ..primary }, backup)),
        ("PROBE_BACKUP_LOSES_FULL", reports(primary, PathReport { loses_full: true, ..backup })),
    ]
}

/// A host's frame.
fn frame(ethertype: u16) -> Vec<u8> {
    let mut frame = vec![0; ADDRESSES_BYTES];
    frame.extend(ethertype.to_be_bytes());
    frame.resize(60, 0);
    frame
}

/// What follows the EtherType of a protected frame.
fn data(format: Format, header: &DataHeader, ethertype: u16) -> Vec<u8> {
    encapsulate(format, header, &frame(ethertype)).expect("it is long enough").bytes()[2..].to_vec()
}

fn on_unprotected(format: Format, mode: Mode, era: bool) -> u8 {
    let ack = PiggybackAck { mode, next: SequenceNumber::new(9, era) };
    encapsulate_ack(format, ack, &frame(0x0800)).expect("it is long enough").bytes()[2]
}

/// What follows the EtherType of a control frame.
fn control(control: &Control) -> Vec<u8> {
    let mut buffer = [0; CONTROL_FRAME_MAX];
    let length = emit_control(control, [0; 6], &mut buffer);
    buffer[ADDRESSES_BYTES + 2..length].to_vec()
}

fn feedback(ordered: LaneFeedback) -> Vec<u8> {
    let number = SequenceNumber::new(0x2122, false);
    let non_blocking = LaneFeedback::new(LongSequenceNumber(0x2122), number, false);
    control(&Control::Feedback(Feedback {
        session: SessionNumber(0x0a0b_0c0d),
        number: 0x1112,
        dummy_stamp: 0x1314,
        lost_total: 0x1516_1718,
        rx_overflow_total: 0x191a,
        lanes: PerMode([ordered, non_blocking]),
    }))
}

fn transparent_bits() -> Vec<(&'static str, u32)> {
    let ipv4 = |header: &DataHeader| data(Format::Transparent, header, 0x0800);
    let none = ipv4(&plain())[0];
    let changed = |header: DataHeader| u32::from(ipv4(&header)[0] ^ none);
    let with_ack = |mode, era| {
        let ack = Some(PiggybackAck { mode, next: SequenceNumber::new(0, era) });
        ipv4(&DataHeader { ack, ..plain() })
    };
    let flags = |mode, era| u32::from(with_ack(mode, era)[3]);
    let escaped = escape(&frame(ethertype::TRANSPARENT)).expect("one of ours").bytes()[2];
    let riding = on_unprotected(Format::Transparent, Mode::NonBlocking, false);
    let ridden = |mode, era| u32::from(on_unprotected(Format::Transparent, mode, era) ^ riding);
    vec![
        ("KIND_SHIFT", 6),
        ("KIND_DATA", u32::from(none >> 6)),
        ("KIND_DATA_WITH_ACK", u32::from(with_ack(Mode::Ordered, false)[0] >> 6)),
        ("KIND_CONTROL", u32::from(control(&Control::OldHello)[0] >> 6)),
        ("KIND_ESCAPED", u32::from(escaped >> 6)),
        ("DATA_ORDERED", changed(DataHeader { mode: Mode::Ordered, ..plain() })),
        ("DATA_ERA", changed(DataHeader { sequence: SequenceNumber::new(0, true), ..plain() })),
        ("DATA_RETRANSMITTED", changed(DataHeader { retransmitted: true, ..plain() })),
        ("CODE_MASK", 7),
        ("ACK_ORDERED", flags(Mode::Ordered, false)),
        ("ACK_ERA", flags(Mode::NonBlocking, true)),
        ("ESCAPED_WITH_ACK", u32::from((riding ^ escaped) & !7)),
        ("UNPROTECTED_ACK_ORDERED", ridden(Mode::Ordered, false)),
        ("UNPROTECTED_ACK_ERA", ridden(Mode::NonBlocking, true)),
    ]
}

fn control_types() -> Vec<(&'static str, u32)> {
    let session = SessionNumber(1);
    let zero = SequenceNumber::new(0, false);
    let far = PerMode([LongSequenceNumber(0); 2]);
    let kind = |frame: &Control| u32::from(control(frame)[0] & 0x3f);
    let format = Format::Transparent;
    vec![
        ("CONTROL_TYPE_MASK", 0x3f),
        ("CONTROL_HELLO", kind(&Control::Hello { nonce: 1, echo: 0 })),
        ("CONTROL_OLD_HELLO", kind(&Control::OldHello)),
        ("TAG_BYTES", TAG_BYTES as u32),
        ("SEAL_BYTES", CONTROL_SEAL_BYTES as u32),
        ("HEARD_BYTES", HEARD_BYTES as u32),
        ("CONTROL_INIT", kind(&Control::Init { session, format })),
        ("CONTROL_INIT_ECHO", kind(&Control::InitEcho { session, nonce: 0, window_frames: 1, format })),
        ("CONTROL_START", kind(&Control::Start { session, nonce: 0 })),
        (
            "CONTROL_FEEDBACK",
            u32::from(feedback(LaneFeedback::new(LongSequenceNumber(0), zero, false))[0] & 0x3f),
        ),
        ("CONTROL_DUMMY", kind(&Control::Dummy { session, stamp: 0, next: far, held_from: far })),
        ("CONTROL_FIN", kind(&Control::Fin { session })),
        ("CONTROL_FIN_ECHO", kind(&Control::FinEcho { session })),
        ("CONTROL_PROBE", kind(&Control::Probe(NO_PROBE))),
    ]
}

fn lane_bits() -> Vec<(&'static str, u32)> {
    let flags = |eras: [bool; 3], [paused, by_clock]: [bool; 2]| {
        let [from, covered, seen] = eras.map(|era| SequenceNumber::new(0x0304, era));
        let mut lane = LaneFeedback::new(LongSequenceNumber(0x0304), covered, paused);
        (lane.from, lane.seen, lane.by_clock) = (from, seen, by_clock);
        u32::from(feedback(lane)[18])
    };
    vec![
        ("LANE_BY_CLOCK", flags([false; 3], [false, true])),
        ("LANE_FROM_ERA", flags([true, false, false], [false; 2])),
        ("LANE_COVERED_ERA", flags([false, true, false], [false; 2])),
        ("LANE_SEEN_ERA", flags([false, false, true], [false; 2])),
        ("LANE_PAUSED", flags([false; 3], [true, false])),
        ("RUN_OVERFLOWED", run_overflowed()),
    ]
}

/// What an overflow adds to the length of a run.
fn run_overflowed() -> u32 {
    let zero = SequenceNumber::new(0, false);
    let run = SequenceRange { first: zero, length: 0x0102 };
    let mut lane = LaneFeedback::new(LongSequenceNumber(0), zero, false);
    assert!(lane.push_missing(run) && lane.push_overflowed(run));
    let bytes = feedback(lane);
    let length = |at: usize| u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    assert_eq!(length(18 + 12 + 2), 0x0102);
    length(18 + 12 + 4 + 2) ^ 0x0102
}

fn compact_bits() -> Vec<(&'static str, u32)> {
    let first = |header: &DataHeader| u32::from(data(Format::Compact, header, 0x0800)[0]);
    let none = first(&plain());
    let next = SequenceNumber::new(9, false);
    let of = |frame: &Control| u32::from(control(frame)[0]);
    let ack = of(&Control::CompactAck { next });
    let hole = SequenceRange { first: next, length: 1 };
    let riding = u32::from(on_unprotected(Format::Compact, Mode::Ordered, false));
    vec![
        ("COMPACT_TYPE_SHIFT", 6),
        ("COMPACT_DATA", none >> 6),
        ("COMPACT_ACK", ack >> 6),
        ("COMPACT_NOTIFICATION", of(&Control::CompactNotification { next, hole }) >> 6),
        ("COMPACT_PIGGYBACKED", riding ^ ack),
        ("COMPACT_ERA", first(&DataHeader { sequence: SequenceNumber::new(0, true), ..plain() }) ^ none),
        ("COMPACT_RETRANSMITTED", first(&DataHeader { retransmitted: true, ..plain() }) ^ none),
        ("COMPACT_DUMMY", of(&Control::CompactDummy { mode: Mode::NonBlocking, next }) ^ none),
        ("COMPACT_BLOCKING", first(&DataHeader { mode: Mode::Ordered, ..plain() }) ^ none),
    ]
}

#[test]
fn the_dissector_knows_the_numbers_of_the_wire_formats() {
    let mut expected = BTreeMap::from([
        ("ETHERTYPE_TRANSPARENT".to_owned(), u32::from(ethertype::TRANSPARENT)),
        ("ETHERTYPE_COMPACT".to_owned(), u32::from(ethertype::COMPACT)),
        ("MAGIC".to_owned(), u32::from_be_bytes([0, MAGIC[0], MAGIC[1], MAGIC[2]])),
    ]);
    for (name, number) in
        [transparent_bits(), control_types(), probe_bits(), lane_bits(), compact_bits()].concat()
    {
        expected.insert(name.to_owned(), number);
    }
    for ethertype in [0x0800, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x8847, 0x8864] {
        let code = data(Format::Transparent, &plain(), ethertype)[0] & 7;
        expected.insert(format!("CODE_{code}"), u32::from(ethertype));
    }
    assert_eq!(numbers(), expected);
}

/// The places of fields that the dissector's code relies on.
#[test]
fn fields_stand_where_the_dissector_looks_for_them() {
    let ack = Some(PiggybackAck { mode: Mode::Ordered, next: SequenceNumber::new(0x0304, false) });
    let header = DataHeader { sequence: SequenceNumber::new(0x0102, false), ack, ..plain() };
    assert_eq!(data(Format::Transparent, &header, 0x0800)[1..], [1, 2, 0x80, 3, 4]);
    assert_eq!(data(Format::Transparent, &DataHeader { ack: None, ..header }, 0x1234), [0, 1, 2]);
    let number = |number| SequenceNumber::new(number, false);
    let mut ordered = LaneFeedback::new(LongSequenceNumber(0x0b0c_0001), number(0x0506), false);
    (ordered.from, ordered.seen) = (number(0x0102), number(0x0708));
    assert!(ordered.push_missing(SequenceRange { first: number(0x0304), length: 0x090a }));
    let feedback = feedback(ordered);
    let expected = [
        &[0x0a, 0x0b, 0x0c, 0x0d][..],
        &[0x11, 0x12],
        &[0x13, 0x14],
        &[0x15, 0x16, 0x17, 0x18],
        &[0x19, 0x1a],
        &[0, 0x0b, 0x0c, 0, 1, 1, 2, 5, 6, 7, 8, 1, 3, 4, 9, 10],
        &[0, 0, 0, 0x21, 0x22, 0x21, 0x22, 0x21, 0x22, 0x21, 0x22, 0],
    ]
    .concat();
    assert_eq!(feedback[4..4 + expected.len()], expected);
    let session = SessionNumber(0x0a0b_0c0d);
    let next = PerMode([LongSequenceNumber(0x0102_0304), LongSequenceNumber(0x0506_0708)]);
    let held_from = PerMode([LongSequenceNumber(0x1112_1314), LongSequenceNumber(0x1516_1718)]);
    let dummy = control(&Control::Dummy { session, stamp: 0x0506, next, held_from });
    let lanes = [&[1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14][..], &[5, 6, 7, 8, 0x15, 0x16, 0x17, 0x18]].concat();
    assert_eq!(dummy[4..10], [0x0a, 0x0b, 0x0c, 0x0d, 5, 6]);
    assert_eq!(dummy[10..26], lanes);
    let probe = control(&Control::Probe(NO_PROBE));
    assert_eq!(probe[4..48], (1..=0x2c).collect::<Vec<u8>>());
    assert_eq!(probe[49..67], (0x2e..=0x3f).collect::<Vec<u8>>());
    let echo = Control::InitEcho {
        session,
        nonce: 0x0102_0304,
        window_frames: 0x0506_0708,
        format: Format::Compact,
    };
    assert_eq!(control(&echo)[4..17], [0x0a, 0x0b, 0x0c, 0x0d, 1, 2, 3, 4, 5, 6, 7, 8, 1]);
    let hole = SequenceRange { first: number(0x0105), length: 3 };
    let notification = control(&Control::CompactNotification { next: number(0x0102), hole });
    assert_eq!(notification[1..6], [1, 1, 3, 1, 5]);
}

/// Puts addresses and EtherType in front of the results of [`data`] and [`control`].
fn whole(ethertype: u16, behind: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; ADDRESSES_BYTES];
    frame.extend(ethertype.to_be_bytes());
    frame.extend(behind);
    frame.resize(frame.len().max(74), 0);
    frame
}

/// A capture file in the old format (libpcap), Ethernet.
fn capture_file(frames: &[Vec<u8>]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1]);
    for frame in frames {
        let length = u32::try_from(frame.len()).expect("it is short");
        file.extend(words(&[0, 0, length, length]));
        file.extend(frame);
    }
    file
}

/// What tshark says of frames with our dissector; `None` without tshark.
fn tshark(test: &str, frames: &[Vec<u8>], arguments: &[&str]) -> Option<String> {
    let path = std::env::temp_dir().join(format!("linkmend-{test}-{}.pcap", std::process::id()));
    std::fs::write(&path, capture_file(frames)).expect("a temporary file");
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(DISSECTOR);
    let mut tshark = Command::new("tshark");
    tshark.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-r").arg(&path);
    let output = tshark.args(arguments).output();
    std::fs::remove_file(&path).expect("it is ours");
    let Ok(output) = output else {
        eprintln!("\n######## SKIPPED: {test} needs tshark ########\n");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("text"))
}

/// The dissector's text for each frame, without what needs other frames.
fn said_by_tshark(test: &str, frames: &[Vec<u8>]) -> Option<Vec<String>> {
    let text = tshark(test, frames, &["-T", "fields", "-e", "_ws.col.Info"])?;
    Some(text.lines().map(|line| line.split(" | ").next().unwrap_or_default().trim().to_owned()).collect())
}

/// The dissector must show the number with its era. The lower 16 bits alone would differ from a capture's comments for
/// every frame from the 65,537th of a session on.
#[test]
fn the_dissector_shows_numbers_with_their_era_as_captures_do() {
    let ordered = Mode::Ordered;
    let number = |number| SequenceNumber::new(number, true);
    let ack = Some(PiggybackAck { mode: ordered, next: number(7) });
    let header = DataHeader { sequence: number(5), mode: ordered, retransmitted: true, ack };
    let plain = DataHeader { ack: None, retransmitted: false, ..header };
    let session = SessionNumber(9);
    let long = PerMode([LongSequenceNumber(131_072 + 65_539), LongSequenceNumber(4)]);
    let mut lane = LaneFeedback::new(LongSequenceNumber(65_538), number(9), false);
    assert!(lane.push_missing(SequenceRange { first: number(2), length: 1 }));
    let riding = |format| {
        let ack = PiggybackAck { mode: ordered, next: number(9) };
        let header = encapsulate_ack(format, ack, &frame(0x0800)).expect("it is long enough");
        header.bytes()[2..].to_vec()
    };
    let hole = SequenceRange { first: SequenceNumber::new(65_535, false), length: 2 };
    let first = [
        (data(Format::Transparent, &header, 0x0800), "copy of ordered 65541, ACK of ordered before 65543"),
        (
            feedback(lane),
            "feedback of session 168496141: ordered before 65538 (1 hole), non-blocking before 8482",
        ),
        (
            control(&Control::Dummy { session, stamp: 0, next: long, held_from: long }),
            "dummy of session 9: ordered before 65539, non-blocking before 4",
        ),
        (riding(Format::Transparent), "unprotected, ACK of ordered before 65545"),
        (
            control(&Control::Probe(Probe { path: paths::Path::Backup, is_full: true, ..NO_PROBE })),
            "full-size probe 219025168 of 01020304 on the backup link: decision 353769240 uses the primary link, takes by 421141276",
        ),
    ];
    let compact = [
        (data(Format::Compact, &plain, 0x0800), "data ordered 65541"),
        (control(&Control::CompactAck { next: number(9) }), "ACK up to 65544"),
        (
            control(&Control::CompactNotification { next: number(3), hole }),
            "loss notification: ACK up to 65538, 2 missing from 65535",
        ),
        (riding(Format::Compact), "ACK up to 65544"),
    ];
    let with =
        |ethertype| move |(behind, said): &(Vec<u8>, &str)| (whole(ethertype, behind), (*said).to_owned());
    let (frames, expected): (Vec<_>, Vec<_>) = first
        .iter()
        .map(with(ethertype::TRANSPARENT))
        .chain(compact.iter().map(with(ethertype::COMPACT)))
        .unzip();
    let Some(said) = said_by_tshark("the_dissector_says_numbers_with_their_era", &frames) else { return };
    assert_eq!(said, expected);
}

/// A seal behind any control frame shows that the link has a key, so that nobody need say so.
#[test]
fn the_dissector_recognises_a_link_with_a_key_by_its_seals() {
    let session = SessionNumber(9);
    let format = Format::Transparent;
    let far = PerMode([LongSequenceNumber(4); 2]);
    let number = SequenceNumber::new(9, true);
    let mut lane = LaneFeedback::new(LongSequenceNumber(65_538), number, false);
    assert!(lane.push_missing(SequenceRange { first: SequenceNumber::new(2, true), length: 1 }));
    let report = Feedback {
        session,
        number: 1,
        dummy_stamp: 2,
        lost_total: 3,
        rx_overflow_total: 4,
        lanes: PerMode([lane, LaneFeedback::new(LongSequenceNumber(0), number, false)]),
    };
    let controls = [
        Control::Hello { nonce: 1, echo: 2 },
        Control::Init { session, format },
        Control::InitEcho { session, nonce: 7, window_frames: 1, format },
        Control::Start { session, nonce: 7 },
        Control::Feedback(report),
        Control::Dummy { session, stamp: 9, next: far, held_from: far },
        Control::Fin { session },
        Control::FinEcho { session },
        Control::Probe(NO_PROBE),
    ];
    let data = whole(ethertype::TRANSPARENT, &[&data(format, &plain(), 0x0800)[..], &[0xca; 40]].concat());
    for control in controls {
        let mut seal = Seal::new("000102030405060708090a0b0c0d0e0f".parse().expect("a key"), 1);
        seal.meet(2, 1);
        let mut buffer = [0; CONTROL_FRAME_MAX];
        let length = emit_sealed(&control, [2; 6], &mut buffer, &mut seal).expect("the peer is known");
        let frames = [data.clone(), buffer[..length].to_vec(), data.clone()];
        let fields = ["-T", "fields", "-e", "linkmend.seal_counter", "-e", "linkmend.tag"];
        let Some(said) = tshark("a_link_with_a_key", &frames, &fields) else { return };
        let lines: Vec<&str> = said.lines().map(str::trim).collect();
        assert_eq!(lines, ["", "1", "0xcacacaca"], "{control:?}");
    }
}

/// Inputs of the fuzzer, damaged and cut, under our EtherTypes.
fn damaged_frames(count: usize) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/wire");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the corpus").map(|file| file.expect("readable").path()).collect();
    files.sort();
    let mut random = linkmend_random::Random::new(7, "damaged frames");
    let mut below = |limit: usize| (random.next_u64() % limit as u64) as usize;
    let mut damaged = || {
        let mut frame = std::fs::read(&files[below(files.len())]).expect("readable");
        frame.resize(frame.len().max(ADDRESSES_BYTES + 6), 0);
        for _ in 0..below(6) {
            let place = below(frame.len());
            frame[place] = below(256) as u8;
        }
        let ethertype = [ethertype::TRANSPARENT, ethertype::COMPACT][below(4) / 3];
        frame[ADDRESSES_BYTES..ADDRESSES_BYTES + 2].copy_from_slice(&ethertype.to_be_bytes());
        if below(2) == 0 {
            frame[ADDRESSES_BYTES + 2] = 0x80 | below(13) as u8;
            frame[ADDRESSES_BYTES + 3..ADDRESSES_BYTES + 6].copy_from_slice(&MAGIC);
        }
        frame.truncate(ADDRESSES_BYTES + 2 + below(frame.len() - ADDRESSES_BYTES));
        frame
    };
    (0..count).map(|_| damaged()).collect()
}

#[test]
fn the_dissector_shows_damaged_frames_without_an_error_of_its_own() {
    let frames = damaged_frames(5_000);
    let Some(text) = tshark("damaged_frames", &frames, &["-V"]) else { return };
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("Lua Error")).collect();
    assert!(errors.is_empty(), "{} of {}: {:?}", errors.len(), frames.len(), errors[0]);
    let truncated = text.matches("Expert Info (Error/Malformed): The frame ends within").count();
    assert!(truncated > 100, "only {truncated} frames were cut within a field: the test tries nothing");
}
