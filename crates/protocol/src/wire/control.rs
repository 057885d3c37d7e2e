//! Linkmend's control frames: EtherType 0x88B5, kind "control", magic, body by type, zero padding.

use super::reader::Reader;
use super::seal::{CONTROL_SEAL_BYTES, Seal};
use super::writer::Writer;
use super::{
    CONTROL_ADDRESS, ETHERNET_HEADER_BYTES, FRAME_BYTES_MIN_IN_MEMORY, MAGIC, compact, ethertype,
    ethertype_of, priority_pause, probe,
};
use crate::config::Format;
use crate::frame::{Feedback, LaneFeedback, MissingRun, RANGES_MAX, RUN_LENGTH_MAX, SequenceRange};
use crate::link_end::Control;
use crate::mode::{Mode, PerMode};
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::SessionNumber;

/// Longest control frame, without frame check sequence.
pub const CONTROL_FRAME_MAX: usize = ETHERNET_HEADER_BYTES
    + 1
    + MAGIC.len()
    + FEEDBACK_FIXED
    + 2 * (LANE_FIXED + 4 * RANGES_MAX)
    + CONTROL_SEAL_BYTES;

/// Bytes of [`in_time_header`].
pub const IN_TIME_HEADER_BYTES: usize = ETHERNET_HEADER_BYTES + 1 + MAGIC.len();

const FEEDBACK_FIXED: usize = 4 + 2 + 2 + 4 + 2;
const LANE_FIXED: usize = 1 + 4 + 3 * 2 + 1;

const KIND: u8 = 0b11 << 6;
const KIND_CONTROL: u8 = 0b10 << 6;
/// Without a body, as up to version 0.1.
const OLD_HELLO: u8 = 0;
const INIT: u8 = 1;
const INIT_ECHO: u8 = 2;
const START: u8 = 3;
/// The type names the layout of a body; the magic names what does not change with it: the handshake, and that the frame
/// is Linkmend's. 4 and 8 were feedback frames with 17 bits of each number, up to version 0.1.
const FEEDBACK: u8 = 10;
/// 5 was a dummy with 17 bits of each number, up to version 0.1.
const DUMMY: u8 = 9;
const FIN: u8 = 6;
const FIN_ECHO: u8 = 7;
/// 11 was a probe of ends that decided together which path both use.
const PROBE: u8 = 12;
const HELLO: u8 = 13;
/// A message of repair in time, whose body this crate does not read.
const IN_TIME: u8 = 14;

const LANE_BY_CLOCK: u8 = 1 << 0;
const LANE_COVERED_ERA: u8 = 1 << 1;
const LANE_PAUSED: u8 = 1 << 2;
const LANE_FROM_ERA: u8 = 1 << 3;
const LANE_SEEN_ERA: u8 = 1 << 4;
const LANE_FLAGS: u8 = LANE_BY_CLOCK | LANE_COVERED_ERA | LANE_PAUSED | LANE_FROM_ERA | LANE_SEEN_ERA;
/// A bit in the length of a run: its frames arrived, and did not fit.
const RUN_OVERFLOWED: u16 = 1 << 15;

const _: () = assert!(RUN_LENGTH_MAX == RUN_OVERFLOWED - 1);

/// What precedes a message of repair in time (`linkmend-parity`).
pub fn in_time_header(source: [u8; 6]) -> [u8; IN_TIME_HEADER_BYTES] {
    let mut out = [0; IN_TIME_HEADER_BYTES];
    out[..6].copy_from_slice(&CONTROL_ADDRESS);
    out[6..12].copy_from_slice(&source);
    out[12..14].copy_from_slice(&ethertype::TRANSPARENT.to_be_bytes());
    out[14] = KIND_CONTROL | IN_TIME;
    out[15..].copy_from_slice(&MAGIC);
    out
}

/// Whether a control frame of this kind is a message of repair in time.
pub(super) const fn is_in_time(kind: u8) -> bool {
    kind == IN_TIME
}

/// Writes a whole control frame, padded to 60 bytes, and returns its length.
pub fn emit_control(control: &Control, source: [u8; 6], out: &mut [u8; CONTROL_FRAME_MAX]) -> usize {
    let length = emit(control, source, out);
    pad(out, length)
}

/// The same with the seal of a link with a key. `None` if the frame cannot be sealed yet, and so not be sent.
pub fn emit_sealed(
    control: &Control,
    source: [u8; 6],
    out: &mut [u8; CONTROL_FRAME_MAX],
    seal: &mut Seal,
) -> Option<usize> {
    let end = emit(control, source, out);
    let length = seal.close_control(control, out, end)?;
    Some(pad(out, length))
}

