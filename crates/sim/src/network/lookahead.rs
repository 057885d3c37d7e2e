//! Switches that run ahead of the rest of the network, by the minimum delay of their links: the *lookahead* (Chandy and
//! Misra, IEEE Transactions on Software Engineering 5(5), 1979).
//!
//! A switch depends on others only through what arrives there. A frame that now begins to leave one end of a link
//! arrives at the other end a microsecond later, so everything that arrives within that microsecond is already in
//! flight. A switch whose [ports all plan ahead](super::ahead) therefore handles all of it together, in the same order,
//! and the [`EventQueue`](crate::event_queue::EventQueue) is queried once instead of once per frame. Nothing depends on
//! the order of events at different switches that cannot influence each other within this time.
//!
//! The counts of drops, marks and pauses at the end of a run therefore include the last microsecond, by which switches
//! are ahead.
//!
//! A pause frame (PFC) takes effect sooner. While the switch at the other end of a link may be about to send one, a
//! switch runs ahead only by the delay of a pause frame.

use super::Network;
use super::hosts::Hosts;
use crate::link::id::PortEvent;
use crate::link::port::Port;
use crate::link::{FRAME_BYTES_MIN, Frame, Observer, OnWire, PortId, Scheme, WIRE_OVERHEAD_BYTES};
use crate::node::{Node, NodeId};
use crate::time::Time;
use std::hint::{cold_path, select_unpredictable};

/// With more ports, finding the next event among them would take as long as finding it in the whole network.
const PORTS_MAX: usize = 16;

/// How far a switch runs ahead; zero if it does not.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Runner {
    /// Minimum time until a frame, or a pause frame, arrives.
    reach: Time,
    pause_reach: Time,
    /// How much may arrive over a link in that time.
    reach_bytes: u64,
}

/// From which port the last frame left that arrived at a port. Others of the same flow leave there, too.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastRoute {
    hash: u64,
    destination: NodeId,
    /// None before the first frame.
    out: Option<PortId>,
}

impl LastRoute {
    const NONE: LastRoute = LastRoute { hash: 0, destination: NodeId(0), out: None };
}

impl Runner {
    /// A switch with these ports, each paired with the port at the other end of its link.
    fn new<S: Scheme>(links: &[[&Port<S>; 2]]) -> Runner {
        let pause_takes = |from: &Port<S>| {
            from.rate.time_of(u64::from(FRAME_BYTES_MIN) + WIRE_OVERHEAD_BYTES) + from.wire_latency
        };
        let peers = || links.iter().map(|[_, peer]| *peer);
        let reach = peers().map(|from| pause_takes(from) + from.ingress_latency).min().unwrap_or_default();
        let fastest = links.iter().flatten().map(|port| port.rate).max();
        Runner {
            reach,
            pause_reach: peers().map(pause_takes).min().unwrap_or_default(),
            reach_bytes: fastest.map_or(0, |rate| reach.0 / rate.time_of(1).0),
        }
    }
}

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Chooses the switches that run ahead.
    pub(super) fn choose_runners(&mut self) {
        self.runners = vec![Runner::default(); self.nodes.len()];
        // A frame's number may depend on the order of events at different switches, and so may its path if switches
        // choose paths by number.
        let sprays = |node: &Node| matches!(node, Node::Switch(switch) if !switch.keeps_flows_together());
        if self.nodes.iter().any(sprays) {
            return;
        }
        self.last_routes = vec![LastRoute::NONE; self.ports.len()];
        for (runner, ports) in self.runners.iter_mut().zip(&self.ports_of) {
            let plans_ahead = |port: &PortId| self.ports[port.index()].departures.is_some();
            if ports.len() > PORTS_MAX || !ports.iter().all(plans_ahead) {
                continue;
            }
            let link = |port: &PortId| [*port, port.peer()].map(|port| &self.ports[port.index()]);
            *runner = Runner::new(&ports.iter().map(link).collect::<Vec<_>>());
            for port in ports {
                if let Some(departures) = &mut self.ports[port.index()].departures {
                    departures.runs_ahead = true;
                }
            }
        }
    }

    /// Handles an arrival at a switch that runs ahead, and everything that follows there within its reach.
    #[inline(never)]
    pub(super) fn run_ahead(&mut self, node: NodeId, port: PortId) {
        let began = self.now;
        let end = (began + self.reach(node)).min(self.horizon);
        self.queue.defer();
        self.arrive_ahead(port);
        while let Some((at, port, event)) = self.next_of(node, end) {
            let arrives = event == PortEvent::Arrival;
            if !arrives && self.ports[port.index()].departs_corrupted() {
                // The host is told of it, so everything before it must have happened.
                break;
            }
            self.now = at;
            self.events += 1;
            if arrives {
                self.acts = port.arrival();
                self.arrive_ahead(port);
            } else {
                self.acts = port.service();
                self.depart(port);
            }
        }
        self.queue.catch_up();
        self.now = began;
    }

    /// The next event of a switch before `end`.
    #[inline(always)]
    fn next_of(&self, node: NodeId, end: Time) -> Option<(Time, PortId, PortEvent)> {
        let (mut at, mut found) = (end, usize::MAX);
        for port in &self.ports_of[node.index()] {
            for source in [port.arrival(), port.service()] {
                let time = self.queue.time_of(source);
                let is_earlier = time < at;
                at = select_unpredictable(is_earlier, time, at);
                found = select_unpredictable(is_earlier, source, found);
            }
        }
        let (port, event) = PortId::port_event(found, self.ports.len()).ok()?;
        Some((at, port, event))
    }

    /// How far the switch may run ahead now.
    fn reach(&self, node: NodeId) -> Time {
        let runner = &self.runners[node.index()];
        // What may arrive at another switch in the meantime: frames that fill this time, and one that began before.
        let bytes = runner.reach_bytes + u64::from(self.frame_bytes_max);
        let is_quiet = |port: &PortId| self.pfc_is_quiet(port.peer(), bytes);
        if self.ports_of[node.index()].iter().all(is_quiet) { runner.reach } else { runner.pause_reach }
    }

    /// Handles an arrival, like [`Network::arrive`].
    #[inline]
    fn arrive_ahead(&mut self, port: PortId) {
        let from = &mut self.ports[port.peer().index()];
        let Some((_, OnWire::Plain { frame })) = from.in_flight.front() else { return self.arrive(port) };
        let frame = *frame;
        from.in_flight.pop_front();
        self.queue.set(port.arrival(), from.next_arrival());
        let Some(out) = self.route_ahead(port, &frame) else { return };
        let node = self.ports[port.index()].node;
        let copies = self.hosts.copies(node, [port, out], &frame);
        self.plan_departure([port, out], &frame);
        for _ in 0..copies {
            cold_path();
            if let Some(copy) = self.hosts.copy(&frame) {
                self.plan_departure([port, out], &copy);
            }
        }
    }

    /// The port from which a frame leaves that arrived at `port`.
    #[inline(always)]
    fn route_ahead(&mut self, port: PortId, frame: &Frame) -> Option<PortId> {
        let flow = &self.flows[frame.flow.0 as usize];
        let last = &mut self.last_routes[port.index()];
        if last.out.is_none() || (last.hash, last.destination) != (flow.hash, flow.destination) {
            let node = self.ports[port.index()].node;
            let Node::Switch(switch) = &self.nodes[node.index()] else { return None };
            let out = switch.route(self.ways[flow.destination.index()], flow, frame);
            *last = LastRoute { hash: flow.hash, destination: flow.destination, out };
        }
        last.out
    }
}
