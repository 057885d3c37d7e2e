//! One side of a protected link: both lanes, both sessions, and the order in which things go out.

mod clock;
mod fast_forward;
mod formats;
mod interface;
mod receiving;
mod sending;
mod sessionless;
mod timeouts;

pub use fast_forward::{SteadyState, Undisturbed};
pub use interface::{Admission, Priority, Protection, Reception};
pub use sending::RoundTrips;

use crate::config::{Config, ConfigError, Format};
use crate::event::{CloseReason, Event};
use crate::fallback::{Fallback, Level};
use crate::frame::{DataHeader, Feedback, FrameHandle, Mode, PerMode, PiggybackAck, SequenceRange};
use crate::loss_window::LossWindow;
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::{ReceiveSession, ReceiveState, SessionNumber, TransmitSession, TransmitState};
use crate::stats::Stats;
use crate::time::{Instant, Ticks};
use alloc::collections::VecDeque;

/// Events kept for [`LinkEnd::poll_event`]; older ones make room.
const EVENTS_MAX: usize = 64;

/// Something to put on the link.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "returned by value and consumed at once; boxing would allocate per frame"
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Transmit {
    /// A copy of a frame in the Tx buffer, with this header. Its handle stays with the link end.
    Retransmission {
        /// The frame.
        frame: FrameHandle,
        /// Its header, with the retransmitted flag.
        header: DataHeader,
    },
    /// A control frame.
    Control(Control),
}

/// Control frames, as [`crate::wire`] encodes them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "the feedback is the common case")]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Control {
    /// "I speak Linkmend": sent when there is nothing else to say.
    Hello,
    /// See [`crate::ReceiveState`] and the session module for the handshake.
    Init {
        /// The session to begin.
        session: SessionNumber,
        /// Format in which the sender would send, and in which it understands acknowledgements.
        #[cfg_attr(feature = "serde", serde(default))]
        format: Format,
    },
    /// Answer to an Init.
    InitEcho {
        /// The session to begin.
        session: SessionNumber,
        /// To be repeated in the Start.
        nonce: u32,
        /// Frames the receiver's window holds.
        window_frames: u32,
        /// The receiver's format. If it is not the sender's, the nonce is void: there will be no session.
        #[cfg_attr(feature = "serde", serde(default))]
        format: Format,
    },
    /// Begins a session.
    Start {
        /// The session that begins.
        session: SessionNumber,
        /// From the InitEcho.
        nonce: u32,
    },
    /// ACK and loss notification.
    Feedback(Feedback),
    /// Announces what has been sent, and what of it there still is.
    Dummy {
        /// Which session.
        session: SessionNumber,
        /// Counts dummies.
        stamp: u16,
        /// The next number of each lane.
        next: PerMode<LongSequenceNumber>,
        /// The first number of each lane that the sender still holds: what is missing before it will not come.
        held_from: PerMode<LongSequenceNumber>,
    },
    /// Ends a session.
    Fin {
        /// Which session.
        session: SessionNumber,
    },
    /// Confirms the end.
    FinEcho {
        /// Which session.
        session: SessionNumber,
    },
    /// Compact format only: an explicit ACK in the authors' header.
    CompactAck {
        /// Everything before this has arrived.
        next: SequenceNumber,
    },
    /// Compact format only: a loss notification in the authors' header.
    CompactNotification {
        /// Everything before this has arrived.
        next: SequenceNumber,
        /// What is missing; at most 255 frames.
        hole: SequenceRange,
    },
    /// Compact format only: a dummy in the authors' data header.
    CompactDummy {
        /// The lane.
        mode: Mode,
        /// The next number.
        next: SequenceNumber,
    },
    /// The authors' protocol only: priority flow control, which holds the normal queue or lets it go.
    PriorityPause {
        /// Hold it.
        paused: bool,
    },
}

impl Control {
    /// Whether it travels with Linkmend's magic. The authors' headers have none, so that a host's frames could pass for
    /// them.
    pub fn has_magic(&self) -> bool {
        !matches!(
            self,
            Control::CompactAck { .. }
                | Control::CompactNotification { .. }
                | Control::CompactDummy { .. }
                | Control::PriorityPause { .. }
        )
    }
}

/// What a link end is doing, for status displays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Status {
    /// The sender's session.
    pub transmit: TransmitState,
    /// The receiver's session.
    pub receive: ReceiveState,
    /// Whether protection of the sending direction has been asked for.
    pub protection_requested: bool,
    /// What the automatic fallback leaves of it.
    pub level: Level,
    /// Copies retransmitted for one lost frame.
    pub copies: u8,
    /// Measured actual loss of the sending direction, once a window is full.
    pub measured_loss: Option<f64>,
    /// The peer's format, if it is not this end's: then neither direction can be protected.
    pub mismatched_format: Option<Format>,
    /// The peer asked to hold the ordered lane.
    pub paused: bool,
    /// Frames outstanding in the sending direction.
    pub outstanding_frames: u64,
}

