//! Cuts a host's large segments into frames, and completes their checksums.

use super::checksum;
use super::header::{
    CWR, FIN, Headers, IPV4_ID, IPV4_LENGTH, IPV6_BYTES, IPV6_LENGTH, Malformed, PSH, Segmentation,
    TCP_CHECKSUM, TCP_FLAGS, TCP_SEQUENCE, UDP_CHECKSUM, UDP_LENGTH, VIRTIO_HEADER_BYTES, VirtioHeader,
};

/// The longest frame that a host hands over: the largest IP packet, an Ethernet header, two VLAN tags.
const FRAME_BYTES_MAX: usize = 65_535 + 14 + 2 * 4;
/// The longest headers: Ethernet with two tags, IPv4 or IPv6 with options or extensions, TCP with options.
const HEADERS_MAX: usize = 256;
/// A UDP checksum that comes out as 0, which would mean that there is none (RFC 768).
const UDP_ZERO: u16 = 0xffff;

/// Holds one frame as the host handed it over, and gives it out in frames for a wire.
pub(crate) struct Segmenter {
    buffer: Box<[u8]>,
    length: usize,
    /// Where the payload of the next frame begins; the whole frame has been given out at `length`.
    next: usize,
    cut: Option<Cut>,
    /// The longest frame into which TCP segments are cut.
    frame_bytes_max: usize,
    /// The headers of the frame as it came, because those of each piece are written where the one before was.
    original: Box<[u8]>,
}

/// How a frame is cut.
struct Cut {
    kind: Segmentation,
    headers: Headers,
    payload_bytes: usize,
    index: u16,
}

impl Default for Segmenter {
    fn default() -> Self {
        let memory = |bytes| vec![0; bytes].into_boxed_slice();
        let (buffer, original) = (memory(FRAME_BYTES_MAX), memory(HEADERS_MAX));
        Segmenter { buffer, length: 0, next: 0, cut: None, frame_bytes_max: usize::MAX, original }
    }
}

impl Segmenter {
    /// Cuts segments of TCP into frames of at most so many bytes, even if the host's would be longer. What the host has sent in
    /// one frame is not cut.
    pub(crate) fn limit_frames(&mut self, bytes: usize) {
        self.frame_bytes_max = bytes;
    }

    /// Whether everything has been given out.
    pub(crate) fn is_empty(&self) -> bool {
        self.next >= self.length
    }

    /// Gives up what has not been given out.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.next = 0;
    }

    /// The memory into which the next frame is to be read, without its header.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        self.clear();
        &mut self.buffer
    }

    /// Begins with the frame of `length` bytes that is in the buffer.
    ///
    /// # Errors
    /// If the header does not describe it.
    pub(crate) fn begin(
        &mut self,
        header: [u8; VIRTIO_HEADER_BYTES],
        length: usize,
    ) -> Result<(), Malformed> {
        self.clear();
        let header = VirtioHeader::parse(header);
        let frame = self.buffer.get_mut(..length).ok_or(Malformed)?;
        self.cut = match header.segmentation()? {
            Some((kind, payload_bytes)) => {
                let cut = Cut::new(frame, header, kind, payload_bytes, &mut self.original)?;
                Some(cut.limited_to(self.frame_bytes_max))
            }
            None => {
                complete_checksum(frame, header)?;
                None
            }
        };
        self.length = length;
        self.next = self.cut.as_ref().map_or(0, |cut| cut.headers.end);
        Ok(())
    }

    /// The next frame for a wire; `None` if there is none left.
    pub(crate) fn next_frame(&mut self) -> Option<&[u8]> {
        if self.is_empty() {
            return None;
        }
        let Some(cut) = &mut self.cut else {
            self.next = self.length;
            return Some(&self.buffer[..self.length]);
        };
        let begin = self.next - cut.headers.end;
        let end = self.length.min(self.next + cut.payload_bytes);
        cut.write_headers(&self.original, &mut self.buffer[begin..end], begin == 0, end == self.length);
        self.next = end;
        Some(&self.buffer[begin..end])
    }
}

