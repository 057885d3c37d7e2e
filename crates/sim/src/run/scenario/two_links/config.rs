//! What may be chosen, and the failures that follow.

use crate::flows::Detection;
use crate::link::LinkConfig;
use crate::link::config::{Buffering, of_protocol};
use crate::network::{Cut, Cuts, Noticed, SecondLinkConfig};
use crate::scenario::{ParameterError, check, check_lasts, check_link, link};
use crate::time::Time;
use linkmend_protocol::Config;
use linkmend_protocol::wire::HEADER_GROWTH_MAX;

/// Most failures of a run: each has a line in the report.
const CUTS_MAX: u64 = 100_000;
/// Most frames of a run. Of each is known whether it has arrived.
const FRAMES_MAX: u64 = 1_000_000_000;

/// Two links between two ends.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoLinksConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// A run for each. Both links between the ends are like it, and the frames are as long as it says, in the mode of its protection.
    pub links: Vec<LinkConfig>,
    /// From the failure until the ends learn of it; a run for each.
    pub detections: Vec<Detection>,
    /// How they do.
    pub noticed: Noticed,
    /// Share of a link that the traffic takes, above 0 and at most 1.
    pub load: f64,
    /// The same of traffic in the other direction, or 0.
    pub reverse_load: f64,
    /// Failures of a run, 1 to 100,000.
    pub cuts: u64,
    /// Which link fails.
    pub cut: Cut,
    /// From one failure to the next on average; by chance up to an eighth more or less.
    pub every: Time,
    /// How long a link stays down; shorter than `every`.
    pub down_for: Time,
    /// The silence that counts as a failure where the carrier tells of one: a quarter of it is between two probes. At least 20 us.
    pub silence: Time,
    /// How long the primary link must have been up before it is used again.
    pub return_after: Time,
    /// Whether SQR meets the same failures.
    pub beside_sqr: bool,
}

impl TwoLinksConfig {
    /// Two of these links at four fifths of their rate. The primary one fails 50 times, every 2 ms for 500 us.
    pub fn over(link: LinkConfig) -> TwoLinksConfig {
        let us = |us: u64| Time::from_nanos(us * 1_000);
        TwoLinksConfig {
            seed: 1,
            links: vec![link],
            detections: vec![Detection::F10],
            noticed: Noticed::Carrier,
            load: 0.8,
            reverse_load: 0.0,
            cuts: 50,
            cut: Cut::Primary,
            every: us(2_000),
            down_for: us(500),
            silence: us(200),
            return_after: us(200),
            beside_sqr: false,
        }
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check((1..=CUTS_MAX).contains(&self.cuts), "cuts", self.cuts, "must be 1 to 100000")?;
        check(!self.links.is_empty(), "speeds", "", "must name at least one")?;
        check(!self.detections.is_empty(), "detection", "", "must name at least one")?;
        let loads = [("load", self.load, self.load > 0.0), ("reverse-load", self.reverse_load, true)];
        for (name, load, holds) in loads {
            let requirement = "must be above 0 and at most 1";
            check(holds && (0.0..=1.0).contains(&load), name, load, requirement)?;
        }
        let both = self.beside_sqr && self.cut == Cut::Either;
        check(
            !both,
            "cut",
            "either",
            "must be primary for a comparison with SQR, whose switches fail over to a standby link",
        )?;
        self.settings().try_for_each(|setting| setting.validate())
    }

    /// A setting for each run, or for two if SQR has one as well.
    pub(super) fn settings(&self) -> impl Iterator<Item = Setting<'_>> {
        self.links.iter().flat_map(move |link| {
            let link = link.clone().buffered(Buffering::Direct);
            self.detections.iter().map(move |detection| Setting {
                config: self,
                link: link.clone(),
                detection: *detection,
            })
        })
    }
}

/// One link with one detection time.
#[derive(Debug, Clone)]
pub(super) struct Setting<'a> {
    pub(super) config: &'a TwoLinksConfig,
    pub(super) link: LinkConfig,
    pub(super) detection: Detection,
}

impl Setting<'_> {
    fn validate(&self) -> Result<(), ParameterError> {
        check_link(&self.link, 1)?;
        check(
            self.link.protection.is_some(),
            "protection",
            "off",
            "must be enabled, because both links belong to one protected session",
        )?;
        check(
            self.config.cut != Cut::Both,
            "cut",
            "both",
            "must be primary or either: if both links fail, none is left",
        )?;
        self.second_link().validate()?;
        let last = self.lasts();
        check_lasts("cuts", self.config.cuts, 1, last.0 as f64)?;
        let requirement = "must be fewer: at most 1000000000 frames can be tracked";
        check(self.frames(self.config.load) <= FRAMES_MAX, "cuts", self.config.cuts, requirement)?;
        self.protocol().map_or(Ok(()), |protocol| protocol.validate()).map_err(of_protocol)
    }

    /// When links fail.
    pub(super) fn cuts(&self) -> Cuts {
        let TwoLinksConfig { every, down_for, cut, noticed, cuts, .. } = *self.config;
        Cuts { cut, noticed, detection: self.detection.time(), every, down_for, failures_max: cuts }
    }

    /// How the ends use two links.
    pub(super) fn second_link(&self) -> SecondLinkConfig {
        let TwoLinksConfig { silence, return_after, .. } = *self.config;
        let full_bytes = self.link.frame_bytes + HEADER_GROWTH_MAX as u32;
        SecondLinkConfig::new(silence, return_after, Some(self.cuts()), full_bytes)
    }

    /// How long the traffic lasts: until a while after the last failure.
    pub(super) fn lasts(&self) -> Time {
        Time(self.config.every.0.saturating_mul(self.config.cuts.saturating_add(1)))
    }

    /// Time between two frames at this load.
    pub(super) fn interval(&self, load: f64) -> Time {
        Time((link::frame_time(&self.link).0 as f64 / load).ceil() as u64)
    }

    /// How many frames are sent at this load.
    pub(super) fn frames(&self, load: f64) -> u64 {
        self.lasts().0 / self.interval(load).0.max(1)
    }

    /// Parameters of the link ends.
    pub(super) fn protocol(&self) -> Option<Config> {
        self.link.protocol_config_of_two()
    }
}
