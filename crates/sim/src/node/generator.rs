//! Generators of frames.

use crate::link::{FlowId, Frame};
use crate::time::Time;
use linkmend_protocol::Mode;

/// The frames that a generator makes.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    None,
    /// As many frames as the link takes: the packet generator of the stress test (section 4.1).
    LineRate {
        /// Number of frames.
        frames: u64,
        /// Length of each frame.
        bytes: u16,
        /// Class of each frame.
        mode: Mode,
    },
    /// One frame in every `interval`, with the classes in turns.
    Paced {
        /// Number of frames.
        frames: u64,
        /// Length of each frame.
        bytes: u16,
        /// Classes, taken in turns; not empty.
        modes: Vec<Mode>,
        /// Time between two frames.
        interval: Time,
    },
}

/// A source of frames at a port: the frames of one flow, and how many have been produced.
#[derive(Debug)]
pub(crate) struct Generator {
    traffic: Traffic,
    flow: FlowId,
    next_id: u64,
    left: u64,
}

impl Generator {
    pub(crate) fn new(traffic: Traffic, flow: FlowId) -> Generator {
        let left = match &traffic {
            Traffic::None => 0,
            Traffic::LineRate { frames, .. } | Traffic::Paced { frames, .. } => *frames,
        };
        Generator { traffic, flow, next_id: 0, left }
    }

    /// A generator that produces nothing.
    pub(crate) fn none() -> Generator {
        Generator::new(Traffic::None, FlowId(0))
    }

    /// Frames still to come.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Frames produced.
    pub(crate) fn produced(&self) -> u64 {
        self.next_id
    }

    /// Length of its frames; 0 without traffic.
    pub(crate) fn frame_bytes(&self) -> u16 {
        match self.traffic {
            Traffic::None => 0,
            Traffic::LineRate { bytes, .. } | Traffic::Paced { bytes, .. } => bytes,
        }
    }

    /// Class of its frames, the first of several.
    pub(crate) fn mode(&self) -> Mode {
        match &self.traffic {
            Traffic::None => Mode::Ordered,
            Traffic::LineRate { mode, .. } => *mode,
            Traffic::Paced { modes, .. } => modes.first().copied().unwrap_or(Mode::Ordered),
        }
    }

    /// The frame that a line-rate source has ready.
    #[inline]
    pub(crate) fn ready(&self) -> Option<Frame> {
        match self.traffic {
            Traffic::LineRate { bytes, mode, .. } if self.left > 0 => {
                Some(Frame { id: self.next_id, flow: self.flow, bytes, mode, marked: false })
            }
            _ => None,
        }
    }

    /// The ready frame has been taken.
    #[inline]
    pub(crate) fn take(&mut self) {
        self.next_id += 1;
        self.left -= 1;
    }

    /// The next frame of a paced source, and when the one after it comes.
    pub(crate) fn emit(&mut self, now: Time) -> Option<(Frame, Option<Time>)> {
        let Traffic::Paced { bytes, ref modes, interval, .. } = self.traffic else { return None };
        if self.left == 0 {
            return None;
        }
        let mode = modes[self.next_id as usize % modes.len()];
        let frame = Frame { id: self.next_id, flow: self.flow, bytes, mode, marked: false };
        self.take();
        Some((frame, (self.left > 0).then_some(now + interval)))
    }

    /// When a paced source begins.
    pub(crate) fn is_paced(&self) -> bool {
        matches!(self.traffic, Traffic::Paced { .. }) && self.left > 0
    }

    pub(crate) fn fast_forward(&mut self, frames: u64) {
        self.next_id += frames;
        self.left -= frames;
    }
}
