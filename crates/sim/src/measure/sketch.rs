//! Bytes for simulated frames, which have none: what a real link end would have sent, with zeros for a payload.

use crate::link::scheme::{AnyAck, AnyControl, AnyHeader};
use crate::link::{Frame, OnWire};
use linkmend_protocol::wire::{
    self, ADDRESSES_BYTES, CONTROL_FRAME_MAX, ETHERNET_HEADER_BYTES, FRAME_BYTES_MIN_IN_MEMORY, emit_control,
    encapsulate, ethertype,
};
use linkmend_protocol::{Control, Format};

/// Length of the frame check sequence; simulated lengths include it, captures do not.
pub(super) const FCS_BYTES: u32 = wire::FCS_BYTES as u32;
const IPV4_BYTES: usize = 20;
/// For experimentation (RFC 3692).
const PROTOCOL_EXPERIMENT: u8 = 253;
/// Congestion experienced (RFC 3168).
const ECN_MARKED: u8 = 0b11;
/// Not congested, from a sender that supports ECN: ECT(0) (RFC 3168).
const ECN_CAPABLE: u8 = 0b10;
/// The frame's number follows its IPv4 header.
const NUMBER_BYTES: usize = 8;
/// The maximum number of bytes that a sketch writes; a capture's snap length cannot exceed it.
pub(super) const SKETCH_BYTES_MAX: usize = CONTROL_FRAME_MAX;

/// Generates the beginnings of frames.
#[derive(Debug)]
pub(super) struct Sketch {
    format: Format,
    buffer: [u8; SKETCH_BYTES_MAX],
}

impl Sketch {
    pub(super) fn new(format: Format) -> Sketch {
        Sketch { format, buffer: [0; SKETCH_BYTES_MAX] }
    }

    /// The beginning of a frame from link end `from` to `to`, and its total length without check sequence.
    pub(super) fn on_wire(
        &mut self,
        from: usize,
        to: usize,
        on_wire: &OnWire,
        control: Option<&AnyControl>,
    ) -> (&[u8], u32) {
        match on_wire {
            OnWire::Protected { header: AnyHeader::LinkGuardian(header), frame, .. } => {
                let (length, bytes) = self.original(from, to, frame);
                let Some(encapsulation) = encapsulate(self.format, header, &self.buffer[..length]) else {
                    return (&self.buffer[..length], bytes);
                };
                let growth = encapsulation.growth();
                let grown = (length + growth).min(SKETCH_BYTES_MAX);
                self.buffer.copy_within(ADDRESSES_BYTES..grown - growth, ADDRESSES_BYTES + growth);
                let header = encapsulation.bytes();
                self.buffer[ADDRESSES_BYTES..ADDRESSES_BYTES + header.len()].copy_from_slice(header);
                (&self.buffer[..grown], bytes + growth as u32)
            }
            OnWire::Ack { ack: AnyAck::LinkGuardian(next) } => {
                self.control(from, &Control::CompactAck { next: *next })
            }
            // For other schemes, only the frames are known.
            OnWire::Protected { frame, .. } | OnWire::WithAck { frame, .. } | OnWire::Plain { frame } => {
                self.frame(from, to, frame)
            }
            OnWire::Ack { .. } | OnWire::Pause { .. } | OnWire::Damaged { .. } => (&[], 0),
            OnWire::Control { .. } => match control {
                Some(AnyControl::LinkGuardian(control)) => self.control(from, control),
                _ => (&[], 0),
            },
        }
    }

    /// The beginning of a frame as seen by hosts.
    pub(super) fn frame(&mut self, from: usize, to: usize, frame: &Frame) -> (&[u8], u32) {
        let (length, bytes) = self.original(from, to, frame);
        (&self.buffer[..length], bytes)
    }

    fn control(&mut self, from: usize, control: &Control) -> (&[u8], u32) {
        let length = emit_control(control, mac(from), &mut self.buffer);
        (&self.buffer[..length], length as u32)
    }

    /// An IPv4 packet of an experimental protocol, as long as the frame. Returns how much of it was written.
    fn original(&mut self, from: usize, to: usize, frame: &Frame) -> (usize, u32) {
        let bytes = u32::from(frame.bytes).saturating_sub(FCS_BYTES).max(FRAME_BYTES_MIN_IN_MEMORY as u32);
        let length = SKETCH_BYTES_MAX.min(bytes as usize);
        self.buffer[..length].fill(0);
        self.buffer[..6].copy_from_slice(&mac(to));
        self.buffer[6..ADDRESSES_BYTES].copy_from_slice(&mac(from));
        self.buffer[ADDRESSES_BYTES..ETHERNET_HEADER_BYTES].copy_from_slice(&ethertype::IPV4.to_be_bytes());
        let ip = &mut self.buffer[ETHERNET_HEADER_BYTES..ETHERNET_HEADER_BYTES + IPV4_BYTES];
        let ip_bytes = (bytes - ETHERNET_HEADER_BYTES as u32).min(u16::MAX.into()) as u16;
        ip[0] = 0x45;
        ip[1] = if frame.marked { ECN_MARKED } else { ECN_CAPABLE };
        ip[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
        ip[8] = 64;
        ip[9] = PROTOCOL_EXPERIMENT;
        ip[12..16].copy_from_slice(&[10, 77, from as u8, 1]);
        ip[16..20].copy_from_slice(&[10, 77, to as u8, 1]);
        let checksum = ipv4_checksum(ip);
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        let number = ETHERNET_HEADER_BYTES + IPV4_BYTES;
        self.buffer[number..number + NUMBER_BYTES].copy_from_slice(&frame.id.to_be_bytes());
        (length, bytes)
    }
}

const _: () = assert!(ETHERNET_HEADER_BYTES + IPV4_BYTES + NUMBER_BYTES <= FRAME_BYTES_MIN_IN_MEMORY);
const _: () = assert!(FRAME_BYTES_MIN_IN_MEMORY <= SKETCH_BYTES_MAX);

/// Locally administered address of a link end, or of the host behind it.
fn mac(end: usize) -> [u8; 6] {
    let [high, low] = (end as u16).to_be_bytes();
    [2, b'L', b'M', 0, high, low]
}

/// RFC 791, with the field itself zero.
fn ipv4_checksum(header: &[u8]) -> u16 {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
