//! Sessions: how protection starts and ends without losing or duplicating a frame, and survives a restart.
//!
//! Each direction has its own session, opened by the sender:
//!
//! ```text
//!   sender                              receiver
//!   Dormant --protect--> Opening
//!           Init(session)          -->            remembers (session, nonce), changes nothing yet
//!                                                 (a format that is not its own: remembers nothing)
//!           <--          InitEcho(session, nonce)
//!           Start(session, nonce)  -->            nonce is the latest it gave: begins the session
//!           <--          Feedback(session)
//!   Active  data ...               -->            data before the Start cannot exist
//!   Draining (normal queue held until all is acknowledged)
//!           Fin(session)           -->            ends the session once its Rx buffer is empty
//!           <--          FinEcho(session)
//!   Dormant (frames pass unprotected again)
//! ```
//!
//! A receiver that is about to stop requests the end with its own Fin; see `link_end::leaving`.
//!
//! A receiver that gets a dummy of a session that it does not know says so with a FinEcho: after a restart or a stall,
//! the sender begins anew immediately.
//!
//! Four frames are needed because any of them may arrive late or twice. A stale Init only makes the receiver offer a
//! nonce, and a stale Start carries an old nonce, so no delayed frame can reset a session that is in use. Until the
//! first feedback, frames pass unprotected; the link is a queue, so the first protected frame arrives after the Start.
//!
//! Both sides derive the first sequence numbers from the session number, so they need not be sent, and differ from one
//! session to the next.

use crate::config::{Config, Format};
use crate::mode::Mode;
use crate::sequence::{FIRST_ABSOLUTE, SEQUENCE_SPACE, SequenceNumber};
use crate::time::{Instant, Ticks};

/// Identifies a session. Its sender draws it at random, so that a restarted end does not repeat one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SessionNumber(pub u32);

impl SessionNumber {
    /// Number of the first frame of a lane, which follows from the session's.
    pub fn first(self, mode: Mode) -> SequenceNumber {
        SequenceNumber::from_absolute(self.first_sequence(mode))
    }

    /// Absolute number of the first frame of a lane.
    pub(crate) fn first_sequence(self, mode: Mode) -> u64 {
        let bits = match mode {
            Mode::Ordered => u64::from(self.0),
            Mode::NonBlocking => u64::from(self.0 >> 15),
        };
        FIRST_ABSOLUTE + bits % (2 * SEQUENCE_SPACE)
    }
}

/// State of the sender's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransmitState {
    /// No protection; frames pass as they are.
    Dormant,
    /// Handshake in progress, or no peer answers; frames pass as they are.
    Opening,
    /// Frames are protected.
    Active,
    /// Protection is ending: the normal queue is held until everything is acknowledged.
    Draining,
}

/// State of the receiver's session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveState {
    /// The peer does not protect its frames.
    Listening,
    /// The peer protects its frames.
    Active,
}

/// The sender's side.
#[derive(Debug, Clone)]
pub(crate) struct TransmitSession {
    pub(crate) state: TransmitState,
    pub(crate) session: SessionNumber,
    /// The receiver's nonce, once it has answered.
    nonce: Option<u32>,
    /// When the handshake frame of this state is due (again), and the wait after that.
    repeat_at: Instant,
    repeat_wait: Ticks,
    /// When a session that is ending is cut off, unless fewer than `drain_left` frames are outstanding then.
    drain_deadline: Instant,
    drain_left: u64,
    /// Latest sign of life.
    pub(crate) heard_at: Instant,
    /// The latest session that was given up without the receiver's consent, whether the receiver knows, and whether it
    /// must be told now.
    given_up: Option<SessionNumber>,
    farewell_heard: bool,
    farewell_due: bool,
}

/// A handshake frame that a sender has to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handshake {
    Init,
    Start { nonce: u32 },
    Fin,
}

impl TransmitSession {
    pub(crate) fn new() -> Self {
        TransmitSession {
            state: TransmitState::Dormant,
            session: SessionNumber(0),
            nonce: None,
            repeat_at: Instant(0),
            repeat_wait: Ticks::ZERO,
            drain_deadline: Instant(0),
            drain_left: 0,
            heard_at: Instant(0),
            given_up: None,
            farewell_heard: false,
            farewell_due: false,
        }
    }

