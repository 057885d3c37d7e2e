//! One link end at work: a run-to-completion loop over its ports and the protocol's state machines.
//!
//! A round takes what has arrived, lets the state machines decide, sends in the order of the three priorities (urgent,
//! normal, idle) and flushes. After a round without work, the loop sleeps until a port, a request or a timer wakes it.
//! Everything happens on this one thread: nothing is locked and, after the start, nothing is allocated per frame.
//!
//! All that belongs to a single link is in its [`LinkSide`](link_side::LinkSide). A link end has one or two of them, and what
//! concerns every link iterates over them.

#[cfg(feature = "bench")]
pub mod bench;
mod both_links;
mod codel;
mod delays;
pub(crate) mod derive;
mod ecn;
mod failover;
mod from_inner;
mod from_link;
mod in_time;
mod interfaces;
mod key;
mod link_side;
mod log_texts;
mod peers;
mod requests;
mod shaper;
mod share;
mod shortfall;
mod start;
pub(crate) mod takeover;
mod to_link;
mod wait;

pub(crate) use requests::Request;
pub use start::StartError;

use crate::bypass::{Bypass, BypassMode, BypassOptions, DropsReader};
use crate::capture::Taps;
use crate::clock;
use crate::frame_pool::FramePool;
use crate::interface_watch::InterfaceState;
use crate::port::{Port, PortError};
use crate::port_pair::{PORT_CHUNKS_MAX, PortPair, PortPairOptions};
use crate::protocol_log::ProtocolLog;
use crate::settings::{LinkSettings, ProtectionSettings};
use delays::Delays;
use failover::Failover;
use from_inner::Queued;
use in_time::InTime;
use interfaces::FrameLengths;
use key::growth;
use link_side::Sides;
use linkmend_control::report::KeyTrouble;
use linkmend_protocol::paths::Path;
use linkmend_protocol::schedule::ClassQueues;
use linkmend_protocol::trace::TracedLinkEnd;
use linkmend_protocol::wire::{Seal, TAG_BYTES};
use linkmend_protocol::{Event, FrameHandle, Instant, LinkEnd, Mode, ReceiveState, TransmitState};
use nix::sys::eventfd::EventFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use takeover::{ACTIVE_STALL_AFTER_NS, DORMANT_STALL_AFTER_NS, KernelWork};

/// Frames taken from a port in one round: large enough to amortise system calls, small enough for urgent frames not to
/// wait long.
const BATCH: usize = 64;
/// Shortest sleep while something is due that cannot be served (a port is full, the shaper closed), so that the loop
/// does not spin.
const UNSERVED_WAIT_NS: u64 = 200_000;
/// How many rounds in a row may postpone timeouts because frames still wait on the link port: enough to empty its whole
/// ring.
const FULL_ROUNDS_MAX: u32 = 64;
/// An inner port that takes nothing for this long loses its frames, so that control frames from the link are still
/// read.
const INNER_STUCK_NS: u64 = 10_000_000;
/// The longest sleep while the kernel still works on our frames, so that they are reclaimed.
const IN_FLIGHT_WAIT_MAX_NS: u64 = 1_000_000;
/// Silence on both ports after which a link without protection is handed back to the kernel. No frame can then overtake
/// another.
const QUIET_BEFORE_DORMANT_NS: u64 = 1_000_000;
/// A link that is never silent is handed back after this time, in a round that found both ports empty ...
const DORMANT_ANYWAY_NS: u64 = 2_000_000_000;
/// ... and after this time even if frames arrive at that moment.
const DORMANT_AT_LATEST_NS: u64 = 3_000_000_000;
/// How long a loop that takes over from the kernel waits for the kernel's queues to empty: a thousand full-size frames
/// at 1 Gb/s take 12 ms.
const KERNEL_QUEUES_PATIENCE: Duration = Duration::from_millis(20);
/// How long a stopping loop waits for its sessions to end.
const STOP_DRAIN_NS: u64 = 300_000_000;

