//! How long hosts' frames may wait for a path whose rate the congestion control decides.

use super::Engine;
use super::codel::Codel;
use super::ecn;
use super::from_inner::Queued;
use linkmend_protocol::PerMode;
use linkmend_protocol::schedule::{ClassQueues, Waiting};

/// For so long after the congestion control has found out what the path carries, waits are the rest of what came before.
const SETTLING_NS: u64 = 1_000_000_000;

/// The waits in the queue of each class.
#[derive(Debug, Default)]
pub(super) struct Delays {
    classes: PerMode<Codel>,
    settled_at_ns: u64,
}

impl Delays {
    /// A frame leaves its queue. Returns whether it is to signal congestion. `round_trip_ns` is that of a path of which it is
    /// known what it carries.
    fn signals(
        &mut self,
        now_ns: u64,
        waiting: &Waiting<Queued>,
        queues: &ClassQueues<Queued>,
        round_trip_ns: Option<u64>,
    ) -> bool {
        let Some(round_trip_ns) = round_trip_ns else {
            self.settled_at_ns = now_ns.saturating_add(SETTLING_NS);
            self.forgive();
            return false;
        };
        let is_last = queues.frames(waiting.mode) == 0;
        now_ns >= self.settled_at_ns
            && self.classes[waiting.mode].signals(now_ns, waiting.frame.since_ns, is_last, round_trip_ns)
    }

    /// Frames wait for the protocol, and not for the path.
    pub(super) fn forgive(&mut self) {
        self.classes.0.iter_mut().for_each(Codel::forgive);
    }
}

impl Engine {
    /// Whether a frame that leaves its queue goes on: marked, if it is to signal congestion and its transport knows marks.
    /// Otherwise it is dropped.
    pub(super) fn survives_wait(&mut self, now: u64, waiting: &Waiting<Queued>) -> bool {
        if !self.settings.is_controlled {
            return true;
        }
        let round_trip_ns = self.sides[self.active].port.settled_round_trip_ns();
        if !self.delays.signals(now, waiting, &self.queues, round_trip_ns) {
            return true;
        }
        let frame = waiting.frame.frame;
        if self.settings.ecn_threshold_bytes.is_some() && ecn::mark(self.pool.head_mut(frame)) {
            self.counters.ecn_marked_frames += 1;
            return true;
        }
        self.counters.queue_drops += 1;
        self.pool.release(frame);
        false
    }
}
