//! One side of a link: a port with its queues, the wire that leaves it, and the protocol's link end.

use super::frame::{COMPACT_HEADER_BYTES, Frame, OnWire, Slots, WIRE_OVERHEAD_BYTES};
use super::levels::Levels;
use super::losses::Losses;
use super::queue::{NormalQueue, QueueLimits};
use super::traffic::{Source, Traffic};
use crate::corruption::{Corruption, CorruptionProcess, ParameterError};
use crate::kernel::divisor::Divisor;
use crate::random::Random;
use crate::time::{Rate, Time};
use linkmend_protocol::wire::HEADER_GROWTH_MAX;
use linkmend_protocol::{Config, ConfigError, Copies, Format, FrameHandle, LinkEnd, Mode, PerMode};
use std::collections::VecDeque;

/// Where frames go that a link end passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// Out of the network.
    Sink,
    /// Into the normal queue of another link end of the same switch.
    End(usize),
}

/// A link end and the direction of the link that leaves it.
#[derive(Debug, Clone)]
pub struct EndConfig {
    /// Rate of the link.
    pub rate: Rate,
    /// From the moment a frame is taken from its queue to the moment the peer's port has it, without its serialisation:
    /// egress pipeline, both ports, propagation. Pause and resume take effect then (section 3.5).
    pub wire_latency: Time,
    /// From there to the decision of the peer's ingress pipeline.
    pub ingress_latency: Time,
    /// What the link corrupts.
    pub corruption: Corruption,
    /// What it corrupts of retransmitted copies, if not the same (importance sampling).
    pub copy_corruption: Option<Corruption>,
    /// The link end's parameters, in picoseconds instead of nanoseconds; `None` for an unprotected link.
    pub protocol: Option<Config>,
    /// Whether it protects what it sends, and with how many copies.
    pub protect: Option<Copies>,
    /// The recirculation port that holds its buffered frames; `None` for direct buffering.
    pub recirculation: Option<usize>,
    /// Time between the timer packets that carry timeouts, pause and resume (section 3.5); zero for none.
    pub timer_interval: Time,
    /// Frames from outside.
    pub traffic: Traffic,
    /// Where frames go that arrive here.
    pub destination: Destination,
    /// Bounds of the normal queue.
    pub queue: QueueLimits,
    /// Step in which buffer levels are recorded, bytes.
    pub level_unit: u64,
}

/// A frame in the Tx buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct TxFrame {
    pub(super) frame: Frame,
    /// The protocol needs it no longer.
    pub(super) released: bool,
    /// It still circles.
    pub(super) circling: bool,
}

/// What a link end has passed on, and what the protocol cannot know of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Frames that came after one that was sent later.
    pub reordered: u64,
    /// One more than the highest number delivered.
    pub next_id: u64,
    /// When the last one was.
    pub last_at: Time,
}

/// Something that waits for its turn at the port.
#[derive(Debug, Clone, Copy)]
pub(super) struct Urgent {
    /// Not before this: pause and resume wait for a timer packet.
    pub(super) ready_at: Time,
    /// Whether it changes the pause state, which the Tofino says in a PFC frame.
    pub(super) pauses: bool,
    pub(super) on_wire: OnWire,
}

/// A link end, its port, and the wire that leaves it.
#[derive(Debug)]
pub(super) struct End {
    pub(super) link_end: Option<LinkEnd>,
    pub(super) peer: usize,
    /// Class of what the peer's own source sends.
    pub(super) peer_mode: Mode,
    pub(super) rate: Rate,
    /// How long a minimum-size frame lasts, ps.
    pub(super) idle_slot: Divisor,
    pub(super) wire_latency: Time,
    pub(super) ingress_latency: Time,
    pub(super) corruption: CorruptionProcess,
    pub(super) copy_corruption: Option<CorruptionProcess>,
    pub(super) recirculation: Option<usize>,
    pub(super) timer_interval: Time,
    pub(super) destination: Destination,
    pub(super) queue_limits: QueueLimits,
    /// Bytes that a data header adds to a frame.
    pub(super) header_bytes: u32,