/// Where the body of a control frame with magic ends, and its seal would begin.
pub fn control_end(frame: &[u8]) -> Option<usize> {
    let rest =
        frame.get(ETHERNET_HEADER_BYTES..).filter(|_| ethertype_of(frame) == Some(ethertype::TRANSPARENT))?;
    let (&first, body) = rest.split_first()?;
    let body = body.strip_prefix(&MAGIC).filter(|_| first & KIND == KIND_CONTROL)?;
    let (_, length) = parse_to_end(first & !KIND, body)?;
    Some(ETHERNET_HEADER_BYTES + 1 + MAGIC.len() + length)
}

fn emit(control: &Control, source: [u8; 6], out: &mut [u8; CONTROL_FRAME_MAX]) -> usize {
    out[..6].copy_from_slice(&CONTROL_ADDRESS);
    out[6..12].copy_from_slice(&source);
    let mut writer = Writer { out, at: 12 };
    if let Control::PriorityPause { paused } = *control {
        writer.out[..6].copy_from_slice(&priority_pause::ADDRESS);
        writer.put(&ethertype::MAC_CONTROL.to_be_bytes());
        writer.put(&priority_pause::body(paused));
    } else if let Some((body, length)) = compact::control_body(control) {
        writer.put(&ethertype::COMPACT.to_be_bytes());
        writer.put(&body[..length]);
    } else {
        writer.put(&ethertype::TRANSPARENT.to_be_bytes());
        emit_body(control, &mut writer);
    }
    writer.at
}

fn pad(out: &mut [u8; CONTROL_FRAME_MAX], length: usize) -> usize {
    let padded = length.max(FRAME_BYTES_MIN_IN_MEMORY);
    out[length..padded].fill(0);
    padded
}

fn emit_body(control: &Control, writer: &mut Writer) {
    let mut start = |kind: u8, session: Option<SessionNumber>| {
        writer.put(&[KIND_CONTROL | kind]);
        writer.put(&MAGIC);
        if let Some(session) = session {
            writer.put(&session.0.to_be_bytes());
        }
    };
    match *control {
        Control::Hello { nonce, echo } => {
            start(HELLO, None);
            writer.put(&nonce.to_be_bytes());
            writer.put(&echo.to_be_bytes());
        }
        Control::OldHello => start(OLD_HELLO, None),
        Control::Init { session, format } => {
            start(INIT, Some(session));
            writer.put(&[format_code(format)]);
        }
        Control::InitEcho { session, nonce, window_frames, format } => {
            start(INIT_ECHO, Some(session));
            writer.put(&nonce.to_be_bytes());
            writer.put(&window_frames.to_be_bytes());
            writer.put(&[format_code(format)]);
        }
        Control::Start { session, nonce } => {
            start(START, Some(session));
            writer.put(&nonce.to_be_bytes());
        }
        Control::Feedback(ref feedback) => {
            start(FEEDBACK, Some(feedback.session));
            emit_feedback(feedback, writer);
        }
        Control::Dummy { session, stamp, next, held_from } => {
            start(DUMMY, Some(session));
            writer.put(&stamp.to_be_bytes());
            for mode in Mode::ALL {
                writer.put(&next[mode].0.to_be_bytes());
                writer.put(&held_from[mode].0.to_be_bytes());
            }
        }
        Control::Fin { session } => start(FIN, Some(session)),
        Control::FinEcho { session } => start(FIN_ECHO, Some(session)),
        Control::Probe(ref body) => {
            start(PROBE, None);
            probe::emit(body, writer);
        }
        Control::CompactAck { .. }
        | Control::CompactNotification { .. }
        | Control::CompactDummy { .. }
        | Control::PriorityPause { .. } => unreachable!("written above"),
    }
}

fn emit_feedback(feedback: &Feedback, writer: &mut Writer) {
    writer.put(&feedback.number.to_be_bytes());
    writer.put(&feedback.dummy_stamp.to_be_bytes());
    writer.put(&feedback.lost_total.to_be_bytes());
    writer.put(&feedback.rx_overflow_total.to_be_bytes());
    for mode in Mode::ALL {
        let lane = &feedback.lanes[mode];
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        writer.put(&[flag(lane.by_clock, LANE_BY_CLOCK)
            | flag(lane.covered.era(), LANE_COVERED_ERA)
            | flag(lane.paused, LANE_PAUSED)
            | flag(lane.from.era(), LANE_FROM_ERA)
            | flag(lane.seen.era(), LANE_SEEN_ERA)]);
        writer.put(&lane.cumulative.0.to_be_bytes());
        for sequence in [lane.from, lane.covered, lane.seen] {
            writer.put(&sequence.number().to_be_bytes());
        }
        writer.put(&[lane.missing().len() as u8]);
        for MissingRun { range, overflowed } in lane.runs() {
            // The era of a range follows from its distance to the cumulative number.
            writer.put(&range.first.number().to_be_bytes());
            let length = range.length & RUN_LENGTH_MAX;
            writer.put(&(length | if overflowed { RUN_OVERFLOWED } else { 0 }).to_be_bytes());
        }
    }
}

