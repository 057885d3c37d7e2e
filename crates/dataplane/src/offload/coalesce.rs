//! Joins frames of a TCP connection that continue each other into one large segment, as a receiver's card or kernel
//! does (generic receive offload).
//!
//! Only frames are joined that a host would get back byte for byte by cutting the large segment again: the headers agree
//! in everything that does not count up, and every checksum is right.

use super::checksum;
use super::header::{
    ACK, FIN, Headers, IPV4_BYTES, IPV4_CHECKSUM, IPV4_ID, IPV4_LENGTH, IPV6_BYTES, IPV6_LENGTH,
    PROTOCOL_TCP, PSH, Segmentation, TCP_BYTES, TCP_CHECKSUM, TCP_FLAGS, TCP_SEQUENCE, VIRTIO_HEADER_BYTES,
    VirtioHeader,
};

/// The largest IP packet.
const PACKET_BYTES_MAX: usize = 65_535;
/// Ethernet with two tags, IPv6, TCP with all options.
const HEADERS_MAX: usize = 14 + 2 * 4 + IPV6_BYTES + 60;
const IPV4_WITHOUT_OPTIONS: u8 = 0x45;
/// Don't fragment: the only bit that a whole packet may have beside its identification.
const FRAGMENT: std::ops::Range<usize> = 6..8;
const DO_NOT_FRAGMENT: u16 = 1 << 14;
const IPV4_PROTOCOL: usize = 9;
const IPV4_ADDRESSES: std::ops::Range<usize> = 12..20;
const IPV6_NEXT_HEADER: usize = 6;
const IPV6_ADDRESSES: std::ops::Range<usize> = 8..40;

/// The first frames of a batch as they are handed over together.
pub(crate) struct Coalesced {
    /// How many there are; 1 if the first stands alone.
    pub(crate) frames: usize,
    /// Describes the large segment.
    pub(crate) virtio: [u8; VIRTIO_HEADER_BYTES],
    /// Its headers; empty for a frame that stands alone.
    headers: [u8; HEADERS_MAX],
    headers_bytes: usize,
}

impl Coalesced {
    fn alone() -> Coalesced {
        Coalesced {
            frames: 1,
            virtio: VirtioHeader::default().bytes(),
            headers: [0; HEADERS_MAX],
            headers_bytes: 0,
        }
    }

    /// The headers of the large segment, which are as long as those of each frame; empty for a frame that stands alone.
    pub(crate) fn headers(&self) -> &[u8] {
        &self.headers[..self.headers_bytes]
    }
}

/// Joins as many of the first frames as continue each other. Each is given as one piece; `None` for one that is not.
pub(crate) fn coalesce<'a>(frames: impl IntoIterator<Item = Option<&'a [u8]>>) -> Coalesced {
    let mut frames = frames.into_iter();
    let Some(first) = frames.next().flatten() else { return Coalesced::alone() };
    let Some(headers) = joinable(first) else { return Coalesced::alone() };
    let segment_bytes = first.len() - headers.end;
    let (mut count, mut bytes, mut last) = (1, first.len(), first);
    for frame in frames {
        let Some(frame) = frame else { break };
        let payload = frame.len().saturating_sub(headers.end);
        if ends(last, &headers, segment_bytes)
            || payload > segment_bytes
            || bytes + payload - headers.network > PACKET_BYTES_MAX
            || !continues(last, frame, &headers)
            || joinable(frame) != Some(headers)
        {
            break;
        }
        (count, bytes, last) = (count + 1, bytes + payload, frame);
    }
    if count == 1 {
        return Coalesced::alone();
    }
    let mut joined = Coalesced {
        frames: count,
        virtio: VirtioHeader::tcp(&headers, segment_bytes as u16).bytes(),
        headers: [0; HEADERS_MAX],
        headers_bytes: headers.end,
    };
    joined.headers[..headers.end].copy_from_slice(&first[..headers.end]);
    let own = &mut joined.headers[..headers.end];
    own[headers.transport + TCP_FLAGS] |= last[headers.transport + TCP_FLAGS];
    write_lengths(own, &headers, bytes);
    joined
}

