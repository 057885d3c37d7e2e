//! Frames: small values that are copied into queues and never allocated.

use super::scheme::{Scheme, Schemes};
use linkmend_protocol::Mode;

/// Preamble, start-of-frame delimiter and least inter-frame gap (IEEE 802.3), in byte times.
pub const WIRE_OVERHEAD_BYTES: u64 = 20;
/// Shortest Ethernet frame, with its frame check sequence.
pub const FRAME_BYTES_MIN: u32 = 64;
/// How many bytes the data header of the authors' program (section 3.5) adds to a frame.
pub const COMPACT_HEADER_BYTES: u32 = 3;
/// Frame check sequence.
pub(crate) const FCS_BYTES: u32 = 4;

/// A flow: frames from one node to another. [`crate::network::Network::flow`] has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// A frame of the traffic that the network carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Its number within its flow, from 0.
    pub id: u64,
    /// The flow, and with it source and destination.
    pub flow: FlowId,
    /// From destination address to frame check sequence, as it entered the network.
    pub bytes: u16,
    /// The class it belongs to.
    pub mode: Mode,
    /// Whether a switch marked it as having met congestion (ECN).
    pub marked: bool,
}

/// A frame on a link.
#[derive(Debug)]
pub enum OnWire<S: Scheme = Schemes> {
    /// A frame with a header of the link's scheme.
    Protected {
        /// The header of the scheme.
        header: S::Header,
        /// The frame of the traffic.
        frame: Frame,
    },
    /// A frame without a header.
    Plain {
        /// The frame of the traffic.
        frame: Frame,
    },
    /// An acknowledgement of the link's scheme: the one control frame that is as frequent as data.
    Ack {
        /// The content of the acknowledgement.
        ack: S::Ack,
    },
    /// Any other control frame.
    Control {
        /// Its index among the control frames in flight.
        place: u32,
    },
}

impl<S: Scheme> Clone for OnWire<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scheme> Copy for OnWire<S> {}

impl<S: Scheme> OnWire<S> {
    /// Whether it carries a frame of the traffic.
    pub(crate) fn is_traffic(&self) -> bool {
        matches!(self, OnWire::Protected { .. } | OnWire::Plain { .. })
    }

    /// The frame that it carries for the first time on this link.
    pub fn original(&self) -> Option<&Frame> {
        match self {
            OnWire::Protected { header, frame } if !S::is_copy(header) => Some(frame),
            OnWire::Plain { frame } => Some(frame),
            _ => None,
        }
    }
}

/// Control frames in flight, which are too large to be copied from queue to queue.
#[derive(Debug)]
pub(crate) struct ControlStore<C> {
    controls: Vec<C>,
    free: Vec<u32>,
}

impl<C> ControlStore<C> {
    pub(crate) const fn new() -> ControlStore<C> {
        ControlStore { controls: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn put(&mut self, control: C) -> u32 {
        if let Some(place) = self.free.pop() {
            self.controls[place as usize] = control;
            return place;
        }
        self.controls.push(control);
        (self.controls.len() - 1) as u32
    }

    pub(crate) fn at(&self, place: u32) -> &C {
        &self.controls[place as usize]
    }

    /// The content of a control frame, for observers. It contains no panic, so it costs nothing without an observer.
    #[inline]
    pub(crate) fn content<S: Scheme<Control = C>>(&self, on_wire: &OnWire<S>) -> Option<&C> {
        match on_wire {
            OnWire::Control { place } => self.controls.get(*place as usize),
            _ => None,
        }
    }

    pub(crate) fn free(&mut self, place: u32) {
        self.free.push(place);
    }
}

/// Values with numbers; freed numbers are used again.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slots<T> {
    pub(crate) const fn new() -> Slots<T> {
        Slots { values: Vec::new(), free: Vec::new() }
    }

    #[inline]
    pub(crate) fn put(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.values[slot as usize] = value;
            return slot;
        }
        self.values.push(value);
        (self.values.len() - 1) as u32
    }

    /// The number that the next value gets.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.free.last().copied().unwrap_or(self.values.len() as u32)
    }

    #[inline]
    pub(crate) fn free(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.values[slot as usize]
    }

    #[inline]
    pub(crate) fn at(&mut self, slot: u32) -> &mut T {
        &mut self.values[slot as usize]
    }

    pub(crate) fn get(&self, slot: u32) -> &T {
        &self.values[slot as usize]
    }

    pub(crate) fn used(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// All values, those of freed numbers included.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::{DataHeader, Format, SequenceNumber, wire};

    #[test]
    fn a_frame_is_as_small_as_its_parts() {
        assert_eq!(size_of::<Frame>(), 16);
        assert_eq!(size_of::<OnWire>(), 32, "schemes with one kind of header need no mark of whose it is");
    }

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
