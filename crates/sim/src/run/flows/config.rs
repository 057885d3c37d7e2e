//! What a run with flows is.

use super::schemes::Recovery;
use super::second_link::SecondLink;
use super::spreading::Spreading;
use super::traffic::{self, TrafficConfig};
use crate::link::LinkConfig;
use crate::link::config::{ParameterError, check};
use crate::network::{Balance, FailingLink, LinkId, PfcLimits};
use linkmend_topology::{Graph, NodeId, NodeKind};

/// A network with hosts, a link in it that corrupts, and the flows between the hosts.
#[derive(Debug, Clone)]
pub struct FlowsConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// The network; hosts have one link each.
    pub graph: Graph,
    /// How its switches choose among equal paths.
    pub balance: Balance,
    /// The links that corrupt, and are protected if that is described.
    pub corrupting: Vec<LinkId>,
    /// Whether they corrupt, and are protected, in both directions; otherwise in the one from the end that the graph names
    /// first.
    pub both_directions: bool,
    /// What recovers on these links, if it is not what their description says.
    pub recovery: Recovery,
    /// The description of these links; the speed and length of a cable are those of the graph.
    pub link: LinkConfig,
    /// Whether switches pause what they have no room for (PFC), and when; their queues have no bound then. `None` drops it.
    pub pfc: Option<PfcLimits>,
    /// Links that fail. Their backups are links beyond those of the graph, numbered in this order.
    pub failing: Vec<FailingLink>,
    /// Second links beside those that corrupt, numbered after all others, if there are any.
    pub second_link: Option<SecondLink>,
    /// Queues in parallel before the middle link.
    pub spreading: Spreading,
    /// What hosts send each other: one kind of traffic or several at once, each between hosts of its own. Hosts that take
    /// part in none send nothing.
    pub traffic: Vec<TrafficConfig>,
}

impl FlowsConfig {
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let hosts = self.graph.hosts().count();
        check(hosts >= 2, "topology", format!("{hosts} hosts"), "must have at least 2 hosts")?;
        for link in &self.corrupting {
            check(
                (link.0 as usize) < self.graph.links().len(),
                "corrupting link",
                link.0,
                "must be a link of the topology",
            )?;
        }
        traffic::validate(&self.traffic, &self.graph)?;
        self.failing.iter().try_for_each(FailingLink::validate)?;
        if let Some(second) = &self.second_link {
            second.validate(&self.link, self.recovery, !self.failing.is_empty())?;
        }
        self.link.validate()
    }

    /// As many links in the middle of the network as are asked for, or as there are between switches: those that corrupt
    /// unless others are named. They are in the middle of the list of links, so that of switches in a row they are those in the
    /// middle.
    pub fn middle_links(graph: &Graph, count: usize) -> Vec<LinkId> {
        let is_switch = |node| graph.node(node).kind == NodeKind::Switch;
        let is_between = |link: &LinkId| graph.link(*link).ends.iter().all(|end| is_switch(end.node));
        let mut links: Vec<LinkId> = graph.links().filter(is_between).collect();
        let others = links.len().saturating_sub(count);
        links.drain(..others.div_ceil(2));
        links.truncate(count);
        links
    }
}

/// Rate of the first host's link; all hosts' are alike in generated networks.
pub(crate) fn host_bits_per_second(graph: &Graph) -> u64 {
    graph.hosts().next().map_or(0, |host| bits_per_second_of(graph, host))
}

/// Rate of a host's link.
pub(super) fn bits_per_second_of(graph: &Graph, host: NodeId) -> u64 {
    graph.node(host).links().first().map_or(0, |link| graph.link(*link).cable.speed.0)
}
