//! Hosts with transport protocols.
//!
//! A [`TransportHosts`] runs all hosts of a network. They have one kind of [traffic](HostTraffic) or several, each with a
//! [`Workload`] that says which flows begin when. A flow is two ends, each a state machine behind [`TransportEnd`]: a
//! connection or a queue pair of [`linkmend_transport`], or one of another crate ([`TransportProtocol`]). The numbers of its
//! two directions in the network are those of its ends.
//!
//! # The way of a packet
//!
//! The *card* of a host has one frame for its port whenever the port is free: it takes packets from the ends that have
//! some, in turns, and splits long segments (segmentation offload). A frame carries a handle of its packet, so that it
//! stays small. Frames that arrive wait for the host's *latency*; then its stack takes all that have arrived by then,
//! joins segments that follow each other (receive offload), and hands them to the ends they are for.
//!
//! # One segment inside
//!
//! An end that has something writes a segment ([`poll_transmit`](endpoint::Endpoint::poll_transmit)). The card splits it if it is
//! longer than a frame ([`begin`](card::Card::begin), [`next_piece`](card::Card::next_piece)). Each piece is stored
//! ([`put`](packets::Packets::put)), and the frame carries its handle. At the destination, the frame waits for the interrupt
//! ([`frame_arrived`](interrupts::Interrupts::frame_arrived)). Then the stack takes everything that has arrived
//! ([`run_stack`](TransportHosts::run_stack)), [joins](receive::Joined::join) consecutive segments and hands them to their end
//! ([`hand_over`](TransportHosts::hand_over)). What was acknowledged is noted
//! ([`note_progress`](TransportHosts::note_progress)) until the flow [ends](TransportHosts::end).
//!
//! # Events
//!
//! Each host is a source of events, for whatever comes first: its stack, or a timer of one of its flows. One further
//! source for each traffic begins flows.

mod card;
pub(crate) mod clock;
mod connections;
mod endpoint;
mod flow;
mod interrupts;
mod latency;
mod lifecycle;
mod packets;
mod program;
mod progress;
mod rdma;
mod receive;
mod repeat;
mod setup;
mod sizes;
mod steps;
mod tcp_end;
mod timeouts;
mod traffic;
mod transport;
mod verb;
mod workload;
mod writes;

pub(crate) use flow::End;
pub use flow::{Disturbance, FlowIdentity, FlowRecord, Group};
pub use latency::HostLatency;
pub use packets::{OtherPacket, Packet};
pub use program::{Operations, ProgramRun};
pub use progress::Progress;
pub use rdma::RdmaConfig;
pub use setup::{HostsConfig, OtherTransport, Transport};
pub use sizes::FlowSizes;
pub use steps::Steps;
pub use timeouts::TimeoutCounts;
pub use traffic::HostTraffic;
pub use transport::{Effort, TransportEnd, TransportProtocol};
pub use verb::RdmaVerb;
pub use workload::{Extent, Incast, Pairs, PingPong, Poisson, Schedule, Start, Trials, Workload};

use crate::link::{Frame, PortId};
use crate::network::{Changed, Hosts};
use crate::node::{Flow, NodeId};
use crate::random::Random;
use crate::time::Time;
use card::Card;
use endpoint::Endpoint;
use flow::Active;
use interrupts::Interrupts;
use linkmend_transport::tcp;
use linkmend_transport::tcp::congestion::Phase;
use packets::{Handle, Packets};
use receive::Joined;
use repeat::Sight;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// How long the numbers of a flow that has ended are not used again: what it sent twice has left the network by then.
const QUARANTINE: Time = Time::from_nanos(10_000_000);

/// A host: its card, what it has received, and its timers.
#[derive(Debug)]
struct Host {
    node: NodeId,
    port: PortId,
    /// Number of the traffic that it takes part in, if any.
    traffic: u16,
    card: Card,
    /// Frames that wait for the stack.
    received: Vec<(u32, Handle, bool)>,
    /// When the stack takes them.
    stack_at: Time,
    interrupts: Interrupts,
    /// When an end of a flow wants to be called; those that are out of date are ignored.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    /// When its first timer tick is.
    tick_phase: Time,
    random: Random,
}

impl Host {
    fn next_time(&self) -> Time {
        let timer = self.timers.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        self.stack_at.min(timer)
    }
}

