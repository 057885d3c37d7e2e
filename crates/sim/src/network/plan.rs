//! The parts of a network: nodes, links, flows, and their traffic.

use super::Network;
use super::failover::{FailingLink, Failover, Latencies};
use super::hosts::{Hosts, NoHosts};
use super::pfc::{Pfc, PfcLimits};
use super::ports_of_nodes::by_node;
use super::second_link::{Planned, SecondLinkConfig, SecondLinks};
use crate::event_queue::EventQueue;
use crate::link::control_store::ControlStore;
use crate::link::generator::Generator;
use crate::link::port::Port;
use crate::link::recirculation::RecirculationPort;
use crate::link::scheme::PortSeed;
use crate::link::{
    FRAME_BYTES_MIN, FULL_FRAME_BYTES, FlowId, LinkId, Observer, PortConfig, PortError, PortId, Scheme,
    Schemes, Traffic, WIRE_OVERHEAD_BYTES,
};
use crate::link::{ParallelConfig, ParallelQueues};
use crate::node::{Balance, Flow, Node, NodeId, Switch, Way};
use crate::random::Random;
use crate::time::{Rate, Time};
use linkmend_random::mix;
use std::collections::BinaryHeap;

/// A plan of a network. Nodes, links, flows and recirculation ports are numbered in the order in which they are added.
#[derive(Debug, Clone)]
pub struct Plan<S: Scheme = Schemes> {
    pub(super) nodes: Vec<Node>,
    links: Vec<Cable<S>>,
    flows: Vec<Flow>,
    traffic: Vec<(PortId, FlowId, Traffic)>,
    /// Routes set by hand: at a switch, for a destination, through a port.
    pub(super) fixed_routes: Vec<(NodeId, NodeId, PortId)>,
    loops: Vec<(Rate, Time)>,
    pfc: Option<PfcLimits>,
    pub(super) failing: Vec<FailingLink>,
    pub(super) second_links: Vec<Planned>,
    parallel: Vec<(PortId, ParallelConfig)>,
}

/// A link between two nodes.
#[derive(Debug, Clone)]
struct Cable<S: Scheme> {
    nodes: [NodeId; 2],
    ports: [PortConfig<S>; 2],
}

impl<S: Scheme> Default for Plan<S> {
    fn default() -> Self {
        Plan {
            nodes: Vec::new(),
            links: Vec::new(),
            flows: Vec::new(),
            traffic: Vec::new(),
            fixed_routes: Vec::new(),
            loops: Vec::new(),
            pfc: None,
            failing: Vec::new(),
            second_links: Vec::new(),
            parallel: Vec::new(),
        }
    }
}

impl<S: Scheme> Plan<S> {
    /// A plan without nodes.
    pub fn new() -> Plan<S> {
        Plan::default()
    }

    fn add_node(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a host.
    pub fn host(&mut self) -> NodeId {
        self.add_node(Node::Host)
    }

    /// Adds a switch that balances flows in this way.
    pub fn switch(&mut self, balance: Balance) -> NodeId {
        let node = NodeId(self.nodes.len() as u32);
        self.add_node(Node::Switch(Switch::new(balance, node)))
    }

    /// Adds a link between two nodes; returns the port that each of them has there.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn link(&mut self, nodes: [NodeId; 2], ports: [PortConfig<S>; 2]) -> LinkId {
        assert!(nodes.iter().all(|node| node.index() < self.nodes.len()), "no such node");
        self.links.push(Cable { nodes, ports });
        LinkId(self.links.len() as u32 - 1)
    }

    /// Adds a recirculation port with its rate and loop latency; schemes refer to it by the number that this returns.
    pub fn recirculation(&mut self, (rate, latency): (Rate, Time)) -> usize {
        self.loops.push((rate, latency));
        self.loops.len() - 1
    }

    /// Makes switches pause their peers when they have no room, instead of dropping frames. This is for networks with
    /// hosts; their queues then have no limits.
    pub fn pausing(&mut self, limits: PfcLimits) {
        self.pfc = Some(limits);
    }