    pub(super) source: Source,
    pub(super) started: bool,
    /// When the next paced frame comes, and when the link end has something to do.
    pub(super) traffic_at: Time,
    pub(super) timeout_at: Time,
    pub(super) normal: PerMode<NormalQueue>,
    /// Frames in both of these queues.
    pub(super) waiting: usize,
    /// Lane whose turn it is.
    pub(super) turn: usize,
    pub(super) urgent: VecDeque<Urgent>,
    /// The link end has something urgent to say.
    pub(super) attention: bool,
    /// Frames for which its Rx buffer had no room when that was last asked.
    pub(super) overflows: u64,
    /// The dummy or ACK that the self-replenishing queue goes on sending, after its last one was corrupted.
    pub(super) replenished: Option<OnWire>,
    /// Whether that queue does go on: without, a corrupted dummy or ACK is gone.
    pub(super) replenishes: bool,
    /// How often the link end must be looked after while its port is busy: an idle port does so by itself.
    pub(super) housekeeping: Option<Time>,
    /// When the port has sent what it is sending; then come idle frames, without a gap.
    pub(super) free_at: Time,
    /// What is on its way, in the order of arrival. Only changes of the pause state overtake: the peer's port takes them
    /// in, ahead of what its pipeline works on.
    pub(super) in_flight: VecDeque<(Time, OnWire)>,

    pub(super) tx: Slots<TxFrame>,
    pub(super) rx: Slots<Frame>,
    pub(super) tx_bytes: u64,
    /// Most of them, if they circle: a frame takes its place until it comes round, even if it was acknowledged before.
    pub(super) tx_bytes_max: u64,
    pub(super) rx_bytes: u64,
    pub(super) tx_levels: Levels,
    pub(super) rx_levels: Levels,
    /// Frames of any kind put on the wire.
    pub(super) transmitted: u64,

    pub(super) losses: Losses,
    pub(super) delivered: Delivered,
    pub(super) acks_sent: u64,
    pub(super) dummies_sent: u64,
    pub(super) paused: bool,
    /// The peer decided then to let this end resume; the first frame after that is not out yet.
    pub(super) resumed_at: Option<Time>,
    /// From a resume to the arrival of the first frame that it let go, most.
    pub(super) resume_flight_max: Time,
    /// As receiver: the pause state that it told last, and when it decided on it.
    pub(super) told_paused: bool,
    pub(super) told_at: Time,
}

