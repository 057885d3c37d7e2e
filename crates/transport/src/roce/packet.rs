//! Packets of a reliable connection without their payload.

use crate::tcp::Codepoint;
use linkmend_protocol::wire as ethernet;

/// Ethernet header and frame check sequence, IPv4, UDP, base transport header (BTH) and invariant CRC (ICRC): what
/// every packet contains in addition to its extended headers and its payload.
const COMMON_BYTES: u16 = (ethernet::ETHERNET_HEADER_BYTES + ethernet::FCS_BYTES) as u16 + 20 + 8 + 12 + 4;
/// RDMA extended transport header (section 9.3.3).
const RETH_BYTES: u16 = 16;
/// ACK extended transport header (section 9.3.5).
const AETH_BYTES: u16 = 4;
/// Reserved bytes of a congestion notification packet (annex A17.9.3).
const CNP_RESERVED_BYTES: u16 = 16;
/// A [`Selective`] as written by `crate::wire`: a PSN and 64 bits.
const SELECTIVE_BYTES: u16 = 4 + 8;
/// Shortest frame of Ethernet, with its check sequence.
const FRAME_BYTES_MIN: u16 = ethernet::FRAME_BYTES_MIN as u16;

/// A packet of a reliable connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Of a request, its own number; a READ has one for each packet of its response, of which this is the first. Of a
    /// response to a READ, its own number. Of an ACK, that of the last packet it acknowledges; of a NAK, that of the packet
    /// expected. Zero in a congestion notification.
    pub psn: u64,
    /// ECN codepoint of the IP header.
    pub codepoint: Codepoint,
    /// What the packet is for.
    pub body: Body,
}

impl Packet {
    /// Bytes of the Ethernet frame with its check sequence, without preamble and gap. The payload is padded to a multiple
    /// of four bytes (section 9.2, PadCnt).
    pub fn frame_bytes(&self) -> u16 {
        let more = match self.body {
            Body::Request(request) => {
                let reth = if request.dma_length.is_some() { RETH_BYTES } else { 0 };
                reth.saturating_add(request.padded_payload())
            }
            Body::ReadResponse(response) => response.aeth_bytes() + padded(response.payload),
            Body::Response(response) => {
                AETH_BYTES + if response.selective.is_some() { SELECTIVE_BYTES } else { 0 }
            }
            Body::CongestionNotification => CNP_RESERVED_BYTES,
        };
        COMMON_BYTES.saturating_add(more).max(FRAME_BYTES_MIN)
    }
}

/// The kinds of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// A part of a message, or a READ.
    Request(RequestPacket),
    /// A part of what a READ has requested.
    ReadResponse(ReadResponse),
    /// An ACK or a NAK.
    Response(Response),
    /// A congestion notification packet (CNP, annex A17.9.3), for the peer's reaction point.
    CongestionNotification,
}

/// What a message does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Opcode {
    /// RDMA WRITE: into the peer's memory, without involving its processor.
    Write,
    /// SEND: into a buffer that the peer has posted.
    Send,
    /// RDMA READ: from the peer's memory, without involving its processor.
    Read,
}

/// The position of a packet in its message (section 9.2, OpCode).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
    First,
    Middle,
    Last,
    /// Both first and last.
    Only,
}

impl Position {
    /// Whether a message begins with the packet.
    pub const fn begins(self) -> bool {
        matches!(self, Position::First | Position::Only)
    }

    /// Whether a message ends with the packet.
    pub const fn ends(self) -> bool {
        matches!(self, Position::Last | Position::Only)
    }
}

/// A packet that carries a part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestPacket {
    pub opcode: Opcode,
    pub position: Position,
    /// Bytes of payload, without padding.
    pub payload: u16,
    /// AckReq: the responder must respond (section 9.2).
    pub ack_request: bool,
    /// Length of the whole message in the RETH of a WRITE's first packet; in the RETH of a READ, the number of bytes
    /// requested.
    pub dma_length: Option<u32>,
}

impl RequestPacket {
    /// Bytes of payload with the padding to a multiple of four.
    pub const fn padded_payload(&self) -> u16 {
        padded(self.payload)
    }
}

/// A packet of the response to a READ (section 9.4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadResponse {
    /// Its position in the response to one request, which may have requested only the rest of a message.
    pub position: Position,
    /// Bytes of payload, without padding.
    pub payload: u16,
    /// Messages that the responder has completed; not in packets in the middle.
    pub messages: u64,
}

impl ReadResponse {
    /// Bytes of its AETH: all but packets in the middle have one.
    pub const fn aeth_bytes(&self) -> u16 {
        if matches!(self.position, Position::Middle) { 0 } else { AETH_BYTES }
    }

    /// Bytes of payload with the padding to a multiple of four.
    pub const fn padded_payload(&self) -> u16 {
        padded(self.payload)
    }
}

/// Bytes of a payload with the padding to a multiple of four.
const fn padded(payload: u16) -> u16 {
    match payload.checked_next_multiple_of(4) {
        Some(bytes) => bytes,
        None => u16::MAX - 3,
    }
}

/// An ACK or a NAK: an AETH (section 9.7.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    pub syndrome: Syndrome,
    /// Messages that the responder has completed (message sequence number, MSN, section 9.7.7.1); 24 bits on the wire.
    pub messages: u64,
    /// The packets that arrived out of order, if the responder keeps them.
    pub selective: Option<Selective>,
}

