//! A port: its queues, the scheme of its link, and the wire that leaves it.

use super::control_store::ControlPlace;
use super::departures::Departures;
use super::frame::{FRAME_BYTES_MIN, Frame, WIRE_OVERHEAD_BYTES};
use super::frames::PortFrames;
use super::generator::Generator;
use super::id::PortId;
use super::on_wire::OnWire;
use super::parallel::ParallelQueues;
use super::pipeline::Pipeline;
use super::rare::{Inserting, Rare};
use super::scheme::{ControlFrames, Idle, LinkRetry, Scheme, Schemes};
use crate::corruption::{Corruption, CorruptionProcess, ParameterError};
use crate::kernel::divisor::Divisor;
use crate::node::NodeId;
use crate::random::Random;
use crate::time::{Rate, Time};
use linkmend_protocol::schedule::{
    Arrival, ClassQueues, Next, PortRoom, QueueLimits, Round, Transmitter, Waiting,
};
use linkmend_protocol::{Admission, ConfigError, Instant, Mode};
use std::collections::VecDeque;
use std::hint::cold_path;

/// Preamble, a 64-byte frame, and the gap.
const IDLE_WIRE_BYTES: u64 = FRAME_BYTES_MIN as u64 + WIRE_OVERHEAD_BYTES;

/// A port and the direction of the link that leaves it.
#[derive(Debug, Clone)]
pub struct PortConfig<S: Scheme = Schemes> {
    /// Rate of the link.
    pub rate: Rate,
    /// Time from taking a frame from its queue until the peer's port has it, without serialisation: egress pipeline,
    /// both ports, propagation. Pause and resume take effect at that point (section 3.5).
    pub wire_latency: Time,
    /// Time from the peer's port to the decision of its ingress pipeline.
    pub ingress_latency: Time,
    /// Time from there to the forwarding decision at this end, for a scheme that acts before that decision.
    pub pipeline_latency: Time,
    /// What the link corrupts.
    pub corruption: Corruption,
    /// How the link corrupts retransmitted copies, if that differs (importance sampling).
    pub copy_corruption: Option<Corruption>,
    /// Length of the frames to which the loss rates apply.
    pub frame_bytes: u32,
    /// How the link recovers.
    pub scheme: S::Config,
    /// Limits of the normal queue.
    pub queue: QueueLimits,
}

/// Why a port cannot be created.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PortError {
    /// See [`ConfigError`].
    #[error(transparent)]
    Protocol(#[from] ConfigError),
    /// See [`ParameterError`].
    #[error(transparent)]
    Corruption(#[from] ParameterError),
}

/// A frame that goes ahead of normal frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueuedUrgent<S: Scheme> {
    /// It may not leave before this.
    pub(crate) ready_at: Time,
    /// The peer's port handles it ahead of its pipeline.
    pub(crate) overtakes: bool,
    pub(crate) on_wire: OnWire<S>,
}

/// The frames that the peer's generator produces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerTraffic {
    pub(crate) mode: Mode,
    pub(crate) bytes: u16,
}

/// When a port wakes, apart from its wire.
#[derive(Debug)]
pub(crate) struct Timer {
    /// When the next paced frame is due, and when the scheme has something to do.
    pub(crate) traffic_at: Time,
    pub(crate) timeout_at: Time,
}

/// Which normal frames may leave a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admits {
    /// Those that its scheme admits.
    AsScheme,
    /// All frames: the scheme protects nothing, or they leave the switch elsewhere.
    All,
    /// None: other frames go first, because the link has failed.
    None,
}

impl Admits {
    /// What a port usually admits; its scheme protects nothing if it `is_inert`.
    pub(crate) fn usual(is_inert: bool) -> Admits {
        if is_inert { Admits::All } else { Admits::AsScheme }
    }
}

/// A port, and the wire that leaves it.
#[derive(Debug)]
pub(crate) struct Port<S: Scheme> {
    pub(crate) id: PortId,
    /// The node that the port belongs to.
    pub(crate) node: NodeId,
    /// What its scheme reported when the port was created ([`Scheme::is_inert`] and the others). The scheme itself is
    /// stored elsewhere, because a network may have thousands of ports, few of which protect anything, and a scheme may
    /// be large.
    pub(crate) is_inert: bool,
    /// Which normal frames may leave.
    pub(crate) admits: Admits,
    pub(crate) exchanges_control: bool,
    pub(crate) fills_idle_slots: bool,
    pub(crate) retries: bool,
    /// Whether ordered sets may be inserted into frames.
    pub(crate) inserts: bool,
    /// Whether its host takes frames together that are in flight.
    pub(crate) takes_ahead: bool,
    /// Whether the scheme has something urgent to send.
    pub(crate) attention: bool,
    pub(crate) timer: Timer,
    pub(crate) rate: Rate,
    /// How long a minimum-size frame takes, in ps.
    pub(crate) idle_slot: Divisor,
    pub(crate) wire_latency: Time,
    pub(crate) ingress_latency: Time,
    pub(crate) corruption: CorruptionProcess,
    pub(crate) rare: Option<Box<Rare>>,

