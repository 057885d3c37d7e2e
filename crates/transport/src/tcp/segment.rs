//! TCP segments without their payload.

use std::ops::Range;

/// Maximum number of SACK blocks in an acknowledgement: four, or three with timestamps (RFC 2018, section 3).
pub const SACK_BLOCKS_MAX: usize = 4;

/// A TCP segment (RFC 9293, section 3.1), or several in a row that segmentation offload has not split yet, or that
/// receive offload has joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// Number of its first byte in the stream of the end that sends it.
    pub sequence: u64,
    /// The next byte that its sender expects, if `flags` has ACK.
    pub acknowledgement: u64,
    /// Receive window in bytes, already scaled.
    pub window: u32,
    /// Bytes of payload.
    pub length: u32,
    /// Payload of the segments into which segmentation offload divides it, except the last, if they are shorter than
    /// the connection's maximum; or of the longest segment that receive offload has joined, if known; 0 otherwise.
    pub longest: u16,
    pub flags: Flags,
    /// ECN codepoint of the IP header.
    pub codepoint: Codepoint,
    /// Timestamps option (RFC 7323).
    pub timestamps: Option<Timestamps>,
    /// SACK option (RFC 2018); a first block at or below the acknowledgement, or inside the second, is a DSACK (RFC 2883).
    pub sack: SackBlocks,
    /// Options that only a SYN carries.
    pub syn: Option<SynOptions>,
}

impl Segment {
    /// Bytes of sequence space that it occupies: its payload, plus one each for SYN and FIN.
    pub fn sequence_length(&self) -> u64 {
        let controls =
            u64::from(self.flags.contains(Flags::SYN)) + u64::from(self.flags.contains(Flags::FIN));
        u64::from(self.length) + controls
    }

    /// The number after its last byte.
    pub fn end(&self) -> u64 {
        self.sequence.saturating_add(self.sequence_length())
    }

    /// The segments into which segmentation offload divides it, none with more than `mss` bytes unless it says so
    /// itself. The first has CWR; the last has PSH and FIN.
    pub fn split(self, mss: u32) -> impl Iterator<Item = Segment> {
        let mss = if self.longest > 0 { u32::from(self.longest) } else { mss.max(1) };
        let pieces = self.length.div_ceil(mss).max(1);
        (0..pieces).map(move |piece| {
            let offset = piece.saturating_mul(mss);
            let is_last = piece + 1 == pieces;
            let mut flags = self.flags;
            if piece > 0 {
                flags.remove(Flags::CWR);
            }
            if !is_last {
                flags.remove(Flags::PSH);
                flags.remove(Flags::FIN);
            }
            let length = (self.length - offset).min(mss);
            let longest = self.longest.min(length as u16);
            Segment {
                longest,
                sequence: self.sequence.saturating_add(u64::from(offset)),
                length,
                flags,
                ..self
            }
        })
    }
}

/// Control bits of a segment (RFC 9293, section 3.1; ECE and CWR: RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    pub const FIN: Flags = Flags(0x01);
    pub const SYN: Flags = Flags(0x02);
    pub const RST: Flags = Flags(0x04);
    pub const PSH: Flags = Flags(0x08);
    pub const ACK: Flags = Flags(0x10);
    pub const URG: Flags = Flags(0x20);
    pub const ECE: Flags = Flags(0x40);
    pub const CWR: Flags = Flags(0x80);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These bits and those of `other`.
    #[must_use]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Sets the bits of `other`.
    pub fn insert(&mut self, other: Flags) {
        self.0 |= other.0;
    }

    /// Clears the bits of `other`.
    pub fn remove(&mut self, other: Flags) {
        self.0 &= !other.0;
    }
}

/// ECN codepoint of an IP header (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Codepoint {
    /// The transport does not support ECN.
    #[default]
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

/// Timestamps option (RFC 7323, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timestamps {
    /// TSval: the clock of its sender.
    pub value: u32,
    /// TSecr: the latest value of the other end.
    pub echo: u32,
}

/// Options of a SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SynOptions {
    /// Largest segment that its sender accepts, in bytes of payload.
    pub mss: Option<u16>,
    /// Its sender supports SACK.
    pub sack_permitted: bool,
    /// Shift of its sender's windows (RFC 7323, section 2).
    pub window_scale: Option<u8>,
}

/// The blocks of a SACK option, the latest first (RFC 2018, section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    blocks: [(u64, u64); SACK_BLOCKS_MAX],
    count: u8,
}

impl SackBlocks {
    /// Adds a block behind the others; ignored if there is no room.
    pub fn push(&mut self, block: Range<u64>) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = (block.start, block.end);
            self.count += 1;
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The blocks, from first to last.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.blocks[..usize::from(self.count)].iter().map(|&(start, end)| start..end)
    }
}
