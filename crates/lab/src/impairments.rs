//! Impairments of a laboratory's path besides corruption: a rate, and delays in two places. A second link between the link
//! ends has a rate and a delay of its own.
//!
//! ```text
//!   h1 <-- delay --> g1 <-- rate and link delay --> g2 <--> h2
//! ```

use std::fmt;
use std::time::Duration;

use linkmend_diagnose::Diagnose;
use serde::{Deserialize, Serialize};

/// The slowest rate, bit/s. Below it a frame would take over a tenth of a second.
pub const RATE_BPS_MIN: u64 = 100_000;
/// The fastest rate, bit/s: more than any machine can forward through the laboratory.
pub const RATE_BPS_MAX: u64 = 100_000_000_000;
/// The longest delay in either place.
pub const DELAY_MAX: Duration = Duration::from_secs(2);
/// The smallest queue in front of the rate, bytes: a few frames of any size.
pub const QUEUE_BYTES_MIN: u64 = 64 << 10;
/// Largest such queue, bytes.
pub const QUEUE_BYTES_MAX: u64 = 256 << 20;

/// Impairments of the path; see the module documentation. The default is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Impairments {
    /// Rate of the corrupting link in each direction, bit/s; preamble, check sequence and gap count as on Ethernet.
    /// `None`: as fast as the machine.
    pub rate_bps: Option<u64>,
    /// One-way delay between the left host and its link end, in each direction: the network around the link.
    pub delay: Duration,
    /// One-way delay of the corrupting link itself, in each direction.
    pub link_delay: Duration,
    /// Bytes that may wait in front of the rate; `None`: as much as is in transit during one round trip.
    pub queue_bytes: Option<u64>,
}

/// Why a queue without a rate is refused.
const WITHOUT_RATE: &str = "requires a rate, because without one nothing waits in a queue";

/// An impairment outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value} cannot be used: {reason}")]
pub struct ImpairmentError {
    pub field: &'static str,
    /// The value that was asked for.
    pub value: String,
    /// The allowed range.
    pub reason: &'static str,
}

impl Diagnose for ImpairmentError {
    fn hint(&self) -> Option<String> {
        let rate_is_missing = self.field == "queue" && self.reason == WITHOUT_RATE;
        rate_is_missing.then(|| "set a rate as well".to_owned())
    }
}

impl Impairments {
    /// Whether the link has a delay line of its own.
    pub fn on_link(&self) -> bool {
        self.rate_bps.is_some() || !self.link_delay.is_zero()
    }

    /// Whether the path between the left host and its link end has a delay line.
    pub fn on_path(&self) -> bool {
        !self.delay.is_zero()
    }

    /// Whether there are no impairments at all.
    pub fn is_none(&self) -> bool {
        !self.on_link() && !self.on_path()
    }

    /// Shortest round-trip time between the hosts.
    pub fn round_trip(&self) -> Duration {
        2 * (self.delay + self.link_delay)
    }

    /// Bytes that may wait in front of the rate: as configured, or as much as is in transit during one round trip (the
    /// rule of thumb for routers with few flows), but at least [`QUEUE_BYTES_MIN`]. `None` without a rate, because then
    /// nothing waits.
    pub fn queue_bytes(&self) -> Option<u64> {
        let rate_bps = self.rate_bps?;
        let under_way = u128::from(rate_bps) * self.round_trip().as_nanos() / 8_000_000_000;
        let under_way = u64::try_from(under_way).unwrap_or(u64::MAX);
        Some(self.queue_bytes.unwrap_or(under_way.clamp(QUEUE_BYTES_MIN, QUEUE_BYTES_MAX)))
    }

    /// The number of waiting bytes above which frames are marked with ECN, if a link end would use `usual` by default.
    /// It is at most half of the queue: a threshold beyond the end of the queue would never mark a frame, and the
    /// daemon refuses it.
    pub fn ecn_threshold_bytes(&self, usual: u64) -> u64 {
        self.queue_bytes().map_or(usual, |queue| usual.min(queue / 2))
    }

    /// # Errors
    /// [`ImpairmentError`] if a value is out of its range.
    pub fn validate(&self) -> Result<(), ImpairmentError> {
        let bad = |field, value: String, reason| Err(ImpairmentError { field, value, reason });
        for (field, delay) in [("delay", self.delay), ("link delay", self.link_delay)] {
            if delay > DELAY_MAX {
                return bad(field, with_unit_apart(delay), "at most 2 s each way");
            }
        }
        match (self.rate_bps, self.queue_bytes) {
            (Some(rate), _) if !(RATE_BPS_MIN..=RATE_BPS_MAX).contains(&rate) => {
                bad("rate", format!("{rate} bit/s"), "100 kbit/s to 100 Gbit/s")
            }
            (None, Some(queue)) => bad("queue", format!("{queue} B"), WITHOUT_RATE),
            (_, Some(queue)) if !(QUEUE_BYTES_MIN..=QUEUE_BYTES_MAX).contains(&queue) => {
                bad("queue", format!("{queue} B"), "64 KiB to 256 MiB")
            }
            _ => Ok(()),
        }
    }
}