/// All hosts of a network, and the flows between them.
#[derive(Debug)]
pub struct TransportHosts {
    traffic: Vec<HostTraffic>,
    hosts: Vec<Host>,
    /// By node and by port: the number of the host.
    host_of_node: Vec<u32>,
    host_of_port: Vec<u32>,
    /// Both ends of a flow, one after the other; the one with the even number sends.
    endpoints: Vec<Option<Endpoint>>,
    /// By pair of ends: the flows over it, the oldest first. There are several where flows share connections.
    active: Vec<VecDeque<Active>>,
    active_flows: usize,
    /// By pair of ends: the flow that has it, or had it last.
    identities: Vec<FlowIdentity>,
    begun: u64,
    /// Pairs that can be used again, and since when.
    free: VecDeque<(Time, u32)>,
    /// Whether switches repeat packets of any traffic.
    repeats: bool,
    /// Bytes of frames that were handed to the network, copies of switches among them.
    bytes_sent: u64,
    packets: Packets,
    records: Vec<FlowRecord>,
    changed: Vec<Changed>,
    /// What the stack is taking; kept to allocate it once.
    taking: Vec<(u32, Handle, bool)>,
}

impl Hosts for TransportHosts {
    const ANY: bool = true;

    fn sources(&self) -> usize {
        self.hosts.len() + self.traffic.len()
    }

    fn next_time(&self, source: usize) -> Time {
        let hosts = self.hosts.len();
        let workload = || self.traffic[source - hosts].workload.next_at();
        self.hosts.get(source).map_or_else(workload, Host::next_time)
    }

    fn act(&mut self, now: Time, source: usize, flows: &mut Vec<Flow>) {
        if let Some(number) = source.checked_sub(self.hosts.len()) {
            while let Some(start) = self.traffic[number].start(now) {
                self.begin(now, number as u16, &start, flows);
            }
            return;
        }
        if self.hosts[source].stack_at <= now {
            self.run_stack(now, source);
        }
        self.run_timers(now, source);
    }

    fn receive(&mut self, now: Time, node: NodeId, frame: Frame) -> usize {
        let index = self.host_of_node[node.index()] as usize;
        let host = &mut self.hosts[index];
        // The frames of one end of a flow are for the other one.
        host.received.push((End(frame.flow.0).other().0, Handle::of_frame(frame.id), frame.marked));
        let Host { interrupts, stack_at, random, traffic, .. } = host;
        let latency = &self.traffic[usize::from(*traffic)].config.latency;
        *stack_at = interrupts.frame_arrived(now, frame.bytes, *stack_at, latency, random);
        index
    }

    #[inline]
    fn takes_until(&self, source: usize) -> Time {
        let host = &self.hosts[source];
        let latency = &self.traffic[usize::from(host.traffic)].config.latency;
        let depends = latency.is_moderated || latency.burst_median > Time::ZERO;
        if depends { Time::ZERO } else { host.stack_at }
    }

    fn poll_changed(&mut self) -> Option<Changed> {
        self.changed.pop()
    }

    fn poll_frame(&mut self, now: Time, port: PortId) -> Option<Frame> {
        let index = self.host_of_port[port.index()] as usize;
        let card = &mut self.hosts[index].card;
        if let Some((endpoint, packet)) = card.next_piece().or_else(|| card.queued.pop_front()) {
            return Some(self.frame(index, endpoint, packet));
        }
        while let Some(number) = self.hosts[index].card.ready.pop_front() {
            let Some(endpoint) = &mut self.endpoints[number as usize] else { continue };
            if let Some(packet) = endpoint.poll_transmit(now) {
                let Host { card, traffic, .. } = &mut self.hosts[index];
                let config = &self.traffic[usize::from(*traffic)].config;
                card.ready.push_back(number);
                for _ in 0..config.copies_of(&packet) {
                    card.queued.push_back((number, packet));
                }
                let first = card.begin(number, packet, config.mss());
                return Some(self.frame(index, number, first));
            }
            endpoint.is_ready = false;
            self.set_timer(now, number);
            self.changed.push(Changed::Time(index));
        }
        None
    }

    fn corrupted(&mut self, frame: &Frame) {
        let end = End(frame.flow.0);
        let Some(packet) = self.packets.last_at(Handle::of_frame(frame.id)) else { return };
        let Some(active) = self.active[end.pair() as usize].front_mut() else { return };
        let config = &self.traffic[usize::from(active.record.traffic)].config;
        if end.is_sending() == (config.rdma.verb == RdmaVerb::Write)
            && let Some(behind) = config.packets_behind(packet, active.record.bytes)
        {
            let disturbance = &mut active.record.disturbance;
            disturbance.frames_corrupted += 1;
            disturbance.tail_corrupted |=
                config.rdma.queue_pairs.is_none() && behind < Disturbance::TAIL_PACKETS;
        }
    }

    fn dropped(&mut self, frame: &Frame) {
        self.packets.take(Handle::of_frame(frame.id));
    }

