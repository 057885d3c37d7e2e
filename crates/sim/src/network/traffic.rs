//! Where frames come from.

use super::frame::Frame;
use crate::time::Time;
use linkmend_protocol::Mode;

/// A source of frames at a link end.
#[derive(Debug, Clone, PartialEq)]
pub enum Traffic {
    /// None.
    None,
    /// As many as the link takes: the packet generator of the stress test (section 4.1).
    LineRate {
        /// How many.
        frames: u64,
        /// Length of each.
        bytes: u32,
        /// Class of each.
        mode: Mode,
    },
    /// One every `interval`, the classes in turns.
    Paced {
        /// How many.
        frames: u64,
        /// Length of each.
        bytes: u32,
        /// Classes, taken in turns; not empty.
        modes: Vec<Mode>,
        /// Time between two frames.
        interval: Time,
    },
}

/// What a source has produced so far.
#[derive(Debug)]
pub(super) struct Source {
    traffic: Traffic,
    next_id: u64,
    left: u64,
}

impl Source {
    pub(super) fn new(traffic: Traffic) -> Source {
        let left = match &traffic {
            Traffic::None => 0,
            Traffic::LineRate { frames, .. } | Traffic::Paced { frames, .. } => *frames,
        };
        Source { traffic, next_id: 0, left }
    }

    /// Frames still to come.
    #[inline]
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Frames produced.
    pub(super) fn produced(&self) -> u64 {
        self.next_id
    }

    /// Length of its frames; 0 without traffic.
    pub(super) fn frame_bytes(&self) -> u32 {
        match self.traffic {
            Traffic::None => 0,
            Traffic::LineRate { bytes, .. } | Traffic::Paced { bytes, .. } => bytes,
        }
    }

    /// Class of its frames, the first of several.
    pub(super) fn mode(&self) -> Mode {
        match &self.traffic {
            Traffic::None => Mode::Ordered,
            Traffic::LineRate { mode, .. } => *mode,
            Traffic::Paced { modes, .. } => modes.first().copied().unwrap_or(Mode::Ordered),
        }
    }

    /// The frame that a line-rate source has ready.
    #[inline]
    pub(super) fn ready(&self) -> Option<Frame> {
        match self.traffic {
            Traffic::LineRate { bytes, mode, .. } if self.left > 0 => {
                Some(Frame { id: self.next_id, bytes, mode, marked: false })
            }
            _ => None,
        }
    }

    /// The ready frame has been taken.
    #[inline]
    pub(super) fn take(&mut self) {
        self.next_id += 1;
        self.left -= 1;
    }

    /// The next frame of a paced source, and when the one after it comes.
    pub(super) fn emit(&mut self, now: Time) -> Option<(Frame, Option<Time>)> {
        let Traffic::Paced { bytes, ref modes, interval, .. } = self.traffic else { return None };
        if self.left == 0 {
            return None;
        }
        let mode = modes[self.next_id as usize % modes.len()];
        let frame = Frame { id: self.next_id, bytes, mode, marked: false };
        self.take();
        Some((frame, (self.left > 0).then_some(now + interval)))
    }

    /// When a paced source begins.
    pub(super) fn is_paced(&self) -> bool {
        matches!(self.traffic, Traffic::Paced { .. }) && self.left > 0
    }

    pub(super) fn fast_forward(&mut self, frames: u64) {
        self.next_id += frames;
        self.left -= frames;
    }
}
