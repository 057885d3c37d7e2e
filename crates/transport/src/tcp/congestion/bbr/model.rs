//! BBR's model of the path (section 4.1 of the draft): bandwidth, round-trip time, rounds.

use super::super::AckSample;
use super::super::max_filter::MaxFilter;
use crate::time::{Instant, Nanos};

/// A sample of the round-trip time counts for this time (section 4.1.2.2: RTpropFilterLen).
const MIN_RTT_WINDOW: Nanos = Nanos::from_secs(10);
/// Below these rates, one and two segments leave at once (section 4.2.2).
const RATE_OF_ONE_SEGMENT: u64 = 1_200_000 / 8;
const RATE_OF_TWO_SEGMENTS: u64 = 24_000_000 / 8;
/// Above them, what the rate sends in a millisecond, and at most this.
const QUANTUM_MAX: u64 = 64 * 1024;
/// Number of bursts that may be in the two hosts and in flight at the same time (section 4.2.3.3).
const QUANTA: u64 = 3;

/// A factor in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gain(pub u32);

impl Gain {
    pub const ONE: Gain = Gain(1_000);

    /// The product, rounded down.
    pub fn of(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.0) / 1_000;
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

/// Bytes a second.
pub fn rate(bytes: u64, time: Nanos) -> u64 {
    let time = time.0.max(1);
    match bytes.checked_mul(1_000_000_000) {
        Some(scaled) => scaled / time,
        None => u64::try_from(u128::from(bytes) * 1_000_000_000 / u128::from(time)).unwrap_or(u64::MAX),
    }
}

/// What acknowledgements reveal about the path.
#[derive(Debug, Clone, Default)]
pub struct Model {
    /// In bytes a second.
    bandwidth: MaxFilter,
    /// The minimum round-trip time of the window (RTprop), and when it was last met.
    pub min_rtt: Option<Nanos>,
    pub min_rtt_at: Instant,
    /// Segments delivered in all.
    pub delivered: u64,
    round: u64,
    /// A round ends when a segment is acknowledged that was sent after this many were delivered (section 4.1.1.3).
    round_end: u64,
    pub is_round_start: bool,
    /// Rates of segments that were sent before this many were delivered are considered limited by the application.
    limited_until: u64,
}

impl Model {
    /// The estimate BtlBw in bytes a second; 0 if there is none.
    pub fn bandwidth(&self) -> u64 {
        self.bandwidth.maximum()
    }

    /// Whatever is in flight now belongs to the round before.
    pub fn begin_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// Everything sent from now on, until the data in flight has been delivered, is considered limited by the
    /// application.
    pub fn ignore_rate_of_what_is_sent_now(&mut self, in_flight: u32) {
        self.limited_until = self.delivered.saturating_add(u64::from(in_flight)).max(1);
    }

    /// Sections 4.1.1.3 and 4.1.1.5: BBRUpdateRound and BBRUpdateBtlBw.
    pub fn update_bandwidth(&mut self, mss: u32, sample: &AckSample) {
        self.is_round_start = false;
        let Some(rate_sample) = sample.rate else {
            self.delivered = self.delivered.saturating_add(u64::from(sample.delivered));
            return;
        };
        self.delivered = rate_sample.delivered_total;
        if rate_sample.delivered_before >= self.round_end {
            self.round_end = self.delivered;
            self.round += 1;
            self.is_round_start = true;
        }
        if rate_sample.interval == Nanos::ZERO {
            return;
        }
        let found = rate(u64::from(rate_sample.delivered) * u64::from(mss), rate_sample.interval);
        let is_limited = rate_sample.is_app_limited || rate_sample.delivered_before < self.limited_until;
        if found >= self.bandwidth() || !is_limited {
            self.bandwidth.update(self.round, found);
        }
    }

    /// Section 4.1.2.3: BBRUpdateRTprop. Returns whether the estimate had become too old.
    pub fn update_min_rtt(&mut self, now: Instant, rtt: Option<Nanos>) -> bool {
        let has_expired = self.min_rtt.is_some() && now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = rtt
            && (has_expired || self.min_rtt.is_none_or(|least| rtt <= least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        has_expired
    }

    /// Section 4.2.3.3: BBRInflight, in segments; `None` while the round-trip time is unknown.
    pub fn inflight(&self, mss: u32, gain: Gain, pacing_rate: u64) -> Option<u32> {
        let rtt = self.min_rtt?;
        let mss = u64::from(mss.max(1));
        let product = u128::from(self.bandwidth()) * u128::from(rtt.0) / 1_000_000_000;
        let product = gain.of(u64::try_from(product).unwrap_or(u64::MAX));
        let bytes = product.saturating_add(QUANTA * quantum(mss, pacing_rate));
        Some(u32::try_from(bytes.div_ceil(mss)).unwrap_or(u32::MAX))
    }
}

/// Section 4.2.2: the bytes that leave at once, for a host's segmentation offload.
fn quantum(mss: u64, pacing_rate: u64) -> u64 {
    if pacing_rate < RATE_OF_ONE_SEGMENT {
        mss
    } else if pacing_rate < RATE_OF_TWO_SEGMENTS {
        2 * mss
    } else {
        (pacing_rate / 1_000).min(QUANTUM_MAX)
    }
}