    #[inline]
    fn copies(&mut self, node: NodeId, [from, to]: [PortId; 2], frame: &Frame) -> u8 {
        if !self.repeats {
            return 0;
        }
        let is_host = |port: PortId| self.host_of_port[port.peer().index()] != u32::MAX;
        let sight = Sight { node, from_host: is_host(from), to_host: is_host(to), end: End(frame.flow.0) };
        if !sight.from_host && !sight.to_host {
            return 0;
        }
        let source = self.identities[sight.end.pair() as usize].source;
        let traffic = self.hosts[source as usize].traffic;
        let Some(repeaters) = &mut self.traffic[usize::from(traffic)].repeaters else { return 0 };
        let Some(packet) = self.packets.last_at(Handle::of_frame(frame.id)) else { return 0 };
        repeaters.copies(sight, packet)
    }

    fn copy(&mut self, frame: &Frame) -> Option<Frame> {
        self.bytes_sent += u64::from(frame.bytes);
        self.keep(frame)
    }

    fn met_failure(&mut self, frame: &Frame) {
        if let Some(active) = self.active[End(frame.flow.0).pair() as usize].front_mut() {
            active.record.disturbance.frames_failed += 1;
        }
    }

    fn keep(&mut self, frame: &Frame) -> Option<Frame> {
        let packet = *self.packets.last_at(Handle::of_frame(frame.id))?;
        Some(Frame { id: self.packets.put(packet).frame_number(), ..*frame })
    }
}

impl TransportHosts {
    /// The frame in which a host sends a packet of this end.
    fn frame(&mut self, host: usize, number: u32, packet: Packet) -> Frame {
        let of_traffic = || self.traffic[usize::from(self.hosts[host].traffic)].config.mode;
        let mode = self.endpoints[number as usize].as_ref().map_or_else(of_traffic, |endpoint| endpoint.mode);
        let bytes = packet.frame_bytes();
        self.bytes_sent += u64::from(bytes);
        let id = self.packets.put(packet).frame_number();
        Frame { id, flow: crate::link::FlowId(number), bytes, mode, marked: false }
    }

    /// Lets the card of its host ask an end for packets.
    fn make_ready(&mut self, number: u32) {
        let Some(endpoint) = &mut self.endpoints[number as usize] else { return };
        if endpoint.is_ready {
            return;
        }
        endpoint.is_ready = true;
        let host = &mut self.hosts[endpoint.host as usize];
        host.card.ready.push_back(number);
        self.changed.push(Changed::Port(host.port));
    }

    /// Sees that an end is called when it wants to be.
    fn set_timer(&mut self, now: Time, number: u32) {
        let at = self.due(now, number);
        let Some(endpoint) = &mut self.endpoints[number as usize] else { return };
        if at < endpoint.timer_at {
            endpoint.timer_at = at;
            self.hosts[endpoint.host as usize].timers.push(Reverse((at, number)));
        }
    }

    /// When an end wants to be called, and not before now: its time may have come while the network paused the host's port.
    fn due(&mut self, now: Time, number: u32) -> Time {
        let Some(endpoint) = &mut self.endpoints[number as usize] else { return Time::NEVER };
        let Host { traffic, tick_phase, .. } = self.hosts[endpoint.host as usize];
        let latency = &self.traffic[usize::from(traffic)].config.latency;
        endpoint.due(|at| latency.expiry(now, at.max(now), tick_phase)).max(now)
    }

    /// The stack of a host takes what has arrived.
    fn run_stack(&mut self, now: Time, index: usize) {
        let host = &mut self.hosts[index];
        host.stack_at = Time::NEVER;
        host.interrupts.stack_ran(now, &self.traffic[usize::from(host.traffic)].config.latency);
        std::mem::swap(&mut self.taking, &mut host.received);
        let mut joined: Option<Joined> = None;
        let mut taking = std::mem::take(&mut self.taking);
        for (number, handle, marked) in taking.drain(..) {
            let Some(packet) = self.packets.take(handle) else { continue };
            if joined.as_mut().is_some_and(|joined| joined.join(number, &packet, marked)) {
                continue;
            }
            if let Some(before) = joined.replace(Joined::new(number, packet, marked)) {
                self.hand_over(now, &before);
            }
        }
        self.taking = taking;
        if let Some(last) = joined {
            self.hand_over(now, &last);
        }
    }

    /// Gives an end of a flow what it has received.
    fn hand_over(&mut self, now: Time, joined: &Joined) {
        let Some(Some(endpoint)) = self.endpoints.get_mut(joined.endpoint as usize) else { return };
        endpoint.handle(now, &joined.packet, joined.marked);
        let sacked_bytes = joined.packet.sacked_bytes();
        if sacked_bytes > 0
            && let Some(info) = endpoint.tcp_info(now)
            && let Some(active) = self.active[End(joined.endpoint).pair() as usize].front_mut()
        {
            let mss = self.traffic[usize::from(active.record.traffic)].config.mss();
            let disturbance = &mut active.record.disturbance;
            disturbance.note_sack(sacked_bytes, info.notsent_bytes, mss);
            disturbance.recovered |= matches!(info.phase, Phase::Recovery | Phase::Loss);
        }
        self.acknowledge(now, joined.endpoint);
        self.make_ready(joined.endpoint);
        self.note_progress(now, joined.endpoint);
    }

