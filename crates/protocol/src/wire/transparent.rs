//! The transparent format: any EtherType, VLAN stack and size survives byte for byte.
//!
//! ```text
//!  bits      7 6    5        4     3              2 1 0
//!  data      0 p    ordered  era   retransmitted  EtherType code   | sequence number 16
//!            if p (piggyback): ordered, era, 0 0 0 0 0 0           | cumulative ACK 16
//!            if code is 0: original EtherType 16
//!  control   1 0    type (6 bits)                                  | "LM1" | body
//!  escaped   1 1    0                                              | "LM1" | original frame from its EtherType
//! ```
//!
//! The EtherType code spares the two bytes of the seven most common EtherTypes: the header then costs 3 bytes, as much
//! as the paper's (section 4.6).

use super::reader::Reader;
use super::{Decapsulation, ETHERTYPE_TRANSPARENT, Encapsulation, LinkFrame, MAGIC, control};
use crate::frame::{DataHeader, Mode, PiggybackAck};

pub(super) const RETRANSMITTED: u8 = 1 << 3;
const KIND: u8 = 0b11 << 6;
const KIND_DATA: u8 = 0b00 << 6;
const KIND_DATA_WITH_ACK: u8 = 0b01 << 6;
const KIND_CONTROL: u8 = 0b10 << 6;
const KIND_ESCAPED: u8 = 0b11 << 6;
const ORDERED: u8 = 1 << 5;
const ERA: u8 = 1 << 4;
const CODE: u8 = 0b111;
const ACK_ORDERED: u8 = 1 << 7;
const ACK_ERA: u8 = 1 << 6;

/// Code 0 means that the EtherType follows the header.
const CODED_ETHERTYPES: [u16; 8] = [0, 0x0800, 0x86dd, 0x8100, 0x88a8, 0x0806, 0x8847, 0x8864];

pub(super) fn encapsulate(header: &DataHeader, ethertype: u16) -> Encapsulation {
    let code =
        CODED_ETHERTYPES.iter().skip(1).position(|&coded| coded == ethertype).map_or(0, |i| i as u8 + 1);
    let mut out = Encapsulation::new(if code == 0 { 0 } else { 2 });
    out.push(&ETHERTYPE_TRANSPARENT.to_be_bytes());
    let first = if header.ack.is_some() { KIND_DATA_WITH_ACK } else { KIND_DATA }
        | flag(header.mode == Mode::Ordered, ORDERED)
        | flag(header.sequence.era(), ERA)
        | flag(header.retransmitted, RETRANSMITTED)
        | code;
    out.push(&[first]);
    out.push(&header.sequence.number().to_be_bytes());
    if let Some(ack) = header.ack {
        out.push(&[flag(ack.mode == Mode::Ordered, ACK_ORDERED) | flag(ack.next.era(), ACK_ERA)]);
        out.push(&ack.next.number().to_be_bytes());
    }
    out
}

pub(super) fn escape() -> Encapsulation {
    let mut out = Encapsulation::new(0);
    out.push(&ETHERTYPE_TRANSPARENT.to_be_bytes());
    out.push(&[KIND_ESCAPED]);
    out.push(&MAGIC);
    out
}

/// `rest` starts behind the EtherType.
pub(super) fn parse(rest: &[u8]) -> LinkFrame {
    let Some((&first, body)) = rest.split_first() else { return LinkFrame::Foreign };
    match first & KIND {
        KIND_CONTROL if body.starts_with(&MAGIC) => control::parse(first & !KIND, &body[MAGIC.len()..])
            .map_or(LinkFrame::Malformed, LinkFrame::Control),
        KIND_ESCAPED if body.starts_with(&MAGIC) => {
            LinkFrame::Escaped(Decapsulation { removes: 2 + 1 + MAGIC.len(), ethertype: None })
        }
        KIND_CONTROL | KIND_ESCAPED => LinkFrame::Foreign,
        _ => parse_data(first, body).unwrap_or(LinkFrame::Malformed),
    }
}

fn parse_data(first: u8, body: &[u8]) -> Option<LinkFrame> {
    let mut reader = Reader(body);
    let sequence = reader.sequence(first & ERA != 0)?;
    let mut removes = 2 + 1 + 2;
    let ack = if first & KIND == KIND_DATA_WITH_ACK {
        let flags = reader.u8()?;
        if flags & !(ACK_ORDERED | ACK_ERA) != 0 {
            return None;
        }
        removes += 3;
        let next = reader.sequence(flags & ACK_ERA != 0)?;
        Some(PiggybackAck { mode: mode(flags & ACK_ORDERED), next })
    } else {
        None
    };
    let code = usize::from(first & CODE);
    if code == 0 {
        // The original EtherType must be there for the result to be a frame.
        reader.u16()?;
    }
    let header =
        DataHeader { sequence, mode: mode(first & ORDERED), retransmitted: first & RETRANSMITTED != 0, ack };
    let ethertype = (code != 0).then(|| CODED_ETHERTYPES[code]);
    Some(LinkFrame::Data { header, decapsulation: Decapsulation { removes, ethertype } })
}

fn mode(ordered_bit: u8) -> Mode {
    if ordered_bit != 0 { Mode::Ordered } else { Mode::NonBlocking }
}

fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}
