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
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::{cold_path, select_unpredictable};

/// With more ports than this, what happens next is found in a heap.
const SEARCHED_MAX: usize = 16;

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
    /// Chooses the ports that plan ahead, and the switches that run ahead.
    pub(super) fn choose_runners(&mut self) {
        self.choose_ports_ahead();
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
            if !ports.iter().all(plans_ahead) {
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
        if self.ports_of[node.index()].len() > SEARCHED_MAX {
            self.run_many_ahead(node, port, end);
        } else {
            self.run_few_ahead(node, port, end);
        }
        self.queue.catch_up();
        self.now = began;
    }

    /// Handles an arrival at `port`, and what follows at its switch, whose ports are searched.
    #[inline(always)]
    fn run_few_ahead(&mut self, node: NodeId, port: PortId, end: Time) {
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
    }

    /// The same at a switch with many ports, few of which have an event before `end`.
    fn run_many_ahead(&mut self, node: NodeId, port: PortId, end: Time) {
        let mut coming = std::mem::take(&mut self.coming);
        self.await_all(node, end, &mut coming);
        if coming.is_empty() {
            coming.push(Reverse((self.now, port.arrival())));
        }
        let mut is_first = true;
        while let Some(Reverse((at, source))) = coming.pop() {
            // What has been set anew stands elsewhere in the heap.
            if self.queue.time_of(source) != at {
                continue;
            }
            let Ok((port, event)) = PortId::port_event(source, self.ports.len()) else { continue };
            let arrives = event == PortEvent::Arrival;
            if !arrives && self.ports[port.index()].departs_corrupted() {
                break;
            }
            (self.now, self.acts) = (at, source);
            self.events += u64::from(!std::mem::take(&mut is_first));
            let awaited = self.pfc_awaits(port);
            let out = if arrives { self.arrive_ahead(port) } else { None };
            if !arrives {
                self.depart(port);
            }
            match out {
                Some(out) if !awaited && !self.pfc_awaits(port) => {
                    for source in [port.arrival(), out.service()] {
                        let at = self.queue.time_of(source);
                        if at < end {
                            coming.push(Reverse((at, source)));
                        }
                    }
                }
                // Pauses concern all ports.
                _ => self.await_all(node, end, &mut coming),
            }
        }
        self.coming = coming;
    }

    /// What happens at a switch before `end`, as far as it is known.
    fn await_all(&self, node: NodeId, end: Time, coming: &mut BinaryHeap<Reverse<(Time, usize)>>) {
        coming.clear();
        for port in &self.ports_of[node.index()] {
            for source in [port.arrival(), port.service()] {
                let at = self.queue.time_of(source);
                if at < end {
                    coming.push(Reverse((at, source)));
                }
            }
        }
    }

    /// Lets a host take a frame that has arrived at its port, and those in flight that it will handle together with it. They have
    /// left the other end, and nothing stops them.
    #[inline(never)]
    pub(super) fn take_ahead(&mut self, port: PortId) {
        let node = self.ports[port.index()].node;
        let from = &mut self.ports[port.peer().index()];
        let in_flight = self.now + from.wire_latency + from.ingress_latency;
        let (mut until, mut taken) = (self.now, None);
        while let Some(&(at, OnWire::Plain { frame })) = from.in_flight.front()
            && at <= until
            && self.flows[frame.flow.0 as usize].destination == node
        {
            from.in_flight.pop_front();
            let source = self.hosts.receive(at, node, frame);
            self.events += u64::from(taken.is_some());
            taken = Some(source);
            until = self.hosts.takes_until(source).min(in_flight);
        }
        let Some(source) = taken else { return self.arrive(port) };
        self.queue.set(port.arrival(), from.next_arrival());
        self.note_changes(source);
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

    /// Handles an arrival, like [`Network::arrive`]. Returns the port by which a frame leaves, if that is all that it changes.
    #[inline]
    fn arrive_ahead(&mut self, port: PortId) -> Option<PortId> {
        let from = &mut self.ports[port.peer().index()];
        let Some((_, OnWire::Plain { frame })) = from.in_flight.front() else {
            self.arrive(port);
            return None;
        };
        let frame = *frame;
        from.in_flight.pop_front();
        self.queue.set(port.arrival(), from.next_arrival());
        let out = self.route_ahead(port, &frame)?;
        let node = self.ports[port.index()].node;
        let copies = self.hosts.copies(node, [port, out], &frame);
        self.plan_departure([port, out], &frame);
        for _ in 0..copies {
            cold_path();
            if let Some(copy) = self.hosts.copy(&frame) {
                self.plan_departure([port, out], &copy);
            }
        }
        Some(out)
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