/// A link end cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EndError {
    /// See [`ConfigError`].
    #[error(transparent)]
    Protocol(#[from] ConfigError),
    /// See [`ParameterError`].
    #[error(transparent)]
    Corruption(#[from] ParameterError),
}

impl End {
    pub(super) fn new(config: EndConfig, peer: usize, index: usize, seed: u64) -> Result<End, EndError> {
        let name = |what: &str| format!("end {index} {what}");
        let link_end = config
            .protocol
            .map(|protocol| LinkEnd::new(protocol, Random::new(seed, &name("session")).next_u64()))
            .transpose()?;
        let header_bytes = match config.protocol.map(|protocol| protocol.format) {
            None => 0,
            Some(Format::Compact | Format::Linkguardian) => COMPACT_HEADER_BYTES,
            Some(Format::Transparent) => HEADER_GROWTH_MAX as u32,
        };
        Ok(End {
            link_end,
            peer,
            peer_mode: Mode::Ordered,
            rate: config.rate,
            idle_slot: Divisor::new(config.rate.time_of(IDLE_WIRE_BYTES).0),
            wire_latency: config.wire_latency,
            ingress_latency: config.ingress_latency,
            copy_corruption: config
                .copy_corruption
                .map(|corruption| CorruptionProcess::new(&corruption, Random::new(seed, &name("copies"))))
                .transpose()?,
            corruption: CorruptionProcess::new(&config.corruption, Random::new(seed, &name("corruption")))?,
            recirculation: config.recirculation,
            timer_interval: config.timer_interval,
            destination: config.destination,
            queue_limits: config.queue,
            header_bytes,
            source: Source::new(config.traffic),
            started: false,
            traffic_at: Time::NEVER,
            timeout_at: Time::NEVER,
            normal: PerMode::default(),
            waiting: 0,
            turn: 0,
            urgent: VecDeque::with_capacity(64),
            attention: false,
            overflows: 0,
            replenished: None,
            replenishes: true,
            housekeeping: None,
            free_at: Time::ZERO,
            in_flight: VecDeque::with_capacity(1024),
            tx: Slots::new(),
            rx: Slots::new(),
            tx_bytes: 0,
            tx_bytes_max: match (config.recirculation, config.protocol) {
                (Some(_), Some(protocol)) => protocol.window_bytes,
                _ => u64::MAX,
            },
            rx_bytes: 0,
            tx_levels: Levels::new(config.level_unit),
            rx_levels: Levels::new(config.level_unit),
            transmitted: 0,
            losses: Losses::default(),
            delivered: Delivered::default(),
            acks_sent: 0,
            dummies_sent: 0,
            paused: false,
            resumed_at: None,
            resume_flight_max: Time::ZERO,
            told_paused: false,
            told_at: Time::ZERO,
        })
    }

    /// When something that is there at `now` can begin to leave: when the port is free or, as it fills the time with
    /// minimum-size dummies or ACKs, when the one under way has ended (Figure 5).
    #[inline]
    pub(super) fn next_start(&self, now: Time) -> Time {
        if now <= self.free_at {
            return self.free_at;
        }
        if self.link_end.is_none() {
            return now;
        }
        let ago = now.0 - self.free_at.0;
        Time(self.free_at.0 + self.idle_slot.ceiling(ago) * self.idle_slot.value)
    }

    /// Begins to send a frame of `bytes`: when the peer's pipeline will have decided on it, and whether the link corrupts
    /// it on the way.
    #[inline]
    pub(super) fn begin(&mut self, now: Time, bytes: u32, is_copy: bool) -> (Time, bool) {
        self.free_at = now + self.rate.time_of(u64::from(bytes) + WIRE_OVERHEAD_BYTES);
        self.transmitted += 1;
        let corruption = match &mut self.copy_corruption {
            Some(corruption) if is_copy => corruption,
            _ => &mut self.corruption,
        };
        (self.free_at + self.wire_latency + self.ingress_latency, corruption.corrupts(bytes))
    }

    /// Whether its port has more to do when it has sent what it is sending. What a control frame asks for may have to
    /// be repeated, which the idle port sees to.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.has_normal()
            || !self.urgent.is_empty()
            || self.replenished.is_some()
            || self.link_end.as_ref().is_some_and(|link_end| link_end.outstanding() > 0)
    }

    /// When the next frame arrives at the peer.
    #[inline]
    pub(super) fn next_arrival(&self) -> Time {
        self.in_flight.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    /// Whether nothing of this end is on the wire, or about to be.
    pub(super) fn is_silent(&self) -> bool {
        self.in_flight.is_empty() && self.urgent.is_empty() && self.replenished.is_none()
    }

    /// Whether a normal frame waits.
    #[inline]
    pub(super) fn has_normal(&self) -> bool {
        self.waiting > 0 || (self.started && self.source.ready().is_some())
    }

    /// Lines up a frame.
    pub(super) fn push_normal(&mut self, frame: Frame) {
        self.waiting += usize::from(self.normal[frame.mode].push(frame, &self.queue_limits));
    }

    /// The protocol needs a frame of the Tx buffer no longer.
    #[inline]
    pub(super) fn release(&mut self, now: Time) {
        let Some(link_end) = &mut self.link_end else { return };
        while let Some(FrameHandle(slot)) = link_end.poll_release() {
            let held = self.tx.at(slot);
            held.released = true;
            if !held.circling {
                let bytes = u64::from(held.frame.bytes);
                self.tx.free(slot);
                if self.recirculation.is_none() {
                    self.tx_bytes -= bytes;
                    self.tx_levels.set(now, self.tx_bytes);
                }
            }
        }
    }
}

/// Preamble, a 64-byte frame, and the gap.
const IDLE_WIRE_BYTES: u64 = super::frame::FRAME_BYTES_MIN as u64 + WIRE_OVERHEAD_BYTES;
