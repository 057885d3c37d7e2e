//! How the sender's session begins and ends.

use super::SendingSide;
use super::reports::{LastFeedback, RoundTrips};
use crate::event::{CloseReason, Event};
use crate::fallback::{Fallback, Level};
use crate::link_end::shared::Shared;
use crate::link_end::{Control, Protection};
use crate::loss_window::LossWindow;
use crate::mode::{Mode, PerMode};
use crate::session::{Handshake, SessionNumber, TransmitState};
use crate::time::Instant;

impl SendingSide {
    /// See [`LinkEnd::protect`](crate::LinkEnd::protect).
    pub(in crate::link_end) fn protect(&mut self, shared: &mut Shared, now: Instant, protection: Protection) {
        self.protection = Some(protection);
        self.fallback = Fallback::new(shared.config.fallback);
        self.update_copies(shared);
        if self.transmit.state == TransmitState::Dormant {
            self.open(shared, now);
        }
    }

    /// See [`LinkEnd::unprotect`](crate::LinkEnd::unprotect).
    pub(in crate::link_end) fn unprotect(&mut self, shared: &Shared, now: Instant) {
        self.protection = None;
        self.close_softly(shared, now);
    }

    /// Applies changed parameters.
    pub(in crate::link_end) fn reconfigure(&mut self, shared: &mut Shared) {
        for mode in Mode::ALL {
            self.senders[mode].set_limits(&shared.config);
        }
        self.set_patience();
        self.loss.set_size(shared.config.loss_window_frames);
        if let Some(level) = self.fallback.set_config(shared.config.fallback)
            && self.protection.is_some()
        {
            self.level_changed(shared, shared.now, level, None);
        }
    }

    fn open(&mut self, shared: &mut Shared, now: Instant) {
        if shared.is_sessionless() {
            // Numbers go on.
            return self.transmit.open(now, SessionNumber(0), &shared.config);
        }
        let session = SessionNumber(shared.next_random());
        self.transmit.open(now, session, &shared.config);
        for mode in Mode::ALL {
            self.senders[mode].start(session.first_sequence(mode));
        }
        // The receiver, too, counts stamps and frames from the beginning of the session.
        self.dummies.start();
        self.last_feedback = LastFeedback {
            seen: PerMode(Mode::ALL.map(|mode| session.first_sequence(mode) as u16)),
            ..LastFeedback::default()
        };
        self.round_trips = RoundTrips::default();
        self.withdrawal = false;
        self.lane_begins_at = None;
    }

    /// Ends the session without loss if there is one, or stops trying to open one.
    pub(in crate::link_end) fn close_softly(&mut self, shared: &Shared, now: Instant) {
        match self.transmit.state {
            TransmitState::Active => self.transmit.drain(now, self.unreleased(), &shared.config),
            TransmitState::Opening => self.transmit.state = TransmitState::Dormant,
            TransmitState::Dormant | TransmitState::Draining => {}
        }
    }

    pub(in crate::link_end) fn handle_fin_echo(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        session: SessionNumber,
    ) -> bool {
        let ends = self.transmit.handle_fin_echo(session);
        if ends {
            let by_fallback = self.protection.is_some() && self.fallback.level() == Level::Dormant;
            let reason = match self.peer_leaves {
                true => CloseReason::PeerStopped,
                false if by_fallback => CloseReason::Fallback,
                false => CloseReason::Requested,
            };
            self.closed(shared, now, reason);
        }
        if self.transmit.state == TransmitState::Active && session == self.transmit.session {
            // It was not requested: the receiver has lost the session, and an ended one never comes back.
            self.peer_lost(shared, now, CloseReason::PeerLost);
        }
        // A repeated confirmation is not an error.
        self.transmit.handle_farewell_echo(session) || ends || session == self.transmit.session
    }

