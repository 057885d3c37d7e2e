//! The compact format: bit for bit the headers of the authors' P4 program (section 3.5).
//!
//! ```text
//! bits          7 6   5            4     3              2      1         0
//! data          0 0   0            era   retransmitted  dummy  blocking  rx-buffered   | sequence number 16
//! ACK           0 1   piggybacked  era   0 0 0 0                                       | leading ACK 16
//! notification  1 0   0            era   0 0 0 0   | leading ACK 16 | hole size 8 | first lost sequence number 16
//! ```
//!
//! A data header stands between the Ethernet header (EtherType 0xABCD) and an IPv4 header. A dummy announces the next
//! number. The era bit of a notification is that of the leading ACK; the hole begins within half the sequence space of
//! it. The size of the hole is stored modulo 256, so 0 stands for 256.
//!
//! In the authors' protocol the leading ACK is the latest number received, and that of a notification the frame which
//! revealed the hole ([`Format::Linkguardian`](crate::Format::Linkguardian)). Two Linkmend ends
//! ([`Format::Compact`](crate::Format::Compact)) acknowledge what they have received in order, and a notification's
//! hole begins behind its leading ACK. The headers carry no session, and ACKs name no lane, so a link end uses one mode
//! at a time in them. What the headers cannot express (sessions, pause, the list of everything missing), two Linkmend
//! ends send in their own control frames.

use super::reader::Reader;
use super::{Decapsulation, Encapsulation, LinkFrame, RETRANSMITTED, ethertype};
use crate::frame::{DataHeader, PiggybackAck, SequenceRange};
use crate::link_end::Control;
use crate::mode::Mode;
use crate::sequence::{SEQUENCE_SPACE, SequenceNumber, WINDOW_MAX};

const TYPE: u8 = 0b11 << 6;
const TYPE_DATA: u8 = 0b00 << 6;
const TYPE_ACK: u8 = 0b01 << 6;
const TYPE_NOTIFICATION: u8 = 0b10 << 6;
const PIGGYBACKED: u8 = 1 << 5;
const ERA: u8 = 1 << 4;
const DUMMY: u8 = 1 << 2;
const BLOCKING: u8 = 1 << 1;

/// Bytes that a data header of this format adds to a frame, and those of the bodies of its control frames.
pub const COMPACT_HEADER_BYTES: usize = 3;

/// Values of the size of a hole.
const HOLE_SIZES: u16 = 256;

const RESTORE_IPV4: Decapsulation =
    Decapsulation { removes: 2 + COMPACT_HEADER_BYTES, ethertype: Some(ethertype::IPV4) };

pub(super) fn encapsulate(header: &DataHeader) -> Encapsulation {
    let retransmitted = if header.retransmitted { RETRANSMITTED } else { 0 };
    with_ethertype(&data_bytes(header.mode, header.sequence, retransmitted))
}

pub(super) fn encapsulate_ack(ack: PiggybackAck) -> Encapsulation {
    with_ethertype(&ack_bytes(TYPE_ACK | PIGGYBACKED, ack.next))
}

/// The body of a compact control frame after its EtherType, and its length; `None` for other control frames.
pub(super) fn control_body(control: &Control) -> Option<([u8; 6], usize)> {
    let mut body = [0; 6];
    match *control {
        Control::CompactAck { next } => body[..3].copy_from_slice(&ack_bytes(TYPE_ACK, next)),
        Control::CompactDummy { mode, next } => body[..3].copy_from_slice(&data_bytes(mode, next, DUMMY)),
        Control::CompactNotification { next, hole } => {
            body[..3].copy_from_slice(&ack_bytes(TYPE_NOTIFICATION, next));
            body[3] = hole.length.min(HOLE_SIZES) as u8;
            body[4..].copy_from_slice(&hole.first.number().to_be_bytes());
            return Some((body, 6));
        }
        _ => return None,
    }
    Some((body, 3))
}

/// `rest` starts after the EtherType.
pub(super) fn parse(rest: &[u8]) -> LinkFrame {
    parse_fields(rest).unwrap_or(LinkFrame::Malformed)
}

fn parse_fields(rest: &[u8]) -> Option<LinkFrame> {
    let mut reader = Reader(rest);
    let first = reader.u8()?;
    let sequence = reader.sequence(first & ERA != 0)?;
    let next = sequence.plus(1);
    Some(match first & TYPE {
        TYPE_DATA => {
            let mode = if first & BLOCKING != 0 { Mode::Ordered } else { Mode::NonBlocking };
            if first & DUMMY != 0 {
                return Some(LinkFrame::Control(Control::CompactDummy { mode, next: sequence }));
            }
            let header = DataHeader { sequence, mode, retransmitted: first & RETRANSMITTED != 0, ack: None };
            LinkFrame::Data { header, decapsulation: RESTORE_IPV4 }
        }
        TYPE_ACK if first & PIGGYBACKED != 0 => LinkFrame::Acknowledging {
            ack: PiggybackAck { mode: Mode::Ordered, next },
            decapsulation: RESTORE_IPV4,
        },
        TYPE_ACK => LinkFrame::Control(Control::CompactAck { next }),
        TYPE_NOTIFICATION => {
            let length = reader.u8()?;
            let number = reader.u16()?;
            let ahead = u64::from(number.wrapping_sub(next.number()));
            let first = if ahead < u64::from(WINDOW_MAX) {
                next.plus(ahead)
            } else {
                next.minus(SEQUENCE_SPACE - ahead)
            };
            let length = if length == 0 { HOLE_SIZES } else { length.into() };
            let hole = SequenceRange { first, length };
            LinkFrame::Control(Control::CompactNotification { next, hole })
        }
        _ => return None,
    })
}

fn with_ethertype(header: &[u8; 3]) -> Encapsulation {
    let mut out = Encapsulation::new(2);
    out.push(&ethertype::COMPACT.to_be_bytes());
    out.push(header);
    out
}

fn data_bytes(mode: Mode, sequence: SequenceNumber, flags: u8) -> [u8; 3] {
    let blocking = if mode == Mode::Ordered { BLOCKING } else { 0 };
    let era = if sequence.era() { ERA } else { 0 };
    let [high, low] = sequence.number().to_be_bytes();
    [TYPE_DATA | era | blocking | flags, high, low]
}

fn ack_bytes(first: u8, next: SequenceNumber) -> [u8; 3] {
    let leading = next.plus(2 * SEQUENCE_SPACE - 1);
    let [high, low] = leading.number().to_be_bytes();
    [first | if leading.era() { ERA } else { 0 }, high, low]
}
