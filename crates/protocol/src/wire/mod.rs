//! Wire formats: what a driver writes after the MAC addresses, and what it finds there.
//!
//! Sending: [`encapsulate`] returns the bytes to put after the MAC addresses of a protected frame; [`depart`] says how
//! an unprotected one leaves; [`mark_retransmitted`] changes them in place for a copy; [`emit_control`] writes a whole
//! control frame. Receiving: [`parse`] recognises a frame from the link, which can also be printed. Nothing here copies
//! a payload.

mod compact;
mod control;
mod display;
mod ethernet;
mod own;
mod priority_pause;
mod probe;
mod reader;
mod seal;
mod transparent;
mod writer;

pub use compact::COMPACT_HEADER_BYTES;
pub use control::{
    CONTROL_FRAME_MAX, IN_TIME_HEADER_BYTES, control_end, emit_control, emit_sealed, in_time_header,
};
pub use ethernet::{
    ADDRESSES_BYTES, ETHERNET_HEADER_BYTES, FCS_BYTES, FRAME_BYTES_MIN, FRAME_BYTES_MIN_IN_MEMORY,
    FULL_FRAME_BYTES_IN_MEMORY, INTERPACKET_GAP_BYTES, PREAMBLE_BYTES, Untagged, VLAN_TAG_BYTES,
    VLAN_TAGS_MAX, WIRE_OVERHEAD_BYTES, ethertype, is_vlan_tag, wire_bytes,
};
pub use own::{Departure, OtherEnd, depart};
pub use priority_pause::parse_priority_pause;
pub use seal::{
    BadKey, CONTROL_SEAL_BYTES, Genuineness, HEARD_BYTES, LinkKey, Seal, TAG_BYTES, Tagged, TaggedHeader,
    is_sealed, without_tag,
};
pub use transparent::CODED_ETHERTYPES;

use crate::config::Format;
use crate::frame::{DataHeader, PiggybackAck};
use crate::link_end::Control;

/// Follows the first byte of control and escaped frames, and distinguishes them from a host's frames of the same
/// EtherType.
pub const MAGIC: [u8; 3] = *b"LM1";
/// Destination of control frames: a locally administered group address that bridges and radios forward.
pub const CONTROL_ADDRESS: [u8; 6] = [0x03, b'L', b'i', b'n', b'k', b'm'];
/// Maximum number of bytes that a header adds to a frame, without the tag of a link with a key.
pub const HEADER_GROWTH_MAX: usize = 8;
/// Maximum number of bytes that a header with a tag adds to a frame.
pub const SEALED_GROWTH_MAX: usize = HEADER_GROWTH_MAX + TAG_BYTES;

/// The bit in the first byte of a data header that marks a copy, the same in both formats.
const RETRANSMITTED: u8 = 1 << 3;

/// How to turn a frame into a protected or escaped one: after the MAC addresses, replace `removes` bytes by `bytes`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encapsulation {
    buffer: [u8; 10 + TAG_BYTES],
    length: u8,
    /// Bytes of the original that are not kept (its EtherType, where a code stands for it).
    pub removes: u8,
}

impl Encapsulation {
    /// The bytes to insert.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..usize::from(self.length)]
    }

    /// How many bytes the frame grows by.
    pub fn growth(&self) -> usize {
        usize::from(self.length - self.removes)
    }

    fn new(removes: u8) -> Self {
        Encapsulation { buffer: [0; 10 + TAG_BYTES], length: 0, removes }
    }

    fn push(&mut self, bytes: &[u8]) {
        let start = usize::from(self.length);
        self.buffer[start..start + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len() as u8;
    }
}

/// How to restore the original frame: after the MAC addresses, remove `removes` bytes and insert `ethertype`, if there
/// is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decapsulation {
    /// Number of bytes to remove.
    pub removes: usize,
    /// EtherType to insert.
    pub ethertype: Option<u16>,
}

impl Decapsulation {
    /// How many bytes the frame shrinks by.
    pub fn shrinkage(&self) -> usize {
        self.removes - if self.ethertype.is_some() { 2 } else { 0 }
    }
}

