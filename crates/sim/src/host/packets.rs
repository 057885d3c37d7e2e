//! The packets under way: frames carry their handles, so that a frame stays small.

use crate::link::FRAME_BYTES_MIN;
use linkmend_protocol::wire;
use linkmend_transport::{roce, tcp};

/// What a frame of a host carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Packet {
    /// A TCP segment.
    Tcp(tcp::Segment),
    /// A packet of a RoCEv2 reliable connection.
    Roce(roce::Packet),
    /// A packet of a transport that this crate does not know.
    Other(OtherPacket),
}

/// A packet of a transport that this crate does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherPacket {
    /// Length of its Ethernet frame, with its frame check sequence; if less than the shortest, it is as long as that.
    pub frame_bytes: u16,
    /// What it says; the meaning is that transport's.
    pub fields: [u64; 3],
}

impl Packet {
    /// Length of the Ethernet frame that carries it, with its frame check sequence.
    pub fn frame_bytes(&self) -> u16 {
        match self {
            Packet::Tcp(segment) => tcp_frame_bytes(segment),
            Packet::Roce(packet) => packet.frame_bytes(),
            Packet::Other(packet) => packet.frame_bytes.max(FRAME_BYTES_MIN as u16),
        }
    }

    /// Bytes that it reports beyond a hole (SACK), without those that arrived twice (DSACK).
    #[inline]
    pub(crate) fn sacked_bytes(&self) -> u64 {
        match self {
            Packet::Tcp(segment) if !segment.sack.is_empty() => {
                let blocks = segment.sack.iter().filter(|block| block.start > segment.acknowledgement);
                blocks.map(|block| block.end.saturating_sub(block.start)).sum()
            }
            _ => 0,
        }
    }
}

/// Ethernet header and frame check sequence, IPv4, TCP without options.
const TCP_HEADERS_BYTES: u32 = (wire::ETHERNET_HEADER_BYTES + wire::FCS_BYTES) as u32 + 20 + 20;
/// Timestamps with their padding (RFC 7323, appendix A).
const TIMESTAMPS_BYTES: u32 = 12;

/// Headers of a TCP segment, with the frame check sequence.
pub(super) fn tcp_headers_bytes(has_timestamps: bool) -> u32 {
    TCP_HEADERS_BYTES + if has_timestamps { TIMESTAMPS_BYTES } else { 0 }
}

fn tcp_frame_bytes(segment: &tcp::Segment) -> u16 {
    let sack = if segment.sack.is_empty() { 0 } else { 4 + 8 * segment.sack.len() as u32 };
    let bytes = tcp_headers_bytes(segment.timestamps.is_some()) + sack + segment.length;
    u16::try_from(bytes.max(FRAME_BYTES_MIN)).unwrap_or(u16::MAX)
}

/// Where a packet is stored, and how often its place was used before. A frame that arrives a second time therefore finds
/// that its packet is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Handle(u64);

impl Handle {
    fn new(place: u32, generation: u32) -> Handle {
        Handle(u64::from(generation) << 32 | u64::from(place))
    }

    fn place(self) -> usize {
        self.0 as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The number that a frame carries as its own.
    pub(crate) fn frame_number(self) -> u64 {
        self.0
    }

    /// The handle that a frame carries.
    pub(crate) fn of_frame(number: u64) -> Handle {
        Handle(number)
    }
}

#[derive(Debug)]
struct Place {
    generation: u32,
    is_taken: bool,
    packet: Packet,
}

/// The packets of all hosts that have been sent and have neither arrived nor been dropped. Those that a link loses for
/// good while it recovers others stay: they are few, and the link does not know of each.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    places: Vec<Place>,
    free: Vec<u32>,
}

impl Packets {
    /// Stores a packet.
    pub(crate) fn put(&mut self, packet: Packet) -> Handle {
        if let Some(index) = self.free.pop() {
            let place = &mut self.places[index as usize];
            (place.packet, place.is_taken) = (packet, false);
            return Handle::new(index, place.generation);
        }
        self.places.push(Place { generation: 0, is_taken: false, packet });
        Handle::new(self.places.len() as u32 - 1, 0)
    }

    /// Removes a packet; `None` if it was removed before.
    pub(crate) fn take(&mut self, handle: Handle) -> Option<Packet> {
        let place = self.places.get_mut(handle.place())?;
        if place.is_taken || place.generation != handle.generation() {
            return None;
        }
        place.is_taken = true;
        place.generation = place.generation.wrapping_add(1);
        self.free.push(handle.place() as u32);
        Some(place.packet)
    }

    /// The packet, as long as its place belongs to no other one, for observers: a frame that a link has corrupted is
    /// forgotten in the event in which it was sent.
    pub(crate) fn last_at(&self, handle: Handle) -> Option<&Packet> {
        let place = self.places.get(handle.place())?;
        let since = place.generation.wrapping_sub(handle.generation());
        (since == u32::from(place.is_taken)).then_some(&place.packet)
    }

    /// Number of packets stored.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u64) -> Packet {
        Packet::Tcp(tcp::Segment { sequence, ..Default::default() })
    }

    #[test]
    fn a_packet_is_found_once_and_its_place_is_used_again() {
        let mut packets = Packets::default();
        let first = packets.put(packet(1));
        assert_eq!(packets.last_at(first), Some(&packet(1)));
        assert_eq!(packets.take(first), Some(packet(1)));
        assert_eq!(packets.take(first), None, "a frame that was doubled finds nothing");
        assert_eq!(packets.last_at(first), Some(&packet(1)), "an observer may still look");
        let second = packets.put(packet(2));
        assert_eq!(packets.last_at(first), None);
        assert_eq!((packets.places.len(), packets.count()), (1, 1));
        assert_eq!(packets.take(first), None, "the place belongs to another packet");
        assert_eq!(packets.take(Handle::of_frame(second.frame_number())), Some(packet(2)));
    }
}