    /// Begins the handshake of a new session.
    pub(crate) fn open(&mut self, now: Instant, session: SessionNumber, config: &Config) {
        self.state = TransmitState::Opening;
        self.session = session;
        self.nonce = None;
        self.repeat_now(now, config);
    }

    /// Handles the receiver's answer to the Init.
    pub(crate) fn handle_init_echo(
        &mut self,
        now: Instant,
        session: SessionNumber,
        nonce: u32,
        config: &Config,
    ) -> bool {
        if self.state != TransmitState::Opening || session != self.session {
            return false;
        }
        if self.nonce != Some(nonce) {
            self.nonce = Some(nonce);
            self.repeat_now(now, config);
        }
        true
    }

    /// Handles any acknowledgement of this session. `true` if it completes the handshake.
    pub(crate) fn handle_acknowledgement(&mut self, now: Instant) -> bool {
        self.heard_at = now;
        let opened = self.state == TransmitState::Opening;
        if opened {
            self.state = TransmitState::Active;
            (self.farewell_heard, self.farewell_due) = (true, false);
        }
        opened
    }

    /// Gives the session up. Its receiver may hear this end though this end does not hear it, and need not wait for
    /// what is missing until the session expires.
    pub(crate) fn give_up(&mut self) {
        self.state = TransmitState::Dormant;
        (self.given_up, self.farewell_heard, self.farewell_due) = (Some(self.session), false, true);
    }

    /// The session of which to take leave now: immediately, and with each attempt to begin another.
    pub(crate) fn poll_farewell(&mut self) -> Option<SessionNumber> {
        core::mem::take(&mut self.farewell_due).then_some(self.given_up)?
    }

    /// Handles the receiver's word that it knows no such session. `true` if it was about this session.
    pub(crate) fn handle_farewell_echo(&mut self, session: SessionNumber) -> bool {
        let reported = self.given_up == Some(session);
        if reported {
            (self.farewell_heard, self.farewell_due) = (true, false);
        }
        reported
    }

    /// Begins to end the session with `outstanding` frames; from now on the caller holds the normal queue.
    pub(crate) fn drain(&mut self, now: Instant, outstanding: u64, config: &Config) {
        debug_assert_eq!(self.state, TransmitState::Active);
        self.state = TransmitState::Draining;
        self.give_drain_time(now, outstanding, config);
        self.repeat_now(now, config);
    }

    fn give_drain_time(&mut self, now: Instant, outstanding: u64, config: &Config) {
        self.drain_left = outstanding;
        self.drain_deadline = now + config.peer_timeout + config.recovery_timeout;
    }

    /// Extends deadlines because this end did not run for `late`: its peer is not to blame for a silence, nor for an
    /// end that takes long.
    pub(crate) fn excuse(&mut self, now: Instant, late: Ticks) {
        self.heard_at = (self.heard_at + late).min(now);
        self.drain_deadline = self.drain_deadline + late;
    }

    /// Handles the receiver's confirmation of the end. `true` if that ends this session.
    pub(crate) fn handle_fin_echo(&mut self, session: SessionNumber) -> bool {
        let ends = self.state == TransmitState::Draining && session == self.session;
        if ends {
            self.state = TransmitState::Dormant;
        }
        ends
    }

    /// The handshake frame that is due, if any. `drained`: everything sent has been acknowledged.
    pub(crate) fn poll_handshake(
        &mut self,
        now: Instant,
        drained: bool,
        config: &Config,
    ) -> Option<Handshake> {
        let frame = self.pending_handshake(drained)?;
        if now < self.repeat_at {
            return None;
        }
        self.repeat_at = now + self.repeat_wait;
        self.repeat_wait = (self.repeat_wait * 2).min(config.handshake_max);
        self.farewell_due = self.given_up.is_some() && !self.farewell_heard;
        if self.nonce.is_some() && self.repeat_wait == config.handshake_max {
            // The receiver may have restarted since it gave its nonce.
            self.nonce = None;
        }
        Some(frame)
    }

