//! Frames from the inner port: they are classified, marked if the queue is long, and queued.

use super::{BATCH, Engine, ecn};
use crate::settings::{FrameClass, LinkSettings};
use linkmend_control::Side;
use linkmend_control::capture::Direction;
use linkmend_protocol::schedule::{Arrival, ClassQueues, QueueLimits, Waiting};
use linkmend_protocol::trace::Step;
use linkmend_protocol::{FrameHandle, Instant};

/// The largest number of frames in the queues of both classes, whatever their size. It limits the queues' share of the
/// frame pool.
const QUEUE_FRAMES_MAX: usize = 2048;
/// The largest number of frames of one class, so that the other always has a quarter of the places.
const CLASS_FRAMES_MAX: usize = QUEUE_FRAMES_MAX / 4 * 3;

/// A frame in a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queued {
    pub(super) frame: FrameHandle,
    /// When it came.
    pub(super) since_ns: u64,
    /// The place of its deadline, if it has one.
    pub(super) deadline: Option<u8>,
}

/// The queues in which frames wait for the link. All their memory is allocated here.
pub(super) fn queues(settings: &LinkSettings) -> ClassQueues<Queued> {
    let mut queues = ClassQueues::new(QueueLimits {
        class_bytes: settings.queue_bytes,
        class_frames: CLASS_FRAMES_MAX,
        frames: QUEUE_FRAMES_MAX,
        ecn_bytes: settings.ecn_threshold_bytes.unwrap_or(u64::MAX),
    });
    queues.reserve(CLASS_FRAMES_MAX);
    queues
}

impl Engine {
    pub(super) fn take_from_inner(&mut self, now: u64) -> usize {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        let whole = self.sides[self.active].port.whole_frame_bytes();
        self.inner.limit_frames(whole.map_or(usize::MAX, |bytes| self.lengths.without_header(bytes)));
        self.inner.receive(&mut self.pool, &mut batch, BATCH);
        for &frame in &batch {
            self.taps.show(Side::Inner, Direction::Inbound, frame, &self.pool);
            let bytes = self.pool.frame_length(frame) as u32;
            let FrameClass { mode, deadline } = self.protection.classifier.class(self.pool.head(frame));
            match self.queues.arrival(mode, bytes) {
                Arrival::Drop => {
                    self.counters.queue_drops += 1;
                    self.pool.release(frame);
                    continue;
                }
                Arrival::Mark => {
                    let marked = ecn::mark(self.pool.head_mut(frame));
                    self.counters.ecn_marked_frames += u64::from(marked);
                }
                Arrival::Queue => {}
            }
            self.end.note(Instant(now), || Step::Offered { mode, bytes });
            self.queues.push(Waiting { frame: Queued { frame, since_ns: now, deadline }, bytes, mode });
        }
        let count = batch.len();
        self.batch = batch;
        count
    }
}
