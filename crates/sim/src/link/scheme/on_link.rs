//! What a scheme puts on the wire: headers of traffic frames, acknowledgements, and other control frames.

use crate::link::frame::Frame;
use linkmend_protocol::paths::Probe;
use std::convert::Infallible;
use std::fmt::Debug;

/// What a capture shows of a control frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// What the frame says, in words.
    pub text: String,
    /// The frame without its check sequence; `None` if its format is not known.
    pub bytes: Option<Vec<u8>>,
}

/// The header of a frame of the traffic.
pub trait Header: Copy + Debug + PartialEq {
    /// Whether its frame was sent before.
    fn is_copy(&self) -> bool;

    /// Its meaning in words, for captures.
    fn show(&self, frame: &Frame) -> String {
        let _ = frame;
        String::new()
    }
}

/// What an end of a link has received, in a frame of the shortest length.
pub trait Acknowledgement: Copy + Debug + PartialEq {
    /// Whether it is a control ordered set of eight octets between frames, rather than a frame.
    fn is_ordered_set(&self) -> bool {
        false
    }

    /// Its representation in captures, sent from this MAC address.
    fn show(&self, source: [u8; 6]) -> Shown {
        let _ = source;
        Shown::default()
    }
}

/// A control frame other than an acknowledgement.
pub trait ControlFrame: Debug {
    /// Its length, with its frame check sequence.
    fn bytes(&self) -> u32;

    /// Whether an idle port repeats it until one gets through.
    fn replenishes(&self) -> bool {
        false
    }

    /// Whether it tells the receiver which frames were sent before it.
    fn announces(&self) -> bool {
        false
    }

    /// The probe that it contains, if it is one.
    fn probe(&self) -> Option<&Probe> {
        None
    }

    /// A probe as a control frame, if the scheme can use two links.
    fn of_probe(probe: Probe) -> Option<Self>
    where
        Self: Sized,
    {
        let _ = probe;
        None
    }

    /// Its representation in captures, sent from this MAC address.
    fn show(&self, source: [u8; 6]) -> Shown {
        let _ = source;
        Shown::default()
    }
}

impl Header for Infallible {
    fn is_copy(&self) -> bool {
        match *self {}
    }
}

impl Acknowledgement for Infallible {}

impl ControlFrame for Infallible {
    fn bytes(&self) -> u32 {
        match *self {}
    }
}