    /// Whether the peer has been silent for too long, or has not confirmed the end in time. An end that makes progress
    /// is not cut off: on a slow link behind a full queue, acknowledging may take long.
    pub(crate) fn is_timed_out(
        &mut self,
        now: Instant,
        outstanding: u64,
        drained: bool,
        config: &Config,
    ) -> bool {
        if self.liveness_deadline(drained, config).is_none_or(|at| now < at) {
            return false;
        }
        let progress = self.state == TransmitState::Draining && outstanding < self.drain_left;
        if progress {
            self.give_drain_time(now, outstanding, config);
        }
        !progress
    }

    /// When something here is due.
    pub(crate) fn next_timeout(&self, drained: bool, config: &Config) -> Option<Instant> {
        let handshake = self.pending_handshake(drained).map(|_| self.repeat_at);
        let farewell = self.farewell_due.then_some(Instant(0));
        [handshake, farewell, self.liveness_deadline(drained, config)].into_iter().flatten().min()
    }

    fn liveness_deadline(&self, drained: bool, config: &Config) -> Option<Instant> {
        match self.state {
            // The authors' receiver reports only on frames.
            TransmitState::Active if drained && config.format == Format::Linkguardian => None,
            TransmitState::Dormant | TransmitState::Opening => None,
            TransmitState::Active => Some(self.heard_at + config.peer_timeout),
            TransmitState::Draining => Some(self.drain_deadline),
        }
    }

    fn pending_handshake(&self, drained: bool) -> Option<Handshake> {
        match (self.state, self.nonce) {
            (TransmitState::Opening, None) => Some(Handshake::Init),
            (TransmitState::Opening, Some(nonce)) => Some(Handshake::Start { nonce }),
            (TransmitState::Draining, _) if drained => Some(Handshake::Fin),
            _ => None,
        }
    }

    fn repeat_now(&mut self, now: Instant, config: &Config) {
        self.repeat_at = now;
        self.repeat_wait = config.handshake_min;
    }
}

/// The receiver's side of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReceiveSession {
    /// The session in use.
    pub(crate) active: Option<SessionNumber>,
    /// The latest Init and the nonce given for it.
    offered: Option<(SessionNumber, u32)>,
    /// Replies to send.
    pub(crate) echo: Option<(SessionNumber, u32)>,
    pub(crate) fin_echo: Option<SessionNumber>,
    /// The session that the peer wants to end.
    pub(crate) ending: bool,
    /// Latest frame of the session.
    pub(crate) heard_at: Instant,
}

impl ReceiveSession {
    /// Handles the peer's wish to begin a session: offers a nonce, which is `fresh` if it is a new one. A late Init of
    /// the session in use is not offered another, since a second Start would begin it again while it runs.
    pub(crate) fn handle_init(&mut self, session: SessionNumber, fresh: u32) {
        if self.active == Some(session) {
            return;
        }
        let nonce = match self.offered {
            Some((offered, nonce)) if offered == session => nonce,
            _ => fresh,
        };
        self.offered = Some((session, nonce));
        self.echo = Some((session, nonce));
    }

    /// Answers a peer that wants to begin a session in which this end cannot take part, without a nonce.
    pub(crate) fn refuse(&mut self, session: SessionNumber) {
        self.offered = None;
        self.echo = Some((session, 0));
    }

    /// Handles the beginning of a session. `true` if it is new and the receivers must start afresh.
    pub(crate) fn handle_start(&mut self, now: Instant, session: SessionNumber, nonce: u32) -> bool {
        if self.offered != Some((session, nonce)) {
            return false;
        }
        self.offered = None;
        self.active = Some(session);
        self.ending = false;
        self.heard_at = now;
        true
    }

    /// Handles the peer's wish to end a session; one that is not in use is confirmed immediately.
    pub(crate) fn handle_fin(&mut self, session: SessionNumber) {
        if self.active == Some(session) {
            self.ending = true;
        } else {
            self.fin_echo = Some(session);
        }
    }

    /// Ends the session in use, if there is one.
    pub(crate) fn end(&mut self) -> Option<SessionNumber> {
        self.ending = false;
        self.active.take()
    }
}