/// `body` starts after the magic.
pub(super) fn parse(kind: u8, body: &[u8]) -> Option<Control> {
    parse_to_end(kind, body).map(|(control, _)| control)
}

/// The control frame, and the length of its body.
fn parse_to_end(kind: u8, body: &[u8]) -> Option<(Control, usize)> {
    let mut reader = Reader(body);
    let control = parse_body(kind, &mut reader)?;
    Some((control, body.len() - reader.0.len()))
}

fn parse_body(kind: u8, reader: &mut Reader<'_>) -> Option<Control> {
    match kind {
        HELLO => return Some(Control::Hello { nonce: reader.u64()?, echo: reader.u64()? }),
        OLD_HELLO => return Some(Control::OldHello),
        _ => {}
    }
    if kind == PROBE {
        return probe::parse(reader).map(Control::Probe);
    }
    let session = SessionNumber(reader.u32()?);
    Some(match kind {
        INIT => Control::Init { session, format: parse_format(reader)? },
        INIT_ECHO => Control::InitEcho {
            session,
            nonce: reader.u32()?,
            window_frames: reader.u32()?,
            format: parse_format(reader)?,
        },
        START => Control::Start { session, nonce: reader.u32()? },
        FEEDBACK => Control::Feedback(parse_feedback(session, reader)?),
        DUMMY => {
            let stamp = reader.u16()?;
            let mut numbers = [LongSequenceNumber(0); 4];
            for number in &mut numbers {
                *number = LongSequenceNumber(reader.u32()?);
            }
            let [ordered_next, ordered_held, next, held] = numbers;
            let (next, held_from) = (PerMode([ordered_next, next]), PerMode([ordered_held, held]));
            Control::Dummy { session, stamp, next, held_from }
        }
        FIN => Control::Fin { session },
        FIN_ECHO => Control::FinEcho { session },
        _ => return None,
    })
}

/// Control frames are padded with 0, which must mean the default.
const fn format_code(format: Format) -> u8 {
    match format {
        Format::Transparent => 0,
        Format::Compact => 1,
        Format::Linkguardian => 2,
    }
}

fn parse_format(reader: &mut Reader) -> Option<Format> {
    let code = reader.u8()?;
    [Format::Transparent, Format::Compact, Format::Linkguardian]
        .into_iter()
        .find(|&format| format_code(format) == code)
}

fn parse_feedback(session: SessionNumber, reader: &mut Reader) -> Option<Feedback> {
    Some(Feedback {
        session,
        number: reader.u16()?,
        dummy_stamp: reader.u16()?,
        lost_total: reader.u32()?,
        rx_overflow_total: reader.u16()?,
        lanes: PerMode([parse_lane(reader)?, parse_lane(reader)?]),
    })
}

fn parse_lane(reader: &mut Reader) -> Option<LaneFeedback> {
    let flags = reader.u8()?;
    if flags & !LANE_FLAGS != 0 {
        return None;
    }
    let cumulative = LongSequenceNumber(reader.u32()?);
    let short = cumulative.short();
    let from = reader.sequence(flags & LANE_FROM_ERA != 0)?;
    let covered = reader.sequence(flags & LANE_COVERED_ERA != 0)?;
    let seen = reader.sequence(flags & LANE_SEEN_ERA != 0)?;
    let mut lane = LaneFeedback::new(cumulative, covered, flags & LANE_PAUSED != 0);
    (lane.from, lane.seen, lane.by_clock) = (from, seen, flags & LANE_BY_CLOCK != 0);
    let count = usize::from(reader.u8()?);
    if count > RANGES_MAX {
        return None;
    }
    for _ in 0..count {
        let number = reader.u16()?;
        let length = reader.u16()?;
        let wrapped = number < short.number();
        let first = SequenceNumber::new(number, short.era() != wrapped);
        let range = SequenceRange { first, length: length & RUN_LENGTH_MAX };
        let overflowed = length & RUN_OVERFLOWED != 0;
        let fits = if overflowed { lane.push_overflowed(range) } else { lane.push_missing(range) };
        if range.length == 0 || !fits {
            return None;
        }
    }
    Some(lane)
}