/// The headers of a frame that can be part of a large segment; `None` if it has to stay as it is.
fn joinable(frame: &[u8]) -> Option<Headers> {
    let (is_ipv4, network) = Headers::network(frame)?;
    let packet = &frame[network..];
    let (transport, is_whole) = if is_ipv4 {
        let header = packet.get(..IPV4_BYTES)?;
        let fragment = u16::from_be_bytes([header[FRAGMENT.start], header[FRAGMENT.start + 1]]);
        let is_plain = header[0] == IPV4_WITHOUT_OPTIONS
            && header[IPV4_PROTOCOL] == PROTOCOL_TCP
            && fragment & !DO_NOT_FRAGMENT == 0
            && checksum::fold(checksum::sum(0, header)) == 0xffff;
        (network + IPV4_BYTES, is_plain && length(header, IPV4_LENGTH) == packet.len())
    } else {
        let header = packet.get(..IPV6_BYTES)?;
        let is_plain = header[0] >> 4 == 6 && header[IPV6_NEXT_HEADER] == PROTOCOL_TCP;
        (network + IPV6_BYTES, is_plain && length(header, IPV6_LENGTH) + IPV6_BYTES == packet.len())
    };
    if !is_whole || frame.len() < transport + TCP_BYTES {
        return None;
    }
    let headers = Headers::of(frame, transport, Segmentation::Tcp)?;
    let segment = &frame[transport..];
    let has_data = headers.end < frame.len() && segment[TCP_FLAGS] & !(PSH | FIN) == ACK;
    (has_data
        && checksum::fold(checksum::sum(pseudo_header(frame, &headers, segment.len()), segment)) == 0xffff)
        .then_some(headers)
}

/// The sum of the pseudo-header for a segment of `bytes`.
fn pseudo_header(frame: &[u8], headers: &Headers, bytes: usize) -> u64 {
    let addresses = if headers.is_ipv4 { IPV4_ADDRESSES } else { IPV6_ADDRESSES };
    let sum = checksum::sum(checksum::term(u16::from(PROTOCOL_TCP)), &frame[headers.network..][addresses]);
    sum + checksum::term(bytes as u16)
}

/// Whether no frame may follow in the same segment: its receiver is to be told now, or cutting would end here.
fn ends(frame: &[u8], headers: &Headers, segment_bytes: usize) -> bool {
    frame[headers.transport + TCP_FLAGS] & (PSH | FIN) != 0 || frame.len() - headers.end < segment_bytes
}

/// Whether `next` continues `last`: what counts up does so by what it should, and all else in the headers is equal.
fn continues(last: &[u8], next: &[u8], headers: &Headers) -> bool {
    let Headers { is_ipv4, network, transport, end } = *headers;
    if next.len() <= end {
        return false;
    }
    let equal = |from: usize, to: usize| last[from..to] == next[from..to];
    let network_continues = if is_ipv4 {
        let id = |frame: &[u8]| length(&frame[network..], IPV4_ID) as u16;
        id(next) == id(last).wrapping_add(1)
            && equal(network, network + IPV4_LENGTH.start)
            && equal(network + IPV4_ID.end, network + IPV4_CHECKSUM.start)
            && equal(network + IPV4_CHECKSUM.end, transport)
    } else {
        equal(network, network + IPV6_LENGTH.start) && equal(network + IPV6_LENGTH.end, transport)
    };
    let sequence = |frame: &[u8]| {
        let [a, b, c, d] = [4, 5, 6, 7].map(|at| frame[transport + at]);
        u32::from_be_bytes([a, b, c, d])
    };
    let flags = |frame: &[u8]| frame[transport + TCP_FLAGS] & !(PSH | FIN);
    network_continues
        && equal(0, network)
        && sequence(next) == sequence(last).wrapping_add((last.len() - end) as u32)
        && flags(next) == flags(last)
        && equal(transport, transport + TCP_SEQUENCE.start)
        && equal(transport + TCP_SEQUENCE.end, transport + TCP_FLAGS)
        && equal(transport + TCP_FLAGS + 1, transport + TCP_CHECKSUM.start)
        && equal(transport + TCP_CHECKSUM.end, end)
}

/// Writes the lengths of a large segment of `bytes`, and into the checksum field the sum of the pseudo-header.
fn write_lengths(own: &mut [u8], headers: &Headers, bytes: usize) {
    let Headers { is_ipv4, network, transport, .. } = *headers;
    if is_ipv4 {
        own[network..][IPV4_LENGTH].copy_from_slice(&((bytes - network) as u16).to_be_bytes());
        checksum::write_ipv4(&mut own[network..transport]);
    } else {
        let length = (bytes - network - IPV6_BYTES) as u16;
        own[network..][IPV6_LENGTH].copy_from_slice(&length.to_be_bytes());
    }
    let sum = pseudo_header(own, headers, bytes - transport);
    own[transport..][TCP_CHECKSUM].copy_from_slice(&checksum::fold(sum).to_ne_bytes());
}

fn length(header: &[u8], at: std::ops::Range<usize>) -> usize {
    usize::from(u16::from_be_bytes([header[at.start], header[at.start + 1]]))
}
