//! Nodes and links, and the loop that runs them.
//!
//! A [`Network`] is built from a [`Plan`]: hosts and switches, links between them, and flows. A port takes frames from
//! its generator or from other ports of its switch, sends them to its peer as the link's scheme allows, and passes
//! frames that it receives to its node, which is either their destination or forwards them. Two switches and one
//! line-rate generator are the paper's stress test; switches in a row are a path of several links; links that share a
//! recirculation port are several links of one switch.
//!
//! # What is an event
//!
//! The sources of the [`EventQueue`] are, for each port, the arrival of the next frame in flight towards it, its
//! service, and its clock (timeouts and paced traffic); then the recirculation ports; then the hosts; then failures of
//! links; then second links. Simultaneous events are processed in this order.
//!
//! # Self-replenishing queues
//!
//! On the Tofino an idle port sends dummies or ACKs without a gap (section 3). Only the first one with new information
//! has an effect, so only that one is simulated. It leaves in the slot in which the real queue would send it, counted
//! from the end of the last real frame, and a frame that becomes ready within a slot waits for the slot's end. If it is
//! corrupted, the next slot repeats it.

mod ahead;
mod context;
mod failover;
mod fast_forward;
mod hosts;
mod insertion;
mod lookahead;
mod pfc;
mod plan;
mod ports_of_nodes;
mod receive;
mod routes;
mod second_link;
mod send;
mod topology;
mod wake;

pub use crate::link::{
    FRAME_BYTES_MIN, FULL_FRAME_BYTES, FlowId, Frame, LinkId, NoObserver, ObservedMoment, Observer, OnWire,
    PORT_QUEUE, ParallelConfig, ParallelQueues, Placement, PortConfig, PortError, PortId, QueueLimits,
    Received, Scheme, Schemes, Sent, Side, Skip, Skipped, Traffic, WIRE_OVERHEAD_BYTES,
};
pub use crate::node::{Balance, Flow, NodeId};
pub(crate) use failover::FailureTimes;
pub use failover::{FailingLink, FailoverStats, HandOff, Recovery, SqrConfig};
pub use fast_forward::Moment;
pub use hosts::{Changed, Hosts, NoHosts};
pub use pfc::PfcLimits;
pub use plan::Plan;
pub use second_link::{Cut, Cuts, Failures, Noticed, SecondLinkConfig, SecondLinkStats};

use crate::corruption::{Corruption, CorruptionProcess, ParameterError};
use crate::event_queue::EventQueue;
use crate::link::control_store::ControlStore;
use crate::link::id::PortEvent;
use crate::link::port::Port;
use crate::link::recirculation::{Circling, RecirculationPort};
use crate::link::scheme::{ControlFrames, Loops};
use crate::node::{Node, Way};
use crate::random::Random;
use crate::time::{Rate, Time};
use failover::Failover;
use linkmend_protocol::{LinkEnd, Mode, Status};
use lookahead::{LastRoute, Runner};
use pfc::Pfc;
use second_link::SecondLinks;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A session that is not open after a second, which is enough for a thousand handshakes, will never open.
pub(crate) const OPENING_MAX: Time = Time(1_000_000_000_000);
/// Longest wait for the last handshake frame, 1 ms: light travels 200 km in it.
const SETTLING_MAX: Time = Time(1_000_000_000);
/// Longest wait for the last frames: a second, which is longer than any recovery timeout.
const DRAINING_MAX: Time = Time(1_000_000_000_000);
/// Number of events between checks whether the run is still wanted.
const EVENTS_AT_ONCE: u64 = 1 << 22;

/// If no more than this many frames are left, their number is checked after every event.
const NEAR_FRAMES: u64 = 64;

/// How the opening of the sessions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// All sessions are open.
    Open,
    /// The session of a port did not open; others may not have opened either.
    Failed { port: PortId },
    /// The run was ended early.
    Unwanted,
}

impl Opening {
    /// Whether the run goes on.
    ///
    /// # Errors
    /// The error that `failed` makes of the port whose session did not open.
    pub(crate) fn goes_on<E>(self, failed: impl FnOnce(PortId) -> E) -> Result<bool, E> {
        match self {
            Opening::Open => Ok(true),
            Opening::Failed { port } => Err(failed(port)),
            Opening::Unwanted => Ok(false),
        }
    }
}

