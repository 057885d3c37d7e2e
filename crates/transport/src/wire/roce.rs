//! RoCEv2 packets as Ethernet frames: UDP to port 4791 (annex A17), base transport header (section 9.2), extended headers
//! (section 9.3), payload, invariant CRC.

use super::check::Crc32;
use super::{ETHERNET_BYTES, FCS_BYTES, IPV4_BYTES, Way, end};
use crate::roce::{Body, Nak, Opcode, Packet, Position, RequestPacket, Response, Syndrome};

/// UDP's destination port (annex A17). The source port is the sender's choice, and the way through the network.
pub const UDP_PORT: u16 = 4_791;

const PROTOCOL: u8 = 17;
const UDP_BYTES: usize = 8;
const ICRC_BYTES: usize = 4;
const DEFAULT_PARTITION: u16 = 0xffff;
/// Opcodes (section 9.2, table of OpCode values; CNP: annex A17.9.3).
const ACKNOWLEDGE: u8 = 0x11;
const CONGESTION_NOTIFICATION: u8 = 0x81;
/// BTH: migrated, as in every connection that never migrates.
const MIGRATED: u8 = 0x40;
/// BTH: backward explicit congestion notification.
const BECN: u8 = 0x40;
const ACK_REQUEST: u8 = 0x80;
/// AETH: credits are not counted.
const NO_CREDITS: u8 = 0x1f;
/// Numbers that are 24 bits wide.
const MASK_24: u32 = (1 << 24) - 1;

/// What the packets of a connection in one direction have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The destination port is [`UDP_PORT`].
    pub way: Way,
    /// The queue pair that it goes to; 24 bits.
    pub queue_pair: u32,
    /// Number of this end's first request, and of the peer's; 24 bits.
    pub first_psn: u32,
    pub peer_first_psn: u32,
    /// Target address of WRITEs, in the RETH of each.
    pub remote_address: u64,
    pub remote_key: u32,
}

/// Writes a packet up to `snap_bytes`, and returns the length of the whole frame without its check sequence.
///
/// A response that reports out-of-order arrivals is an AETH followed by 12 bytes, which analysers show as data: the
/// number of the highest packet in 32 bits, and the 64 bits. No specification defines it.
pub fn write(frame: &mut Vec<u8>, flow: &Flow, packet: &Packet, snap_bytes: usize) -> u32 {
    // The frame is as long as its header says, but for what Ethernet adds to the shortest.
    let padded = match &packet.body {
        Body::Request(request) => u32::from(request.padded_payload()),
        Body::ReadResponse(response) => u32::from(response.padded_payload()),
        _ => 0,
    };
    let headers = headers_behind_udp(packet) + UDP_BYTES;
    // Headers have less than 2^7 bytes.
    let bytes = padded + (headers + ICRC_BYTES) as u32;
    flow.way.begin(frame, packet.codepoint, PROTOCOL, bytes);
    frame.extend(flow.way.source.port.to_be_bytes());
    frame.extend(UDP_PORT.to_be_bytes());
    frame.extend(u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes());
    // No checksum, as RoCE cards send.
    frame.extend([0, 0]);
    write_bth(frame, flow, packet);
    write_extended(frame, flow, packet);
    let icrc = icrc(&frame[ETHERNET_BYTES..], padded);
    // Behind the payload, which is not written yet.
    let place = frame.len() + padded as usize;
    let whole = end(frame, padded + ICRC_BYTES as u32, snap_bytes);
    for (index, byte) in icrc.into_iter().enumerate() {
        if let Some(written) = frame.get_mut(place + index) {
            *written = byte;
        }
    }
    debug_assert!(whole + FCS_BYTES == u32::from(packet.frame_bytes()) || padded > u32::from(u16::MAX - 128));
    whole
}

/// The invariant CRC (section 7.8, annex A17) of a packet from its IPv4 header on, with `zeros` bytes of payload, as
/// it stands on the wire. Fields that change on the way count as ones: type of service, time to live and both checksums,
/// and the byte of the BTH that carries the congestion bits. Eight bytes of ones stand for InfiniBand's local header.
fn icrc(headers: &[u8], zeros: u32) -> [u8; ICRC_BYTES] {
    const VARIANT: [usize; 7] = [1, 8, 10, 11, IPV4_BYTES + 6, IPV4_BYTES + 7, IPV4_BYTES + UDP_BYTES + 4];
    let mut crc = Crc32::new();
    crc.update([0xff; 8]);
    let masked = |(index, byte): (usize, &u8)| if VARIANT.contains(&index) { 0xff } else { *byte };
    crc.update(headers.iter().enumerate().map(masked));
    crc.update(std::iter::repeat_n(0, zeros as usize));
    crc.finish().to_le_bytes()
}