/// One side of a protected link. The crate documentation gives the order of calls.
#[derive(Debug)]
pub struct LinkEnd {
    config: Config,
    now: Instant,
    /// How far the driver's clock has jumped back, which the time here does not.
    clock_lead: Ticks,
    random: u64,
    protection: Option<Protection>,
    copies: u8,
    fallback: Fallback,
    loss: LossWindow,
    transmit: TransmitSession,
    senders: PerMode<Sender>,
    dummies: sending::Dummies,
    /// Compact format: the lane in use, as its ACKs do not name one.
    compact_lane: Mode,
    /// Compact format: the first number of the lane in use, until the receiver is known to have seen that lane.
    lane_begins_at: Option<u64>,
    /// A dummy must tell the receiver that it waits in vain.
    withdrawal: bool,
    paused_since: Option<Instant>,
    last_feedback: sending::LastFeedback,
    round_trips: RoundTrips,
    receive: ReceiveSession,
    receivers: PerMode<Receiver>,
    acks: receiving::Acks,
    mismatched_format: Option<Format>,
    sessionless: receiving::Sessionless,
    peer_heard_at: Option<Instant>,
    hello_at: Instant,
    released: VecDeque<FrameHandle>,
    events: VecDeque<Event>,
    stats: Stats,
}

impl LinkEnd {
    /// A dormant link end. `seed` makes its session numbers; a daemon passes something random, a simulator its seed.
    pub fn new(config: Config, seed: u64) -> Result<LinkEnd, ConfigError> {
        config.validate()?;
        let sender = |mode| Sender::new(mode, &config);
        let receiver = |mode| Receiver::new(mode, config.window_frames, config.receiver_limits());
        Ok(LinkEnd {
            config,
            now: Instant(0),
            clock_lead: Ticks::ZERO,
            random: seed,
            protection: None,
            copies: 1,
            fallback: Fallback::new(config.fallback),
            loss: LossWindow::new(config.loss_window_frames),
            transmit: TransmitSession::new(),
            senders: PerMode([sender(Mode::Ordered), sender(Mode::NonBlocking)]),
            dummies: sending::Dummies::default(),
            compact_lane: Mode::Ordered,
            lane_begins_at: None,
            withdrawal: false,
            paused_since: None,
            last_feedback: sending::LastFeedback::default(),
            round_trips: RoundTrips::default(),
            receive: ReceiveSession::default(),
            receivers: PerMode([receiver(Mode::Ordered), receiver(Mode::NonBlocking)]),
            acks: receiving::Acks::default(),
            mismatched_format: None,
            sessionless: receiving::Sessionless::new(),
            peer_heard_at: None,
            hello_at: Instant(0),
            released: VecDeque::with_capacity(2 * config.window_frames as usize),
            events: VecDeque::with_capacity(EVENTS_MAX),
            stats: Stats::default(),
        })
    }

    /// Asks for protection of the sending direction, or changes its copies. The link stays dormant until the peer
    /// answers.
    pub fn protect(&mut self, now: Instant, protection: Protection) {
        let now = self.advance(now);
        self.protection = Some(protection);
        self.fallback = Fallback::new(self.config.fallback);
        self.update_copies();
        if self.transmit.state == TransmitState::Dormant {
            self.open(now);
        }
    }

    /// Ends protection of the sending direction, without losing, duplicating or reordering a frame.
    pub fn unprotect(&mut self, now: Instant) {
        let now = self.advance(now);
        self.protection = None;
        self.close_softly(now);
    }

    /// Replaces the parameters that may change while running: all but the format and `window_frames`, which keep their
    /// values. The fallback goes on from its level, or to [`Level::Full`] if it is switched off; the loss window from what
    /// it has counted.
    pub fn reconfigure(&mut self, config: Config) -> Result<(), ConfigError> {
        let config =
            Config { format: self.config.format, window_frames: self.config.window_frames, ..config };
        config.validate()?;
        self.config = config;
        for mode in Mode::ALL {
            self.receivers[mode].set_limits(config.receiver_limits());
            self.senders[mode].set_limits(&config);
        }
        self.loss.set_size(config.loss_window_frames);
        if let Some(level) = self.fallback.set_config(config.fallback)
            && self.protection.is_some()
        {
            self.level_changed(self.now, level, None);
        }
        Ok(())
    }

    /// The parameters in force.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// Tells that this end did not run for a while and the kernel delivered frames in its place: what the receiver
    /// believes missing may have been delivered, so its session ends. Its sender will notice and begin a new one.
    pub fn handle_stall(&mut self, now: Instant) {
        self.advance(now);
        self.end_receive_session(CloseReason::Stalled);
        self.sessionless.forget(true);
    }

    /// Does what is due: gives up overdue frames, ends sessions of silent peers, moves the fallback.
    pub fn handle_timeout(&mut self, now: Instant) {
        let now = self.advance(now);
        self.handle_receive_timeout(now);
        self.handle_transmit_timeout(now);
        if self.peer_heard_at.is_some() && !self.peer_known() {
            self.peer_heard_at = None;
            self.mismatched_format = None;
            self.event(Event::PeerGone);
        }
    }

