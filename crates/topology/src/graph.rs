//! Networks of hosts and switches without layers, for simulators and control planes.
//!
//! A [`Topology`] knows which way is up, but no hosts. A [`Graph`] knows hosts, ports and the length of cables, and may
//! have any shape: a line, a star, or a layered network with hosts at its ToRs. Switches and links of a layered network
//! keep their numbers, so that what a fleet tool says about a link can be simulated on that link.

use crate::{Link, LinkId, NodeId, SwitchId, Topology, TopologyError};
use linkmend_quantity::{BitRate, Distance};
use std::collections::BTreeMap;

/// The largest number of nodes of a graph.
pub const MAX_NODES: u64 = 4_000_000;

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// A host, at which flows begin and end.
    Host,
    /// A switch, which forwards frames.
    Switch,
}

/// A host or a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Whether it is a host or a switch.
    pub kind: NodeKind,
    /// Its name, which is unique in its graph.
    pub name: String,
    /// Its links: port `p` has the `p`-th of them.
    ports: Vec<LinkId>,
}

impl Node {
    /// Links of this node, in the order of its ports.
    pub fn links(&self) -> &[LinkId] {
        &self.ports
    }
}

/// A port of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    pub node: NodeId,
    /// The number of the port on its node, from 0.
    pub number: u32,
}

/// Speed and length of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cable {
    /// Speed in each direction.
    pub speed: BitRate,
    /// Length, from end to end.
    pub length: Distance,
}

impl Cable {
    /// 100G over 2 m, as in the paper's testbed.
    pub const DEFAULT: Cable = Cable { speed: BitRate(100_000_000_000), length: Distance(2) };
}

/// A full-duplex link between two ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The two ports that it joins.
    pub ends: [Port; 2],
    /// Its speed and length.
    pub cable: Cable,
}

impl Edge {
    /// The other end of the link, as seen from a node.
    ///
    /// # Panics
    /// If the link does not end at the node.
    pub fn far_end(&self, node: NodeId) -> Port {
        let [one, other] = self.ends;
        assert!(one.node == node || other.node == node, "the link does not end at node {}", node.0);
        if one.node == node { other } else { one }
    }
}

/// A connected network of hosts and switches. It cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl Graph {
    /// A layered network with `hosts` hosts at every ToR. Switches keep their numbers, hosts follow ToR by ToR; links keep
    /// theirs, and those of hosts follow. Links between switches have the speed of the topology and the given length.
    ///
    /// # Errors
    /// If there would be more than [`MAX_NODES`] nodes.
    pub fn with_hosts(
        topology: &Topology,
        hosts: u32,
        host_cable: Cable,
        length: Distance,
    ) -> Result<Graph, TopologyError> {
        let all_hosts = topology.tors().len() as u64 * u64::from(hosts);
        let nodes = topology.switch_count() as u64 + all_hosts;
        if nodes > MAX_NODES {
            return Err(TopologyError::parameter("nodes", nodes, "must be at most 4,000,000"));
        }
        let mut builder = GraphBuilder::of_layered(topology, |_| length);
        for &tor in topology.tors() {
            for host in 0..hosts {
                let name = format!("{}-host{host}", topology.names().switch(tor));
                let host = builder.host(name);
                builder.link(host, tor.into(), host_cable);
            }
        }
        builder.build()
    }

    /// A layered network with named hosts, each at one or more switches. Switches and links keep their numbers; hosts and
    /// their links follow in the order in which they come.
    ///
    /// # Errors
    /// If a host has the name of a switch, or the network is in several parts.
    pub(crate) fn of_layered<'a>(
        topology: &Topology,
        length: impl Fn(LinkId) -> Distance,
        hosts: impl Iterator<Item = (&'a str, SwitchId, Cable)>,
    ) -> Result<Graph, TopologyError> {
        let mut builder = GraphBuilder::of_layered(topology, length);
        let mut known: BTreeMap<&str, NodeId> = BTreeMap::new();
        for (name, switch, cable) in hosts {
            let host = *known.entry(name).or_insert_with(|| builder.host(name));
            builder.link(host, switch.into(), cable);
        }
        builder.build()
    }

    /// The same network without these links. The others are numbered anew, in the same order.
    ///
    /// # Errors
    /// If a node is not reached any more.
    pub fn without(&self, links: &[LinkId]) -> Result<Graph, TopologyError> {
        let mut builder = GraphBuilder::default();
        for node in &self.nodes {
            builder.node(node.kind, node.name.clone());
        }
        for link in self.links().filter(|link| !links.contains(link)) {
            let Edge { ends, cable } = *self.link(link);
            builder.link(ends[0].node, ends[1].node, cable);
        }
        builder.build()
    }

    /// All nodes, in order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// All hosts, in order.
    pub fn hosts(&self) -> impl Iterator<Item = NodeId> {
        self.nodes().filter(|&node| self.node(node).kind == NodeKind::Host)
    }

    /// All links, in order.
    pub fn links(&self) -> impl ExactSizeIterator<Item = LinkId> + use<> {
        (0..self.edges.len() as u32).map(LinkId)
    }

    /// The node with this number.
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// The link with this number.
    pub fn link(&self, link: LinkId) -> &Edge {
        &self.edges[link.index()]
    }

    /// Links and the ports that they lead to, in the order of a node's own ports.
    pub fn neighbours(&self, node: NodeId) -> impl ExactSizeIterator<Item = (LinkId, Port)> {
        self.node(node).links().iter().map(move |&link| (link, self.link(link).far_end(node)))
    }

    /// The node with this name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes().find(|&node| self.node(node).name == name)
    }

    /// Distance of each node from `to`, in links; hosts do not forward. An equal-cost next hop is a neighbour that is
    /// one link closer.
    pub fn distances_to(&self, to: NodeId) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.nodes.len()];
        distances[to.index()] = Some(0);
        let mut reached = vec![to];
        let mut next = 0;
        while let Some(&node) = reached.get(next) {
            next += 1;
            if node != to && self.node(node).kind == NodeKind::Host {
                continue;
            }
            let beyond = distances[node.index()].map(|links: u32| links + 1);
            for (_, port) in self.neighbours(node) {
                let distance = &mut distances[port.node.index()];
                if distance.is_none() {
                    *distance = beyond;
                    reached.push(port.node);
                }
            }
        }
        distances
    }
}

