//! The ingress pipeline behind a port whose scheme acts at the port itself.

use super::frame::Frame;
use crate::time::Time;
use std::collections::VecDeque;

/// Frames on their way from the port to the forwarding decision, in the order of arrival.
#[derive(Debug)]
pub(crate) struct Pipeline {
    latency: Time,
    frames: VecDeque<(Time, Frame)>,
}

impl Pipeline {
    /// A pipeline with this latency; `None` if it is zero.
    pub(crate) fn new(latency: Time) -> Option<Pipeline> {
        (latency > Time::ZERO).then(|| Pipeline { latency, frames: VecDeque::new() })
    }

    /// Accepts a frame.
    pub(crate) fn push(&mut self, now: Time, frame: Frame) {
        self.frames.push_back((now + self.latency, frame));
    }

    /// The next frame that has come out by `now`.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Frame> {
        self.frames.pop_front_if(|(at, _)| *at <= now).map(|(_, frame)| frame)
    }

    /// When the next frame comes out.
    pub(crate) fn next_at(&self) -> Time {
        self.frames.front().map_or(Time::NEVER, |(at, _)| *at)
    }
}
