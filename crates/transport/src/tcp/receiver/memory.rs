//! The memory of packets that have arrived but have not been read, and the window that it leaves, as Linux counts both.

use std::collections::VecDeque;

/// Memory of a packet in addition to its buffer, and what a buffer contains in addition to payload (Linux, 64 bits).
const DESCRIPTOR_BYTES: u64 = 256;
const BUFFER_OVERHEAD: u64 = 384;
/// Buffers are powers of two up to a page, and whole pages from there on.
const PAGE_BYTES: u64 = 4_096;
/// Shares are in parts of this; before data has arrived, half of the memory is expected to be payload.
const SHARE_ONE: u64 = 256;
const SHARE_GUESS: u64 = SHARE_ONE / 2;
/// Segments are assumed to be this long until longer ones arrive.
const SEGMENT_GUESS: u32 = 536;
/// Largest window of a SYN.
const UNSCALED_MAX: u64 = 65_535;

/// What arrived, and what may still arrive.
#[derive(Debug, Clone)]
pub struct ReceiveMemory {
    limit: u64,
    /// Packets that hold what was not read, by the number after their last byte, and their memory.
    packets: VecDeque<(u64, u64)>,
    used: u64,
    /// The share of the memory that is payload, from the latest packet whose segments were longer than earlier ones.
    payload_share: u64,
    segment: u32,
    /// Payload of a segment that this end offered to take.
    offered_segment: u64,
    /// How far the window has opened. It opens as data arrives.
    opened: u64,
}

/// Memory of a packet with `length` bytes of payload.
fn memory_of(length: u32) -> u64 {
    let bytes = u64::from(length) + BUFFER_OVERHEAD;
    let buffer =
        if bytes <= PAGE_BYTES { bytes.next_power_of_two() } else { bytes.next_multiple_of(PAGE_BYTES) };
    buffer + DESCRIPTOR_BYTES
}

impl ReceiveMemory {
    /// With room for `limit` bytes; the SYN of this end offers to take segments of `offered_segment`.
    pub fn new(limit: u32, offered_segment: u32) -> ReceiveMemory {
        let mut memory = ReceiveMemory {
            limit: u64::from(limit),
            packets: VecDeque::new(),
            used: 0,
            payload_share: SHARE_GUESS,
            segment: SEGMENT_GUESS,
            offered_segment: u64::from(offered_segment.max(1)),
            opened: 0,
        };
        let space = memory.payload_in(memory.limit);
        let whole = space / memory.offered_segment * memory.offered_segment;
        memory.opened = if whole > 0 { whole } else { space };
        memory
    }

    /// The window of a SYN.
    pub fn of_syn(&self) -> u32 {
        self.opened.min(UNSCALED_MAX) as u32
    }

    /// Changes the limit; what has arrived stays.
    pub fn set_limit(&mut self, bytes: u32) {
        self.limit = u64::from(bytes);
    }

    fn payload_in(&self, memory: u64) -> u64 {
        memory * self.payload_share / SHARE_ONE
    }

    fn free(&self) -> u64 {
        self.payload_in(self.limit.saturating_sub(self.used))
    }

    /// A packet has arrived whose last byte is before `end`, made of segments of `segment` bytes.
    pub fn arrived(&mut self, end: u64, length: u32, segment: u32) {
        let memory = memory_of(length);
        let place = self.packets.partition_point(|&(other, _)| other <= end);
        self.packets.insert(place, (end, memory));
        self.used += memory;
        if segment > self.segment {
            self.segment = segment;
            self.payload_share = (u64::from(length) * SHARE_ONE / memory).max(1);
        }
        let length = u64::from(length);
        if self.payload_in(memory) <= length {
            let room = self.payload_in(self.limit).min(self.free()).saturating_sub(self.opened);
            self.opened += room.min(2 * length.max(self.offered_segment));
        }
    }

    /// Whether more than half of what the memory holds is in use.
    pub fn is_half_used(&self) -> bool {
        self.free() < self.payload_in(self.limit) / 2
    }

    /// Whether packets exceed the limit, which the last one in order may do.
    pub fn is_exhausted(&self) -> bool {
        self.used > self.limit
    }

    /// Everything before the byte `position` was read.
    pub fn read_to(&mut self, position: u64) {
        while let Some((_, memory)) = self.packets.pop_front_if(|&mut (end, _)| end <= position) {
            self.used -= memory;
        }
    }

    /// The window to advertise, unless more was promised; `latest` is the one advertised last.
    pub fn window(&self, latest: u32, segment: u32, shift: u8) -> u64 {
        let full = self.payload_in(self.limit);
        let segment = u64::from(segment).min(full).max(1);
        let unit = 1_u64 << shift;
        let mut free = self.free();
        if free < full / 2 {
            // What is left must not grow by rounding.
            free = free / unit * unit;
            if free < full / 16 || free < segment {
                return 0;
            }
        }
        let free = free.min(self.opened);
        let latest = u64::from(latest);
        if shift > 0 {
            free.next_multiple_of(unit)
        } else if latest.saturating_add(segment) <= free || latest > free {
            free / segment * segment
        } else {
            latest
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_its_buffer_and_its_descriptor() {
        for (length, memory) in [(1, 768), (1_448, 2_304), (3_712, 4_352), (3_713, 8_448), (9_000, 12_544)] {
            assert_eq!(memory_of(length), memory, "{length}");
        }
    }

    /// socket(7), SO_RCVBUF: twice what was asked for, half of which is not for payload.
    #[test]
    fn the_window_of_a_syn_is_half_of_the_memory_in_whole_segments() {
        assert_eq!(ReceiveMemory::new(40_000, 1_460).of_syn(), 18_980);
        assert_eq!(ReceiveMemory::new(2_000, 1_460).of_syn(), 1_000);
        assert_eq!(ReceiveMemory::new(1 << 20, 1_460).of_syn(), 65_535);
    }

    #[test]
    fn the_window_is_what_the_free_memory_holds_of_such_packets() {
        let mut memory = ReceiveMemory::new(20_000, 1_460);
        memory.arrived(4_001, 4_000, 1_000);
        // 4,000 of 8,448 bytes are payload, and so 5,460 of the other 11,552.
        assert_eq!(memory.window(8_760, 1_000, 0), 5_000);
        memory.arrived(20_001, 16_000, 1_000);
        assert_eq!(memory.window(5_000, 1_000, 0), 0);
        memory.read_to(4_001);
        assert_eq!(memory.window(0, 1_000, 0), 1_000, "1,588 bytes in whole segments");
        memory.read_to(20_001);
        assert_eq!(memory.window(0, 1_000, 0), 8_000, "it has not opened beyond what the SYN said");
    }

    /// Also by what arrives out of order, twice as much at a time as has arrived.
    #[test]
    fn the_window_opens_as_data_arrives() {
        let mut memory = ReceiveMemory::new(131_072, 1_460);
        assert_eq!(memory.opened, 64_240);
        memory.arrived(11_001, 9_000, 1_000);
        assert_eq!(memory.opened, 64_240 + 18_000);
        assert_eq!(memory.window(64_240, 1_000, 10), 81 << 10);
    }
}
