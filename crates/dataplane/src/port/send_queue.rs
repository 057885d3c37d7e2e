//! Frames that wait until a packet socket takes them.

use super::{PortCounters, PortError, QueueFull};
use crate::frame_pool::{FrameHandle, FramePool};
use std::collections::VecDeque;
use std::collections::vec_deque::Iter;
use std::io;
use std::ops::RangeFrom;

/// The largest number of frames that wait.
const FRAMES_MAX: usize = 2048;

/// The queue. It holds a reference to each frame.
pub(super) struct SendQueue(VecDeque<FrameHandle>);

/// What happened to the first frames of the queue.
pub(super) enum Outcome {
    /// The socket took so many; none if it is full.
    Sent(usize),
    /// It did not take any for this reason; so many are what it was asked to take as one.
    Refused(io::Error, usize),
}

impl SendQueue {
    pub(super) fn new() -> SendQueue {
        SendQueue(VecDeque::with_capacity(FRAMES_MAX))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn room(&self) -> usize {
        FRAMES_MAX - self.0.len()
    }

    /// The frames from this place on.
    pub(super) fn range(&self, places: RangeFrom<usize>) -> Iter<'_, FrameHandle> {
        self.0.range(places)
    }

    /// Appends a frame.
    pub(super) fn push(
        &mut self,
        pool: &mut FramePool,
        frame: FrameHandle,
        counters: &mut PortCounters,
    ) -> Result<(), QueueFull> {
        if self.room() == 0 {
            counters.tx_queue_full += 1;
            return Err(QueueFull);
        }
        pool.retain(frame);
        self.0.push_back(frame);
        counters.tx_frames += 1;
        counters.tx_bytes += pool.frame_length(frame) as u64;
        Ok(())
    }

    /// Sends as long as the socket takes frames. `send` offers it the first ones.
    ///
    /// # Errors
    /// Only when the interface is gone or down.
    pub(super) fn flush(
        &mut self,
        pool: &mut FramePool,
        counters: &mut PortCounters,
        interface: &str,
        mut send: impl FnMut(&SendQueue, &FramePool) -> Outcome,
    ) -> Result<(), PortError> {
        while !self.0.is_empty() {
            match send(self, pool) {
                Outcome::Sent(0) => break,
                Outcome::Sent(frames) => self.drop_first(pool, frames),
                Outcome::Refused(error, frames) => match error.raw_os_error() {
                    Some(libc::EAGAIN | libc::EINTR) => break,
                    Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                        return Err(PortError::system(interface, "sending")(error));
                    }
                    // The device's queue is full, or it refuses these very frames (too long). A port that kept them would
                    // never send others.
                    _ => {
                        counters.tx_dropped += frames as u64;
                        self.drop_first(pool, frames);
                    }
                },
            }
        }
        Ok(())
    }

    fn drop_first(&mut self, pool: &mut FramePool, frames: usize) {
        for frame in self.0.drain(..frames) {
            pool.release(frame);
        }
    }
}
