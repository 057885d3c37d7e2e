//! How many more segments are acknowledged at times than the bandwidth explains: acknowledgements are aggregated in
//! hosts and on links. Without room for them in the window, the sender would fall silent in between (Linux,
//! net/ipv4/tcp_bbr.c: `bbr_update_ack_aggregation`).

use super::super::{AckSample, Context};
use crate::time::{Instant, Nanos};

/// The most is kept for five to ten rounds, as two slots that take turns (`bbr_extra_acked_win_rtts`).
const ROUNDS: u8 = 5;
/// An epoch ends with this many segments at the latest (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_SEGMENTS_MAX: u64 = 1 << 20;
/// The room is at most what the bandwidth carries in this time (`bbr_extra_acked_max_us`).
const LONGEST: Nanos = Nanos::from_millis(100);

/// What was acknowledged in excess of the expected amount.
#[derive(Debug, Clone, Default)]
pub struct Aggregation {
    /// Since when segments have been acknowledged at the bandwidth at least, and how many.
    epoch: Instant,
    acknowledged: u64,
    most: [u32; 2],
    slot: usize,
    rounds: u8,
}

impl Aggregation {
    /// `bandwidth` is in bytes a second.
    pub fn update(&mut self, context: &Context, sample: &AckSample, bandwidth: u64, is_round_start: bool) {
        if sample.delivered == 0 || bandwidth == 0 {
            return;
        }
        if is_round_start {
            self.rounds += 1;
        }
        if self.rounds == ROUNDS {
            (self.rounds, self.slot) = (0, 1 - self.slot);
            self.most[self.slot] = 0;
        }
        let delivered = u64::from(sample.delivered);
        let mut expected = segments(bandwidth, context.now.since(self.epoch), context.mss);
        if self.acknowledged <= expected || self.acknowledged + delivered >= EPOCH_SEGMENTS_MAX {
            (self.epoch, self.acknowledged, expected) = (context.now, 0, 0);
        }
        self.acknowledged += delivered;
        let extra = self.acknowledged.saturating_sub(expected).min(u64::from(context.window.cwnd)) as u32;
        self.most[self.slot] = self.most[self.slot].max(extra);
    }

    /// Room for it in the window, in segments.
    pub fn extra(&self, mss: u32, bandwidth: u64) -> u32 {
        let limit = u32::try_from(segments(bandwidth, LONGEST, mss)).unwrap_or(u32::MAX);
        self.most[0].max(self.most[1]).min(limit)
    }
}

/// What this bandwidth carries in this time.
fn segments(bandwidth: u64, time: Nanos, mss: u32) -> u64 {
    let segments = u128::from(bandwidth) * u128::from(time.0) / 1_000_000_000 / u128::from(mss.max(1));
    u64::try_from(segments).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::super::Window;
    use super::super::super::tests::context;
    use super::*;

    /// 1,000 segments of 1,000 bytes a second, acknowledged `together` at a time for 15 rounds of 100 ms.
    fn extra_after(together: u32) -> u32 {
        let mut aggregation = Aggregation::default();
        let at = context(Window { cwnd: 200, ssthresh: u32::MAX });
        feed(&mut aggregation, at, together);
        aggregation.extra(1_000, 1_000_000)
    }

    fn feed(aggregation: &mut Aggregation, mut at: Context, together: u32) -> Context {
        for nth in 0..1_500 / together {
            let sample = AckSample { delivered: together, ..AckSample::default() };
            aggregation.update(&at, &sample, 1_000_000, nth % (100 / together) == 0);
            at.now += Nanos::from_millis(u64::from(together));
        }
        at
    }

    #[test]
    fn the_window_has_room_for_acknowledgements_that_come_many_at_once() {
        assert_eq!([1, 4, 50].map(extra_after), [1, 4, 50]);
        assert_eq!(Aggregation { most: [500, 0], ..Aggregation::default() }.extra(1_000, 1_000_000), 100);
    }

    #[test]
    fn the_room_is_forgotten_after_ten_rounds_without_any() {
        let mut aggregation = Aggregation::default();
        let at = feed(&mut aggregation, context(Window { cwnd: 200, ssthresh: u32::MAX }), 50);
        feed(&mut aggregation, at, 1);
        assert_eq!(aggregation.extra(1_000, 1_000_000), 1);
    }
}