    pub(crate) generator: Generator,
    /// Whether the host of this port has frames to send. It hands over one whenever the port is free.
    pub(crate) host_has_frames: bool,
    pub(crate) peer_traffic: PeerTraffic,
    /// Whether the switch at the other end has no room for normal frames (PFC).
    pub(crate) is_paused: bool,
    pub(crate) normal: ClassQueues<Frame>,
    /// The frames that wait instead, if the port plans ahead.
    pub(crate) departures: Option<Box<Departures>>,
    /// Parallel queues in front of the normal ones, if any.
    pub(crate) parallel: Option<Box<ParallelQueues>>,
    /// Number of frames for which these queues had no room, and of frames that were marked.
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    pub(crate) urgent: VecDeque<QueuedUrgent<S>>,
    /// The dummy or ACK that the self-replenishing queue sends again because the last one was corrupted.
    pub(crate) replenished: Option<OnWire<S>>,
    /// Whether that queue keeps sending; if not, a corrupted dummy or ACK is lost.
    pub(crate) replenishes: bool,
    /// When the port will have sent its current frame; idle frames follow it without a gap.
    pub(crate) free_at: Time,
    /// Frames in flight, in the order of arrival. Only pauses and resumes overtake others: the peer's port handles them
    /// ahead of its pipeline.
    pub(crate) in_flight: VecDeque<(Time, OnWire<S>)>,
    /// Number of frames put on the wire, how many of them the link corrupted, and how many were ACKs.
    pub(crate) transmitted: u64,
    pub(crate) corrupted: u64,
    pub(crate) acks_sent: u64,
}

impl<S: Scheme> Port<S> {
    pub(crate) fn new(
        config: &PortConfig<S>,
        scheme: &mut S,
        (id, node): (PortId, NodeId),
        generator: Generator,
        seed: u64,
    ) -> Result<Port<S>, PortError> {
        let random = |what: &str| Random::new(seed, &format!("end {} {what}", id.index()));
        let process = |corruption: &Corruption, what: &str| CorruptionProcess::new(corruption, random(what));
        let exchanges_control = scheme.control_frames().is_some();
        let insertion = scheme.link_retry().and_then(LinkRetry::insertion);
        Ok(Port {
            id,
            node,
            is_inert: scheme.is_inert(),
            admits: Admits::usual(scheme.is_inert()),
            exchanges_control,
            attention: exchanges_control,
            retries: scheme.link_retry().is_some(),
            inserts: insertion.is_some(),
            takes_ahead: false,
            fills_idle_slots: scheme.control_frames().is_some_and(|frames| frames.fills_idle_slots()),
            timer: Timer { traffic_at: Time::NEVER, timeout_at: Time::NEVER },
            rate: config.rate,
            idle_slot: Divisor::new(config.rate.time_of(IDLE_WIRE_BYTES).0),
            wire_latency: config.wire_latency,
            ingress_latency: config.ingress_latency,
            rare: Rare {
                copy_corruption: config
                    .copy_corruption
                    .as_ref()
                    .map(|corruption| process(corruption, "copies"))
                    .transpose()?,
                pipeline: Pipeline::new(config.pipeline_latency),
                stated_bytes: config.frame_bytes,
                inserting: insertion.map(|insertion| Inserting::new(insertion, config.rate)),
            }
            .if_needed(scheme.link_retry().is_some()),
            corruption: process(&config.corruption, "corruption")?,
            generator,
            host_has_frames: false,
            peer_traffic: PeerTraffic { mode: Mode::Ordered, bytes: 0 },
            is_paused: false,
            normal: ClassQueues::new(config.queue),
            departures: None,
            parallel: None,
            dropped: 0,
            marked: 0,
            urgent: VecDeque::new(),
            replenished: None,
            replenishes: scheme.link_retry().is_none(),
            free_at: Time::ZERO,
            in_flight: VecDeque::new(),
            transmitted: 0,
            corrupted: 0,
            acks_sent: 0,
        })
    }

    /// When something that is ready at `now` can begin to leave: when the port is free, or, if the port is sending
    /// minimum-size dummies or ACKs, when the current one has ended (Figure 5).
    #[inline]
    pub(crate) fn next_start(&self, now: Time) -> Time {
        if now <= self.free_at {
            return self.free_at;
        }
        if !self.fills_idle_slots {
            return now;
        }
        let ago = now.0 - self.free_at.0;
        Time(self.free_at.0 + self.idle_slot.ceiling(ago) * self.idle_slot.value)
    }

