//! Second links beside the links that corrupt, in a run with flows.

use super::schemes::{FlowSchemeConfig, FlowSchemes, Recovery};
use super::statistics::{Summary, times_us};
use crate::corruption::Corruption;
use crate::host::FlowRecord;
use crate::link::config::{Buffering, ParameterError, check, of_protocol};
use crate::link::scheme::Scheme;
use crate::link::{LinkConfig, PortConfig};
use crate::network::{Cuts, LinkId, Plan, SecondLinkConfig, SecondLinkStats};
use crate::time::{TICK, Time};
use linkmend_protocol::paths::PathsConfig;
use linkmend_protocol::wire::HEADER_GROWTH_MAX;
use serde::Serialize;

/// A second link beside each link that corrupts, for the same protected session. Both directions are protected then, because both
/// lose what a failed link has.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondLink {
    /// When one of the two links fails, if one does.
    pub cuts: Option<Cuts>,
    /// The silence that counts as a failure, unless failures are noticed by a silence of their own length. A quarter of it is
    /// between two probes. At least 20 us.
    pub silence: Time,
    /// How long the first link must have been up before it is used again.
    pub return_after: Time,
    /// What the second link corrupts; `None` for the same as the first one.
    pub corruption: Option<Corruption>,
}

impl Default for SecondLink {
    /// The daemon's times, like the first link, and no failures.
    fn default() -> SecondLink {
        let PathsConfig { detection, return_after, .. } = PathsConfig::new(TICK);
        SecondLink {
            cuts: None,
            silence: Time(detection.0),
            return_after: Time(return_after.0),
            corruption: None,
        }
    }
}

impl SecondLink {
    /// Checks it beside a link that is described so and recovers so. `others_fail` says whether other links do.
    ///
    /// # Errors
    /// The first parameter that cannot be used, or what of the run does not go with it.
    pub(super) fn validate(
        &self,
        link: &LinkConfig,
        recovery: Recovery,
        others_fail: bool,
    ) -> Result<(), ParameterError> {
        let described = recovery == Recovery::Described && link.protection.is_some();
        let requirement = "needs links that LinkGuardian protects: `scheme` ordered or non-blocking";
        check(described, "second-link", "true", requirement)?;
        let requirement = "cannot be combined with other links that fail";
        check(!others_fail, "second-link", "true", requirement)?;
        self.corruption.iter().try_for_each(Corruption::validate)?;
        self.network(link).validate()?;
        let protocol = SecondLink::first(link).protocol_config_of_two();
        protocol.map_or(Ok(()), |protocol| protocol.validate()).map_err(of_protocol)
    }

    fn network(&self, link: &LinkConfig) -> SecondLinkConfig {
        let full_bytes = link.frame_bytes + HEADER_GROWTH_MAX as u32;
        SecondLinkConfig::new(self.silence, self.return_after, self.cuts, full_bytes)
    }

    /// A first link: its ends reach their frames directly, because a session over two ports has one buffer.
    pub(super) fn first(link: &LinkConfig) -> LinkConfig {
        link.clone().buffered(Buffering::Direct)
    }

    /// Lets the ends of a first link use two.
    pub(super) fn prepare<X: Scheme>(link: &LinkConfig, ports: &mut [PortConfig<FlowSchemes<X>>; 2]) {
        let [sender, receiver] = ports;
        receiver.scheme.protect_like(&sender.scheme);
        for port in [sender, receiver] {
            if let (FlowSchemeConfig::LinkGuardian(scheme), Some(protocol)) =
                (&mut port.scheme, link.protocol_config_of_two())
            {
                scheme.protocol = protocol;
            }
        }
    }

    /// Adds the second link beside a first one.
    pub(super) fn add<X: Scheme>(&self, plan: &mut Plan<FlowSchemes<X>>, first: LinkId, link: &LinkConfig) {
        let corruption = self.corruption.as_ref().unwrap_or(&link.corruption);
        let reverse_is_clean = link.reverse_corruption == Corruption::None;
        let second = LinkConfig {
            corruption: corruption.clone(),
            reverse_corruption: if reverse_is_clean { Corruption::None } else { corruption.clone() },
            protection: None,
            ..link.clone()
        };
        let unprotected = || FlowSchemeConfig::Unprotected(());
        let ports = second.ports_with([unprotected(), unprotected()]);
        plan.second_link(first, ports, self.network(link));
    }
}

/// What second links did. Times are in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecondLinkReport {
    #[serde(flatten)]
    pub stats: SecondLinkStats,
    /// For each failure that lost frames: from the first loss until the other end of the link delivered something again.
    pub gap_us: Option<Summary>,
    /// Completion times of flows of which a failed link lost a frame, and of the others.
    pub hit_fct_us: Option<Summary>,
    pub other_fct_us: Option<Summary>,
}

impl SecondLinkReport {
    pub(super) fn new(records: &[FlowRecord], stats: &SecondLinkStats) -> SecondLinkReport {
        let times = |is_hit| Summary::from_values(times_us(records, is_hit, FlowRecord::completion_time));
        SecondLinkReport {
            stats: stats.clone(),
            gap_us: Summary::from_values(stats.gaps.iter().map(|gap| gap.as_micros()).collect()),
            hit_fct_us: times(true),
            other_fct_us: times(false),
        }
    }
}
