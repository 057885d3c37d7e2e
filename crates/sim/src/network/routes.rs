//! Routes: all shortest paths from every switch to every destination.
//!
//! All frames for a host with a single link pass through the switch at the other end of that link. The hosts of a
//! switch therefore share one search, and one route in every other switch: a fat tree of k = 64 has 65,536 hosts and
//! 2,048 routes.

use super::Plan;
use super::ports_of_nodes::by_node;
use crate::link::{PortId, Scheme};
use crate::node::{Node, NodeId, Way};
use std::collections::VecDeque;

/// Where routes lead, and which route frames for a node follow.
pub(super) struct Destinations {
    /// Where each route leads, by the number of the route.
    roots: Vec<NodeId>,
    /// How frames for a node travel, by the node's index.
    pub(super) ways: Vec<Way>,
}

/// A port, and the node at the other end of its link.
#[derive(Debug, Clone, Copy)]
struct Neighbour {
    port: PortId,
    node: NodeId,
}

impl<S: Scheme> Plan<S> {
    /// Sets the routes of all switches to these nodes. Routes that were set by hand stay.
    pub(super) fn set_routes(&mut self, nodes: impl Iterator<Item = NodeId>) -> Destinations {
        let ports_of = self.routed_ports();
        let destinations = self.destinations(&ports_of, nodes);
        for (switch, destination, port) in std::mem::take(&mut self.fixed_routes) {
            if let Node::Switch(switch) = &mut self.nodes[switch.index()] {
                switch.set_route(destinations.ways[destination.index()].route, &[port]);
            }
        }
        let neighbours = self.neighbours(&ports_of, &destinations.roots);
        let mut distance = Vec::new();
        for (route, &root) in (0..).zip(&destinations.roots) {
            self.distances(&neighbours, root, &mut distance);
            self.set_routes_to(route, root, &neighbours, &distance);
        }
        destinations
    }

    /// Whether frames that leave by `port` reach `destination`: the next node is the destination, or a switch that has
    /// a route.
    pub(super) fn leads_to(&self, port: PortId, destination: NodeId, way: Way) -> bool {
        let next = self.node_of(port.peer());
        let passes = match &self.nodes[next.index()] {
            Node::Switch(switch) => switch.has_route(way.route),
            Node::Host => false,
        };
        next == destination || passes
    }

    /// By node: its ports, except those of backup and second links, which no route uses.
    fn routed_ports(&self) -> Vec<Vec<PortId>> {
        let is_backup = |port: &PortId| {
            self.failing.iter().any(|failing| failing.backup == Some(port.link()))
                || self.second_links.iter().any(|(_, backup, _)| *backup == port.link())
        };
        let routed = (0..self.port_count()).map(PortId::at).filter(|port| !is_backup(port));
        by_node(self.nodes.len(), routed.map(|port| (self.node_of(port), port)))
    }

    /// A host shares the route of its switch, unless it has several links, or a route was set by hand for either of
    /// them.
    fn destinations(&self, ports_of: &[Vec<PortId>], nodes: impl Iterator<Item = NodeId>) -> Destinations {
        let fixed = || self.fixed_routes.iter().map(|(_, destination, _)| *destination);
        let mut is_fixed = vec![false; self.nodes.len()];
        fixed().for_each(|node| is_fixed[node.index()] = true);
        let mut route_to = vec![None; self.nodes.len()];
        let mut roots = Vec::new();
        let mut ways = vec![Way::NONE; self.nodes.len()];
        for node in fixed().chain(nodes) {
            let last = match ports_of[node.index()][..] {
                [port] if !self.is_switch(node) => Some(port.peer()),
                _ => None,
            };
            let shares = |last: &PortId| {
                let switch = self.node_of(*last);
                self.is_switch(switch) && !is_fixed[switch.index()] && !is_fixed[node.index()]
            };
            let last = last.filter(shares);
            let root = last.map_or(node, |port| self.node_of(port));
            let route = *route_to[root.index()].get_or_insert_with(|| {
                roots.push(root);
                roots.len() as u32 - 1
            });
            ways[node.index()] = Way { route, last };
        }
        Destinations { roots, ways }
    }

    /// By node: the ports to nodes that are on paths or at their ends.
    fn neighbours(&self, ports_of: &[Vec<PortId>], roots: &[NodeId]) -> Vec<Vec<Neighbour>> {
        let mut is_used: Vec<bool> = self.nodes.iter().map(|node| matches!(node, Node::Switch(_))).collect();
        roots.iter().for_each(|root| is_used[root.index()] = true);
        let neighbour = |&port: &PortId| Neighbour { port, node: self.node_of(port.peer()) };
        let of = |ports: &Vec<PortId>| {
            ports.iter().map(neighbour).filter(|next| is_used[next.node.index()]).collect()
        };
        ports_of.iter().map(of).collect()
    }

