//! Generators of frames.

use super::frame::{FlowId, Frame};
use crate::time::Time;
use linkmend_protocol::Mode;

/// The frames that a generator produces.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    None,
    /// As many frames as the link can carry: the packet generator of the stress test (section 4.1).
    LineRate {
        /// Number of frames.
        frames: u64,
        /// Length of each frame.
        bytes: u16,
        /// Class of each frame.
        mode: Mode,
    },
    /// One frame per `interval`, with alternating classes.
    Paced {
        /// Number of frames.
        frames: u64,
        /// Length of each frame.
        bytes: u16,
        /// Classes, used in turn; not empty.
        modes: Vec<Mode>,
        /// Time between two frames.
        interval: Time,
    },
}

/// How a generator produces its frames.
#[derive(Debug)]
enum Pace {
    /// It produces none.
    Never,
    LineRate,
    /// Boxed, because most ports have no such generator.
    Paced(Box<Paced>),
}

/// The pace of [`Traffic::Paced`].
#[derive(Debug)]
struct Paced {
    modes: Vec<Mode>,
    interval: Time,
}

/// A source of frames at a port: the frames of one flow, and how many have been produced.
#[derive(Debug)]
pub(crate) struct Generator {
    pace: Pace,
    /// The next frame, which is copied as a whole. Without traffic its length is 0. If the frames have several classes,
    /// its class is the first of them.
    next: Frame,
    left: u64,
    /// Whether it has a frame ready at any time: it sends at line rate, and has been started.
    always_ready: bool,
}

impl Generator {
    pub(crate) fn new(traffic: Traffic, flow: FlowId) -> Generator {
        let (pace, left, bytes, mode) = match traffic {
            Traffic::None => (Pace::Never, 0, 0, Mode::Ordered),
            Traffic::LineRate { frames, bytes, mode } => (Pace::LineRate, frames, bytes, mode),
            Traffic::Paced { frames, bytes, modes, interval } => {
                let first = modes.first().copied().unwrap_or(Mode::Ordered);
                (Pace::Paced(Box::new(Paced { modes, interval })), frames, bytes, first)
            }
        };
        let next = Frame { id: 0, flow, bytes, mode, marked: false };
        Generator { pace, next, left, always_ready: false }
    }

    /// A generator that produces nothing.
    pub(crate) fn none() -> Generator {
        Generator::new(Traffic::None, FlowId(0))
    }

    /// Starts a line-rate source. The first frame of a paced source is taken when it is due.
    pub(crate) fn start(&mut self) {
        self.always_ready = matches!(self.pace, Pace::LineRate);
    }

    /// Frames not yet produced.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Frames produced.
    pub(crate) fn produced(&self) -> u64 {
        self.next.id
    }

    /// Length of its frames; 0 without traffic.
    #[inline]
    pub(crate) fn frame_bytes(&self) -> u16 {
        self.next.bytes
    }

    /// Class of its frames; the first one if there are several.
    #[inline]
    pub(crate) fn mode(&self) -> Mode {
        self.next.mode
    }

    /// Whether a line-rate source has a frame ready.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.always_ready && self.left > 0
    }

    /// Takes the frame that is ready.
    #[inline]
    pub(crate) fn take(&mut self) -> Frame {
        let frame = self.next;
        self.next.id += 1;
        self.left -= 1;
        frame
    }

    /// The next frame of a paced source, and when the one after it is due.
    pub(crate) fn emit(&mut self, now: Time) -> Option<(Frame, Option<Time>)> {
        let Pace::Paced(paced) = &self.pace else { return None };
        if self.left == 0 {
            return None;
        }
        let (interval, mode) = (paced.interval, paced.modes[self.next.id as usize % paced.modes.len()]);
        let frame = Frame { mode, ..self.take() };
        Some((frame, (self.left > 0).then_some(now + interval)))
    }

    /// Whether this is a paced source that has frames left.
    pub(crate) fn is_paced(&self) -> bool {
        matches!(self.pace, Pace::Paced(_)) && self.left > 0
    }

    pub(crate) fn fast_forward(&mut self, frames: u64) {
        self.next.id += frames;
        self.left -= frames;
    }
}
