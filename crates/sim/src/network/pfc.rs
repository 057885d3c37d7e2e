//! Priority flow control (PFC, IEEE 802.1Qbb), for networks that must not drop frames: for each port, a switch counts
//! how much of the traffic that arrived there it still holds, and tells the other end of that port's link to pause
//! before it is too much.
//!
//! Some details are not modelled, because they do not change when frames pass: pauses end with a resume rather than
//! after a time, pause frames are never corrupted, and the 84 bytes that they take on the link are not taken from other
//! frames.

use super::Network;
use super::hosts::Hosts;
use crate::link::{FRAME_BYTES_MIN, Frame, Observer, OnWire, PortId, Scheme, WIRE_OVERHEAD_BYTES};
use crate::node::NodeId;
use linkmend_protocol::Mode;
use std::collections::VecDeque;

/// When a switch pauses a port's peer, in bytes that arrived at the port and that the switch still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PfcLimits {
    /// More than this many bytes pause it.
    pub pause_bytes: u64,
    /// It resumes when there are no more than this.
    pub resume_bytes: u64,
}

impl Default for PfcLimits {
    /// A tenth of a megabyte, as much as DCTCP's marking threshold at 100G. Traffic that still arrives after a pause
    /// comes on top: 30 kB at 100G over the few metres between switches.
    fn default() -> PfcLimits {
        PfcLimits { pause_bytes: 100_000, resume_bytes: 90_000 }
    }
}

/// What all switches of a network hold, by the port at which it arrived.
#[derive(Debug)]
pub(super) struct Pfc {
    limits: PfcLimits,
    ingress: Vec<Ingress>,
    /// By port: where the frames in its queues arrived, for each class in the order in which they leave.
    queued: Vec<[VecDeque<PortId>; 2]>,
    /// By node: how many of its ports have told their peers to pause.
    pausing: Vec<u32>,
    /// How often a port was paused.
    pauses: u64,
}

#[derive(Debug, Clone, Copy)]
struct Ingress {
    /// The node that the port belongs to.
    node: NodeId,
    /// Never less than what is held. It may be more until the ports from which frames have left are settled.
    bytes: u64,
    /// Whether the peer was told to pause.
    is_paused: bool,
}

/// A port whose peer must be told to pause or resume.
pub(super) type Change = (PortId, bool);

impl Pfc {
    /// Ports of these nodes.
    pub(super) fn new(limits: PfcLimits, node_of: impl Iterator<Item = NodeId>) -> Pfc {
        let ingress: Vec<_> = node_of.map(|node| Ingress { node, bytes: 0, is_paused: false }).collect();
        let queued = ingress.iter().map(|_| [VecDeque::new(), VecDeque::new()]).collect();
        let nodes = ingress.iter().map(|ingress| ingress.node.index() + 1).max().unwrap_or(0);
        Pfc { limits, ingress, queued, pausing: vec![0; nodes], pauses: 0 }
    }

    pub(super) fn pauses(&self) -> u64 {
        self.pauses
    }

    /// A frame that arrived at one port is queued at another.
    fn queued(&mut self, port: PortId, out: PortId, frame: &Frame) {
        self.queued[out.index()][frame.mode as usize].push_back(port);
    }

    /// A frame arrived at a port, and is held. Returns whether this may be too much.
    fn came_in(&mut self, port: PortId, bytes: u16) -> bool {
        self.ingress[port.index()].bytes += u64::from(bytes);
        self.has_too_much(port)
    }

    fn has_too_much(&self, port: PortId) -> bool {
        let ingress = &self.ingress[port.index()];
        ingress.bytes > self.limits.pause_bytes && !ingress.is_paused
    }

    /// The peer of a port must pause.
    fn pause(&mut self, port: PortId) -> Change {
        let ingress = &mut self.ingress[port.index()];
        ingress.is_paused = true;
        self.pausing[ingress.node.index()] += 1;
        self.pauses += 1;
        (port, true)
    }

    /// The first frame of a class leaves the queues of a port.
    fn left(&mut self, out: PortId, mode: Mode, bytes: u16) -> Option<Change> {
        // What a host sends did not arrive at any port.
        let port = self.queued[out.index()][mode as usize].pop_front()?;
        self.went(port, bytes)
    }

