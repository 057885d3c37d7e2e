//! The normal queue of a port: finite, with ECN marking.

use super::frame::Frame;
use std::collections::VecDeque;

/// Bounds of a normal queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// The longest queue in bytes; frames that would exceed it are dropped.
    pub bytes: u64,
    /// Frames that find more than this are marked (section 4: 100 KB).
    pub ecn_bytes: u64,
}

impl Default for QueueLimits {
    /// 1 MB, marking at the paper's 100 KB.
    fn default() -> Self {
        QueueLimits { bytes: 1_000_000, ecn_bytes: 100_000 }
    }
}

/// Frames waiting for the link, first in first out.
#[derive(Debug, Default)]
pub(crate) struct NormalQueue {
    frames: VecDeque<Frame>,
    bytes: u64,
    /// Frames that found no room.
    pub(crate) dropped: u64,
    /// Frames that were marked.
    pub(crate) marked: u64,
    /// The largest number of bytes held.
    pub(crate) bytes_max: u64,
}

impl NormalQueue {
    /// Adds a frame; returns whether there was room for it.
    pub(crate) fn push(&mut self, mut frame: Frame, limits: &QueueLimits) -> bool {
        if self.bytes + u64::from(frame.bytes) > limits.bytes {
            self.dropped += 1;
            return false;
        }
        if self.bytes > limits.ecn_bytes {
            frame.marked = true;
            self.marked += 1;
        }
        self.bytes += u64::from(frame.bytes);
        self.bytes_max = self.bytes_max.max(self.bytes);
        self.frames.push_back(frame);
        true
    }

    pub(crate) fn front(&self) -> Option<&Frame> {
        self.frames.front()
    }

    pub(crate) fn pop(&mut self) {
        if let Some(frame) = self.frames.pop_front() {
            self.bytes -= u64::from(frame.bytes);
        }
    }
}
