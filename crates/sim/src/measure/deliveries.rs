//! Frames that a port has received and delivered.

use crate::link::Frame;
use crate::time::Time;

/// Frames that a port has received and passed on to its node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deliveries {
    pub frames: u64,
    pub bytes: u64,
    /// Frames that arrived after one that was sent later.
    pub reordered: u64,
    /// The highest number delivered, plus one.
    pub next_id: u64,
    /// Time of the last delivery.
    pub last_at: Time,
}

impl Deliveries {
    #[inline(always)]
    pub(super) fn record(&mut self, at: Time, frame: &Frame) {
        self.frames += 1;
        self.bytes += u64::from(frame.bytes);
        self.reordered += u64::from(frame.id < self.next_id);
        self.next_id = self.next_id.max(frame.id + 1);
        self.last_at = at;
    }

    /// Repeats what was delivered between two moments, while the numbers of the frames advance by `arriving`.
    pub(super) fn repeat(
        &mut self,
        (before, after): (&Deliveries, &Deliveries),
        times: u64,
        elapsed: Time,
        arriving: u64,
    ) {
        self.frames += (after.frames - before.frames) * times;
        self.bytes += (after.bytes - before.bytes) * times;
        self.next_id += arriving;
        self.last_at += elapsed;
    }
}