/// Why a loop has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitReason {
    /// A request stopped it.
    Stopped,
    /// One of its interfaces is gone.
    InterfaceGone { interface: String },
    /// The interface of one of two links is back, which takes a new start.
    InterfaceBack,
}

/// What the loop counts itself, besides the protocol and the ports.
#[derive(Debug, Default)]
struct Counters {
    unprotected_frames: u64,
    oversize_unprotected_frames: u64,
    oversize_dropped_frames: u64,
    ambiguous_frames: u64,
    strange_frames: u64,
    forged_frames: u64,
    malformed_frames: u64,
    queue_drops: u64,
    ecn_marked_frames: u64,
    inner_port_drops: u64,
    stalls: u64,
    pool_exhausted: u64,
}

pub(crate) struct Engine {
    settings: LinkSettings,
    /// It goes before the interfaces, as in a [`PortPair`].
    bypass: Option<Bypass>,
    inner: Port,
    inner_interface: InterfaceState,
    sides: Sides,
    pool: FramePool,
    lengths: FrameLengths,
    end: TracedLinkEnd<Box<ProtocolLog>>,
    protection: ProtectionSettings,
    queues: ClassQueues<Queued>,
    delays: Delays,
    /// Where a link is one over UDP.
    in_time: Option<Box<InTime>>,
    /// The link in use; the first where there is one.
    active: Path,
    failover: Option<Box<Failover>>,
    /// Whether protection is wanted, and waits until there is no third end.
    is_suspended: bool,
    /// Since when there is a third end on a link that cannot be done without.
    third_since: Option<u64>,
    /// With a key.
    seal: Option<Box<Seal>>,
    key_trouble: Option<KeyTrouble>,
    seed: u64,
    requests: Receiver<Request>,
    wake: Arc<EventFd>,
    counters: Counters,
    batch: Vec<FrameHandle>,
    started_ns: u64,
    beat_ns: u64,
    kernel_work: KernelWork,
    busy_ns: u64,
    dormant_wanted_ns: Option<u64>,
    kernel_mode: BypassMode,
    /// The number of chunks that the longest frame takes.
    chunks_per_frame: usize,
    /// Frames of the current batch from the link that have not been handled yet; the inner port must keep room for
    /// them.
    batch_left: usize,
    full_rounds: u32,
    inner_open_ns: u64,
    warn_of_ambiguous_at: u64,
    corruptions: u64,
    taps: Taps,
    /// The name of an interface that is gone, which ends the loop.
    lost_interface: Option<String>,
    derived: derive::Derived,
}

impl Engine {
    pub(crate) fn open(
        settings: LinkSettings,
        requests: Receiver<Request>,
        wake: Arc<EventFd>,
    ) -> Result<Engine, StartError> {
        Self::over(settings, requests, wake, |settings| {
            let links: Vec<&str> = settings.links().map(|(interface, _)| interface).collect();
            let options = PortPairOptions {
                choice: settings.ports,
                offloads: settings.offloads,
                insecure: settings.insecure,
                is_controlled: settings.is_controlled,
                udp_key: start::udp_key(settings)?,
                // The pool's parts are as large as with one link.
                chunks: settings.pool_chunks + PORT_CHUNKS_MAX * (links.len() as u32 - 1),
                bypass: BypassOptions {
                    tag_bytes: settings.key.as_ref().map_or(0, |_| TAG_BYTES as u8),
                    ..BypassOptions::default()
                },
            };
            PortPair::open_on_trial(&settings.inner, &links, &options)
        })
    }