    pub(in crate::link_end) fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        self.end_overdue_pause(shared, now);
        let (unreleased, drained) = (self.unreleased(), self.is_drained());
        if self.transmit.is_timed_out(now, unreleased, drained, &shared.config) {
            let draining = self.transmit.state == TransmitState::Draining;
            if !shared.is_sessionless() {
                self.transmit.give_up();
            }
            self.peer_lost(
                shared,
                now,
                if draining { CloseReason::DrainTimeout } else { CloseReason::PeerLost },
            );
        }
        if self.protection.is_some()
            && let Some(level) = self.fallback.handle_timeout(now)
        {
            self.level_changed(shared, now, level, None);
        }
    }

    pub(in crate::link_end) fn poll_handshake(
        &mut self,
        shared: &mut Shared,
        now: Instant,
    ) -> Option<Control> {
        if let Some(session) = self.transmit.poll_farewell() {
            return Some(Control::Fin { session });
        }
        let session = self.transmit.session;
        let drained = self.is_drained();
        let handshake = self.transmit.poll_handshake(now, drained, &shared.config)?;
        if shared.is_sessionless() {
            return self.sessionless_handshake(shared, now, handshake);
        }
        Some(match handshake {
            Handshake::Init => Control::Init { session, format: shared.config.format },
            Handshake::Start { nonce } => Control::Start { session, nonce },
            Handshake::Fin => Control::Fin { session },
        })
    }

    /// When the peer has been silent for too long, or a frame of the handshake is due.
    pub(in crate::link_end) fn session_timeout(&self, shared: &Shared) -> Option<Instant> {
        self.transmit.next_timeout(self.is_drained(), &shared.config)
    }

    /// When the fallback changes its level by itself.
    pub(in crate::link_end) fn fallback_timeout(&self) -> Option<Instant> {
        self.fallback.next_timeout().filter(|_| self.protection.is_some())
    }

    pub(super) fn update_copies(&mut self, shared: &mut Shared) {
        let Some(protection) = self.protection else { return };
        let copies = protection.copies.number(self.loss.held());
        if copies != self.copies {
            self.copies = copies;
            if let Some(loss) = self.loss.held() {
                shared.event(Event::CopiesChanged { copies, loss });
            }
        }
    }

    pub(super) fn level_changed(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        level: Level,
        loss: Option<f64>,
    ) {
        shared.stats.fallback_changes += 1;
        shared.event(Event::FallbackChanged { level, loss });
        match level {
            Level::Dormant => self.close_softly(shared, now),
            Level::Full | Level::NonBlocking => {
                if self.protection.is_some() && self.transmit.state == TransmitState::Dormant {
                    self.open(shared, now);
                }
            }
        }
    }

    /// See [`LinkEnd::set_clean_other`](crate::LinkEnd::set_clean_other).
    pub(in crate::link_end) fn set_clean_other(&mut self, is_clean: bool) -> bool {
        let is_new = core::mem::replace(&mut self.has_clean_other, is_clean) != is_clean;
        if is_new {
            self.set_patience();
        }
        is_new
    }

    fn set_patience(&mut self) {
        for mode in Mode::ALL {
            self.senders[mode].set_patience(self.has_clean_other);
        }
    }

    /// See [`LinkEnd::path_loss`](crate::LinkEnd::path_loss).
    pub(in crate::link_end) fn path_loss(&self) -> Option<f64> {
        let is_stuck = Mode::ALL.iter().any(|&mode| self.senders[mode].is_stuck);
        if is_stuck { Some(1.0) } else { self.loss.estimate() }
    }

    /// What the previous path has lost says nothing about the one that is now in use.
    pub(super) fn begin_path(&mut self, shared: &mut Shared, now: Instant) {
        self.loss = LossWindow::new(shared.config.loss_window_frames);
        self.update_copies(shared);
        if self.fallback.level() != Level::Full && self.protection.is_some() {
            self.fallback = Fallback::new(shared.config.fallback);
            self.level_changed(shared, now, Level::Full, None);
        }
    }

    fn peer_lost(&mut self, shared: &mut Shared, now: Instant, reason: CloseReason) {
        self.transmit.state = TransmitState::Dormant;
        shared.stats.peers_lost += 1;
        self.closed(shared, now, reason);
    }

    /// Handles the end of the session: frees what is left, and begins a new one if protection is still wanted.
    pub(super) fn closed(&mut self, shared: &mut Shared, now: Instant, reason: CloseReason) {
        let abandoned =
            Mode::ALL.into_iter().map(|mode| self.senders[mode].abandon(&mut self.released)).sum();
        shared.stats.abandoned_frames += abandoned;
        self.count_pause(shared, now, false);
        (self.withdrawal, self.peer_leaves) = (false, false);
        shared.event(Event::SessionClosed { session: self.transmit.session, reason, abandoned });
        if self.protection.is_some() && self.fallback.level() != Level::Dormant {
            self.open(shared, now);
        }
    }
}