    /// Makes a link fail. This is for networks with hosts.
    pub fn failing(&mut self, failing: FailingLink) {
        self.failing.push(failing);
    }

    /// Adds a second link between the ends of `primary`, whose protected session uses both. Frames are routed only over
    /// `primary`, and its ends choose the link. The schemes of `ports` protect nothing. This is for networks with
    /// hosts.
    ///
    /// # Panics
    /// If there is no such link.
    pub fn second_link(
        &mut self,
        primary: LinkId,
        ports: [PortConfig<S>; 2],
        config: SecondLinkConfig,
    ) -> LinkId {
        let nodes = self.links[primary.0 as usize].nodes;
        let backup = self.link(nodes, ports);
        self.second_links.push((primary, backup, config));
        backup
    }

    /// Puts parallel queues in front of a port. This is for networks with hosts.
    pub fn parallel(&mut self, port: PortId, config: ParallelConfig) {
        self.parallel.push((port, config));
    }

    /// Number of ports: two for each link.
    pub fn port_count(&self) -> usize {
        2 * self.links.len()
    }

    /// The node that the port belongs to.
    pub fn node_of(&self, port: PortId) -> NodeId {
        self.links[port.link().0 as usize].nodes[port.side() as usize]
    }

    /// Adds a flow that enters the network at a port, and leaves it at a node. A port has at most one flow.
    ///
    /// # Panics
    /// If the port has one already, or there is no such node.
    pub fn traffic(&mut self, port: PortId, to: NodeId, traffic: Traffic) -> FlowId {
        assert!(self.traffic.iter().all(|(other, ..)| *other != port), "a port has one flow at most");
        assert!(to.index() < self.nodes.len(), "no such node");
        let flow = FlowId(self.flows.len() as u32);
        let hash = mix(u64::from(flow.0));
        self.flows.push(Flow { source: self.node_of(port), destination: to, hash });
        self.traffic.push((port, flow, traffic));
        flow
    }

    /// Sets a route: frames at `node` for `destination` leave through `port`, whatever the shortest path is.
    ///
    /// # Panics
    /// If `node` is not a switch, or `port` is not one of its ports.
    pub fn route(&mut self, node: NodeId, destination: NodeId, port: PortId) {
        assert_eq!(self.node_of(port), node, "a route leads out of a port of the switch");
        assert!(matches!(self.nodes[node.index()], Node::Switch(_)), "hosts pass nothing on");
        self.fixed_routes.push((node, destination, port));
    }

    /// Builds the network. Switches route along all shortest paths.
    ///
    /// # Errors
    /// [`PortError`] names the parameter that cannot be used.
    ///
    /// # Panics
    /// If a flow's destination cannot be reached.
    pub fn build<O: Observer<S>>(self, seed: u64, observer: O) -> Result<Network<O, S>, PortError> {
        self.build_with_hosts(seed, observer, NoHosts)
    }

