//! Spreads datagrams over time.

/// What may leave at once after a pause: what the rate carries in this time, and at least one datagram.
pub(super) const BURST_NS: u64 = 1_000_000;

/// A token bucket in units of time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// When the last byte that was taken will have left at the rate.
    free_at_ns: u64,
}

impl Pacer {
    pub(super) fn is_open(&self, now_ns: u64) -> bool {
        now_ns >= self.free_at_ns
    }

    /// When it opens.
    pub(super) fn opens_at(&self) -> u64 {
        self.free_at_ns
    }

    /// Accounts for `bytes` that leave now, at a rate in bytes a second. After a pause, what the rate carries in `burst_ns` may
    /// leave at once.
    pub(super) fn take(&mut self, now_ns: u64, bytes: u64, rate: u64, burst_ns: u64) {
        let time_ns = (u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1))) as u64;
        self.free_at_ns = self.free_at_ns.max(now_ns.saturating_sub(burst_ns)).saturating_add(time_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_rate_and_lets_little_leave_at_once() {
        for (rate, step) in [(1_000_000, 7_000), (100_000_000, 3_000)] {
            let (mut pacer, mut bytes, mut burst) = (Pacer::default(), 0, 0);
            let begin = 1_000_000_000;
            for now in (begin..begin + 1_000_000_000).step_by(step) {
                while pacer.is_open(now) {
                    pacer.take(now, 1_000, rate, BURST_NS);
                    bytes += 1_000;
                    burst += if now == begin { 1_000 } else { 0 };
                }
            }
            let allowed = (rate / 1_000).max(1_000);
            assert!((rate..=rate + allowed + 1_000).contains(&bytes), "{bytes} at {rate}");
            assert!(burst <= allowed + 1_000, "{burst} at {rate}");
        }
    }
}
