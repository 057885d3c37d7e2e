//! The published program's headers, read and written byte by byte.

pub const ETHERTYPE: [u8; 2] = [0xab, 0xcd];
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    #[default]
    Data,
    Ack,
    Notification,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Header {
    pub kind: Kind,
    /// Sequence number or leading ACK.
    pub number: u16,
    pub era: bool,
    pub copy: bool,
    pub dummy: bool,
    pub blocking: bool,
    pub piggybacked: bool,
    pub hole_size: u8,
    pub first_lost: u16,
}

/// `a <= b` after the era correction of section 3.5.
pub fn at_most(a: (u16, bool), b: (u16, bool)) -> bool {
    let shift = if a.1 == b.1 { 0 } else { 1 << 15 };
    a.0.wrapping_sub(shift) <= b.0.wrapping_sub(shift)
}

pub fn read(bytes: &[u8]) -> Option<Header> {
    if bytes[12..14] != ETHERTYPE {
        return None;
    }
    let bit = |bit: u32| bytes[14] >> bit & 1 == 1;
    let number = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let mut header = Header { number: number(15), era: bit(4), ..Header::default() };
    match bytes[14] >> 6 {
        0 => (header.copy, header.dummy, header.blocking) = (bit(3), bit(2), bit(1)),
        1 => (header.kind, header.piggybacked) = (Kind::Ack, bit(5)),
        2 => {
            header.kind = Kind::Notification;
            (header.hole_size, header.first_lost) = (bytes[17], number(18));
        }
        _ => return None,
    }
    Some(header)
}

pub fn data(header: &Header, plain: &[u8]) -> Vec<u8> {
    let bit = |set: bool, bit: u32| u8::from(set) << bit;
    let first = bit(header.era, 4) | bit(header.copy, 3) | bit(header.dummy, 2) | bit(header.blocking, 1);
    let [high, low] = header.number.to_be_bytes();
    [&plain[..12], &ETHERTYPE, &[first, high, low], &plain[14..]].concat()
}

pub fn dummy(header: &Header) -> Vec<u8> {
    data(header, &[0; 60])
}

pub fn ack(leading: (u16, bool)) -> Vec<u8> {
    lack(0b01 << 6, leading, &[])
}

pub fn with_ack(leading: (u16, bool), plain: &[u8]) -> Vec<u8> {
    let bytes = lack(0b011 << 5, leading, &[]);
    [&plain[..12], &bytes[12..17], &plain[14..]].concat()
}

pub fn notification(leading: (u16, bool), size: u8, first: u16) -> Vec<u8> {
    let [high, low] = first.to_be_bytes();
    lack(0b10 << 6, leading, &[size, high, low])
}

fn lack(kind: u8, (number, era): (u16, bool), rest: &[u8]) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let mut bytes = [&[0; 12][..], &ETHERTYPE, &[kind | u8::from(era) << 4, high, low], rest].concat();
    bytes.resize(60, 0);
    bytes
}

/// The original frame, of a data frame or of one with an ACK on it.
pub fn unwrapped(bytes: &[u8]) -> Vec<u8> {
    [&bytes[..12], &[0x08, 0x00], &bytes[17..]].concat()
}

/// Priority flow control of class 1: 65,535 quanta or none.
pub fn priority_pause(paused: bool) -> Vec<u8> {
    let quanta = if paused { [0xff; 2] } else { [0; 2] };
    let head = [0x01, 0x80, 0xc2, 0, 0, 0x01, 0, 0, 0, 0, 0, 0];
    let mut bytes = [&head[..], &MAC_CONTROL, &[1, 1, 0, 2, 0, 0], &quanta].concat();
    bytes.resize(60, 0);
    bytes
}

pub fn read_priority_pause(bytes: &[u8]) -> Option<bool> {
    let ours = bytes[..6] == [0x01, 0x80, 0xc2, 0, 0, 0x01] && bytes[12..14] == MAC_CONTROL;
    (ours && bytes[14..16] == [1, 1] && bytes[17] & 2 != 0).then(|| bytes[20..22] != [0, 0])
}