    /// A kernel acknowledges each segment that receive offload has made before it looks at the next one, also when both came
    /// with one interrupt: what is out of order is reported even if the missing piece is the next in line. A card that does
    /// the transport answers each packet by itself.
    fn acknowledge(&mut self, now: Time, number: u32) {
        let Some(Some(endpoint)) = self.endpoints.get_mut(number as usize) else { return };
        let Host { card, traffic, .. } = &mut self.hosts[endpoint.host as usize];
        // The receiving end has nothing else to send, unless it is read from.
        let verb = || self.traffic[usize::from(*traffic)].config.rdma.verb;
        if End(number).is_sending() || verb() == RdmaVerb::Read {
            return;
        }
        while let Some(packet) = endpoint.poll_transmit(now) {
            card.queued.push_back((number, packet));
        }
    }

    /// Calls the ends whose time has come.
    fn run_timers(&mut self, now: Time, index: usize) {
        while let Some(Reverse((at, number))) = self.hosts[index].timers.peek().copied() {
            if at > now {
                break;
            }
            self.hosts[index].timers.pop();
            let Some(Some(endpoint)) = self.endpoints.get_mut(number as usize) else { continue };
            if endpoint.host as usize != index || endpoint.timer_at != at {
                continue;
            }
            endpoint.timer_at = Time::NEVER;
            if self.due(now, number) > now {
                self.set_timer(now, number);
            } else if let Some(endpoint) = &mut self.endpoints[number as usize] {
                endpoint.handle_timeout(now);
                self.note_timeout(number);
                self.make_ready(number);
                self.note_progress(now, number);
            }
        }
    }

    /// The flows that have ended, in the order in which they did.
    pub fn records(&self) -> &[FlowRecord] {
        &self.records
    }

    /// Removes the flows that have ended, in the order in which they did.
    pub fn take_records(&mut self) -> Vec<FlowRecord> {
        std::mem::take(&mut self.records)
    }

    /// Counts the time of all workloads from `now` on.
    pub fn begin_at(&mut self, now: Time) {
        self.traffic.iter_mut().for_each(|traffic| traffic.workload.begin_at(now));
    }

    /// Of the flows in progress of a traffic: bytes that have arrived in order, segments retransmitted, and retransmission
    /// timeouts.
    pub fn under_way(&self, now: Time, traffic: usize) -> (u64, u64, u64) {
        let mut sum = (0, 0, 0);
        // Of the two ends of a flow, the first one sends.
        for (active, ends) in self.active.iter().zip(self.endpoints.chunks(2)) {
            let (Some(first), Some(sender)) = (active.front(), &ends[0]) else { continue };
            if usize::from(first.record.traffic) != traffic {
                continue;
            }
            let (retransmissions, timeouts) = sender.effort(now);
            sum.0 += active.iter().map(|flow| flow.record.bytes - flow.missing).sum::<u64>();
            sum.1 += u64::from(retransmissions);
            sum.2 += u64::from(timeouts);
        }
        sum
    }

    /// The state of the sender of a flow in progress, counted from the first one that began, if its transport is TCP.
    pub fn tcp_info(&self, now: Time, flow: usize) -> Option<tcp::Info> {
        self.endpoints.chunks(2).nth(flow)?[0].as_ref()?.tcp_info(now)
    }

    /// For observers: the packet that a frame carries, if it is still known at the end of the event in which the frame was
    /// seen, and the flow of the frame. A copy of a frame that has been handled may find nothing.
    pub fn packet(&self, frame: &Frame) -> (Option<&Packet>, FlowIdentity) {
        (self.packets.last_at(Handle::of_frame(frame.id)), self.identities[End(frame.flow.0).pair() as usize])
    }

    /// What the hosts of a flow are.
    pub fn config_of(&self, flow: &FlowIdentity) -> &HostsConfig {
        let host = &self.hosts[flow.source as usize];
        &self.traffic[usize::from(host.traffic)].config
    }

    /// The traffic, in the order in which it was given.
    #[inline]
    pub fn traffic(&self) -> &[HostTraffic] {
        &self.traffic
    }

    /// Flows in progress, of all traffic.
    #[inline]
    pub fn active_flows(&self) -> usize {
        self.active_flows
    }

    /// Bytes of frames that hosts have sent, and of the copies that switches have made.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent
    }

    /// Flows that have begun.
    pub fn begun(&self) -> u64 {
        self.begun
    }
}
