//! TCP segments as Ethernet frames (RFC 9293, section 3.1).

use super::check::internet_checksum;
use super::{ETHERNET_BYTES, FCS_BYTES, FRAME_BYTES_MIN, IPV4_BYTES, Way, end};
use crate::tcp::{Flags, Segment};

const PROTOCOL: u8 = 6;
/// The header without options.
const HEADER_BYTES: usize = 20;
/// Most bytes of options.
const OPTION_BYTES_MAX: usize = 40;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// What the segments of a connection in one direction have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    pub way: Way,
    /// Number of this end's SYN, and of the peer's.
    pub first_sequence: u32,
    pub peer_first_sequence: u32,
    /// How far this end's windows are shifted, except in a SYN (RFC 7323, section 2.2).
    pub window_scale: u8,
}

/// Bytes of the Ethernet frame with its check sequence, without preamble and gap. A segment that offload has not split
/// also counts as one frame here; the length is capped at 65,535 B.
pub fn frame_bytes(segment: &Segment) -> u16 {
    let headers = ETHERNET_BYTES + IPV4_BYTES + HEADER_BYTES + option_bytes(segment);
    // Headers have less than 2^7 bytes.
    let frame = segment.length.saturating_add(headers as u32).max(FRAME_BYTES_MIN).saturating_add(FCS_BYTES);
    u16::try_from(frame).unwrap_or(u16::MAX)
}

/// Writes a segment up to `snap_bytes`, and returns the length of the whole frame without its check sequence.
pub fn write(frame: &mut Vec<u8>, flow: &Flow, segment: &Segment, snap_bytes: usize) -> u32 {
    let mut options = Options { bytes: [NO_OPERATION; OPTION_BYTES_MAX], length: 0 };
    options.fill(flow, segment);
    let options = &options.bytes[..options.length];
    // At most 60 bytes of header.
    let bytes = segment.length.saturating_add((HEADER_BYTES + options.len()) as u32);
    flow.way.begin(frame, segment.codepoint, PROTOCOL, bytes);
    let start = frame.len();
    let is_syn = segment.flags.contains(Flags::SYN);
    let acknowledgement = if segment.flags.contains(Flags::ACK) {
        flow.peer_first_sequence.wrapping_add(low(segment.acknowledgement))
    } else {
        0
    };
    let shift = if is_syn { 0 } else { u32::from(flow.window_scale) };
    let window = u16::try_from(segment.window.checked_shr(shift).unwrap_or(0)).unwrap_or(u16::MAX);
    frame.extend(flow.way.source.port.to_be_bytes());
    frame.extend(flow.way.destination.port.to_be_bytes());
    frame.extend(flow.first_sequence.wrapping_add(low(segment.sequence)).to_be_bytes());
    frame.extend(acknowledgement.to_be_bytes());
    // The data offset counts words of four bytes: five to fifteen.
    let words = (HEADER_BYTES + options.len()) / 4;
    frame.extend([(words << 4) as u8, segment.flags.0]);
    frame.extend(window.to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(options);
    // The pseudo-header: addresses, protocol, length. A payload of zeros adds nothing.
    let addresses = [flow.way.source.address, flow.way.destination.address].concat();
    let pseudo = u32::from(!internet_checksum(u32::from(PROTOCOL) + (bytes & 0xffff), &addresses));
    let checksum = internet_checksum(pseudo, &frame[start..]);
    frame[start + 16..start + 18].copy_from_slice(&checksum.to_be_bytes());
    end(frame, segment.length, snap_bytes)
}

/// Bytes of options, padded to words.
fn option_bytes(segment: &Segment) -> usize {
    let mut bytes = if segment.timestamps.is_some() { 12 } else { 0 };
    if let Some(syn) = segment.syn {
        bytes += if syn.mss.is_some() { 4 } else { 0 };
        // SACK-permitted takes the place of the padding of timestamps.
        bytes += if syn.sack_permitted && segment.timestamps.is_none() { 4 } else { 0 };
        bytes += if syn.window_scale.is_some() { 4 } else { 0 };
    }
    match sack_blocks(segment, bytes) {
        0 => bytes,
        blocks => bytes + 4 + 8 * blocks,
    }
}

/// How many blocks of SACK fit behind `before` bytes of options.
fn sack_blocks(segment: &Segment, before: usize) -> usize {
    segment.sack.len().min(OPTION_BYTES_MAX.saturating_sub(before + 4) / 8)
}

/// The low 32 bits of a number in a stream.
fn low(number: u64) -> u32 {
    number as u32
}

struct Options {
    bytes: [u8; OPTION_BYTES_MAX],
    length: usize,
}

impl Options {
    /// Options in the order in which Linux writes them.
    fn fill(&mut self, flow: &Flow, segment: &Segment) {
        let syn = segment.syn.unwrap_or_default();
        if let Some(mss) = syn.mss {
            let [high, low] = mss.to_be_bytes();
            self.push(&[MAXIMUM_SEGMENT_SIZE, 4, high, low]);
        }
        match (syn.sack_permitted, segment.timestamps.is_some()) {
            (true, _) if segment.timestamps.is_some() => self.push(&[SACK_PERMITTED, 2]),
            (true, _) => self.push(&[NO_OPERATION, NO_OPERATION, SACK_PERMITTED, 2]),
            (false, true) => self.push(&[NO_OPERATION, NO_OPERATION]),
            (false, false) => {}
        }
        if let Some(timestamps) = segment.timestamps {
            self.push(&[TIMESTAMPS, 10]);
            self.push(&timestamps.value.to_be_bytes());
            self.push(&timestamps.echo.to_be_bytes());
        }
        if let Some(shift) = syn.window_scale {
            self.push(&[NO_OPERATION, WINDOW_SCALE, 3, shift]);
        }
        let blocks = sack_blocks(segment, self.length);
        if blocks > 0 {
            // At most four blocks: 34 bytes.
            self.push(&[NO_OPERATION, NO_OPERATION, SACK, (2 + 8 * blocks) as u8]);
        }
        for block in segment.sack.iter().take(blocks) {
            for edge in [block.start, block.end] {
                self.push(&flow.peer_first_sequence.wrapping_add(low(edge)).to_be_bytes());
            }
        }
    }

    /// Adds bytes for which there is room: the longest options of a SYN take 20, and SACK is limited to what is left.
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if let Some(place) = self.bytes.get_mut(self.length) {
                *place = *byte;
                self.length += 1;
            }
        }
    }
}