/// A second link between the two link ends. The default is as fast as the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BackupLink {
    /// Its rate in each direction, bit/s, as that of the first link; `None`: as fast as the machine.
    pub rate_bps: Option<u64>,
    /// Its one-way delay, in each direction.
    pub delay: Duration,
}

impl BackupLink {
    /// Rate, delay and queue, as if it were the only link.
    pub fn impairments(&self) -> Impairments {
        let BackupLink { rate_bps, delay } = *self;
        Impairments { rate_bps, link_delay: delay, ..Impairments::default() }
    }

    /// # Errors
    /// [`ImpairmentError`] if a value is out of its range.
    pub fn validate(&self) -> Result<(), ImpairmentError> {
        self.impairments().validate().map_err(|error| {
            let field = if error.field == "rate" { "backup rate" } else { "backup delay" };
            ImpairmentError { field, ..error }
        })
    }
}

impl fmt::Display for Impairments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(rate) = self.rate_bps {
            parts.push(match rate {
                1_000_000_000.. => format!("{} Gbit/s", rate as f64 / 1e9),
                _ => format!("{} Mbit/s", rate as f64 / 1e6),
            });
        }
        if self.on_path() {
            let delay = with_unit_apart(self.delay);
            parts.push(format!("{delay} each way between the left host and its link end"));
        }
        if !self.link_delay.is_zero() {
            parts.push(format!("{} each way on the link", with_unit_apart(self.link_delay)));
        }
        if parts.is_empty() {
            parts.push("none".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}

/// Formats a time like `5 ms`.
fn with_unit_apart(time: Duration) -> String {
    let text = format!("{time:?}");
    let unit_at = text.find(|letter: char| letter.is_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    format!("{number} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_what_is_under_way_in_a_round_trip() {
        let mut impairments = Impairments {
            rate_bps: Some(1_000_000_000),
            delay: Duration::from_millis(4),
            link_delay: Duration::from_millis(1),
            queue_bytes: None,
        };
        assert_eq!(impairments.round_trip(), Duration::from_millis(10));
        assert_eq!(impairments.queue_bytes(), Some(1_250_000));
        impairments.delay = Duration::ZERO;
        impairments.link_delay = Duration::ZERO;
        assert_eq!(impairments.queue_bytes(), Some(QUEUE_BYTES_MIN));
        impairments.queue_bytes = Some(100_000);
        assert_eq!(impairments.queue_bytes(), Some(100_000));
        assert_eq!(Impairments::default().queue_bytes(), None);
    }

    #[test]
    fn a_queue_that_is_smaller_than_the_ecn_threshold_lowers_it() {
        let mut impairments = Impairments {
            rate_bps: Some(1_000_000_000),
            link_delay: Duration::from_micros(100),
            ..Impairments::default()
        };
        assert_eq!(impairments.queue_bytes(), Some(QUEUE_BYTES_MIN));
        assert_eq!(impairments.ecn_threshold_bytes(100_000), QUEUE_BYTES_MIN / 2);
        impairments.delay = Duration::from_millis(5);
        assert_eq!(impairments.ecn_threshold_bytes(100_000), 100_000);
        assert_eq!(Impairments::default().ecn_threshold_bytes(100_000), 100_000);
    }

    #[test]
    fn values_out_of_range_are_named() {
        let of = |change: fn(&mut Impairments)| {
            let mut impairments = Impairments::default();
            change(&mut impairments);
            impairments.validate().expect_err("it is out of range")
        };
        assert!(of(|i| i.rate_bps = Some(99_999)).to_string().contains("rate = 99999 bit/s"));
        assert!(of(|i| i.delay = Duration::from_secs(3)).to_string().contains("delay = 3 s"));
        assert!(of(|i| i.link_delay = Duration::from_secs(3)).to_string().contains("link delay = 3 s"));
        assert_eq!(of(|i| i.queue_bytes = Some(100_000)).hint().as_deref(), Some("set a rate as well"));
        assert_eq!(Impairments::default().validate(), Ok(()));
        let slow = BackupLink { rate_bps: Some(1), ..BackupLink::default() };
        assert!(slow.validate().expect_err("too slow").to_string().starts_with("backup rate = 1 bit/s"));
        let far = BackupLink { delay: Duration::from_secs(3), ..BackupLink::default() };
        assert!(far.validate().expect_err("too far").to_string().starts_with("backup delay = 3 s"));
    }
}
