//! The schemes that the corrupting links of a run with flows may have. Besides its own file, a scheme of such a run is named
//! only here: in the set of types, as a [`SchemeKind`] with the name under which it is asked for, and as a [`Recovery`], which
//! says what the ends of a link have. One of another crate is named nowhere but in its run
//! ([`run_other`](super::run_other)).

use crate::link::config::{LlrProfile, ParameterError, ParityProfile};
use crate::link::scheme::{
    AnyConfig, LinkGuardian, Llr, LlrConfig, Parity, ParityConfig, Scheme, Selective, SelectiveConfig,
    Unprotected, Wharf, WharfConfig,
};
use crate::link::{LinkConfig, PortConfig};
use crate::network::Plan;
use crate::time::{Rate, Time};
use linkmend_protocol::{Mode, TransmitState};
use linkmend_quantity::words;

crate::schemes! {
    /// The schemes that links between hosts may have. They are more than those of runs without hosts, whose frames would
    /// grow if their headers could be of several kinds.
    pub enum FlowSchemes: FlowSchemeConfig, FlowHeader, FlowAck, FlowControl {
        Unprotected(Unprotected),
        LinkGuardian(LinkGuardian),
        Wharf(Wharf),
        Llr(Llr),
        Selective(Selective),
        Parity(Parity),
    }
}

impl<P> FlowSchemeConfig<P> {
    /// Protects what its end sends as the other end does.
    pub(super) fn protect_like(&mut self, other: &FlowSchemeConfig<P>) {
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

impl<X> FlowSchemes<X> {
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
            _ => false,
        }
    }
}

words! {
    /// How the corrupting link recovers.
    pub enum SchemeKind {
        None = "none",
        Ordered = "ordered",
        NonBlocking = "non-blocking",
        /// Forward error correction.
        Wharf = "wharf",
        /// Ultra Ethernet's Link Layer Retry.
        Llr = "llr",
        /// An idealised selective retry.
        Selective = "selective",
        /// Parity across frames, retransmission, or both, in time.
        Parity = "parity",
    }
}

impl SchemeKind {
    /// The class of the frames that this scheme protects.
    pub fn mode(self) -> Mode {
        if self == SchemeKind::NonBlocking { Mode::NonBlocking } else { Mode::Ordered }
    }

    /// A link of the testbed that loses this share of frames and recovers so.
    pub fn link(self, rate: Rate, loss: f64) -> LinkConfig {
        let link = LinkConfig::paper(rate, loss, self.mode());
        let has_linkguardian = matches!(self, SchemeKind::Ordered | SchemeKind::NonBlocking);
        let acts_at_port = matches!(self, SchemeKind::Llr | SchemeKind::Selective);
        let switch = if acts_at_port { link.switch.at_the_port() } else { link.switch };
        LinkConfig { protection: link.protection.filter(|_| has_linkguardian), switch, ..link }
    }

    /// What recovers on a link that loses this share of frames.
    ///
    /// # Errors
    /// If the profile of LLR cannot be used on this link, or the link takes longer than the default deadline of repair in time.
    pub fn recovery(
        self,
        link: &LinkConfig,
        loss: f64,
        llr: &LlrProfile,
    ) -> Result<Recovery, ParameterError> {
        Ok(match self {
            SchemeKind::None | SchemeKind::Ordered | SchemeKind::NonBlocking => Recovery::Described,
            SchemeKind::Wharf => Recovery::Wharf(WharfConfig::one_way(loss)),
            SchemeKind::Llr => Recovery::Llr(llr.config(link)?),
            SchemeKind::Selective => Recovery::Selective(link.selective()),
            SchemeKind::Parity => Recovery::Parity(link.parity(&ParityProfile::default())?),
        })
    }
}

/// What recovers losses on the corrupting links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Recovery {
    /// What the description of the links says: LinkGuardian or nothing.
    Described,
    /// Wharf: first the end whose frames are lost.
    Wharf([WharfConfig; 2]),
    /// LLR at both ends.
    Llr(LlrConfig),
    /// Selective retry at both ends.
    Selective(SelectiveConfig),
    /// Repair in time: first the end whose frames are lost.
    Parity([ParityConfig; 2]),
}

impl Recovery {
    /// What the two ends of a link have, if it is neither LinkGuardian nor nothing.
    fn configs<P>(self) -> Option<[FlowSchemeConfig<P>; 2]> {
        match self {
            Recovery::Described => None,
            Recovery::Wharf(configs) => Some(configs.map(FlowSchemeConfig::Wharf)),
            Recovery::Llr(config) => Some([config; 2].map(FlowSchemeConfig::Llr)),
            Recovery::Selective(config) => Some([config; 2].map(FlowSchemeConfig::Selective)),
            Recovery::Parity(configs) => Some(configs.map(FlowSchemeConfig::Parity)),
        }
    }

    /// The two ports of a link that recovers so.
    pub(super) fn ports<X: Scheme>(
        self,
        plan: &mut Plan<FlowSchemes<X>>,
        link: &LinkConfig,
    ) -> [PortConfig<FlowSchemes<X>>; 2] {
        self.configs().map_or_else(|| described(plan, link), |configs| link.ports_with(configs))
    }
}

/// The two ports of a link as it is described.
fn described<X: Scheme>(
    plan: &mut Plan<FlowSchemes<X>>,
    link: &LinkConfig,
) -> [PortConfig<FlowSchemes<X>>; 2] {
    let mut recirculation =
        || if link.recirculates() { plan.recirculation(link.recirculation_port()) } else { 0 };
    let loops = [recirculation(), recirculation()];
    let schemes = link.ports(loops).map(|port| match port.scheme {
        AnyConfig::Unprotected(config) => FlowSchemeConfig::Unprotected(config),
        AnyConfig::LinkGuardian(config) => FlowSchemeConfig::LinkGuardian(config),
        AnyConfig::Other(none) => match none {},
    });
    link.ports_with(schemes)
}
