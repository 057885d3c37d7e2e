//! Frames: small values that are copied into queues and never allocated.

use linkmend_protocol::{Mode, wire};

/// Preamble, start-of-frame delimiter and minimum inter-frame gap (IEEE 802.3), in byte times.
pub const WIRE_OVERHEAD_BYTES: u64 = wire::WIRE_OVERHEAD_BYTES as u64;
/// Shortest Ethernet frame, with its frame check sequence.
pub const FRAME_BYTES_MIN: u32 = wire::FRAME_BYTES_MIN as u32;
/// A frame with the usual 1,500 bytes of payload, with its frame check sequence.
pub const FULL_FRAME_BYTES: u32 = wire::FULL_FRAME_BYTES_IN_MEMORY as u32 + FCS_BYTES;
/// How many bytes the data header of the authors' program (section 3.5) adds to a frame.
pub const COMPACT_HEADER_BYTES: u32 = wire::COMPACT_HEADER_BYTES as u32;
/// Frame check sequence.
pub(crate) const FCS_BYTES: u32 = wire::FCS_BYTES as u32;

// The model of losses after error correction maps codewords onto frames as they follow each other on the wire.
const _: () = assert!(WIRE_OVERHEAD_BYTES == linkmend_corruption::WIRE_OVERHEAD_BYTES);

/// A flow: frames from one node to another. [`crate::network::Network::flow`] has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A frame of the traffic that the network carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its number within its flow, from 0.
    pub id: u64,
    /// The flow, and with it source and destination.
    pub flow: FlowId,
    /// Length from destination address to frame check sequence, as it entered the network.
    pub bytes: u16,
    /// The class it belongs to.
    pub mode: Mode,
    /// Whether a switch has marked it because of congestion (ECN).
    pub marked: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::{DataHeader, Format, SequenceNumber, wire};

    #[test]
    fn a_frame_is_no_larger_than_its_parts() {
        assert_eq!(size_of::<Frame>(), 16);
    }

    #[test]
    fn the_compact_header_is_as_long_as_on_the_wire() {
        let sequence = SequenceNumber::new(0, false);
        let header = DataHeader { mode: Mode::Ordered, sequence, retransmitted: false, ack: None };
        let mut ipv4 = [0; FRAME_BYTES_MIN as usize];
        ipv4[wire::ADDRESSES_BYTES] = 0x08;
        let inserted = wire::encapsulate(Format::Compact, &header, &ipv4).expect("IPv4 can be protected");
        assert_eq!(inserted.growth(), COMPACT_HEADER_BYTES as usize);
    }
}
