//! What is observed in a round trip.

/// What has been observed since a round trip began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// It ends when the fate of all datagrams below this number is known.
    pub(super) end: u64,
    /// How many datagrams are in flight when it begins, whose fate it decides.
    pub(super) size: u64,
    pub(super) shortest_queue_ns: u64,
    pub(super) longest_queue_ns: u64,
    /// The sum of the queues that were measured, and how many were.
    queues_ns: u64,
    queues: u64,
    pub(super) decided: u64,
    pub(super) lost: u64,
    pub(super) marked: u64,
    pub(super) in_flight_bytes_max: u64,
}

impl Round {
    pub(super) fn new(begin: u64, end: u64) -> Round {
        Round {
            end,
            size: end.saturating_sub(begin),
            shortest_queue_ns: u64::MAX,
            longest_queue_ns: 0,
            queues_ns: 0,
            queues: 0,
            decided: 0,
            lost: 0,
            marked: 0,
            in_flight_bytes_max: 0,
        }
    }

    pub(super) fn add_queue(&mut self, queue_ns: u64) {
        self.shortest_queue_ns = self.shortest_queue_ns.min(queue_ns);
        self.longest_queue_ns = self.longest_queue_ns.max(queue_ns);
        self.queues_ns += queue_ns;
        self.queues += 1;
    }

    /// The longest queue, and the mean of all that were measured.
    pub(super) fn queues_ns(&self) -> [u64; 2] {
        [self.longest_queue_ns, self.queues_ns / self.queues.max(1)]
    }
}
