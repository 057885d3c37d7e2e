//! The header that describes an unfinished frame, and the layout of the frame's own headers.

use linkmend_protocol::wire::{Untagged, ethertype};
use std::ops::Range;

pub(crate) const VIRTIO_HEADER_BYTES: usize = 10;
const NEEDS_CHECKSUM: u8 = 1;
const NO_SEGMENTATION: u8 = 0;
const TCP_IPV4: u8 = 1;
const TCP_IPV6: u8 = 4;
const UDP: u8 = 5;
/// A flag beside the kind of segmentation: the TCP header has CWR set, for the first segment only.
const ECN: u8 = 0x80;

/// `struct virtio_net_hdr` (OASIS virtio 1.2, section 5.1.6), in the byte order of this machine, as TUN and packet sockets
/// use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VirtioHeader {
    flags: u8,
    segmentation: u8,
    header_bytes: u16,
    segment_bytes: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

/// What is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Segmentation {
    Tcp,
    Udp,
}

impl VirtioHeader {
    pub(crate) fn parse(bytes: [u8; VIRTIO_HEADER_BYTES]) -> VirtioHeader {
        let [flags, segmentation, h0, h1, s0, s1, c0, c1, o0, o1] = bytes;
        VirtioHeader {
            flags,
            segmentation,
            header_bytes: u16::from_ne_bytes([h0, h1]),
            segment_bytes: u16::from_ne_bytes([s0, s1]),
            checksum_start: u16::from_ne_bytes([c0, c1]),
            checksum_offset: u16::from_ne_bytes([o0, o1]),
        }
    }

    pub(crate) fn bytes(self) -> [u8; VIRTIO_HEADER_BYTES] {
        let ([h0, h1], [s0, s1]) = (self.header_bytes.to_ne_bytes(), self.segment_bytes.to_ne_bytes());
        let ([c0, c1], [o0, o1]) = (self.checksum_start.to_ne_bytes(), self.checksum_offset.to_ne_bytes());
        [self.flags, self.segmentation, h0, h1, s0, s1, c0, c1, o0, o1]
    }

    /// That of a TCP segment which is to be cut into pieces of `segment_bytes`, and whose checksum field holds the sum of
    /// the pseudo-header.
    pub(super) fn tcp(headers: &Headers, segment_bytes: u16) -> VirtioHeader {
        VirtioHeader {
            flags: NEEDS_CHECKSUM,
            segmentation: if headers.is_ipv4 { TCP_IPV4 } else { TCP_IPV6 },
            header_bytes: headers.end as u16,
            segment_bytes,
            checksum_start: headers.transport as u16,
            checksum_offset: TCP_CHECKSUM.start as u16,
        }
    }

    /// Where the checksum is missing: the begin of what it covers, and the place of the field. `None` if it is complete.
    pub(super) fn checksum(&self) -> Option<(usize, usize)> {
        let start = usize::from(self.checksum_start);
        (self.flags & NEEDS_CHECKSUM != 0).then_some((start, start + usize::from(self.checksum_offset)))
    }

    /// How to cut the frame, and the payload bytes of a piece. `Ok(None)` if it is not to be cut.
    ///
    /// # Errors
    /// If this is not known here.
    pub(super) fn segmentation(&self) -> Result<Option<(Segmentation, usize)>, Malformed> {
        let kind = match self.segmentation & !ECN {
            NO_SEGMENTATION => return Ok(None),
            TCP_IPV4 | TCP_IPV6 => Segmentation::Tcp,
            UDP => Segmentation::Udp,
            _ => return Err(Malformed),
        };
        match self.segment_bytes {
            0 => Err(Malformed),
            bytes => Ok(Some((kind, usize::from(bytes)))),
        }
    }
}

/// A frame that its header does not describe, or not as known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

pub(super) const IPV4_BYTES: usize = 20;
pub(super) const IPV6_BYTES: usize = 40;
pub(super) const TCP_BYTES: usize = 20;
pub(super) const UDP_BYTES: usize = 8;
pub(super) const PROTOCOL_TCP: u8 = 6;
// Places in an IPv4, IPv6, TCP or UDP header.
pub(super) const IPV4_LENGTH: Range<usize> = 2..4;
pub(super) const IPV4_ID: Range<usize> = 4..6;
pub(super) const IPV4_CHECKSUM: Range<usize> = 10..12;
pub(super) const IPV6_LENGTH: Range<usize> = 4..6;
pub(super) const TCP_SEQUENCE: Range<usize> = 4..8;
pub(super) const TCP_OFFSET: usize = 12;
pub(super) const TCP_FLAGS: usize = 13;
pub(super) const TCP_CHECKSUM: Range<usize> = 16..18;
pub(super) const UDP_LENGTH: Range<usize> = 4..6;
pub(super) const UDP_CHECKSUM: Range<usize> = 6..8;
// TCP flags.
pub(super) const FIN: u8 = 1 << 0;
pub(super) const PSH: u8 = 1 << 3;
pub(super) const ACK: u8 = 1 << 4;
pub(super) const CWR: u8 = 1 << 7;

/// Where the headers of a frame are, in bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Headers {
    pub(super) is_ipv4: bool,
    pub(super) network: usize,
    pub(super) transport: usize,
    /// Where the payload begins.
    pub(super) end: usize,
}

impl Headers {
    /// Whether the frame carries IPv4, and where that or IPv6 begins.
    pub(super) fn network(frame: &[u8]) -> Option<(bool, usize)> {
        let untagged = Untagged::of_frame(frame)?;
        let is_ipv4 = match untagged.ethertype {
            ethertype::IPV4 => true,
            ethertype::IPV6 => false,
            _ => return None,
        };
        Some((is_ipv4, frame.len() - untagged.payload.len()))
    }

    /// Those of a frame whose transport header begins at `transport`.
    pub(super) fn of(frame: &[u8], transport: usize, kind: Segmentation) -> Option<Headers> {
        let (is_ipv4, network) = Headers::network(frame)?;
        let end = match kind {
            Segmentation::Tcp => transport + usize::from(frame.get(transport + TCP_OFFSET)? >> 4) * 4,
            Segmentation::Udp => transport + UDP_BYTES,
        };
        let (network_bytes, transport_bytes) = (
            if is_ipv4 { IPV4_BYTES } else { IPV6_BYTES },
            if kind == Segmentation::Tcp { TCP_BYTES } else { 0 },
        );
        let fits =
            network + network_bytes <= transport && transport + transport_bytes <= end && end <= frame.len();
        fits.then_some(Headers { is_ipv4, network, transport, end })
    }
}
