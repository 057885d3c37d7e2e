//! Packets as Ethernet frames, for captures: packet analysers read them as TCP and RoCEv2.
//!
//! - [`tcp`]: Ethernet, IPv4, TCP with its options.
//! - [`roce`]: Ethernet, IPv4, UDP, base transport header, extended headers, invariant CRC.
//!
//! Payload is all zeros, because nothing here has any, and checksums are correct for that. A frame is written up to the
//! snap length of the capture, without a frame check sequence, as is usual in captures.

mod check;
pub mod roce;
pub mod tcp;

use crate::tcp::Codepoint;
use check::internet_checksum;
use linkmend_protocol::wire as ethernet;

const ETHERNET_BYTES: usize = ethernet::ETHERNET_HEADER_BYTES;
const IPV4_BYTES: usize = 20;
/// Ethernet's frame check sequence, which captures leave out.
const FCS_BYTES: u32 = ethernet::FCS_BYTES as u32;
/// Shortest frame without its check sequence.
const FRAME_BYTES_MIN: u32 = ethernet::FRAME_BYTES_MIN_IN_MEMORY as u32;
const DO_NOT_FRAGMENT: u16 = 0x4000;

/// The address of one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Host {
    pub mac: [u8; 6],
    /// IPv4 address.
    pub address: [u8; 4],
    /// Port of TCP, or of UDP below RoCE.
    pub port: u16,
}

/// What the Ethernet and IPv4 headers of a connection's packets in one direction have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    pub source: Host,
    pub destination: Host,
    /// Class of the packets (RFC 2474), six bits.
    pub dscp: u8,
    pub time_to_live: u8,
    /// The same for all packets: they are never fragmented, so it does not matter (RFC 6864, section 4.1).
    pub identification: u16,
}

impl Way {
    /// A way of the default class.
    pub const fn new(source: Host, destination: Host) -> Way {
        Way { source, destination, dscp: 0, time_to_live: 64, identification: 0 }
    }

    /// Begins `frame` with the headers of Ethernet and IPv4 (RFC 791, section 3.1) before `bytes` more.
    fn begin(&self, frame: &mut Vec<u8>, codepoint: Codepoint, protocol: u8, bytes: u32) {
        frame.clear();
        frame.extend(self.destination.mac);
        frame.extend(self.source.mac);
        frame.extend(ethernet::ethertype::IPV4.to_be_bytes());
        let total = u16::try_from(bytes.saturating_add(IPV4_BYTES as u32)).unwrap_or(u16::MAX);
        frame.extend([0x45, self.dscp << 2 | ecn_bits(codepoint)]);
        frame.extend(total.to_be_bytes());
        frame.extend(self.identification.to_be_bytes());
        frame.extend(DO_NOT_FRAGMENT.to_be_bytes());
        frame.extend([self.time_to_live, protocol, 0, 0]);
        frame.extend(self.source.address);
        frame.extend(self.destination.address);
        let checksum = internet_checksum(0, &frame[ETHERNET_BYTES..]);
        frame[ETHERNET_BYTES + 10..ETHERNET_BYTES + 12].copy_from_slice(&checksum.to_be_bytes());
    }
}

/// ECN field (RFC 3168, section 5).
fn ecn_bits(codepoint: Codepoint) -> u8 {
    match codepoint {
        Codepoint::NotEct => 0b00,
        Codepoint::Ect1 => 0b01,
        Codepoint::Ect0 => 0b10,
        Codepoint::Ce => 0b11,
    }
}

/// Pads a frame that lacks only its zero payload, up to the snap length, and returns its full length.
fn end(frame: &mut Vec<u8>, payload: u32, snap_bytes: usize) -> u32 {
    let whole = u32::try_from(frame.len()).unwrap_or(u32::MAX).saturating_add(payload).max(FRAME_BYTES_MIN);
    frame.resize((whole as usize).min(snap_bytes), 0);
    whole
}
