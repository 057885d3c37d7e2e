//! Frames that arrive from the inner port: classified, marked if the queue is long, queued.

use super::queue::{Arrival, Waiting};
use super::{BATCH, Engine, ecn};
use crate::capture::{CapturePort, Direction};
use linkmend_protocol::Instant;
use linkmend_protocol::trace::Step;

impl Engine {
    pub(super) fn take_from_inner(&mut self, now: u64) -> usize {
        let mut batch = std::mem::take(&mut self.batch);
        batch.clear();
        self.ports.inner.receive(&mut self.ports.pool, &mut batch, BATCH);
        for &frame in &batch {
            self.taps.show(CapturePort::Inner, Direction::Inbound, frame, &self.ports.pool);
            let bytes = self.ports.pool.frame_length(frame) as u32;
            let mode = self.protection.classifier.mode(self.ports.pool.head(frame));
            match self.queue.arrival(mode, bytes) {
                Arrival::Drop => {
                    self.counters.queue_drops += 1;
                    self.ports.pool.release(frame);
                    continue;
                }
                Arrival::Mark => {
                    let marked = ecn::mark(self.ports.pool.head_mut(frame));
                    self.counters.ecn_marked_frames += u64::from(marked);
                }
                Arrival::Queue => {}
            }
            self.end.note(Instant(now), || Step::Offered { mode, bytes });
            self.queue.push(Waiting { frame, bytes, mode });
        }
        let count = batch.len();
        self.batch = batch;
        count
    }
}
