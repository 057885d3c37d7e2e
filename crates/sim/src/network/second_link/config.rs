//! The configuration of a second link, and when one of the two fails.

use crate::link::LinkId;
use crate::link::config::{ParameterError, of_protocol};
use crate::network::failover::{FailingLink, FailureTimes, HandOff};
use crate::time::{TICK, Time};
use linkmend_protocol::paths::PathsConfig;
use linkmend_quantity::{Span, words};

/// How the ends of a link use a second one.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondLinkConfig {
    /// How they monitor both links and choose one.
    pub paths: PathsConfig,
    /// Length of a full-size probe: as long as the longest frame with its header.
    pub full_bytes: u32,
    /// When the links fail, if they do.
    pub cuts: Option<Cuts>,
}

impl SecondLinkConfig {
    /// Ends that consider a link failed after a `silence` of this length (or after the detection time of `cuts`, if
    /// failures are noticed by silence), and that use the first link again once it has been up for `return_after`.
    pub fn new(silence: Time, return_after: Time, cuts: Option<Cuts>, full_bytes: u32) -> SecondLinkConfig {
        let noticed = cuts.filter(|cuts| cuts.noticed == Noticed::Silence);
        let detection = noticed.map_or(silence, |cuts| cuts.detection).ticks();
        let paths = PathsConfig { detection, return_after: return_after.ticks(), ..PathsConfig::new(TICK) };
        SecondLinkConfig { paths, full_bytes, cuts }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if let Some(cuts) = &self.cuts {
            cuts.validate()?;
        }
        let by_silence = self.cuts.is_some_and(|cuts| cuts.noticed == Noticed::Silence);
        let parameter = if by_silence { "detection" } else { "silence" };
        let value = Span::from(Time(self.paths.detection.0)).to_string();
        let named = |error| ParameterError { parameter, value, ..of_protocol(error) };
        self.paths.validate().map_err(named)
    }
}

words! {
    /// How the ends learn that a link has failed.
    pub enum Noticed {
        /// Both ports lose their carrier after the detection time.
        Carrier = "carrier",
        /// Nothing is heard on it for the detection time. The carrier stays.
        Silence = "silence",
    }
}

words! {
    /// Which link fails.
    pub enum Cut {
        /// The link that is used unless it has failed.
        Primary = "primary",
        /// One of them, chosen at random each time.
        Either = "either",
        /// Both at the same time.
        Both = "both",
    }
}

/// Failures of two links between the same ends. A link fails in both directions at the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cuts {
    pub cut: Cut,
    pub noticed: Noticed,
    /// Time from the failure until both ends detect it, if they detect it by the carrier. Otherwise
    /// [`PathsConfig::detection`] applies.
    pub detection: Time,
    /// Mean time from the start of the traffic to the first failure, and from one failure to the next; it varies
    /// randomly by up to an eighth.
    pub every: Time,
    /// How long a failed link stays down.
    pub down_for: Time,
    /// Maximum number of failures.
    pub failures_max: u64,
}

impl Cuts {
    /// The same failures for a single link, whose switches do what `hand_off` says.
    pub fn failing(&self, link: LinkId, backup: LinkId, hand_off: HandOff) -> FailingLink {
        FailingLink {
            link,
            backup: Some(backup),
            first: self.every,
            every: self.every,
            failures_max: self.failures_max,
            down_for: self.down_for,
            detection: self.detection,
            reconfiguration: Time::ZERO,
            hand_off,
        }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.failing(LinkId(0), LinkId(1), HandOff::None).validate()
    }

    /// When this link fails if the traffic begins at `began`.
    pub(crate) fn times(&self, seed: u64, link: LinkId, began: Time) -> FailureTimes {
        let jitter = self.failing(link, link, HandOff::None).jitter_max();
        FailureTimes::new(seed, link.0, began + self.every, self.every, jitter)
    }
}