/// What a response says (section 9.7.5.2, table of AETH syndromes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syndrome {
    /// Everything up to the packet's number has arrived.
    Ack,
    /// RNR NAK: no buffer is posted for a SEND; `timer` encodes how long to wait (section 9.7.5.2.8, table 45).
    ReceiverNotReady { timer: u8 },
    /// The packet with this number is refused or missing; everything before it has arrived.
    Nak(Nak),
}

/// Codes of NAKs (section 9.7.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nak {
    /// A later packet arrived first: go back to this one. Code 0.
    SequenceError,
    /// Code 1.
    InvalidRequest,
    /// Code 2.
    RemoteAccessError,
    /// Code 3.
    RemoteOperationalError,
}

/// What a responder with selective repeat has kept beyond the packet that it expects. The specification has no such
/// field; the idea comes from IRN (Mittal et al., "Revisiting Network Support for RDMA", SIGCOMM 2018, section 3.1),
/// where a NACK names the packet that triggered it. Here it also covers the 63 packets before that, so that a lost NAK
/// does no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selective {
    /// A packet that has arrived.
    pub highest: u64,
    /// Bit k: whether the packet `highest - k` has arrived. Packets between the expected one and `highest` whose bit is
    /// not set are missing.
    pub arrived: u64,
}

impl Selective {
    /// What it says about the packets from `first` (inclusive) to `end` (exclusive). `highest` is then one of these,
    /// unless there are none and no bit is left.
    #[must_use]
    pub fn within(self, first: u64, end: u64) -> Selective {
        let highest = self.highest.min(end.saturating_sub(1));
        let cut = u32::try_from(self.highest - highest).unwrap_or(u32::MAX);
        let count = (highest + 1).saturating_sub(first);
        let mask = if count < 64 { (1 << count) - 1 } else { u64::MAX };
        Selective { highest, arrived: self.arrived.checked_shr(cut).unwrap_or(0) & mask }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame_bytes(body: Body) -> u16 {
        Packet { psn: 0, codepoint: Codepoint::NotEct, body }.frame_bytes()
    }

    fn request(opcode: Opcode, position: Position, payload: u16) -> Body {
        let dma_length = (opcode != Opcode::Send && position.begins()).then_some(u32::from(payload));
        Body::Request(RequestPacket { opcode, position, payload, ack_request: false, dma_length })
    }

    /// The JCST paper (section 3.2) counts 62 B of headers and 1,086 B for a full packet of 1,024 B without RETH.
    #[test]
    fn frames_are_as_long_as_their_headers_padding_and_check_sequences() {
        assert_eq!(frame_bytes(request(Opcode::Send, Position::Middle, 1_024)), 1_086);
        assert_eq!(frame_bytes(request(Opcode::Write, Position::Middle, 1_024)), 1_086);
        assert_eq!(frame_bytes(request(Opcode::Write, Position::First, 1_024)), 1_102);
        assert_eq!(
            frame_bytes(request(Opcode::Write, Position::Only, 143)),
            62 + 16 + 144,
            "one byte of padding"
        );
        assert_eq!(frame_bytes(request(Opcode::Send, Position::Only, 0)), 64, "the shortest frame");
        let response = Response { syndrome: Syndrome::Ack, messages: 0, selective: None };
        assert_eq!(frame_bytes(Body::Response(response)), 66);
        let selective = Some(Selective { highest: 9, arrived: 1 });
        assert_eq!(frame_bytes(Body::Response(Response { selective, ..response })), 78);
        assert_eq!(frame_bytes(Body::CongestionNotification), 78);
        assert_eq!(frame_bytes(request(Opcode::Read, Position::Only, 0)), 78, "RETH and no payload");
        let read = |position, payload| Body::ReadResponse(ReadResponse { position, payload, messages: 1 });
        assert_eq!(frame_bytes(read(Position::First, 1_024)), 1_090);
        assert_eq!(frame_bytes(read(Position::Middle, 1_024)), 1_086);
        assert_eq!(frame_bytes(read(Position::Last, 1)), 70);
        assert_eq!(frame_bytes(read(Position::Only, 0)), 66);
        assert_eq!(frame_bytes(request(Opcode::Send, Position::Only, u16::MAX)), u16::MAX, "no overflow");
    }

    #[test]
    fn selective_bits_are_cut_to_a_range_at_both_ends() {
        let all = |highest| Selective { highest, arrived: u64::MAX };
        let cut = |highest, first, end| {
            let Selective { highest, arrived } = all(highest).within(first, end);
            (highest, arrived)
        };
        assert_eq!(cut(70, 0, 100), (70, u64::MAX), "64 packets: 7 to 70");
        assert_eq!(cut(70, 7, 71), (70, u64::MAX));
        assert_eq!(cut(70, 8, 71), (70, u64::MAX >> 1));
        assert_eq!(cut(70, 68, 70), (69, 0b11));
        assert_eq!(cut(70, 0, 8), (7, 1));
        assert_eq!(cut(70, 0, 7), (6, 0));
        assert_eq!(cut(70, 71, 100), (70, 0));
        assert_eq!(cut(1, 0, 100), (1, 0b11), "there is nothing below zero");
        assert_eq!(cut(u64::MAX, 5, 9).1, 0);
        assert_eq!(cut(70, 5, 0).1, 0);
        let some = Selective { highest: 70, arrived: 0b1011 };
        assert_eq!(some.within(0, 70), Selective { highest: 69, arrived: 0b101 });
    }
}