/// Bytes of the headers behind UDP's.
fn headers_behind_udp(packet: &Packet) -> usize {
    const BTH: usize = 12;
    match &packet.body {
        Body::Request(request) => BTH + if request.dma_length.is_some() { 16 } else { 0 },
        Body::ReadResponse(response) => BTH + usize::from(response.aeth_bytes()),
        Body::Response(response) => BTH + 4 + if response.selective.is_some() { 12 } else { 0 },
        Body::CongestionNotification => BTH + 16,
    }
}

/// The base transport header (section 9.2).
fn write_bth(frame: &mut Vec<u8>, flow: &Flow, packet: &Packet) {
    let (opcode, padding, migrated, congestion, ack_request, first_psn) = match &packet.body {
        Body::Request(request) => {
            let padding = padding(request.padded_payload(), request.payload);
            let ack_request = if request.ack_request { ACK_REQUEST } else { 0 };
            (request_opcode(request), padding, MIGRATED, 0, ack_request, flow.first_psn)
        }
        Body::ReadResponse(response) => {
            let padding = padding(response.padded_payload(), response.payload);
            (read_response_opcode(response.position), padding, MIGRATED, 0, 0, flow.peer_first_psn)
        }
        Body::Response(_) => (ACKNOWLEDGE, 0, MIGRATED, 0, 0, flow.peer_first_psn),
        Body::CongestionNotification => (CONGESTION_NOTIFICATION, 0, 0, BECN, 0, 0),
    };
    frame.extend([opcode, migrated | padding << 4]);
    frame.extend(DEFAULT_PARTITION.to_be_bytes());
    write_24(frame, congestion, flow.queue_pair);
    write_24(frame, ack_request, first_psn.wrapping_add(packet.psn as u32));
}

/// The extended headers (section 9.3), or the reserved bytes of a CNP.
fn write_extended(frame: &mut Vec<u8>, flow: &Flow, packet: &Packet) {
    match &packet.body {
        Body::Request(request) => {
            if let Some(length) = request.dma_length {
                frame.extend(flow.remote_address.to_be_bytes());
                frame.extend(flow.remote_key.to_be_bytes());
                frame.extend(length.to_be_bytes());
            }
        }
        Body::ReadResponse(response) => {
            if response.aeth_bytes() > 0 {
                write_24(frame, NO_CREDITS, response.messages as u32);
            }
        }
        Body::Response(response) => {
            write_24(frame, syndrome(response), response.messages as u32);
            if let Some(selective) = response.selective {
                write_24(frame, 0, flow.peer_first_psn.wrapping_add(selective.highest as u32));
                frame.extend(selective.arrived.to_be_bytes());
            }
        }
        Body::CongestionNotification => frame.extend([0; 16]),
    }
}

/// A byte and 24 bits of a number.
fn write_24(frame: &mut Vec<u8>, byte: u8, number: u32) {
    frame.extend((u32::from(byte) << 24 | number & MASK_24).to_be_bytes());
}

/// Opcodes of a reliable connection (section 9.2).
fn request_opcode(request: &RequestPacket) -> u8 {
    match (request.opcode, request.position) {
        (Opcode::Send, Position::First) => 0x00,
        (Opcode::Send, Position::Middle) => 0x01,
        (Opcode::Send, Position::Last) => 0x02,
        (Opcode::Send, Position::Only) => 0x04,
        (Opcode::Write, Position::First) => 0x06,
        (Opcode::Write, Position::Middle) => 0x07,
        (Opcode::Write, Position::Last) => 0x08,
        (Opcode::Write, Position::Only) => 0x0a,
        (Opcode::Read, _) => 0x0c,
    }
}

/// Opcodes of what was read (section 9.2).
fn read_response_opcode(position: Position) -> u8 {
    match position {
        Position::First => 0x0d,
        Position::Middle => 0x0e,
        Position::Last => 0x0f,
        Position::Only => 0x10,
    }
}

/// PadCnt: bytes of padding behind a payload.
fn padding(padded: u16, payload: u16) -> u8 {
    // Less than four.
    (padded.saturating_sub(payload) & 0b11) as u8
}

/// The syndrome byte of an AETH (section 9.7.5.2).
fn syndrome(response: &Response) -> u8 {
    match response.syndrome {
        Syndrome::Ack => NO_CREDITS,
        Syndrome::ReceiverNotReady { timer } => 0b0010_0000 | timer & 0b1_1111,
        Syndrome::Nak(nak) => {
            0b0110_0000
                | match nak {
                    Nak::SequenceError => 0,
                    Nak::InvalidRequest => 1,
                    Nak::RemoteAccessError => 2,
                    Nak::RemoteOperationalError => 3,
                }
        }
    }
}
