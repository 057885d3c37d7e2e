//! The normal queue: frames from the inner port that wait for the link. Bounded, with ECN marking and drop-tail.

use crate::report::BufferReport;
use linkmend_protocol::{FrameHandle, Mode};
use std::collections::VecDeque;

/// Most frames in the queue, whatever their size: it bounds the share of the frame pool.
pub(super) const QUEUE_FRAMES_MAX: usize = 2048;

/// A frame in the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) frame: FrameHandle,
    pub(super) bytes: u32,
    pub(super) mode: Mode,
}

/// What to do with a frame that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    Queue,
    /// Queue it, and mark it if it is ECN-capable.
    Mark,
    Drop,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct NormalQueue {
    frames: VecDeque<Waiting>,
    bytes: u64,
    bytes_min: u64,
    bytes_max: u64,
    limit_bytes: u64,
    ecn_threshold_bytes: u64,
}

impl NormalQueue {
    pub(super) fn new(limit_bytes: u64, ecn_threshold_bytes: Option<u64>) -> Self {
        NormalQueue {
            frames: VecDeque::with_capacity(QUEUE_FRAMES_MAX),
            bytes: 0,
            bytes_min: 0,
            bytes_max: 0,
            limit_bytes,
            ecn_threshold_bytes: ecn_threshold_bytes.unwrap_or(u64::MAX),
        }
    }

    /// The verdict for a frame of `bytes` that arrives now.
    pub(super) fn arrival(&self, bytes: u32) -> Arrival {
        let after = self.bytes + u64::from(bytes);
        if self.frames.len() >= QUEUE_FRAMES_MAX || (after > self.limit_bytes && !self.frames.is_empty()) {
            Arrival::Drop
        } else if self.bytes >= self.ecn_threshold_bytes {
            Arrival::Mark
        } else {
            Arrival::Queue
        }
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        self.bytes += u64::from(waiting.bytes);
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.frames.push_back(waiting);
    }

    pub(super) fn front(&self) -> Option<&Waiting> {
        self.frames.front()
    }

    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.frames.pop_front()?;
        self.bytes -= u64::from(waiting.bytes);
        self.bytes_min = self.bytes_min.min(self.bytes);
        Some(waiting)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(super) fn report(&self) -> BufferReport {
        BufferReport { now: self.bytes, min: self.bytes_min, max: self.bytes_max }
    }

    pub(super) fn reset_extremes(&mut self) {
        (self.bytes_min, self.bytes_max) = (self.bytes, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(bytes: u32) -> Waiting {
        Waiting { frame: FrameHandle(0), bytes, mode: Mode::Ordered }
    }

    #[test]
    fn marks_above_the_threshold_and_drops_at_the_limit() {
        let mut queue = NormalQueue::new(4000, Some(2000));
        assert_eq!(queue.arrival(1500), Arrival::Queue);
        queue.push(waiting(1500));
        queue.push(waiting(1000));
        assert_eq!(queue.arrival(1500), Arrival::Mark);
        assert_eq!(queue.arrival(1501), Arrival::Drop);
        queue.pop();
        assert_eq!(queue.report(), BufferReport { now: 1000, min: 0, max: 2500 });
    }

    #[test]
    fn a_single_frame_above_the_limit_still_passes() {
        assert_eq!(NormalQueue::new(1000, None).arrival(9000), Arrival::Queue);
    }
}
