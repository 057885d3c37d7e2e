//! What a link carries: frames of the traffic with and without a header of the link's scheme, and its control frames.

use super::frame::Frame;
use super::scheme::{Scheme, Schemes};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_on_the_wire_takes_half_a_cache_line() {
        assert_eq!(size_of::<OnWire>(), 32, "schemes with one kind of header need no mark of whose it is");
    }
}
