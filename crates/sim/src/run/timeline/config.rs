//! What a timeline is.

use crate::link::LinkConfig;
use crate::link::config::{ParameterError, check};
use crate::network::{LinkId, PortId, Side};
use crate::run::flows::{Demand, FlowsConfig, Recovery, TrafficConfig};
use crate::time::Time;

/// Most samples of a run.
const SAMPLES_MAX: u64 = 1_000_000;

/// One flow without an end, and what happens to its link.
#[derive(Debug, Clone)]
pub struct TimelineConfig {
    /// The network, its hosts and the flow. The corrupting link is described as it is in the end: what it corrupts from
    /// `corruption_at` on, and how it is protected from `protection_at` on.
    pub flows: FlowsConfig,
    /// When corruption begins, since the beginning of the flow.
    pub corruption_at: Time,
    /// When protection is switched on.
    pub protection_at: Time,
    /// Time between two samples.
    pub sample: Time,
}

impl TimelineConfig {
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.flows.validate()?;
        let kinds = self.flows.traffic.len();
        check(kinds == 1, "traffic", format!("{kinds} kinds"), "a timeline shows one flow")?;
        let duration = self.duration();
        check(duration > Time::ZERO, "flow", "of a size", "a timeline shows one flow without an end")?;
        check(
            self.flows.corrupting.len() == 1,
            "corrupting links",
            self.flows.corrupting.len(),
            "a timeline shows one link",
        )?;
        check(
            self.flows.link.protection.is_some() && self.flows.recovery == Recovery::Described,
            "scheme",
            "none",
            "must be one that can be switched on: ordered or non-blocking",
        )?;
        let before = |name, at: Time, end: Time, requirement| {
            check(at > Time::ZERO && at < end, name, format!("{} s", at.as_secs()), requirement)
        };
        before("protection", self.protection_at, duration, "must begin after corruption and before the end")?;
        before("corruption", self.corruption_at, self.protection_at, "must begin before protection does")?;
        let samples = duration.0.checked_div(self.sample.0).unwrap_or(u64::MAX);
        let requirement =
            "must be above 0, no longer than the run, and long enough for at most a million samples";
        check(
            (1..=SAMPLES_MAX).contains(&samples),
            "sample",
            format!("{} s", self.sample.as_secs()),
            requirement,
        )
    }

    /// How long the flow sends.
    pub fn duration(&self) -> Time {
        match self.flows.traffic.as_slice() {
            [TrafficConfig { demand: Demand::Endless { duration }, .. }] => *duration,
            _ => Time::ZERO,
        }
    }

    /// Number of samples; the last one may be shorter.
    pub fn samples(&self) -> u64 {
        self.duration().0.div_ceil(self.sample.0.max(1))
    }

    /// The link that is watched.
    pub(super) fn link(&self) -> LinkId {
        self.flows.corrupting.first().copied().unwrap_or(LinkId(0))
    }

    /// The port of that link which sends the data.
    pub(super) fn port(&self) -> PortId {
        PortId::new(self.link(), Side::A)
    }

    /// The description of that link over its own cable.
    pub(super) fn described(&self) -> Result<LinkConfig, ParameterError> {
        self.flows.link.clone().over(self.flows.graph.link(self.link()).cable)
    }
}