    /// Starts a loop over ports that are opened once the settings are known to be valid.
    fn over(
        settings: LinkSettings,
        requests: Receiver<Request>,
        wake: Arc<EventFd>,
        open_ports: impl FnOnce(&LinkSettings) -> Result<PortPair, PortError>,
    ) -> Result<Engine, StartError> {
        let link = || settings.name.clone();
        let config = derive::initial(&settings);
        let refused = |error| StartError::Parameter { link: link(), error };
        config.validate().and_then(|()| takeover::validate(&config)).map_err(refused)?;
        let seed = settings.seed.unwrap_or_else(clock::random_seed);
        let failover = start::failover(&settings, seed, &config)?;
        let log = start::protocol_log(&settings, seed, config)?;
        let end = LinkEnd::new(config, seed).map_err(refused)?;
        let seal = start::seal(&settings, &end)?;
        let ports = open_ports(&settings).map_err(|source| StartError::Port { link: link(), source })?;
        start::log_ports(&settings, seed, &ports);
        let chunks_per_frame = start::chunks_per_frame(&ports);
        let PortPair { bypass, inner, links, pool, .. } = ports;
        let inner_interface = link_side::at_start(&inner);
        let sides = Sides::new(links, settings.links().map(|(_, rate_bps)| rate_bps));
        let now = clock::now_ns();
        let mut engine = Engine {
            queues: from_inner::queues(&settings),
            delays: Delays::default(),
            in_time: InTime::of(&settings, seed),
            protection: settings.protection.clone().unwrap_or_else(|| ProtectionSettings::new(Mode::Ordered)),
            taps: Taps::new(settings.key.is_some()),
            settings,
            lengths: FrameLengths::new(inner_interface, &sides, growth(seal.as_deref())),
            seal,
            key_trouble: None,
            is_suspended: false,
            third_since: None,
            bypass,
            inner,
            inner_interface,
            sides,
            pool,
            end: TracedLinkEnd::new(end, log),
            active: Path::Primary,
            failover,
            seed,
            requests,
            wake,
            counters: Counters::default(),
            batch: Vec::with_capacity(BATCH),
            started_ns: now,
            beat_ns: now,
            kernel_work: KernelWork::default(),
            busy_ns: now,
            dormant_wanted_ns: None,
            kernel_mode: BypassMode::Dormant,
            chunks_per_frame,
            batch_left: 0,
            full_rounds: 0,
            inner_open_ns: now,
            warn_of_ambiguous_at: 0,
            corruptions: 0,
            lost_interface: None,
            derived: derive::Derived::default(),
        };
        engine.set_kernel_mode(BypassMode::Dormant);
        engine.offer_deadlines();
        if let Some(protection) = &engine.settings.protection {
            engine.end.protect(Instant(now), linkmend_protocol::Protection { copies: protection.copies });
        }
        Ok(engine)
    }

    /// The ports, the inner one first.
    fn ports(&self) -> impl Iterator<Item = &Port> {
        [&self.inner].into_iter().chain(self.sides.iter().map(|side| &side.port))
    }

    /// Transmissions that the kernel has not finished, in chunks.
    fn in_flight(&self) -> usize {
        self.ports().map(Port::in_flight).sum()
    }

    /// Kernel indices of the ports that have a network device.
    pub(crate) fn interface_indices(&self) -> Vec<u32> {
        self.ports().map(Port::ifindex).filter(|index| *index != 0).collect()
    }

    /// Reads what the kernel drops at the ports, outside of the loop.
    pub(crate) fn drops_reader(&self) -> DropsReader {
        self.bypass.as_ref().map(Bypass::drops_reader).unwrap_or_default()
    }

    /// Runs until a request stops it, then ends the sessions if possible and hands the link to the kernel.
    pub(crate) fn run(mut self) -> ExitReason {
        let mut stop_at: Option<u64> = None;
        loop {
            let now = clock::now_ns();
            self.beat(now);
            let is_back = self.failover.as_ref().is_some_and(|failover| failover.is_back);
            if stop_at.is_none() && (self.handle_requests(now) || is_back) {
                self.want_protection(now, None);
                self.end.leave(Instant(now));
                stop_at = Some(now + STOP_DRAIN_NS);
            }
            let (busy, now) = self.round(now);
            if self.lost_interface.is_some() || stop_at.is_some_and(|at| self.is_done(now, busy, at)) {
                break;
            }
            if busy {
                self.busy_ns = now;
            } else {
                if stop_at.is_none() {
                    self.update_kernel_mode(now);
                }
                self.wait(now, stop_at.is_some());
            }
        }
        self.finish()
    }