    /// Builds the network with something that runs on its hosts. Every host can be reached from every other one.
    ///
    /// # Errors
    /// [`PortError`] names the parameter that cannot be used.
    ///
    /// # Panics
    /// If a flow's destination cannot be reached.
    pub fn build_with_hosts<O: Observer<S>, H: Hosts>(
        mut self,
        seed: u64,
        observer: O,
        hosts: H,
    ) -> Result<Network<O, S, H>, PortError> {
        let ways = self.set_all_routes(H::ANY);
        let count = 2 * self.links.len();
        let mut generators: Vec<Generator> = (0..count).map(|_| Generator::none()).collect();
        let mut passed_on = H::ANY;
        for (port, flow, traffic) in std::mem::take(&mut self.traffic) {
            passed_on |= self.node_of(port.peer()) != self.flows[flow.0 as usize].destination;
            generators[port.index()] = Generator::new(traffic, flow);
        }
        let (mut ports, mut schemes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut generators = generators.into_iter();
        for (link, cable) in self.links.iter().enumerate() {
            for (side, id) in PortId::both(LinkId(link as u32)).into_iter().enumerate() {
                let Some(generator) = generators.next() else { break };
                let [own, peer] = [&cable.ports[side], &cable.ports[1 - side]];
                let port_seed = PortSeed { seed, port: id.index() as u32 };
                let mut scheme = S::new(&own.scheme, &peer.scheme, port_seed)?;
                ports.push(Port::new(own, &mut scheme, (id, cable.nodes[side]), generator, seed)?);
                schemes.push(scheme);
            }
        }
        if H::ANY {
            self.put_parallel_queues(&mut ports, seed);
        }
        // Without hosts there is no traffic that could be handed over.
        let failing = if H::ANY { std::mem::take(&mut self.failing) } else { Vec::new() };
        let failover = Failover::new(failing, count, seed, |port| latencies(&ports, port));
        let sources = PortId::sources(count) + self.loops.len() + hosts.sources() + 1;
        let planned = if H::ANY { &self.second_links[..] } else { &[] };
        let second_links = SecondLinks::new(planned, (&mut ports, &mut schemes), seed, sources)?;
        let loop_at =
            |(index, (rate, latency))| RecirculationPort::new(PortId::sources(count) + index, rate, latency);
        let ports_of = by_node(self.nodes.len(), ports.iter().map(|port| (port.node, port.id)));
        let mut network = Network {
            now: Time::ZERO,
            acts: 0,
            events: 0,
            queue: EventQueue::new(sources + SecondLinks::sources(planned)),
            pfc: self.pfc.map(|limits| Pfc::new(limits, ports.iter().map(|port| port.node))),
            ports,
            schemes,
            loops: self.loops.into_iter().enumerate().map(loop_at).collect(),
            nodes: self.nodes,
            ports_of,
            flows: self.flows,
            ways,
            passed_on,
            controls: ControlStore::new(),
            failover,
            second_links,
            runners: Vec::new(),
            coming: BinaryHeap::new(),
            last_routes: Vec::new(),
            horizon: Time::NEVER,
            frame_bytes_max: 0,
            hosts,
            observer,
        };
        network.choose_runners();
        network.begin();
        network.begin_paths();
        network.schedule_failover();
        Ok(network)
    }

    /// Puts parallel queues in front of the ports that have them.
    fn put_parallel_queues(&self, ports: &mut [Port<S>], seed: u64) {
        for (port, config) in &self.parallel {
            let random = Random::new(seed, &format!("queues of port {}", port.index()));
            let this = &mut ports[port.index()];
            this.parallel = Some(Box::new(ParallelQueues::new(*config, this.rate, random)));
        }
    }

    /// Sets the routes to the destinations of all flows, and to all hosts if any of them may be a destination. Returns
    /// how frames get to each node.
    fn set_all_routes(&mut self, to_hosts: bool) -> Vec<Way> {
        let is_host = |node: &NodeId| to_hosts && matches!(self.nodes[node.index()], Node::Host);
        let hosts = (0..self.nodes.len() as u32).map(NodeId).filter(is_host);
        let nodes: Vec<NodeId> = self.flows.iter().map(|flow| flow.destination).chain(hosts).collect();
        let ways = self.set_routes(nodes.into_iter()).ways;
        for (port, flow, _) in &self.traffic {
            let destination = self.flows[flow.0 as usize].destination;
            assert!(self.leads_to(*port, destination, ways[destination.index()]), "no way for a flow");
        }
        ways
    }
}

/// How long frames take on the link that leaves a port. An acknowledgement is a minimum-size frame in the other
/// direction.
fn latencies<S: Scheme>(ports: &[Port<S>], port: PortId) -> Latencies {
    let [own, peer] = [&ports[port.index()], &ports[port.peer().index()]];
    let lasts = |bytes: u32| own.rate.time_of(u64::from(bytes) + WIRE_OVERHEAD_BYTES);
    let back = lasts(FRAME_BYTES_MIN) + peer.wire_latency + peer.ingress_latency;
    Latencies {
        transit: lasts(FULL_FRAME_BYTES) + own.wire_latency,
        acknowledgement: own.ingress_latency + back,
    }
}