    /// Begins to send a frame of `bytes`. Returns when the peer's pipeline will have decided about it, and whether the
    /// link corrupts it.
    #[inline(always)]
    pub(crate) fn begin(&mut self, now: Time, bytes: u32, is_copy: bool) -> (Time, bool) {
        self.free_at = now + self.rate.time_of(u64::from(bytes) + WIRE_OVERHEAD_BYTES);
        self.transmitted += 1;
        let of_copies = self.rare.as_mut().filter(|_| is_copy).and_then(|rare| rare.copy_corruption.as_mut());
        let corrupted = of_copies.unwrap_or(&mut self.corruption).corrupts(bytes);
        if corrupted {
            cold_path();
            self.corrupted += 1;
        }
        (self.free_at + self.wire_latency + self.ingress_latency, corrupted)
    }

    /// Cuts the wire: everything that the peer's port does not have at `now` is lost, and so is everything sent until
    /// the wire is mended. Returns how the wire corrupts otherwise, and what it loses now. A pause frame is never lost,
    /// because PFC does not repeat it.
    pub(crate) fn cut(&mut self, now: Time) -> (Option<CorruptionProcess>, Vec<OnWire<S>>) {
        let all = CorruptionProcess::new(&Corruption::Iid { loss: 1.0 }, Random::new(0, "cut"));
        let uncut = all.ok().map(|all| std::mem::replace(&mut self.corruption, all));
        let reached = now + self.ingress_latency;
        let mut lost = Vec::new();
        self.in_flight.retain(|(arrives_at, on_wire)| {
            let stays = *arrives_at <= reached || matches!(on_wire, OnWire::Pause { .. });
            if !stays {
                lost.push(*on_wire);
            }
            stays
        });
        (uncut, lost)
    }

    /// Swaps the wires of two ports, with everything on them. `Rare` stays: a pipeline belongs to its port, and only
    /// links without a second wire corrupt copies differently.
    pub(crate) fn swap_wires(&mut self, other: &mut Port<S>) {
        use std::mem::swap;
        swap(&mut self.rate, &mut other.rate);
        swap(&mut self.idle_slot, &mut other.idle_slot);
        swap(&mut self.wire_latency, &mut other.wire_latency);
        swap(&mut self.ingress_latency, &mut other.ingress_latency);
        swap(&mut self.corruption, &mut other.corruption);
        swap(&mut self.free_at, &mut other.free_at);
        swap(&mut self.in_flight, &mut other.in_flight);
        swap(&mut self.transmitted, &mut other.transmitted);
        swap(&mut self.corrupted, &mut other.corrupted);
    }

    /// Whether the port has more to do after its current frame. A control frame may have to be repeated, which the idle
    /// port does.
    #[inline]
    pub(crate) fn has_more(&self, scheme: &mut S) -> bool {
        self.has_normal()
            || !self.is_inert
                && (!self.urgent.is_empty()
                    || self.replenished.is_some()
                    || scheme.control_frames().is_some_and(|frames| frames.has_more()))
    }

    /// When the next frame leaves the pipeline behind the port.
    #[inline]
    pub(crate) fn pipeline_at(&self) -> Time {
        self.rare.as_ref().map_or(Time::NEVER, |rare| rare.pipeline_at())
    }