/// A frame from the link.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "returned by value and consumed at once")]
pub enum LinkFrame {
    /// A protected frame.
    Data {
        /// Its data header.
        header: DataHeader,
        /// How to restore it.
        decapsulation: Decapsulation,
    },
    /// An unprotected frame with an acknowledgement on it.
    Acknowledging {
        /// Everything before this has arrived.
        ack: PiggybackAck,
        /// How to restore it.
        decapsulation: Decapsulation,
    },
    /// A control frame.
    Control(Control),
    /// A message of repair in time, which begins after [`IN_TIME_HEADER_BYTES`].
    InTime,
    /// A host's frame whose own EtherType is one of Linkmend's.
    Escaped(Decapsulation),
    /// Neither: an unprotected frame.
    Foreign,
    /// It has a Linkmend EtherType and magic, but is not a valid frame.
    Malformed,
}

/// The header for a protected frame; `None` if the format cannot carry it (compact: not IPv4; either: too short).
pub fn encapsulate(format: Format, header: &DataHeader, frame: &[u8]) -> Option<Encapsulation> {
    let ethertype = ethertype_of(frame)?;
    match format {
        Format::Transparent => Some(transparent::encapsulate(header, ethertype)),
        Format::Compact | Format::Linkguardian => {
            (ethertype == ethertype::IPV4).then(|| compact::encapsulate(header))
        }
    }
}

/// The header for an acknowledgement that rides on an unprotected frame; `None` if the format cannot carry it (as
/// [`encapsulate`]).
pub fn encapsulate_ack(format: Format, ack: PiggybackAck, frame: &[u8]) -> Option<Encapsulation> {
    let ethertype = ethertype_of(frame)?;
    match format {
        Format::Transparent => Some(transparent::encapsulate_ack(ack, ethertype)),
        Format::Compact | Format::Linkguardian => {
            (ethertype == ethertype::IPV4).then(|| compact::encapsulate_ack(ack))
        }
    }
}

/// Whether a frame can be protected in `format` at all.
pub fn can_protect(format: Format, frame: &[u8]) -> bool {
    match (format, ethertype_of(frame)) {
        (_, None) => false,
        (Format::Transparent, Some(_)) => true,
        (Format::Compact | Format::Linkguardian, Some(ethertype)) => ethertype == ethertype::IPV4,
    }
}

/// Escapes an unprotected frame whose own EtherType is one of Linkmend's; `None` for all others.
pub fn escape(frame: &[u8]) -> Option<Encapsulation> {
    matches!(ethertype_of(frame)?, ethertype::TRANSPARENT | ethertype::COMPACT).then(transparent::escape)
}

/// Sets the retransmitted flag of an encapsulated frame in place.
pub fn mark_retransmitted(frame: &mut [u8]) {
    // Both formats keep the flag in the same bit of the byte after the EtherType.
    if let Some(first) = frame.get_mut(ETHERNET_HEADER_BYTES) {
        *first |= RETRANSMITTED;
    }
}

/// Recognises a frame from the link. `frame` starts at the destination address; the first [`CONTROL_FRAME_MAX`] bytes
/// suffice.
pub fn parse(frame: &[u8]) -> LinkFrame {
    let Some(rest) = frame.get(ETHERNET_HEADER_BYTES..) else { return LinkFrame::Foreign };
    match ethertype_of(frame) {
        Some(ethertype::TRANSPARENT) => transparent::parse(rest),
        Some(ethertype::COMPACT) => compact::parse(rest),
        _ => LinkFrame::Foreign,
    }
}

/// Whether a frame has the EtherType of the authors' P4 program.
pub fn is_compact(frame: &[u8]) -> bool {
    ethertype_of(frame) == Some(ethertype::COMPACT)
}

/// The EtherType of a frame, which is that of a tag if it has one.
pub fn ethertype_of(frame: &[u8]) -> Option<u16> {
    let bytes = frame.get(ADDRESSES_BYTES..ETHERNET_HEADER_BYTES)?;
    Some(u16::from_be_bytes([bytes[0], bytes[1]]))
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;