/// Nodes and links. `O` observes the network, `S` are the schemes of its links, and `H` runs on its hosts.
#[derive(Debug)]
pub struct Network<O = NoObserver, S: Scheme = Schemes, H = NoHosts> {
    now: Time,
    /// The source of the current event.
    acts: usize,
    events: u64,
    queue: EventQueue,
    ports: Vec<Port<S>>,
    /// By port: the scheme of its link, at this end.
    schemes: Vec<S>,
    loops: Vec<RecirculationPort>,
    nodes: Vec<Node>,
    /// By node: its ports, including those of backup links.
    ports_of: Vec<Vec<PortId>>,
    flows: Vec<Flow>,
    /// By node: how frames get there.
    ways: Vec<Way>,
    /// Whether any flow crosses more than one link.
    passed_on: bool,
    controls: ControlStore<S::Control>,
    /// Links that fail, if any do.
    failover: Option<Failover>,
    /// Second links, if any link has one.
    second_links: Option<Box<SecondLinks>>,
    /// What switches hold, if they pause their peers before holding too much.
    pfc: Option<Pfc>,
    /// By node: the switches that run ahead.
    runners: Vec<Runner>,
    /// What happens next at the one that runs ahead, if it has many ports; kept to allocate it once.
    coming: BinaryHeap<Reverse<(Time, usize)>>,
    /// By port of such switches: the route of the last frame that arrived.
    last_routes: Vec<LastRoute>,
    /// Nothing runs ahead beyond this time.
    horizon: Time,
    /// The longest frame that a host has sent.
    frame_bytes_max: u16,
    /// What runs on the hosts besides generators.
    pub hosts: H,
    /// The observer of the run.
    pub observer: O,
}

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Serves every port for the first time.
    fn begin(&mut self) {
        for index in 0..self.ports.len() {
            let id = self.ports[index].id;
            let peer = id.peer().index();
            let (own, peer) = if index < peer {
                let (front, back) = self.ports.split_at_mut(peer);
                (&mut front[index], &back[0])
            } else {
                let (front, back) = self.ports.split_at_mut(index);
                (&mut back[0], &front[peer])
            };
            own.set_peer_traffic(&peer.generator);
            self.wake(id);
        }
    }

    /// Changes how the link corrupts what `port` sends, with new random numbers. If nobody observes the run, frames
    /// that have already been planned are not affected.
    ///
    /// # Errors
    /// [`ParameterError`] names the parameter that cannot be used.
    pub fn set_corruption(
        &mut self,
        port: PortId,
        corruption: &Corruption,
        random: Random,
    ) -> Result<(), ParameterError> {
        let port = self.wire_of(port);
        self.ports[port.index()].corruption = CorruptionProcess::new(corruption, random)?;
        Ok(())
    }

    /// Sets whether the dummies and ACKs of `port` are repeated until one gets through, as by the Tofino's
    /// self-replenishing queues (section 3.2). This is the default.
    pub fn set_replenishing(&mut self, port: PortId, replenishes: bool) {
        self.ports[port.index()].replenishes = replenishes;
    }

    /// Changes the scheme at a port, and makes the port react.
    pub fn with_scheme<T>(&mut self, port: PortId, change: impl FnOnce(&mut S, Time) -> T) -> T {
        let result = change(&mut self.schemes[port.index()], self.now);
        self.ports[port.index()].attention = true;
        self.wake(port);
        result
    }

    /// Runs until the session of every port that protects is open and the wires are silent, or for a second. `wanted`
    /// is asked at intervals whether to continue.
    pub fn open_sessions(&mut self, wanted: &mut dyn FnMut() -> bool) -> Opening {
        let opening = |network: &mut Self| {
            let mut ends = network.ports.iter().zip(&mut network.schemes);
            let is_opening =
                |scheme: &mut S| scheme.control_frames().is_some_and(|frames| frames.is_opening());
            ends.find_map(|(port, scheme)| is_opening(scheme).then_some(port.id))
                .or_else(|| network.opening_path())
        };
        // On long links a keepalive is always in flight.
        let goes_on = self.run_while(OPENING_MAX, |network| opening(network).is_some(), wanted)
            && self.run_while(self.now + SETTLING_MAX, |network| !network.is_silent(), wanted);
        match opening(self) {
            _ if !goes_on => Opening::Unwanted,
            None => Opening::Open,
            Some(port) => Opening::Failed { port },
        }
    }

    /// Simulates while `goes_on` returns `true`, but at most until `last`. `goes_on` is called before every event, and
    /// may inspect the result of the previous one. Returns `false` as soon as `wanted`, which is called every few
    /// million events, says that the run is no longer wanted.
    pub fn run_while(
        &mut self,
        last: Time,
        mut goes_on: impl FnMut(&mut Self) -> bool,
        wanted: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut asked_at = self.events;
        let mut is_wanted = true;
        self.horizon = last;
        while is_wanted && goes_on(self) && self.now < last && self.step() {
            if self.events - asked_at >= EVENTS_AT_ONCE {
                asked_at = self.events;
                is_wanted = wanted();
            }
        }
        self.settle_all();
        is_wanted
    }

    /// Starts the traffic of every port, and the hosts.
    pub fn start_traffic(&mut self) {
        for source in 0..self.hosts.sources() {
            self.note_changes(source);
        }
        self.begin_cuts();
        for index in 0..self.ports.len() {
            let port = &mut self.ports[index];
            port.generator.start();
            let id = port.id;
            if port.generator.is_paced() {
                port.timer.traffic_at = self.now;
                self.set_clock(id);
            }
            self.wake(id);
        }
    }

    /// Simulates until the generator of `port` has produced `frames`, or for a few million events. Returns `false` if
    /// nothing happens any more.
    pub fn run_until_produced(&mut self, port: PortId, frames: u64) -> bool {
        let last = self.events + EVENTS_AT_ONCE;
        loop {
            let left = frames.saturating_sub(self.produced(port)).min(last.saturating_sub(self.events));
            if left == 0 {
                return true;
            }
            // A step produces at most one frame, so this does not overshoot. Near the end every event is checked,
            // because processors are bad at predicting how often a short loop runs.
            let sure = if left > NEAR_FRAMES { left } else { 1 };
            for _ in 0..sure {
                if !self.step() {
                    return false;
                }
            }
        }
    }

    /// Simulates until all traffic has been delivered or given up, or for a second. Returns `false` if `wanted`, which
    /// is called at intervals, ended the run.
    pub fn drain(&mut self, wanted: &mut dyn FnMut() -> bool) -> bool {
        self.run_while(self.now + DRAINING_MAX, |network| !network.is_drained(), wanted)
    }

    /// Simulates the next event, together with simultaneous events that follow directly from it. Returns `false` if
    /// there is none.
    #[inline(always)]
    pub fn step(&mut self) -> bool {
        let Some((at, source)) = self.queue.next() else { return false };
        debug_assert!(at >= self.now, "time goes on");
        self.now = at;
        self.acts = source;
        self.events += 1;
        match PortId::port_event(source, self.ports.len()) {
            Ok((port, PortEvent::Arrival)) => {
                let this = &self.ports[port.index()];
                if H::ANY && this.runs_ahead() {
                    self.run_ahead(this.node, port)
                } else if H::ANY && this.takes_ahead {
                    self.take_ahead(port)
                } else if H::ANY && self.second_links.is_some() {
                    self.arrive_on_path(port)
                } else {
                    self.arrive(port)
                }
            }
            Ok((port, PortEvent::Service)) => self.serve_port(port),
            Ok((port, PortEvent::Clock)) => self.handle_clock(port),
            Err(other) if !H::ANY || other < self.loops.len() => return self.handle_round(other),
            Err(other) => self.act_on_host(other - self.loops.len()),
        }
        true
    }

    /// Whether every generator has produced all its frames, and none of them is in flight or waiting.
    pub fn is_drained(&self) -> bool {
        self.with_schemes().all(|(port, scheme)| port.is_drained(scheme))
    }

    /// Whether frames will circulate for ever without anything else happening, because losses after them were never
    /// noticed.
    #[inline]
    fn is_stuck(&mut self) -> bool {
        (0..PortId::sources(self.ports.len())).all(|source| self.queue.time_of(source) == Time::NEVER)
            && (0..self.hosts.sources()).all(|source| self.hosts.next_time(source) == Time::NEVER)
            && self.loops.iter().all(|port| {
                port.iter().all(|circling| keeps_circulating(&mut self.schemes, self.now, circling))
            })
    }

    fn with_schemes(&self) -> impl Iterator<Item = (&Port<S>, &S)> {
        self.ports.iter().zip(&self.schemes)
    }

    /// Lets a host act, or begins flows.
    #[inline(never)]
    fn act_on_host(&mut self, source: usize) {
        if source > self.hosts.sources() {
            return self.act_on_second_link(self.acts);
        }
        if source == self.hosts.sources() {
            return self.act_on_failover();
        }
        self.hosts.act(self.now, source, &mut self.flows);
        self.note_changes(source);
    }

    /// Applies the changes that hosts report: when this source acts next, and everything else.
    fn note_changes(&mut self, source: usize) {
        let first = PortId::sources(self.ports.len()) + self.loops.len();
        self.queue.set(first + source, self.hosts.next_time(source));
        self.take_changes();
    }

    /// Applies the other changes that hosts report.
    fn take_changes(&mut self) {
        let first = PortId::sources(self.ports.len()) + self.loops.len();
        while let Some(changed) = self.hosts.poll_changed() {
            match changed {
                Changed::Time(source) => self.queue.set(first + source, self.hosts.next_time(source)),
                Changed::Port(port) => {
                    self.ports[port.index()].host_has_frames = true;
                    self.wake(port);
                }
            }
        }
    }

    fn is_silent(&self) -> bool {
        self.ports.iter().all(Port::is_silent)
    }

    /// The time of the latest event.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Events simulated so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Number of ports: two for each link.
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// The details of a flow.
    pub fn flow(&self, flow: FlowId) -> Flow {
        self.flows[flow.0 as usize]
    }

    /// The scheme of the link of `port`, at this end.
    pub fn scheme(&self, port: PortId) -> &S {
        &self.schemes[port.index()]
    }

    /// Number of originals that the generator of `port` has produced.
    pub fn produced(&self, port: PortId) -> u64 {
        self.ports[port.index()].generator.produced()
    }

    /// Number of frames that have returned at a recirculation port.
    pub fn passes(&self, recirculation: usize) -> u64 {
        self.loops[recirculation].passes
    }

    /// Number of frames of any kind that `port` has put on the wire.
    pub fn transmitted(&self, port: PortId) -> u64 {
        self.ports[self.wire_of(port).index()].transmitted_until(self.now)
    }

    /// Number of frames of any kind that `port` has put on the wire and that the link corrupted, not counting those
    /// that it lost while it had failed.
    pub fn corrupted_frames(&self, port: PortId) -> u64 {
        let before_cut = self.corrupted_before_cut(port).or_else(|| self.corrupted_before_path_cut(port));
        before_cut.unwrap_or(self.ports[self.wire_of(port).index()].corrupted)
    }

    /// Number of frames that the normal queue of `port` has dropped and marked, and the maximum number of bytes that it
    /// has held.
    pub fn normal_queue(&self, port: PortId) -> (u64, u64, u64) {
        let port = &self.ports[port.index()];
        let bytes_max = match &port.departures {
            Some(departures) => departures.bytes_max(),
            None => Mode::ALL.into_iter().map(|mode| port.normal.bytes_max(mode)).sum(),
        };
        (port.dropped, port.marked, bytes_max)
    }

    /// The rate of the link of `port`.
    pub fn rate(&self, port: PortId) -> Rate {
        self.ports[self.wire_of(port).index()].rate
    }

    /// The parallel queues in front of `port`, if it has any.
    pub fn parallel_queues(&self, port: PortId) -> Option<&ParallelQueues> {
        self.ports[port.index()].parallel.as_deref()
    }

    /// Number of bytes waiting in the normal queue of `port`.
    #[inline]
    pub fn queued_bytes(&self, port: PortId) -> u64 {
        let port = &self.ports[port.index()];
        let planned = port.departures.as_ref().map_or(0, |departures| departures.bytes_at(self.now));
        port.normal.buffer().now + planned
    }

    fn set_clock(&mut self, port: PortId) {
        self.queue.set(port.clock(), self.ports[port.index()].clock_at());
    }
}

/// Whether a frame will be sent through its loop again when it returns.
fn keeps_circulating<S: Scheme>(schemes: &mut [S], now: Time, circling: &Circling) -> bool {
    let loops = schemes[circling.port.index()].loops();
    loops.is_some_and(|loops| loops.keeps_circulating(now, circling.buffer, circling.slot))
}

impl<S: Scheme> Port<S> {
    /// Puts a frame in flight towards the peer, after all others.
    #[inline(always)]
    fn propagate(&mut self, queue: &mut EventQueue, arrives_at: Time, on_wire: OnWire<S>) {
        if self.in_flight.is_empty() {
            queue.set(self.id.peer().arrival(), arrives_at);
        }
        self.in_flight.push_back((arrives_at, on_wire));
    }
}

impl<O: Observer<Schemes<X>>, X: Scheme, H: Hosts> Network<O, Schemes<X>, H> {
    /// LinkGuardian's state machine, if the link has that scheme.
    pub fn link_end(&self, port: PortId) -> Option<&LinkEnd> {
        self.scheme(port).link_end()
    }

    /// State of its link end for displays.
    pub fn status(&self, port: PortId) -> Option<Status> {
        self.link_end(port).map(LinkEnd::status)
    }
}
