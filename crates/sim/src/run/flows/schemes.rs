//! The schemes that the corrupting links of a run with flows may have. Besides its own file, a scheme of such a run is named
//! only here: by the name under which it is asked for, with what it means for a link, and in the set of types.

use super::parameters::unknown;
use crate::link::config::ParameterError;
use crate::link::scheme::{AnyConfig, LinkGuardian, Unprotected, Wharf, WharfConfig};
use crate::link::{LinkConfig, PortConfig};
use crate::network::Plan;
use crate::time::{Rate, Time};
use linkmend_protocol::{Mode, TransmitState};
use std::str::FromStr;

crate::schemes! {
    /// The schemes that links between hosts may have. They are more than those of runs without hosts, whose frames would
    /// grow if their headers could be of several kinds.
    pub enum FlowSchemes: FlowSchemeConfig, FlowHeader, FlowAck, FlowControl {
        Unprotected(Unprotected),
        LinkGuardian(LinkGuardian),
        Wharf(Wharf),
    }
}

impl FlowSchemeConfig {
    /// Protects what its end sends as the other end does.
    pub(super) fn protect_like(&mut self, other: &FlowSchemeConfig) {
        if let (FlowSchemeConfig::LinkGuardian(own), FlowSchemeConfig::LinkGuardian(other)) = (self, other) {
            own.protect = other.protect;
        }
    }

    /// Leaves it to the run when the link begins to be protected.
    pub(super) fn begin_dormant(&mut self) {
        if let FlowSchemeConfig::LinkGuardian(config) = self {
            config.begins_dormant = true;
        }
    }
}

impl FlowSchemes {
    /// Begins to protect, if that was left to the run.
    pub(crate) fn protect(&mut self, now: Time) {
        if let FlowSchemes::LinkGuardian(scheme) = self {
            scheme.protect(now);
        }
    }

    /// Whether it protects what it sends, and its peer knows.
    pub(crate) fn is_protecting(&self) -> bool {
        match self {
            FlowSchemes::LinkGuardian(scheme) => scheme.link_end().status().transmit == TransmitState::Active,
            FlowSchemes::Unprotected(_) | FlowSchemes::Wharf(_) => false,
        }
    }
}

/// How the corrupting link recovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemeKind {
    None,
    Ordered,
    NonBlocking,
    /// Forward error correction.
    Wharf,
}

impl SchemeKind {
    /// All of them.
    pub const ALL: [SchemeKind; 4] =
        [SchemeKind::None, SchemeKind::Ordered, SchemeKind::NonBlocking, SchemeKind::Wharf];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SchemeKind::None => "none",
            SchemeKind::Ordered => "ordered",
            SchemeKind::NonBlocking => "non-blocking",
            SchemeKind::Wharf => "wharf",
        }
    }

    /// The class of the frames that this scheme protects.
    pub fn mode(self) -> Mode {
        if self == SchemeKind::NonBlocking { Mode::NonBlocking } else { Mode::Ordered }
    }

    /// A link of the testbed that loses this share of frames and recovers so.
    pub fn link(self, rate: Rate, loss: f64) -> LinkConfig {
        let link = LinkConfig::paper(rate, loss, self.mode());
        match self {
            SchemeKind::None | SchemeKind::Wharf => LinkConfig { protection: None, ..link },
            SchemeKind::Ordered | SchemeKind::NonBlocking => link,
        }
    }

    /// What recovers on that link.
    pub fn recovery(self, loss: f64) -> Recovery {
        if self == SchemeKind::Wharf {
            Recovery::Wharf(WharfConfig::published(loss))
        } else {
            Recovery::Described
        }
    }
}

impl FromStr for SchemeKind {
    type Err = ParameterError;

    fn from_str(text: &str) -> Result<SchemeKind, ParameterError> {
        let found = SchemeKind::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| unknown("scheme", text, &SchemeKind::ALL.map(SchemeKind::name)))
    }
}

/// What recovers losses on the corrupting links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recovery {
    /// What the description of the links says: LinkGuardian or nothing.
    Described,
    /// Forward error correction.
    Wharf(WharfConfig),
}

impl Recovery {
    /// The two ports of a link that recovers so.
    pub(super) fn ports(
        self,
        plan: &mut Plan<FlowSchemes>,
        link: &LinkConfig,
    ) -> [PortConfig<FlowSchemes>; 2] {
        match self {
            Recovery::Described => described(plan, link),
            // The data have one direction; in the other one there is nothing to correct.
            Recovery::Wharf(wharf) => link.ports_with([wharf, WharfConfig::OFF].map(FlowSchemeConfig::Wharf)),
        }
    }
}

/// The two ports of a link as it is described.
fn described(plan: &mut Plan<FlowSchemes>, link: &LinkConfig) -> [PortConfig<FlowSchemes>; 2] {
    let mut recirculation =
        || if link.recirculates() { plan.recirculation(link.recirculation_port()) } else { 0 };
    let loops = [recirculation(), recirculation()];
    let schemes = link.ports(loops).map(|port| match port.scheme {
        AnyConfig::Unprotected(config) => FlowSchemeConfig::Unprotected(config),
        AnyConfig::LinkGuardian(config) => FlowSchemeConfig::LinkGuardian(config),
    });
    link.ports_with(schemes)
}