/// Collects nodes and links.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

impl GraphBuilder {
    /// The switches and links of a layered network, with the same numbers.
    fn of_layered(topology: &Topology, length: impl Fn(LinkId) -> Distance) -> GraphBuilder {
        let mut builder = GraphBuilder::default();
        for switch in topology.switches() {
            builder.switch(topology.names().switch(switch));
        }
        for link in topology.links() {
            let Link { lower, upper, .. } = *topology.link(link);
            let cable = Cable { speed: BitRate(topology.capacity(link)), length: length(link) };
            builder.link(lower.into(), upper.into(), cable);
        }
        builder
    }

    /// Adds a host.
    pub fn host(&mut self, name: impl Into<String>) -> NodeId {
        self.node(NodeKind::Host, name.into())
    }

    /// Adds a switch.
    pub fn switch(&mut self, name: impl Into<String>) -> NodeId {
        self.node(NodeKind::Switch, name.into())
    }

    fn node(&mut self, kind: NodeKind, name: String) -> NodeId {
        self.nodes.push(Node { kind, name, ports: Vec::new() });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a link between two nodes that were added before. It takes the next port of each.
    ///
    /// # Panics
    /// If a node was not added before.
    pub fn link(&mut self, one: NodeId, other: NodeId, cable: Cable) -> LinkId {
        let link = LinkId(self.edges.len() as u32);
        let ends = [one, other].map(|node| {
            let ports = &mut self.nodes[node.index()].ports;
            ports.push(link);
            Port { node, number: ports.len() as u32 - 1 }
        });
        self.edges.push(Edge { ends, cable });
        link
    }

    /// Checks the graph.
    ///
    /// # Errors
    /// If it has no node, two nodes with one name, a link from a node to itself or without speed, or a node that not
    /// every other node can reach through switches.
    pub fn build(self) -> Result<Graph, TopologyError> {
        let graph = Graph { nodes: self.nodes, edges: self.edges };
        let Some(first) = graph.nodes().next() else { return Err(TopologyError::NoNode) };
        let mut names: Vec<&str> = graph.nodes.iter().map(|node| &node.name[..]).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(TopologyError::TwoOfOneName { name: pair[0].to_owned() });
        }
        for edge in &graph.edges {
            let [one, other] = edge.ends.map(|end| end.node);
            if one == other {
                return Err(TopologyError::SelfLink { node: graph.node(one).name.clone() });
            }
            if edge.cable.speed.0 == 0 {
                return Err(TopologyError::parameter("speed", 0, "must be above 0"));
            }
        }
        // What reaches a switch reaches everything that this switch reaches.
        let from = graph.nodes().find(|&node| graph.node(node).kind == NodeKind::Switch).unwrap_or(first);
        let distances = graph.distances_to(from);
        if let Some(lost) = graph.nodes().find(|node| distances[node.index()].is_none()) {
            let [one, other] = [from, lost].map(|node| graph.node(node).name.clone());
            return Err(TopologyError::Apart { one, other });
        }
        Ok(graph)
    }
}

/// Switches in a row, with `hosts` hosts at the first and as many at the last one; a line of one switch has them all.
/// With two switches it is a dumbbell.
///
/// # Errors
/// If there are not 1 to 65,536 switches, or not 1 to 65,536 hosts at each end.
pub fn line(switches: u32, hosts: u32, cable: Cable, host_cable: Cable) -> Result<Graph, TopologyError> {
    in_range("switches", switches)?;
    in_range("hosts", hosts)?;
    let mut builder = GraphBuilder::default();
    let row: Vec<NodeId> = (0..switches).map(|switch| builder.switch(format!("switch{switch}"))).collect();
    for pair in row.windows(2) {
        builder.link(pair[0], pair[1], cable);
    }
    for (side, end) in [("left", row[0]), ("right", row[row.len() - 1])] {
        for host in 0..hosts {
            let host = builder.host(format!("{side}{host}"));
            builder.link(host, end, host_cable);
        }
    }
    builder.build()
}

/// One switch and `hosts` hosts.
///
/// # Errors
/// If there are not 1 to 65,536 hosts.
pub fn star(hosts: u32, host_cable: Cable) -> Result<Graph, TopologyError> {
    in_range("hosts", hosts)?;
    let mut builder = GraphBuilder::default();
    let centre = builder.switch("switch0");
    for host in 0..hosts {
        let host = builder.host(format!("host{host}"));
        builder.link(host, centre, host_cable);
    }
    builder.build()
}

fn in_range(name: &'static str, value: u32) -> Result<(), TopologyError> {
    if value == 0 || value > 65_536 {
        return Err(TopologyError::parameter(name, value, "must be 1 to 65,536"));
    }
    Ok(())
}