    /// A frame that arrived at a port is no longer held.
    #[inline(always)]
    pub(super) fn went(&mut self, port: PortId, bytes: u16) -> Option<Change> {
        let ingress = &mut self.ingress[port.index()];
        ingress.bytes -= u64::from(bytes);
        let resumes = ingress.is_paused && ingress.bytes <= self.limits.resume_bytes;
        if !resumes {
            return None;
        }
        ingress.is_paused = false;
        self.pausing[ingress.node.index()] -= 1;
        Some((port, false))
    }
}

impl<O: Observer<S>, S: Scheme, H: Hosts> Network<O, S, H> {
    /// Records a frame that arrived at `port` and waits at `out`. Returns whether that pauses anything.
    pub(super) fn pfc_entered(&mut self, port: PortId, out: PortId, frame: &Frame) -> bool {
        self.pfc_queued(port, out, frame);
        self.pfc_came_in(port, frame)
    }

    /// Records the position of a frame that arrived at `port` and waits at `out`.
    pub(super) fn pfc_queued(&mut self, port: PortId, out: PortId, frame: &Frame) {
        if let Some(pfc) = &mut self.pfc {
            pfc.queued(port, out, frame);
        }
    }

    /// Records a frame that arrived at `port` and is held. Returns whether that pauses anything.
    pub(super) fn pfc_came_in(&mut self, port: PortId, frame: &Frame) -> bool {
        let may_be_much = self.pfc.as_mut().is_some_and(|pfc| pfc.came_in(port, frame.bytes));
        may_be_much && self.pause_peer(port)
    }

    /// Pauses the peer of `port` if its switch holds too much, and turns the departures that may end the pause into
    /// events.
    #[cold]
    fn pause_peer(&mut self, port: PortId) -> bool {
        let node = self.ports[port.index()].node.index();
        for index in 0..self.ports_of[node].len() {
            self.settle(self.ports_of[node][index]);
        }
        let pause = self.pfc.as_mut().filter(|pfc| pfc.has_too_much(port)).map(|pfc| pfc.pause(port));
        if let Some(change) = pause {
            self.tell(change);
            for index in 0..self.ports_of[node].len() {
                self.plan_service(self.ports_of[node][index]);
            }
        }
        pause.is_some()
    }

    /// Whether the switch of `port` will not tell its peer anything before this many `bytes` have arrived there.
    #[inline]
    pub(super) fn pfc_is_quiet(&self, port: PortId, bytes: u64) -> bool {
        self.pfc.as_ref().is_none_or(|pfc| {
            let ingress = &pfc.ingress[port.index()];
            !ingress.is_paused && ingress.bytes + bytes <= pfc.limits.pause_bytes
        })
    }

    /// Whether the departure of a frame from `out` may end a pause.
    #[inline]
    pub(super) fn pfc_awaits(&self, out: PortId) -> bool {
        self.pfc.as_ref().is_some_and(|pfc| pfc.pausing[pfc.ingress[out.index()].node.index()] > 0)
    }

    /// Records a frame that leaves the queues of `out`.
    pub(super) fn pfc_left(&mut self, out: PortId, frame: &Frame) {
        if let Some(change) = self.pfc.as_mut().and_then(|pfc| pfc.left(out, frame.mode, frame.bytes)) {
            self.tell(change);
        }
    }

    /// Puts a pause frame in flight after the frame that the port is sending now. The peer obeys it as soon as it
    /// arrives, ahead of its pipeline.
    #[cold]
    pub(super) fn tell(&mut self, (port, paused): Change) {
        self.settle(port);
        let this = &mut self.ports[port.index()];
        let length = this.rate.time_of(u64::from(FRAME_BYTES_MIN) + WIRE_OVERHEAD_BYTES);
        let arrives_at = this.free_at.max(self.now) + length + this.wire_latency;
        let place = this.in_flight.partition_point(|(at, _)| *at <= arrives_at);
        this.in_flight.insert(place, (arrives_at, OnWire::Pause { paused }));
        self.queue.set(port.peer().arrival(), this.next_arrival());
    }

    /// A pause frame has arrived.
    #[cold]
    pub(super) fn obey_pause(&mut self, at: PortId, port: PortId, paused: bool) {
        let from = &mut self.ports[at.peer().index()];
        from.in_flight.pop_front();
        self.queue.set(at.arrival(), from.next_arrival());
        let this = &mut self.ports[port.index()];
        this.is_paused = paused;
        if this.departures.is_some() {
            self.plan_anew(port);
        } else if !paused {
            self.wake(port);
        }
    }

    /// How often switches have paused a port, if they do so.
    pub fn pauses(&self) -> u64 {
        self.pfc.as_ref().map_or(0, Pfc::pauses)
    }
}
