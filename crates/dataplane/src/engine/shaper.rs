//! Paces frames to the rate of a link that is slower than its port.

use linkmend_protocol::wire;

/// How far the shaper may lag behind before it forgets; this absorbs scheduling delays of the loop.
const CREDIT_NS: u64 = 200_000;

/// How many bytes urgent frames, which do not wait for the shaper, may be ahead of the rate. A few copies and control frames
/// stay below it. What is retransmitted after a change to a slower link exceeds it, and would overflow a queue downstream.
const URGENT_BYTES: u64 = 32 << 10;

/// A token bucket in units of time: a frame may leave once the last bit of its predecessor has left.
#[derive(Debug)]
pub(super) struct Shaper {
    rate_bps: Option<u64>,
    /// What the link adds to each frame.
    overhead_bytes: u64,
    free_at_ns: u64,
}

impl Shaper {
    pub(super) fn new(rate_bps: Option<u64>, overhead_bytes: u64) -> Self {
        Shaper { rate_bps, overhead_bytes, free_at_ns: 0 }
    }

    /// The rate, if it is limited.
    pub(super) fn rate_bps(&self) -> Option<u64> {
        self.rate_bps
    }

    /// Whether a frame may leave now.
    pub(super) fn is_open(&self, now_ns: u64) -> bool {
        self.rate_bps.is_none() || now_ns >= self.free_at_ns
    }

    /// Whether urgent frames are so far ahead of the rate that they must wait, too.
    pub(super) fn is_overdrawn(&self, now_ns: u64) -> bool {
        self.rate_bps.is_some_and(|rate_bps| {
            let ahead_ns = u128::from(self.free_at_ns.saturating_sub(now_ns));
            ahead_ns * u128::from(rate_bps) > u128::from(URGENT_BYTES) * 8 * 1_000_000_000
        })
    }

    /// Accounts for a frame of `bytes` that leaves now.
    pub(super) fn take(&mut self, now_ns: u64, bytes: u64) {
        let Some(rate_bps) = self.rate_bps else { return };
        let bits = wire::wire_bytes(bytes + self.overhead_bytes) * 8;
        let duration_ns = (u128::from(bits) * 1_000_000_000 / u128::from(rate_bps.max(1))) as u64;
        self.free_at_ns = self.free_at_ns.max(now_ns.saturating_sub(CREDIT_NS)).saturating_add(duration_ns);
    }

    /// When the shaper opens, if it is closed.
    pub(super) fn opens_at(&self, now_ns: u64) -> Option<u64> {
        (!self.is_open(now_ns)).then_some(self.free_at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_at_its_rate() {
        let mut shaper = Shaper::new(Some(1_000_000_000), 0);
        let (mut sent, mut now) = (0u64, 1_000_000_000u64);
        let end = now + 10_000_000;
        while now < end {
            if shaper.is_open(now) {
                shaper.take(now, 1476);
                sent += 1;
            }
            now += 1_000;
        }
        // 1500 bytes with overhead take 12 us at 1 Gb/s: 833 in 10 ms, and the credit at the start.
        assert!((833..=833 + 18).contains(&sent), "{sent}");
    }

    #[test]
    fn urgent_frames_may_be_a_little_ahead() {
        let mut shaper = Shaper::new(Some(100_000_000), 0);
        let now = 1_000_000_000;
        let mut sent = 0;
        while !shaper.is_overdrawn(now) {
            shaper.take(now, 1476);
            sent += 1;
        }
        // 32 KiB, and 200 us of credit.
        assert!((22..=25).contains(&sent), "{sent}");
        assert!(!shaper.is_open(now) && !shaper.is_overdrawn(now + 1_000_000));
    }

    #[test]
    fn without_a_rate_it_is_always_open() {
        let mut shaper = Shaper::new(None, 0);
        shaper.take(0, 1500);
        assert!(shaper.is_open(0) && shaper.opens_at(0).is_none() && !shaper.is_overdrawn(0));
    }
}
