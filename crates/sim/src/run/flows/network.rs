//! The network of a run with flows: any of its links may have any of the schemes.

use super::config::{FlowsConfig, Recovery};
use crate::host::TransportHosts;
use crate::link::config::ParameterError;
use crate::link::scheme::{AnyConfig, LinkGuardian, Unprotected, Wharf, WharfConfig};
use crate::link::{LinkConfig, PortConfig};
use crate::network::{Network, NoObserver, Observer, Plan};
use crate::time::Time;
use linkmend_protocol::TransmitState;
use linkmend_topology::LinkId;

crate::schemes! {
    /// The schemes that links between hosts may have. They are more than those of runs without hosts, whose frames would
    /// grow if their headers could be of several kinds.
    pub enum FlowSchemes: FlowSchemeConfig, FlowHeader, FlowAck, FlowControl {
        Unprotected(Unprotected),
        LinkGuardian(LinkGuardian),
        Wharf(Wharf),
    }
}

/// The network of a run with flows, and what observes it.
pub type FlowNetwork<O = NoObserver> = Network<O, FlowSchemes, TransportHosts>;

/// An observer of a run with flows. What happens on links it is told as it happens; for anything else it looks at the
/// network after each event.
pub trait FlowObserver: Observer<FlowSchemes> + Send + Sized {
    /// Looks at the network.
    fn after_event(network: &mut FlowNetwork<Self>) {
        let _ = network;
    }
}

impl FlowObserver for NoObserver {}

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

impl FlowsConfig {
    /// The network's nodes and links.
    pub(super) fn plan(&self) -> Result<Plan<FlowSchemes>, ParameterError> {
        self.plan_with(|_| ())
    }

    /// The same, with link ends that protect nothing until they are told to.
    pub(crate) fn plan_dormant(&self) -> Result<Plan<FlowSchemes>, ParameterError> {
        self.plan_with(|scheme| {
            if let FlowSchemeConfig::LinkGuardian(config) = scheme {
                config.begins_dormant = true;
            }
        })
    }

    fn plan_with(&self, change: impl Fn(&mut FlowSchemeConfig)) -> Result<Plan<FlowSchemes>, ParameterError> {
        let mut plan = Plan::with_nodes(&self.graph, self.balance);
        let clean = LinkConfig::clean(self.link.rate);
        for id in self.graph.links() {
            let edge = self.graph.link(id);
            let is_corrupting = self.corrupting.contains(&id);
            let link = if is_corrupting { &self.link } else { &clean }.clone().over(edge.cable)?;
            link.validate()?;
            let mut ports = match &self.recovery {
                Recovery::Wharf(wharf) if is_corrupting => wharf_ports(&link, *wharf),
                _ => ports(&mut plan, &link),
            };
            ports.iter_mut().for_each(|port| change(&mut port.scheme));
            let added: LinkId = plan.link(edge.ends.map(|end| end.node), ports);
            debug_assert_eq!(added, id, "links keep their numbers");
        }
        Ok(plan)
    }
}

/// The two ports of a link as it is described.
fn ports(plan: &mut Plan<FlowSchemes>, link: &LinkConfig) -> [PortConfig<FlowSchemes>; 2] {
    let mut recirculation =
        || if link.recirculates() { plan.recirculation(link.recirculation_port()) } else { 0 };
    let loops = [recirculation(), recirculation()];
    let schemes = link.ports(loops).map(|port| match port.scheme {
        AnyConfig::Unprotected(config) => FlowSchemeConfig::Unprotected(config),
        AnyConfig::LinkGuardian(config) => FlowSchemeConfig::LinkGuardian(config),
    });
    link.ports_with(schemes)
}

/// The two ports of a link with Wharf in the direction of the data.
fn wharf_ports(link: &LinkConfig, wharf: WharfConfig) -> [PortConfig<FlowSchemes>; 2] {
    link.ports_with([wharf, WharfConfig::OFF].map(FlowSchemeConfig::Wharf))
}