    /// Whether the peer is known to speak Linkmend (a valid control frame within three hello intervals).
    pub fn peer_known(&self) -> bool {
        self.peer_heard_at.is_some_and(|at| self.now.since(at) < self.peer_memory())
    }

    /// A frame whose buffer the link end no longer needs.
    #[inline]
    pub fn poll_release(&mut self) -> Option<FrameHandle> {
        self.released.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Counters, with the buffers' present levels.
    pub fn stats(&self) -> Stats {
        let mut stats = self.stats;
        stats.tx_buffer =
            PerMode([*self.senders[Mode::Ordered].buffer(), *self.senders[Mode::NonBlocking].buffer()]);
        stats.rx_buffer = *self.receivers[Mode::Ordered].buffer();
        stats.missing_frames = Mode::ALL.iter().map(|&mode| self.receivers[mode].missing()).sum();
        if let Some(since) = self.paused_since {
            stats.paused_ticks += self.now.since(since).0;
        }
        stats
    }

    /// Begins a new observation of the buffers' extremes.
    pub fn reset_buffer_extremes(&mut self) {
        for mode in Mode::ALL {
            self.senders[mode].buffer_mut().reset_extremes();
            self.receivers[mode].buffer_mut().reset_extremes();
        }
    }

    /// State for displays.
    pub fn status(&self) -> Status {
        Status {
            transmit: self.transmit.state,
            receive: if self.receive.active.is_some() {
                ReceiveState::Active
            } else {
                ReceiveState::Listening
            },
            protection_requested: self.protection.is_some(),
            level: self.fallback.level(),
            copies: self.copies,
            measured_loss: self.loss.estimate(),
            mismatched_format: self.mismatched_format,
            paused: self.is_paused(),
            outstanding_frames: self.outstanding(),
        }
    }

    /// Takes a control frame from the link. `false` if it did not fit (stale or forged); it was counted.
    pub fn handle_control(&mut self, now: Instant, control: &Control) -> bool {
        let now = self.advance(now);
        let accepted = match *control {
            Control::Hello => true,
            Control::Init { session, format } => self.handle_init(session, format),
            // The authors' protocol has none of these.
            _ if control.has_magic() && self.is_sessionless() => false,
            Control::InitEcho { session, nonce, window_frames, format } => {
                self.handle_init_echo(now, session, nonce, window_frames, format)
            }
            Control::Start { session, nonce } => self.handle_start(now, session, nonce),
            Control::Feedback(ref feedback) => self.handle_feedback(now, feedback),
            Control::Dummy { session, stamp, next, held_from } => {
                self.handle_dummy(now, session, stamp, next, held_from)
            }
            Control::Fin { session } => self.handle_fin(session),
            Control::FinEcho { session } => self.handle_fin_echo(now, session),
            // Counted there, and without magic: nothing more is to be done for it.
            Control::CompactAck { next } => {
                return self.acknowledged(now, PiggybackAck { mode: self.compact_lane, next });
            }
            Control::CompactNotification { next, hole } => self.handle_notification(now, next, hole),
            Control::CompactDummy { mode, next } => self.handle_compact_dummy(now, mode, next),
            Control::PriorityPause { paused } => self.handle_priority_pause(now, paused),
        };
        self.stats.control_rejected += u64::from(!accepted);
        // Even one of an unknown session (this end may have restarted) tells that the peer speaks Linkmend.
        if control.has_magic() {
            if self.peer_heard_at.is_none() {
                self.event(Event::PeerSeen);
                // Answer at once, so that both ends know each other.
                self.hello_at = now;
            }
            self.peer_heard_at = Some(now);
        }
        accepted
    }

    /// Control frames and copies to put on the link, by priority; see the crate documentation for the order.
    pub fn poll_transmit(&mut self, now: Instant, priority: Priority) -> Option<Transmit> {
        match priority {
            Priority::High => {
                self.poll_urgent(now).map(Transmit::Control).or_else(|| self.poll_retransmission())
            }
            Priority::Low => {
                let now = self.advance(now);
                let control = self.poll_dummy(now).or_else(|| self.poll_ack(now))?;
                self.hello_at = self.hello_at.max(now + self.config.hello_interval);
                Some(Transmit::Control(control))
            }
        }
    }

    /// The control frames of [`Priority::High`] alone, for drivers that cannot retransmit at every moment.
    pub fn poll_urgent(&mut self, now: Instant) -> Option<Control> {
        let now = self.advance(now);
        let control = self
            .poll_handshake(now)
            .or_else(|| self.poll_urgent_feedback(now))
            .or_else(|| self.poll_withdrawal(now))
            .or_else(|| self.poll_overdue_dummy(now))
            .or_else(|| (now >= self.hello_at && !self.is_sessionless()).then_some(Control::Hello))?;
        self.hello_at = self.hello_at.max(now + self.config.hello_interval);
        Some(control)
    }

    fn peer_memory(&self) -> Ticks {
        self.config.hello_interval * 3 + self.config.peer_timeout
    }

    fn next_random(&mut self) -> u32 {
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) as u32
    }

    fn event(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// Whether frames carry the authors' headers.
    fn is_compact(&self) -> bool {
        self.config.format != Format::Transparent
    }
}
