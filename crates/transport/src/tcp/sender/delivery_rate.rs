//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation-02).

use super::scoreboard::{Record, Snapshot};
use crate::tcp::congestion::RateSample;
use crate::time::{Instant, Nanos};

/// What the connection has delivered, and when.
#[derive(Debug, Clone, Default)]
pub struct DeliveryRate {
    /// Segments acknowledged in all, cumulatively or selectively.
    pub delivered: u64,
    /// Of these, by acknowledgements with an echo of congestion.
    pub delivered_marked: u64,
    /// When the latest acknowledgement came (C.delivered_time).
    delivered_at: Instant,
    /// When the segment was sent that was acknowledged last (C.first_sent_time).
    first_sent_at: Instant,
    /// While this many are not delivered, samples are limited by the application; 0 if they are not.
    limited_until: u64,
    /// The latest valid sample.
    pub latest: Option<RateSample>,
}

/// What an acknowledgement has delivered so far; the newest segment decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct Newest {
    found: Option<(Instant, u64, Snapshot)>,
}

impl Newest {
    /// Section 3.3: UpdateRateSample(), for each segment newly acknowledged or SACKed.
    pub fn delivered(&mut self, record: &Record) {
        if self.found.is_none_or(|(sent_at, end, _)| record.is_sent_after(sent_at, end)) {
            self.found = Some((record.sent_at, record.end(), record.snapshot()));
        }
    }
}

impl DeliveryRate {
    /// Section 3.2: the state when a segment is sent.
    pub fn snapshot(&mut self, now: Instant, is_idle: bool) -> Snapshot {
        if is_idle {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Snapshot {
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered: self.delivered as u32,
            is_app_limited: self.limited_until > 0,
        }
    }

    /// Section 3.4: the application has less to send than the window allows.
    pub fn limit(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// Section 3.3: GenerateRateSample(), after an acknowledgement of `delivered` segments. Intervals below the minimum
    /// round-trip time come from acknowledgements that were held back, and give no sample.
    pub fn sample(
        &mut self,
        now: Instant,
        delivered: u32,
        newest: Newest,
        min_rtt: Option<Nanos>,
    ) -> Option<RateSample> {
        self.delivered += u64::from(delivered);
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let (sent_at, _, snapshot) = newest.found?;
        self.first_sent_at = sent_at;
        let count = (self.delivered as u32).wrapping_sub(snapshot.delivered);
        let interval = sent_at.since(snapshot.first_sent_at).max(now.since(snapshot.delivered_at));
        if interval < min_rtt.unwrap_or_default() {
            return None;
        }
        let sample = RateSample {
            delivered: count,
            delivered_before: self.delivered - u64::from(count),
            delivered_total: self.delivered,
            interval,
            is_app_limited: snapshot.is_app_limited,
        };
        let is_higher = self.latest.is_none_or(|latest| is_faster(&sample, &latest));
        if !sample.is_app_limited || is_higher {
            self.latest = Some(sample);
        }
        Some(sample)
    }
}

fn is_faster(one: &RateSample, other: &RateSample) -> bool {
    let product =
        |sample: &RateSample, interval: Nanos| u128::from(sample.delivered) * u128::from(interval.0);
    product(one, other.interval) >= product(other, one.interval)
}
