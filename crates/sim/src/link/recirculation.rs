//! A switch's recirculation port, where the Tofino keeps frames, because it cannot hold them in a queue (sections 3.3
//! and A.2).
//!
//! A frame leaves through the port's queue and returns after the loop latency. Only then can the pipeline inspect it,
//! and release it or send it through the loop again. Several links of one switch share the port.

use super::id::PortId;
use super::scheme::Buffer;
use crate::time::{Rate, Time};
use std::collections::VecDeque;

/// A frame in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Circling {
    /// The port it belongs to.
    pub(crate) port: PortId,
    pub(crate) buffer: Buffer,
    /// Its index in that buffer.
    pub(crate) slot: u32,
    /// Length on the wire, with header and gap.
    pub(crate) wire_bytes: u32,
}

/// The port and the loop behind it.
#[derive(Debug)]
pub(crate) struct RecirculationPort {
    /// Its event source.
    pub(crate) source: usize,
    rate: Rate,
    latency: Time,
    free_at: Time,
    /// When each frame returns, in that order.
    circling: VecDeque<(Time, Circling)>,
    /// Frames that have returned.
    pub(crate) passes: u64,
}

impl RecirculationPort {
    pub(crate) fn new(source: usize, rate: Rate, latency: Time) -> RecirculationPort {
        RecirculationPort {
            source,
            rate,
            latency,
            free_at: Time::ZERO,
            circling: VecDeque::with_capacity(1024),
            passes: 0,
        }
    }

    /// Sends a frame through the loop.
    #[inline]
    pub(crate) fn insert(&mut self, now: Time, frame: Circling) {
        self.free_at = self.free_at.max(now) + self.rate.time_of(u64::from(frame.wire_bytes));
        self.circling.push_back((self.free_at + self.latency, frame));
    }

    /// Takes the frame that returns now.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Circling> {
        self.passes += 1;
        self.circling.pop_front().map(|(_, frame)| frame)
    }

    /// When the next frame returns.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.circling.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// The frames in the loop.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Circling> {
        self.circling.iter().map(|(_, frame)| frame)
    }

    /// The state of the loop relative to the clock, for fast-forward.
    pub(crate) fn snapshot(&self, now: Time, mut slot: impl FnMut(&Circling) -> u64, out: &mut Vec<u64>) {
        out.extend([self.free_at.0.saturating_sub(now.0), self.circling.len() as u64]);
        for (at, frame) in &self.circling {
            out.extend([at.0 - now.0, frame.port.index() as u64, frame.buffer as u64, slot(frame)]);
        }
    }

    pub(crate) fn fast_forward(&mut self, elapsed: Time, passes: u64) {
        self.passes += passes;
        self.free_at += elapsed;
        self.circling.iter_mut().for_each(|(at, _)| *at += elapsed);
    }
}
