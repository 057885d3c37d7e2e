//! A network built from a graph.

use super::Plan;
use crate::link::config::ParameterError;
use crate::link::{LinkConfig, PortConfig, PortId, Scheme, Side};
use crate::node::{Balance, NodeId};
use linkmend_topology::graph::Edge;
use linkmend_topology::{Graph, LinkId, NodeKind};

impl<S: Scheme> Plan<S> {
    /// Creates a plan of the nodes and links of `graph`, with the same numbers; a link's side A is the end that the
    /// graph names first. `ports` returns the configuration of a link's two ports, side A first.
    pub fn of_graph(
        graph: &Graph,
        balance: Balance,
        mut ports: impl FnMut(LinkId, &Edge) -> [PortConfig<S>; 2],
    ) -> Plan<S> {
        let mut plan = Plan::with_nodes(graph, balance);
        for id in graph.links() {
            let edge = graph.link(id);
            plan.link(edge.ends.map(|end| end.node), ports(id, edge));
        }
        plan
    }

    /// Creates a plan of the nodes of `graph` alone, with the same numbers.
    pub(crate) fn with_nodes(graph: &Graph, balance: Balance) -> Plan<S> {
        let mut plan = Plan::new();
        for node in graph.nodes() {
            match graph.node(node).kind {
                NodeKind::Host => plan.host(),
                NodeKind::Switch => plan.switch(balance),
            };
        }
        plan
    }

    /// The port of a node's first link in `graph`, of which this is the plan: the only one of most hosts. `None` if it has
    /// no link.
    pub fn first_port(graph: &Graph, node: NodeId) -> Option<PortId> {
        let link = *graph.node(node).links().first()?;
        let side = if graph.link(link).ends[0].node == node { Side::A } else { Side::B };
        Some(PortId::new(link, side))
    }
}

impl Plan {
    /// Adds a link as it is described. If its frames recirculate, each end has its own recirculation port.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn connect(&mut self, nodes: [NodeId; 2], link: &LinkConfig) -> LinkId {
        let mut recirculation =
            || if link.recirculates() { self.recirculation(link.recirculation_port()) } else { 0 };
        let loops = [recirculation(), recirculation()];
        self.link(nodes, link.ports(loops))
    }

    /// Creates a plan of the nodes and links of `graph`, with the same numbers; `link` describes each link. Its data
    /// goes from the end that the graph names first to the other one.
    ///
    /// # Errors
    /// An error from `link`, or the first parameter of a description that cannot be used.
    pub fn of_links(
        graph: &Graph,
        balance: Balance,
        mut link: impl FnMut(LinkId, &Edge) -> Result<LinkConfig, ParameterError>,
    ) -> Result<Plan, ParameterError> {
        let mut plan = Plan::with_nodes(graph, balance);
        for id in graph.links() {
            let edge = graph.link(id);
            let link = link(id, edge)?;
            link.validate()?;
            plan.connect(edge.ends.map(|end| end.node), &link);
        }
        Ok(plan)
    }
}