    /// Distance of each switch from `root`, in links. Hosts forward nothing.
    fn distances(&self, neighbours: &[Vec<Neighbour>], root: NodeId, distance: &mut Vec<u32>) {
        distance.clear();
        distance.resize(self.nodes.len(), u32::MAX);
        distance[root.index()] = 0;
        let mut queue = VecDeque::from([root]);
        while let Some(node) = queue.pop_front() {
            for next in &neighbours[node.index()] {
                if distance[next.node.index()] == u32::MAX && self.is_switch(next.node) {
                    distance[next.node.index()] = distance[node.index()] + 1;
                    queue.push_back(next.node);
                }
            }
        }
    }

    fn set_routes_to(&mut self, route: u32, root: NodeId, neighbours: &[Vec<Neighbour>], distance: &[u32]) {
        let mut group = Vec::new();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let Node::Switch(switch) = node else { continue };
            if index == root.index() {
                switch.attach(route);
            } else if distance[index] < u32::MAX && !switch.has_route(route) {
                let nearer = |next: &&Neighbour| distance[next.node.index()] < distance[index];
                group.clear();
                group.extend(neighbours[index].iter().filter(nearer).map(|next| next.port));
                switch.set_route(route, &group);
            }
        }
    }

    fn is_switch(&self, node: NodeId) -> bool {
        matches!(self.nodes[node.index()], Node::Switch(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::LinkConfig;
    use crate::link::scheme::Unprotected;
    use crate::node::Balance;
    use crate::time::Rate;
    use linkmend_topology::spec;

    fn plan(topology: &str) -> Plan<Unprotected> {
        let graph = spec::graph(topology).expect("a topology");
        let rate = Rate::from_bits_per_second(100_000_000_000).expect("exact");
        Plan::of_graph(&graph, Balance::FlowHash, |_, _| LinkConfig::clean(rate).ports_with([(), ()]))
    }

    fn hosts(plan: &Plan<Unprotected>) -> Vec<NodeId> {
        let nodes = (0..plan.nodes.len() as u32).map(NodeId);
        nodes.filter(|node| !plan.is_switch(*node)).collect()
    }

    /// Each route takes one search, and one entry in each switch.
    #[test]
    fn the_hosts_of_a_switch_share_one_search_and_one_entry() {
        for (topology, with_hosts) in [
            ("fat-tree:k=4,hosts=2", 8),
            ("fat-tree:k=8,hosts=4", 32),
            ("fat-tree:k=8,hosts=1", 32),
            ("line:switches=5,hosts=3", 2),
        ] {
            let mut plan = plan(topology);
            let hosts = hosts(&plan);
            let destinations = plan.set_routes(hosts.into_iter());
            assert_eq!(destinations.roots.len(), with_hosts, "{topology}: searches");
            for node in &plan.nodes {
                if let Node::Switch(switch) = node {
                    assert_eq!(switch.entries(), with_hosts, "{topology}: entries of a switch");
                }
            }
        }
    }

    /// With one search for each host, as before, every path to it is the same.
    #[test]
    fn shared_routes_are_those_of_a_search_for_each_host() {
        let mut shared = plan("fat-tree:k=6,hosts=3");
        let hosts = hosts(&shared);
        let ways = shared.set_routes(hosts.iter().copied()).ways;
        for &host in &hosts {
            let mut alone = plan("fat-tree:k=6,hosts=3");
            // A route set by hand (here a correct one) gives a host its own search.
            let port = alone.routed_ports()[host.index()][0].peer();
            alone.route(alone.node_of(port), host, port);
            let own = alone.set_routes([host].into_iter()).ways[host.index()];
            assert_eq!(own.last, None);
            for (one, other) in shared.nodes.iter().zip(&alone.nodes) {
                if let (Node::Switch(one), Node::Switch(other)) = (one, other) {
                    let way = ways[host.index()];
                    assert_eq!(one.ports_to(way), other.ports_to(own));
                }
            }
        }
    }

    /// A host between two switches is a destination, but not a path to another node.
    #[test]
    fn a_host_with_two_links_has_its_own_route_and_forwards_nothing() {
        let rate = Rate::from_bits_per_second(100_000_000_000).expect("exact");
        let mut plan = Plan::<Unprotected>::new();
        let [left, right] = [(); 2].map(|()| plan.switch(Balance::FlowHash));
        let [both, single] = [(); 2].map(|()| plan.host());
        let ports = || LinkConfig::clean(rate).ports_with([(), ()]);
        plan.link([left, both], ports());
        plan.link([right, both], ports());
        plan.link([right, single], ports());
        let destinations = plan.set_routes([both, single].into_iter());
        assert_eq!(destinations.roots, [both, right]);
        let ports_at = |node: NodeId, to: NodeId| match &plan.nodes[node.index()] {
            Node::Switch(switch) => switch.ports_to(destinations.ways[to.index()]),
            Node::Host => Vec::new(),
        };
        assert_eq!(ports_at(left, both).len(), 1);
        assert_eq!(ports_at(right, both).len(), 1);
        assert_eq!(ports_at(right, single), [PortId::at(4)]);
        assert_eq!(ports_at(left, single), []);
    }
}
