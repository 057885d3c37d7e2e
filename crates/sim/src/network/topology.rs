//! A network built from a graph.

use super::Plan;
use crate::link::{PortConfig, PortId, Scheme, Side};
use crate::node::{Balance, NodeId};
use linkmend_topology::graph::Edge;
use linkmend_topology::{Graph, LinkId, NodeKind};

impl<S: Scheme> Plan<S> {
    /// Makes a plan of the nodes and links of `graph`, with the same numbers; a link's side A is the end that the graph
    /// names first. `ports` returns the configuration of a link's two ports, that of side A first.
    pub fn of_graph(
        graph: &Graph,
        balance: Balance,
        mut ports: impl FnMut(LinkId, &Edge) -> [PortConfig<S>; 2],
    ) -> Plan<S> {
        let mut plan = Plan::new();
        for node in graph.nodes() {
            match graph.node(node).kind {
                NodeKind::Host => plan.host(),
                NodeKind::Switch => plan.switch(balance),
            };
        }
        for id in graph.links() {
            let edge = graph.link(id);
            plan.link(edge.ends.map(|end| end.node), ports(id, edge));
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