    /// Runs one round, which began at `began`. Returns whether there was anything to do, and the time after the link port
    /// was read.
    fn round(&mut self, began: u64) -> (bool, u64) {
        // The link comes first, because what it brings frees frames.
        self.sides.iter_mut().for_each(|side| side.port.reclaim(&mut self.pool));
        self.inner.reclaim(&mut self.pool);
        let (from_link, more, now) = self.take_from_link(began);
        let received = from_link + self.take_from_inner(now);
        // Arrivals go before deadlines: the copy that is waited for may be in the ring. So only what was due before the
        // ring was read is due.
        self.full_rounds = if more { self.full_rounds + 1 } else { 0 };
        let all_taken = !more || self.full_rounds > FULL_ROUNDS_MAX;
        if all_taken && self.end.next_timeout().is_some_and(|at| at.0 <= began) {
            self.end.handle_timeout(Instant(began));
        }
        self.look_for_third(began);
        let probes = self.service_paths(began, now, all_taken);
        let delivered = self.deliver_buffered();
        let sent = self.send_to_link(now) + self.service_in_time(now);
        while let Some(frame) = self.end.poll_release() {
            self.pool.release(frame);
        }
        while let Some(event) = self.end.poll_event() {
            self.handle_event(now, event);
        }
        self.flush();
        (received + delivered + sent + probes > 0, now)
    }

    fn handle_event(&mut self, now: u64, event: Event) {
        let link = &self.settings.name;
        match event {
            Event::SessionOpened(session) => {
                tracing::info!(%link, session = session.0, "protection is active");
                self.set_kernel_mode(BypassMode::Active);
                self.derived = derive::Derived::default();
            }
            Event::SessionAccepted(session) => {
                tracing::info!(%link, session = session.0, "the peer protects its frames");
                self.set_kernel_mode(BypassMode::Active);
            }
            Event::SessionClosed { session, reason, abandoned } => {
                tracing::info!(%link, session = session.0, reason = log_texts::reason(reason), abandoned, "protection ended");
            }
            Event::SessionEnded { session, reason } => {
                tracing::info!(%link, session = session.0, reason = log_texts::reason(reason), "the peer's protection ended");
            }
            Event::FormatsDiffer { own, peer } => tracing::warn!(
                %link, %own, %peer,
                "the two ends use different header formats, so frames pass unprotected; hint: set the same `format` at both ends and restart them"
            ),
            Event::PeerSeen => tracing::info!(%link, "the peer speaks Linkmend"),
            Event::PeerGone => tracing::warn!(%link, "the peer no longer speaks Linkmend"),
            Event::PeerIsOlder => tracing::warn!(
                %link, "the peer speaks an older version of Linkmend; hint: run the same version at both ends"
            ),
            Event::FallbackChanged { level, loss } => {
                tracing::warn!(%link, level = log_texts::level(level), loss = log_texts::loss(loss), "automatic fallback");
            }
            Event::CopiesChanged { copies, loss } => {
                tracing::info!(%link, copies, loss = log_texts::loss(Some(loss)), "copies of a lost frame");
            }
        }
        self.dormant_wanted_ns = None;
        self.update_kernel_mode(now);
    }

    /// Whether the loop must see every frame.
    fn needs_every_frame(&self) -> bool {
        let status = self.end.status();
        matches!(status.transmit, TransmitState::Active | TransmitState::Draining)
            || status.receive == ReceiveState::Active
            || self.sides.iter().any(|side| side.corruption.is_some())
    }

