//! The network of a run with flows: any of its links may have any of the schemes.

use super::config::FlowsConfig;
use super::schemes::{FlowSchemeConfig, FlowSchemes, Recovery};
use super::second_link::SecondLink;
use crate::host::TransportHosts;
use crate::link::LinkConfig;
use crate::link::config::ParameterError;
use crate::link::scheme::{Absent, Scheme};
use crate::network::{Network, NoObserver, Observer, Plan, PortId, Side};
use linkmend_protocol::schedule::QueueLimits;
use linkmend_topology::LinkId;

/// The network of a run with flows, and what observes it. `X` is a scheme of another crate, if the run has one.
pub type FlowNetwork<O = NoObserver, X = Absent> = Network<O, FlowSchemes<X>, TransportHosts>;

/// An observer of a run with flows. The network reports to it what happens on links; for anything else, it may look at
/// the network after each event.
pub trait FlowObserver<X: Scheme = Absent>: Observer<FlowSchemes<X>> + Send + Sized {
    /// Looks at the network.
    fn after_event(network: &mut FlowNetwork<Self, X>) {
        let _ = network;
    }
}

impl<X: Scheme> FlowObserver<X> for NoObserver {}

impl FlowsConfig {
    /// The network's nodes and links. If there is a scheme of another crate, it recovers on the links that corrupt.
    pub(super) fn plan<X: Scheme>(
        &self,
        other: Option<&[X::Config; 2]>,
    ) -> Result<Plan<FlowSchemes<X>>, ParameterError> {
        self.plan_with(other, |_| ())
    }

    /// The same, with link ends that protect nothing until they are told to.
    pub(crate) fn plan_dormant(&self) -> Result<Plan<FlowSchemes>, ParameterError> {
        self.plan_with(None, FlowSchemeConfig::begin_dormant)
    }

    fn plan_with<X: Scheme>(
        &self,
        other: Option<&[X::Config; 2]>,
        change: impl Fn(&mut FlowSchemeConfig<X::Config>),
    ) -> Result<Plan<FlowSchemes<X>>, ParameterError> {
        let mut plan = Plan::with_nodes(&self.graph, self.balance);
        let mut link = self.link.clone();
        if self.both_directions {
            link.reverse_corruption = link.corruption.clone();
        }
        let mut clean = LinkConfig::clean(link.rate);
        if let Some(limits) = self.pfc {
            plan.pausing(limits);
            let queue = QueueLimits { ecn_bytes: link.queue.ecn_bytes, ..QueueLimits::UNLIMITED };
            (link.queue, clean.queue) = (queue, queue);
        }
        let balanced = FlowsConfig::middle_links(&self.graph, 1).first().copied();
        let mut first_links = Vec::new();
        for id in self.graph.links() {
            let edge = self.graph.link(id);
            let is_corrupting = self.corrupting.contains(&id);
            let mut link = if is_corrupting { &link } else { &clean }.clone().over(edge.cable)?;
            let has_second = is_corrupting && self.second_link.is_some();
            if has_second {
                link = SecondLink::first(&link);
            }
            link.validate()?;
            let recovery = if is_corrupting { self.recovery } else { Recovery::Described };
            let mut ports = match other {
                Some(other) if is_corrupting => link.ports_with(other.clone().map(FlowSchemeConfig::Other)),
                _ => recovery.ports(&mut plan, &link),
            };
            if self.both_directions {
                let [sender, receiver] = &mut ports;
                receiver.scheme.protect_like(&sender.scheme);
            }
            if has_second {
                SecondLink::prepare(&link, &mut ports);
                first_links.push((id, link));
            }
            ports.iter_mut().for_each(|port| change(&mut port.scheme));
            if balanced == Some(id) {
                ports[1].wire_latency += self.spreading.reverse_delay;
                if let Some(queues) = self.spreading.queues {
                    plan.parallel(PortId::new(id, Side::A), queues);
                }
            }
            let added: LinkId = plan.link(edge.ends.map(|end| end.node), ports);
            debug_assert_eq!(added, id, "links keep their numbers");
        }
        for failing in &self.failing {
            let edge = self.graph.link(failing.link);
            if let Some(backup) = failing.backup {
                let link = clean.clone().over(edge.cable)?;
                let ports = Recovery::Described.ports(&mut plan, &link);
                let added = plan.link(edge.ends.map(|end| end.node), ports);
                debug_assert_eq!(added, backup, "backups follow the links of the graph");
            }
            plan.failing(failing.clone());
        }
        for (first, link) in &first_links {
            if let Some(second) = &self.second_link {
                second.add(&mut plan, *first, link);
            }
        }
        Ok(plan)
    }
}
