//! The transparent format: any EtherType, VLAN stack and size survives byte for byte.
//!
//! ```text
//!  bits      7 6    5        4     3              2 1 0
//!  data      0 p    ordered  era   retransmitted  EtherType code   | sequence number 16
//!            if p (piggyback): ordered, era, 0 0 0 0 0 0           | cumulative ACK 16
//!            if code is 0: original EtherType 16
//!  control   1 0    type (6 bits)                                  | "LM1" | body
//!  escaped   1 1    0        0     0              0 0 0          | "LM1" | original frame from its EtherType
//!  ACK on an unprotected frame
//!            1 1    1        ordered  era         EtherType code   | cumulative ACK 16
//! ```
//!
//! The EtherType code spares the two bytes of the seven most common EtherTypes: the header then costs 3 bytes, as much
//! as the paper's (section 4.6).

use super::reader::Reader;
use super::{Decapsulation, Encapsulation, LinkFrame, MAGIC, RETRANSMITTED, control, ethertype};
use crate::frame::{DataHeader, PiggybackAck};
use crate::mode::Mode;

const KIND: u8 = 0b11 << 6;
const KIND_DATA: u8 = 0b00 << 6;
const KIND_DATA_WITH_ACK: u8 = 0b01 << 6;
const KIND_CONTROL: u8 = 0b10 << 6;
const KIND_ESCAPED: u8 = 0b11 << 6;
const ORDERED: u8 = 1 << 5;
const ERA: u8 = 1 << 4;
const CODE: u8 = 0b111;
const ESCAPED_WITH_ACK: u8 = 1 << 5;
const UNPROTECTED_ACK_ORDERED: u8 = 1 << 4;
const UNPROTECTED_ACK_ERA: u8 = 1 << 3;
const ACK_ORDERED: u8 = 1 << 7;
const ACK_ERA: u8 = 1 << 6;

/// EtherTypes with a code of their own in the header: 1 for the first, and so on. Code 0 means that the EtherType
/// follows the header.
pub const CODED_ETHERTYPES: [u16; 7] = [
    ethertype::IPV4,
    ethertype::IPV6,
    ethertype::VLAN,
    ethertype::SERVICE_VLAN,
    ethertype::ARP,
    ethertype::MPLS,
    ethertype::PPPOE_SESSION,
];

pub(super) fn encapsulate(header: &DataHeader, ethertype: u16) -> Encapsulation {
    let code = code_of(ethertype);
    let mut out = Encapsulation::new(if code == 0 { 0 } else { 2 });
    out.push(&ethertype::TRANSPARENT.to_be_bytes());
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

pub(super) fn encapsulate_ack(ack: PiggybackAck, ethertype: u16) -> Encapsulation {
    let code = code_of(ethertype);
    let mut out = Encapsulation::new(if code == 0 { 0 } else { 2 });
    out.push(&ethertype::TRANSPARENT.to_be_bytes());
    out.push(&[KIND_ESCAPED
        | ESCAPED_WITH_ACK
        | flag(ack.mode == Mode::Ordered, UNPROTECTED_ACK_ORDERED)
        | flag(ack.next.era(), UNPROTECTED_ACK_ERA)
        | code]);
    out.push(&ack.next.number().to_be_bytes());
    out
}

pub(super) fn escape() -> Encapsulation {
    let mut out = Encapsulation::new(0);
    out.push(&ethertype::TRANSPARENT.to_be_bytes());
    out.push(&[KIND_ESCAPED]);
    out.push(&MAGIC);
    out
}

/// `rest` starts after the EtherType.
pub(super) fn parse(rest: &[u8]) -> LinkFrame {
    let Some((&first, body)) = rest.split_first() else { return LinkFrame::Foreign };
    match first & KIND {
        KIND_CONTROL if body.starts_with(&MAGIC) && control::is_in_time(first & !KIND) => LinkFrame::InTime,
        KIND_CONTROL if body.starts_with(&MAGIC) => control::parse(first & !KIND, &body[MAGIC.len()..])
            .map_or(LinkFrame::Malformed, LinkFrame::Control),
        KIND_ESCAPED if first & ESCAPED_WITH_ACK != 0 => {
            parse_acknowledging(first, body).unwrap_or(LinkFrame::Malformed)
        }
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
    let ethertype = original_ethertype(first, &mut reader)?;
    let header =
        DataHeader { sequence, mode: mode(first & ORDERED), retransmitted: first & RETRANSMITTED != 0, ack };
    Some(LinkFrame::Data { header, decapsulation: Decapsulation { removes, ethertype } })
}

fn parse_acknowledging(first: u8, body: &[u8]) -> Option<LinkFrame> {
    let mut reader = Reader(body);
    let next = reader.sequence(first & UNPROTECTED_ACK_ERA != 0)?;
    let ethertype = original_ethertype(first, &mut reader)?;
    Some(LinkFrame::Acknowledging {
        ack: PiggybackAck { mode: mode(first & UNPROTECTED_ACK_ORDERED), next },
        decapsulation: Decapsulation { removes: 2 + 1 + 2, ethertype },
    })
}

/// The EtherType that a code stands for. Where it follows the header, it must be there for the frame to be valid.
fn original_ethertype(first: u8, reader: &mut Reader) -> Option<Option<u16>> {
    match usize::from(first & CODE) {
        0 => reader.u16().map(|_| None),
        code => Some(Some(CODED_ETHERTYPES[code - 1])),
    }
}

fn code_of(ethertype: u16) -> u8 {
    CODED_ETHERTYPES.iter().position(|&coded| coded == ethertype).map_or(0, |i| i as u8 + 1)
}

fn mode(ordered_bit: u8) -> Mode {
    if ordered_bit != 0 { Mode::Ordered } else { Mode::NonBlocking }
}

fn flag(set: bool, bit: u8) -> u8 {
    if set { bit } else { 0 }
}