    /// Hands the link to the kernel or takes it back, as the state requires.
    fn update_kernel_mode(&mut self, now: u64) {
        if self.needs_every_frame() {
            self.dormant_wanted_ns = None;
            self.set_kernel_mode(BypassMode::Active);
            return;
        }
        if self.kernel_mode == BypassMode::Dormant || !self.queues.is_empty() || self.in_flight() > 0 {
            return;
        }
        let wanted = *self.dormant_wanted_ns.get_or_insert(now);
        let is_time = now - self.busy_ns >= QUIET_BEFORE_DORMANT_NS || now - wanted >= DORMANT_ANYWAY_NS;
        if is_time && self.hand_to_kernel() {
            self.dormant_wanted_ns = None;
        } else if now - wanted >= DORMANT_AT_LATEST_NS {
            self.dormant_wanted_ns = None;
            self.set_kernel_mode(BypassMode::Dormant);
        }
    }

    fn set_kernel_mode(&mut self, mode: BypassMode) {
        let Some(bypass) = &mut self.bypass else { return };
        bypass.set_stall_after(match mode {
            BypassMode::Dormant => Duration::from_nanos(DORMANT_STALL_AFTER_NS),
            BypassMode::Active => Duration::from_nanos(ACTIVE_STALL_AFTER_NS),
        });
        bypass.set_mode(mode);
        if mode == BypassMode::Dormant {
            bypass.leave_loop();
        }
        if mode == BypassMode::Active && self.kernel_mode == BypassMode::Dormant {
            self.wait_for_kernel_queues();
        }
        self.kernel_mode = mode;
        self.notify_captures();
    }

    /// Tells captures whether the kernel forwards past them.
    fn notify_captures(&mut self) {
        self.taps.set_kernel_forwards(self.bypass.is_some() && self.kernel_mode == BypassMode::Dormant);
    }

    /// Waits until frames that the kernel forwarded have left its queues, because this loop's frames do not pass
    /// through those queues.
    fn wait_for_kernel_queues(&self) {
        let Some(bypass) = &self.bypass else { return };
        if !bypass.wait_for_queues(KERNEL_QUEUES_PATIENCE) {
            tracing::debug!(link = %self.settings.name, "the ports' queues did not drain; the frames in them are overtaken by later ones");
        }
    }

    /// Delivers the frames that still wait, and hands the link to the kernel.
    fn finish(mut self) -> ExitReason {
        let now = clock::now_ns();
        self.stop_holding(now);
        self.end.handle_stop(Instant(now));
        self.deliver_buffered();
        self.flush();
        let name = &self.settings.name;
        if let Some(interface) = self.lost_interface {
            return ExitReason::InterfaceGone { interface };
        }
        if self.failover.as_ref().is_some_and(|failover| failover.is_back) {
            return ExitReason::InterfaceBack;
        }
        let ports: Vec<String> = self.ports().map(|port| port.name().to_owned()).collect();
        match self.bypass.take() {
            None => {
                tracing::info!(link = %name, "stopped; nothing forwards between the ports, and they are released")
            }
            Some(bypass) if !bypass.is_kept() => {
                drop(bypass);
                tracing::info!(link = %name, "the start has failed; the ports are as they were before");
            }
            Some(bypass) if self.settings.detach_on_stop => match bypass.detach() {
                Ok(()) => tracing::info!(
                    link = %name,
                    "stopped; the bypass is removed, nothing forwards between the ports, and they are released"
                ),
                Err(error) => tracing::warn!(link = %name, %error, "cannot remove the bypass"),
            },
            Some(_) => tracing::info!(
                link = %name,
                "stopped; the kernel forwards between the ports, unprotected; hint: `linkmend detach {}` ends \
                 this and releases them",
                ports.join(" ")
            ),
        }
        ExitReason::Stopped
    }
}
