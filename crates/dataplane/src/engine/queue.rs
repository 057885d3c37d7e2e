//! The normal queues: frames from the inner port that wait for the link, in a queue for each class. Bounded, with ECN
//! marking and drop-tail.
//!
//! What one class waits for (a pause, a full Tx buffer) is not the other's business: a class that is held stands aside,
//! fills its own queue and drops its own frames. Between classes that may both go, the frame that came first goes first.

use crate::report::BufferReport;
use linkmend_protocol::{FrameHandle, Mode, PerMode};
use std::collections::VecDeque;

/// Most frames in both queues, whatever their size: it bounds the share of the frame pool.
pub(super) const QUEUE_FRAMES_MAX: usize = 2048;
/// Most frames of one class: the other always finds a quarter of the places.
const CLASS_FRAMES_MAX: usize = QUEUE_FRAMES_MAX / 4 * 3;

/// A frame in the queue of its class.
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

/// The frames of one class, each with its place in the order of arrival.
#[derive(Debug, Default)]
struct ClassQueue {
    frames: VecDeque<(u64, Waiting)>,
    bytes: u64,
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct NormalQueue {
    classes: PerMode<ClassQueue>,
    /// Frames that ever arrived.
    arrivals: u64,
    bytes_min: u64,
    bytes_max: u64,
    limit_bytes: u64,
    ecn_threshold_bytes: u64,
}

impl NormalQueue {
    /// Both bounds are those of one class.
    pub(super) fn new(limit_bytes: u64, ecn_threshold_bytes: Option<u64>) -> Self {
        let class = || ClassQueue { frames: VecDeque::with_capacity(CLASS_FRAMES_MAX), bytes: 0 };
        NormalQueue {
            classes: PerMode([class(), class()]),
            arrivals: 0,
            bytes_min: 0,
            bytes_max: 0,
            limit_bytes,
            ecn_threshold_bytes: ecn_threshold_bytes.unwrap_or(u64::MAX),
        }
    }

    /// The verdict for a frame of `bytes` that arrives now for class `mode`.
    pub(super) fn arrival(&self, mode: Mode, bytes: u32) -> Arrival {
        let class = &self.classes[mode];
        let after = class.bytes + u64::from(bytes);
        let frames: usize = self.classes.0.iter().map(|class| class.frames.len()).sum();
        if class.frames.len() >= CLASS_FRAMES_MAX
            || frames >= QUEUE_FRAMES_MAX
            || (after > self.limit_bytes && !class.frames.is_empty())
        {
            Arrival::Drop
        } else if class.bytes >= self.ecn_threshold_bytes {
            Arrival::Mark
        } else {
            Arrival::Queue
        }
    }

    pub(super) fn push(&mut self, waiting: Waiting) {
        let class = &mut self.classes[waiting.mode];
        class.bytes += u64::from(waiting.bytes);
        class.frames.push_back((self.arrivals, waiting));
        self.arrivals += 1;
        self.bytes_max = self.bytes_max.max(self.bytes());
    }

    /// The frame that came first, of the classes that are not `held`.
    pub(super) fn next(&self, held: PerMode<bool>) -> Option<Waiting> {
        let first = |mode: Mode| if held[mode] { None } else { self.classes[mode].frames.front() };
        Mode::ALL
            .into_iter()
            .filter_map(first)
            .min_by_key(|(arrival, _)| *arrival)
            .map(|(_, waiting)| *waiting)
    }

    /// Takes the first frame of a class away.
    pub(super) fn pop(&mut self, mode: Mode) {
        let class = &mut self.classes[mode];
        if let Some((_, waiting)) = class.frames.pop_front() {
            class.bytes -= u64::from(waiting.bytes);
            self.bytes_min = self.bytes_min.min(self.bytes());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.classes.0.iter().all(|class| class.frames.is_empty())
    }

    fn bytes(&self) -> u64 {
        self.classes.0.iter().map(|class| class.bytes).sum()
    }

    /// Both classes together.
    pub(super) fn report(&self) -> BufferReport {
        BufferReport { now: self.bytes(), min: self.bytes_min, max: self.bytes_max }
    }

    pub(super) fn reset_extremes(&mut self) {
        (self.bytes_min, self.bytes_max) = (self.bytes(), self.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE_HELD: PerMode<bool> = PerMode([false; 2]);
    const ORDERED_HELD: PerMode<bool> = PerMode([true, false]);

    fn waiting(bytes: u32) -> Waiting {
        Waiting { frame: FrameHandle(0), bytes, mode: Mode::Ordered }
    }

    fn other(frame: u32) -> Waiting {
        Waiting { frame: FrameHandle(frame), bytes: 100, mode: Mode::NonBlocking }
    }

    #[test]
    fn marks_above_the_threshold_and_drops_at_the_limit() {
        let mut queue = NormalQueue::new(4000, Some(2000));
        assert_eq!(queue.arrival(Mode::Ordered, 1500), Arrival::Queue);
        queue.push(waiting(1500));
        queue.push(waiting(1000));
        assert_eq!(queue.arrival(Mode::Ordered, 1500), Arrival::Mark);
        assert_eq!(queue.arrival(Mode::Ordered, 1501), Arrival::Drop);
        queue.pop(Mode::Ordered);
        assert_eq!(queue.report(), BufferReport { now: 1000, min: 0, max: 2500 });
    }

    #[test]
    fn a_single_frame_above_the_limit_still_passes() {
        assert_eq!(NormalQueue::new(1000, None).arrival(Mode::Ordered, 9000), Arrival::Queue);
    }

    /// One queue for both classes once let a paused ordered frame hold all that came behind it.
    #[test]
    fn a_class_that_is_held_neither_holds_the_other_nor_takes_its_places() {
        let mut queue = NormalQueue::new(1 << 20, Some(100_000));
        while queue.arrival(Mode::Ordered, 600) != Arrival::Drop {
            queue.push(waiting(600));
        }
        assert_eq!(queue.arrival(Mode::NonBlocking, 600), Arrival::Queue, "neither dropped nor marked");
        queue.push(other(1));
        queue.push(other(2));
        for frame in [1, 2] {
            assert_eq!(queue.next(ORDERED_HELD).map(|waiting| waiting.frame), Some(FrameHandle(frame)));
            queue.pop(Mode::NonBlocking);
        }
        assert!(queue.next(ORDERED_HELD).is_none() && !queue.is_empty());
    }

    #[test]
    fn classes_that_may_both_go_do_so_in_the_order_of_arrival() {
        let mut queue = NormalQueue::new(1 << 20, None);
        let modes = [Mode::NonBlocking, Mode::Ordered, Mode::Ordered, Mode::NonBlocking, Mode::Ordered];
        for (frame, mode) in modes.into_iter().enumerate() {
            queue.push(Waiting { frame: FrameHandle(frame as u32), bytes: 64, mode });
        }
        for frame in 0..5 {
            let next = queue.next(NONE_HELD).expect("one is left");
            assert_eq!(next.frame, FrameHandle(frame));
            queue.pop(next.mode);
        }
        assert!(queue.is_empty());
    }

    #[test]
    fn both_classes_together_stay_within_their_share_of_the_pool() {
        let mut queue = NormalQueue::new(u64::MAX, None);
        for mode in Mode::ALL {
            while queue.arrival(mode, 64) != Arrival::Drop {
                queue.push(Waiting { frame: FrameHandle(0), bytes: 64, mode });
            }
        }
        assert_eq!(queue.report().now, 64 * QUEUE_FRAMES_MAX as u64);
    }
}
