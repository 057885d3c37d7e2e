//! The replay buffer: frames that were sent but not acknowledged, oldest first.

use crate::frame::{Frame, FrameHandle};
use crate::time::{Instant, Span};
use std::collections::VecDeque;

#[derive(Debug, Clone)]
struct Entry {
    frame: Frame,
    first_sent: Instant,
    last_sent: Instant,
}

/// Frames with the counts from `oldest` to `next`. Its length is bounded by `outstanding_frames_max`.
#[derive(Debug, Clone)]
pub(super) struct ReplayBuffer {
    entries: VecDeque<Entry>,
    /// The count of the next new frame.
    next: u64,
    bytes: u64,
}

impl ReplayBuffer {
    pub fn new(next: u64) -> ReplayBuffer {
        ReplayBuffer { entries: VecDeque::new(), next, bytes: 0 }
    }

    /// Keeps a new frame and returns its count.
    pub fn push(&mut self, now: Instant, frame: Frame) -> u64 {
        self.entries.push_back(Entry { frame, first_sent: now, last_sent: now });
        self.bytes += u64::from(frame.bytes);
        self.next += 1;
        self.next - 1
    }

    /// Removes the oldest frame.
    pub fn pop(&mut self) -> Option<FrameHandle> {
        let entry = self.entries.pop_front()?;
        self.bytes -= u64::from(entry.frame.bytes);
        Some(entry.frame.handle)
    }

    /// The frame with this count, which is being retransmitted.
    pub fn send_again(&mut self, now: Instant, count: u64) -> Option<Frame> {
        let index = usize::try_from(count.checked_sub(self.oldest())?).ok()?;
        let entry = self.entries.get_mut(index)?;
        entry.last_sent = now;
        Some(entry.frame)
    }

    pub fn frames(&self) -> u64 {
        self.entries.len() as u64
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The count of the next new frame.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The count of the oldest frame, or that of the next new frame if the buffer is empty.
    pub fn oldest(&self) -> u64 {
        self.next - self.frames()
    }

    /// How long ago each frame was sent, for the first time and the last.
    pub fn ages(&self, now: Instant, state: &mut Vec<u64>) {
        let ages = |entry: &Entry| [now.since(entry.first_sent).0, now.since(entry.last_sent).0];
        state.extend(self.entries.iter().flat_map(ages));
    }

    /// Advances by `frames` frames, which took this long.
    pub fn fast_forward(&mut self, elapsed: Span, frames: u64) {
        self.next += frames;
        for entry in &mut self.entries {
            entry.first_sent = entry.first_sent + elapsed;
            entry.last_sent = entry.last_sent + elapsed;
        }
    }

    pub fn front_first_sent(&self) -> Option<Instant> {
        self.entries.front().map(|entry| entry.first_sent)
    }

    pub fn front_last_sent(&self) -> Option<Instant> {
        self.entries.front().map(|entry| entry.last_sent)
    }
}