    /// When the next frame arrives at the peer.
    #[inline]
    pub(crate) fn next_arrival(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Whether nothing is on the wire or about to be sent.
    pub(crate) fn is_silent(&self) -> bool {
        self.in_flight.is_empty() && self.urgent.is_empty() && self.replenished.is_none()
    }

    /// Whether no frame of the traffic is still to come, waiting, outstanding or buffered.
    pub(crate) fn is_drained(&self, scheme: &S) -> bool {
        self.generator.left() == 0
            && self.normal.is_empty()
            && self.urgent.is_empty()
            && scheme.is_drained()
            && self.pipeline_at() == Time::NEVER
            && !self.in_flight.iter().any(|(_, on_wire)| on_wire.is_traffic())
    }

    /// Whether a normal frame is waiting.
    #[inline]
    pub(crate) fn has_normal(&self) -> bool {
        !self.normal.is_empty()
            || self.generator.is_ready()
            || self.host_has_frames
            || self.parallel.as_ref().is_some_and(|parallel| !parallel.is_empty())
    }

    /// Whether a frame of the host can leave without waiting for anything.
    #[inline]
    pub(crate) fn sends_at_once(&self) -> bool {
        self.is_inert && self.admits == Admits::All && !self.is_paused && self.normal.is_empty()
    }

    /// Adds a frame to the queue of its class, or drops it. Returns whether there was room.
    pub(crate) fn push_normal(&mut self, mut frame: Frame) -> bool {
        let (mode, bytes) = (frame.mode, u32::from(frame.bytes));
        match self.normal.arrival(mode, bytes) {
            Arrival::Queue => {}
            Arrival::Mark => {
                frame.marked = true;
                self.marked += 1;
            }
            Arrival::Drop => {
                self.dropped += 1;
                return false;
            }
        }
        self.normal.push(Waiting { frame, bytes, mode });
        true
    }

    /// Adds a copy to its queue.
    pub(crate) fn push_copy(&mut self, now: Time, header: S::Header, frame: Frame) {
        let on_wire = OnWire::Protected { header, frame };
        self.urgent.push_back(QueuedUrgent { ready_at: now, overtakes: false, on_wire });
    }

    /// What to send next, in the order of [`linkmend_protocol::schedule`]; `None` if it is something that an idle port
    /// sends, other than an ACK.
    #[inline(always)]
    pub(crate) fn next(&mut self, scheme: &mut S, now: Time) -> Option<Next<Ready<S::Ack>, Frame>> {
        let mut frames = PortFrames { queues: &mut self.normal, generator: &mut self.generator };
        let mut transmitter = PortTransmitter {
            scheme,
            is_inert: self.is_inert,
            admits: self.admits,
            is_paused: self.is_paused,
            retries: self.retries,
            urgent: &self.urgent,
            now,
        };
        Round::new(now.instant()).next(&mut transmitter, &mut frames, PortRoom::All)
    }

    /// Counts an ACK that an idle port sends.
    #[inline(always)]
    pub(crate) fn count_ack(&mut self) {
        self.acks_sent += 1;
        // It is newer than the ACK that would have been repeated.
        if let Some(OnWire::Ack { .. }) = self.replenished {
            self.replenished = None;
        }
    }

    /// Anything else that an idle port sends, as in [`ControlFrames::poll_idle`].
    #[inline(always)]
    pub(crate) fn next_idle(
        &mut self,
        scheme: &mut S,
        now: Time,
        store: impl FnOnce(S::Control) -> ControlPlace,
    ) -> Option<Idle<S::Ack>> {
        let idle = scheme.control_frames()?.poll_idle(now, store)?;
        self.acks_sent += u64::from(matches!(idle, Idle::Ack(_)));
        Some(idle)
    }

    /// Tells the port which frames its peer's generator produces.
    pub(crate) fn set_peer_traffic(&mut self, peer: &Generator) {
        self.peer_traffic = PeerTraffic { mode: peer.mode(), bytes: peer.frame_bytes() };
    }
}

/// What a port can send before and after normal frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ready<A> {
    /// The urgent frame with this index.
    Urgent(usize),
    /// An acknowledgement, on an idle port.
    Ack(A),
}

/// The simulator's driver between the link end and the schedule. Urgent frames were collected before, because a copy
/// may have to wait for its loop, and a pause or resume for a timer packet. The other control frames of an idle port
/// are large, so they are created where they are stored.
struct PortTransmitter<'a, S: Scheme> {
    scheme: &'a mut S,
    is_inert: bool,
    admits: Admits,
    is_paused: bool,
    retries: bool,
    urgent: &'a VecDeque<QueuedUrgent<S>>,
    now: Time,
}

impl<S: Scheme> Transmitter for PortTransmitter<'_, S> {
    type Transmit = Ready<S::Ack>;

    /// A copy does not have to wait behind a pause that is waiting for its timer packet.
    #[inline(always)]
    fn poll_urgent(&mut self, now: Instant) -> Option<Ready<S::Ack>> {
        if self.retries
            && let Some(ack) = self.poll_idle(now)
        {
            return Some(ack);
        }
        if self.is_inert || self.urgent.is_empty() {
            return None;
        }
        self.urgent.iter().position(|urgent| urgent.ready_at <= self.now).map(Ready::Urgent)
    }

    #[inline(always)]
    fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        match (self.is_paused, self.admits) {
            (true, _) | (_, Admits::None) => Admission::Held,
            (_, Admits::All) => Admission::Unprotected,
            (_, Admits::AsScheme) => self.scheme.admission(mode, bytes),
        }
    }

    #[inline(always)]
    fn poll_idle(&mut self, _: Instant) -> Option<Ready<S::Ack>> {
        if self.is_inert { None } else { self.scheme.control_frames()?.poll_ack(self.now).map(Ready::Ack) }
    }

    #[inline(always)]
    fn waits_for_lane(&self, mode: Mode) -> bool {
        self.scheme.waits_for_lane(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_small_whatever_its_scheme() {
        assert!(size_of::<Port<Schemes>>() <= 512, "{} bytes", size_of::<Port<Schemes>>());
    }
}
