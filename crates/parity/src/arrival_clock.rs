//! How long ago frames were sent, by their stamps.

use crate::feedback::{STAMP_NS, stamp};

/// The least delay is that of the last 10 to 20 s, so that it follows clocks that drift apart and paths that change.
const PERIOD_NS: u64 = 10_000_000_000;

/// Compares stamps with a clock that is not the sender's: the least difference belongs to frames without additional delay.
#[derive(Debug, Default)]
pub(crate) struct ArrivalClock {
    least: Option<u16>,
    least_now: Option<u16>,
    period: u64,
}

impl ArrivalClock {
    /// A frame with this stamp has arrived, which was not sent before.
    pub fn observe(&mut self, now_ns: u64, sent: u16) {
        let difference = stamp(now_ns).wrapping_sub(sent);
        if now_ns / PERIOD_NS != self.period {
            self.period = now_ns / PERIOD_NS;
            self.least = self.least_now.take();
        }
        for least in [&mut self.least, &mut self.least_now] {
            let before = least.get_or_insert(difference);
            if is_before(difference, *before) {
                *before = difference;
            }
        }
    }

    /// How much longer ago than the least delay a frame with this stamp was sent, ns.
    pub fn age_ns(&self, now_ns: u64, sent: u16) -> u64 {
        let difference = stamp(now_ns).wrapping_sub(sent);
        let age = self.least.map_or(0, |least| difference.wrapping_sub(least).cast_signed());
        u64::from(age.max(0).unsigned_abs()) * STAMP_NS
    }
}

/// Whether one difference is less than another, modulo 2^16.
fn is_before(difference: u16, other: u16) -> bool {
    difference.wrapping_sub(other).cast_signed() < 0
}
