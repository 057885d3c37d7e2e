//! How long datagrams wait in queues of the path.

/// A shortest delay counts for one or two epochs of this length.
const EPOCH_NS: u64 = 10_000_000_000;

/// The delays of a path: the queue in the direction of the datagrams, and the round trip.
///
/// The clocks of the ends differ by an unknown amount, so the delay in one direction is known only by comparison with the
/// shortest. Clocks drift by less than 1 ms in the time for which that counts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathDelay {
    /// The shortest delays of the epoch before and of this one, in nanoseconds of the difference of two clocks.
    shortest_ns: [Option<i64>; 2],
    epoch_ends_ns: u64,
    queue_ns: u64,
    round_trip_ns: Option<u64>,
    base_ns: Option<u64>,
}

impl PathDelay {
    /// A datagram sent at `sent_ns` of this end's clock arrived at `arrived_ns` of the other's; the report of it came after
    /// a round trip of `round_trip_ns`, without the time that the other end took.
    pub(super) fn learn(&mut self, now_ns: u64, sent_ns: u64, arrived_ns: u64, round_trip_ns: u64) {
        if now_ns >= self.epoch_ends_ns {
            let is_next = now_ns - self.epoch_ends_ns < EPOCH_NS;
            self.shortest_ns = [self.shortest_ns[1].filter(|_| is_next), None];
            self.epoch_ends_ns = now_ns.saturating_add(EPOCH_NS);
        }
        let delay = arrived_ns.wrapping_sub(sent_ns) as i64;
        self.shortest_ns[1] = Some(self.shortest_ns[1].map_or(delay, |shortest| shortest.min(delay)));
        let shortest = self.shortest_ns.into_iter().flatten().min().unwrap_or(delay);
        self.queue_ns = delay.saturating_sub(shortest).max(0) as u64;
        let smooth = |before: Option<u64>, new| Some(before.map_or(new, |before| (before * 7 + new) / 8));
        self.round_trip_ns = smooth(self.round_trip_ns, round_trip_ns);
        self.base_ns = smooth(self.base_ns, round_trip_ns.saturating_sub(self.queue_ns));
    }

    /// How long the latest datagram waited longer than the fastest.
    pub(super) fn queue_ns(&self) -> u64 {
        self.queue_ns
    }

    /// The smoothed round trip, once it was measured.
    pub(super) fn round_trip_ns(&self) -> Option<u64> {
        self.round_trip_ns
    }

    /// The smoothed round trip without the queue that datagrams meet.
    pub(super) fn base_ns(&self) -> Option<u64> {
        self.base_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_queue_is_what_exceeds_the_shortest_delay_whatever_the_clocks_say() {
        for offset in [0, 5 * MS, u64::MAX - 5 * MS] {
            let mut delay = PathDelay::default();
            for (now, took) in [(0, 30), (100, 20), (200, 45)] {
                let arrived = ((now + took) * MS).wrapping_add(offset);
                delay.learn(now * MS, now * MS, arrived, 2 * took * MS);
            }
            assert_eq!(delay.queue_ns(), 25 * MS);
        }
    }

    #[test]
    fn the_shortest_delay_is_forgotten_after_two_epochs() {
        let mut delay = PathDelay::default();
        let mut queue = |seconds: u64, took: u64| {
            let now = seconds * 1_000 * MS;
            delay.learn(now, now, now + took * MS, took * MS);
            delay.queue_ns() / MS
        };
        assert_eq!([queue(0, 10), queue(9, 30), queue(11, 30), queue(21, 30)], [0, 20, 20, 0]);
    }
}
