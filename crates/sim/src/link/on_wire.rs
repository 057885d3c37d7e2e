//! What a link carries: frames of the traffic with and without a header of the link's scheme, and its control frames.

use super::control_store::{ControlPlace, ControlStore};
use super::frame::Frame;
use super::scheme::{Header, Scheme, Schemes};

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
    /// A damaged frame with such a header, on its way to a scheme that makes use of it.
    Damaged {
        /// The header of the scheme.
        header: S::Header,
    },
    /// A frame without a header.
    Plain {
        /// The frame of the traffic.
        frame: Frame,
    },
    /// A frame without a data header that carries an acknowledgement for the other direction.
    WithAck {
        /// The content of the acknowledgement.
        ack: S::Ack,
        /// The frame of the traffic.
        frame: Frame,
    },
    /// An acknowledgement of the link's scheme: the only control frame that is as frequent as data.
    Ack {
        /// The content of the acknowledgement.
        ack: S::Ack,
    },
    /// A pause frame (PFC), which schemes do not see.
    Pause {
        /// Whether the port at which it arrives must wait from now on.
        paused: bool,
    },
    /// Any other control frame.
    Control {
        /// Where its content is stored.
        place: ControlPlace,
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
        matches!(self, OnWire::Protected { .. } | OnWire::Plain { .. } | OnWire::WithAck { .. })
    }

    /// The content of a control frame, for observers. It contains no panic, so it costs nothing without an observer.
    #[inline]
    pub(crate) fn control<'a>(&self, controls: &'a ControlStore<S::Control>) -> Option<&'a S::Control> {
        match self {
            OnWire::Control { place } => controls.get(*place),
            _ => None,
        }
    }

    /// The frame that it carries for the first time on this link.
    pub fn original(&self) -> Option<&Frame> {
        match self {
            OnWire::Protected { header, frame } if !header.is_copy() => Some(frame),
            OnWire::Plain { frame } | OnWire::WithAck { frame, .. } => Some(frame),
            _ => None,
        }
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
