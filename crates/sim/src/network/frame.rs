//! What travels: small values, copied into queues and never allocated.

use linkmend_protocol::wire::{CONTROL_FRAME_MAX, emit_control};
use linkmend_protocol::{Control, DataHeader, Mode, SequenceNumber};

/// Preamble, start-of-frame delimiter and least inter-frame gap (IEEE 802.3), in byte times.
pub const WIRE_OVERHEAD_BYTES: u64 = 20;
/// Shortest Ethernet frame, with its frame check sequence.
pub const FRAME_BYTES_MIN: u32 = 64;
/// By how many bytes the data header of the authors' program (section 3.5) makes a frame longer.
pub const COMPACT_HEADER_BYTES: u32 = 3;
/// Frame check sequence.
const FCS_BYTES: u32 = 4;

/// A frame of the traffic that the network carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Counts the frames of one traffic source from 0.
    pub id: u64,
    /// From destination address to frame check sequence, as it entered the network.
    pub bytes: u32,
    /// The class it belongs to.
    pub mode: Mode,
    /// Whether a switch marked it as having met congestion (ECN).
    pub marked: bool,
}

/// A frame on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnWire {
    /// With a data header.
    Protected {
        /// The header.
        header: DataHeader,
        /// The frame.
        frame: Frame,
    },
    /// As it is.
    Plain {
        /// The frame.
        frame: Frame,
    },
    /// An explicit ACK in the compact format: the one control frame that is as frequent as data.
    Ack {
        /// Everything before this has arrived.
        next: SequenceNumber,
    },
    /// Any other control frame.
    Control {
        /// Its place among the control frames under way.
        place: u32,
    },
}

impl OnWire {
    /// Whether it carries a frame of the traffic.
    pub(super) fn is_traffic(&self) -> bool {
        matches!(self, OnWire::Protected { .. } | OnWire::Plain { .. })
    }
}

/// Control frames on their way; they are too large to be copied from queue to queue.
#[derive(Debug, Default)]
pub(super) struct ControlStore {
    controls: Vec<Control>,
    free: Vec<u32>,
}

impl ControlStore {
    pub(super) fn put(&mut self, control: Control) -> u32 {
        if let Some(place) = self.free.pop() {
            self.controls[place as usize] = control;
            return place;
        }
        self.controls.push(control);
        (self.controls.len() - 1) as u32
    }

    pub(super) fn at(&self, place: u32) -> &Control {
        &self.controls[place as usize]
    }

    /// The content of a control frame, for observers. Without a panic in it, it costs nothing when there is none.
    #[inline]
    pub(super) fn content(&self, on_wire: &OnWire) -> Option<&Control> {
        match on_wire {
            OnWire::Control { place } => self.controls.get(*place as usize),
            _ => None,
        }
    }

    pub(super) fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Length of the frame, as [`linkmend_protocol::wire`] writes it, with frame check sequence.
    pub(super) fn bytes(&self, place: u32) -> u32 {
        emit_control(self.at(place), [0; 6], &mut [0; CONTROL_FRAME_MAX]) as u32 + FCS_BYTES
    }
}

/// Values with a number each; freed numbers are used again.
#[derive(Debug)]
pub(super) struct Slots<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    pub(super) const fn new() -> Slots<T> {
        Slots { values: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(super) fn put(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.values[slot as usize] = value;
            return slot;
        }
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    /// The number that the next value gets.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.values.len() as u32)
    }

    #[inline]
    pub(super) fn free(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.values[slot as usize]
    }

    #[inline]
    pub(super) fn at(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize]
    }

    pub(super) fn get(&self, slot: u32) -> &T {
        &self.values[slot as usize]
    }

    pub(super) fn used(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// All values, those of freed numbers included.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::{Format, wire};

    #[test]
    fn the_compact_header_is_as_long_as_on_the_wire() {
        let sequence = SequenceNumber::new(0, false);
        let header = DataHeader { mode: Mode::Ordered, sequence, retransmitted: false, ack: None };
        let mut ipv4 = [0; FRAME_BYTES_MIN as usize];
        ipv4[wire::ADDRESSES_BYTES] = 0x08;
        let inserted = wire::encapsulate(Format::Compact, &header, &ipv4).expect("IPv4 can be protected");
        assert_eq!(inserted.growth(), COMPACT_HEADER_BYTES as usize);
    }
}
