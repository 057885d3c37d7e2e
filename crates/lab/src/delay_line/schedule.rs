//! Computes when each frame leaves a delay line: one after another at the line's rate, then after the delay.

use linkmend_protocol::wire::wire_bytes;

/// It computes from times of arrival, not from the time of the computation. If the process did not run for a while,
/// frames that were due meanwhile leave late, but the line loses neither capacity nor delay.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    rate_bps: Option<u64>,
    delay_ns: u64,
    queue_bytes: u64,
    /// When the last bit of the last frame leaves the queue.
    free_at_ns: u64,
    last_arrival_ns: u64,
}

impl Schedule {
    pub(crate) fn new(rate_bps: Option<u64>, delay_ns: u64, queue_bytes: u64) -> Self {
        Self { rate_bps, delay_ns, queue_bytes, free_at_ns: 0, last_arrival_ns: 0 }
    }

    /// When a frame of `bytes` that arrived at `arrival_ns` leaves the line; `None` if the queue has no room for it. A
    /// frame that seems to have arrived before its predecessor is treated as if both had arrived together.
    pub(crate) fn admit(&mut self, arrival_ns: u64, bytes: usize) -> Option<u64> {
        let arrival_ns = arrival_ns.max(self.last_arrival_ns);
        self.last_arrival_ns = arrival_ns;
        let Some(rate_bps) = self.rate_bps else { return Some(arrival_ns + self.delay_ns) };
        let waits_ns = self.free_at_ns.saturating_sub(arrival_ns);
        let waiting_bytes = u128::from(waits_ns) * u128::from(rate_bps) / 8_000_000_000;
        if waiting_bytes + bytes as u128 > u128::from(self.queue_bytes) {
            return None;
        }
        let bits = wire_bytes(bytes as u64) * 8;
        let duration_ns = u128::from(bits) * 1_000_000_000 / u128::from(rate_bps.max(1));
        self.free_at_ns = arrival_ns + waits_ns + u64::try_from(duration_ns).unwrap_or(u64::MAX / 4);
        Some(self.free_at_ns + self.delay_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_leave_in_order_at_the_rate_and_after_the_delay() {
        // 1250 bytes with overhead take 10 us at 1 Gb/s.
        let mut schedule = Schedule::new(Some(1_000_000_000), 5_000_000, 1 << 20);
        let dues: Vec<_> = [0, 0, 2_000, 50_000].map(|at| schedule.admit(at, 1226).expect("room")).into();
        assert_eq!(dues, [5_010_000, 5_020_000, 5_030_000, 5_060_000]);
    }

    #[test]
    fn nothing_is_lost_below_the_bound_and_everything_above_it() {
        let mut schedule = Schedule::new(Some(1_000_000_000), 0, 100_000);
        let burst = (0..200).filter(|_| schedule.admit(0, 1226).is_some()).count();
        // Each frame waits behind 1250 bytes for each predecessor.
        assert_eq!(burst, 1 + (100_000 - 1226) / 1250);
        assert!(schedule.admit(10_000, 1226).is_some(), "one frame has left by now");
        assert!(schedule.admit(10_000, 1226).is_none());
        let mut paced = Schedule::new(Some(1_000_000_000), 0, 100_000);
        assert!((0..100_000u64).all(|frame| paced.admit(frame * 10_000, 1226).is_some()));
    }

    #[test]
    fn a_clock_that_steps_back_reorders_nothing() {
        let mut schedule = Schedule::new(None, 1_000, 0);
        let first = schedule.admit(500_000, 100);
        assert_eq!((first, schedule.admit(10, 100)), (Some(501_000), Some(501_000)));
    }

    #[test]
    fn whoever_reads_late_loses_no_capacity() {
        // After ten milliseconds of a full link, all read at the end, the next frame leaves as if it had been read on
        // time.
        let mut late = Schedule::new(Some(1_000_000_000), 0, 1 << 20);
        let last = (0..1_000u64).filter_map(|frame| late.admit(frame * 10_000, 1226)).last();
        assert_eq!(last, Some(10_000_000));
    }
}