/// Completes the checksum of a frame that is not cut.
fn complete_checksum(frame: &mut [u8], header: VirtioHeader) -> Result<(), Malformed> {
    let Some((start, field)) = header.checksum() else { return Ok(()) };
    let covered = frame.get(start..).ok_or(Malformed)?;
    // The field already holds the sum of the pseudo-header.
    let sum = checksum::sum(0, covered);
    let field = frame.get_mut(field..field + 2).ok_or(Malformed)?;
    write_not_zero(field, sum);
    Ok(())
}

/// Writes the checksum, which says that there is none if it is 0; 0xffff is the same number.
fn write_not_zero(field: &mut [u8], sum: u64) {
    checksum::write(field, sum);
    if field == [0, 0] {
        field.copy_from_slice(&UDP_ZERO.to_be_bytes());
    }
}

impl Cut {
    fn new(
        frame: &[u8],
        header: VirtioHeader,
        kind: Segmentation,
        payload_bytes: usize,
        original: &mut [u8],
    ) -> Result<Cut, Malformed> {
        let (transport, _) = header.checksum().ok_or(Malformed)?;
        let headers = Headers::of(frame, transport, kind).ok_or(Malformed)?;
        if headers.end > HEADERS_MAX
            || headers.end >= frame.len()
            || frame.len() - transport > usize::from(u16::MAX)
        {
            return Err(Malformed);
        }
        original[..headers.end].copy_from_slice(&frame[..headers.end]);
        // The field holds the sum of the pseudo-header of the whole, of which the length is not the pieces'.
        let length = (frame.len() - transport) as u16;
        let field = match kind {
            Segmentation::Tcp => transport + TCP_CHECKSUM.start,
            Segmentation::Udp => transport + UDP_CHECKSUM.start,
        };
        let sum = u64::from(u16::from_ne_bytes([original[field], original[field + 1]]));
        let without_length = checksum::fold(sum + (0xffff - checksum::term(length)));
        original[field..field + 2].copy_from_slice(&without_length.to_ne_bytes());
        Ok(Cut { kind, headers, payload_bytes, index: 0 })
    }

    /// In smaller pieces if they would be longer than `frame_bytes`. TCP does not mind, but a datagram of UDP is one.
    fn limited_to(mut self, frame_bytes: usize) -> Cut {
        let room = frame_bytes.saturating_sub(self.headers.end);
        if self.kind == Segmentation::Tcp && room > 0 {
            self.payload_bytes = self.payload_bytes.min(room);
        }
        self
    }

    /// Writes the headers of the next piece, which has its payload already.
    fn write_headers(&mut self, original: &[u8], frame: &mut [u8], is_first: bool, is_last: bool) {
        let Headers { is_ipv4, network, transport, end } = self.headers;
        frame[..end].copy_from_slice(&original[..end]);
        let bytes = frame.len();
        let (before, segment) = frame.split_at_mut(transport);
        let packet = &mut before[network..];
        if is_ipv4 {
            packet[IPV4_LENGTH].copy_from_slice(&((bytes - network) as u16).to_be_bytes());
            let id = u16::from_be_bytes([packet[IPV4_ID.start], packet[IPV4_ID.start + 1]]);
            packet[IPV4_ID].copy_from_slice(&id.wrapping_add(self.index).to_be_bytes());
            checksum::write_ipv4(packet);
        } else {
            packet[IPV6_LENGTH].copy_from_slice(&((bytes - network - IPV6_BYTES) as u16).to_be_bytes());
        }
        let length = segment.len() as u16;
        let field = match self.kind {
            Segmentation::Tcp => {
                let [a, b, c, d] = [4, 5, 6, 7].map(|at| segment[at]);
                let sequence = u32::from_be_bytes([a, b, c, d])
                    .wrapping_add(u32::from(self.index) * self.payload_bytes as u32);
                segment[TCP_SEQUENCE].copy_from_slice(&sequence.to_be_bytes());
                segment[TCP_FLAGS] &= !(if is_last { 0 } else { FIN | PSH } | if is_first { 0 } else { CWR });
                TCP_CHECKSUM
            }
            Segmentation::Udp => {
                segment[UDP_LENGTH].copy_from_slice(&length.to_be_bytes());
                UDP_CHECKSUM
            }
        };
        let sum = checksum::sum(checksum::term(length), segment);
        match self.kind {
            Segmentation::Tcp => checksum::write(&mut segment[field], sum),
            Segmentation::Udp => write_not_zero(&mut segment[field], sum),
        }
        self.index = self.index.wrapping_add(1);
    }
}
