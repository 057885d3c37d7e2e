//! How the sender's session begins and ends.

use super::{LastFeedback, RoundTrips};
use crate::event::{CloseReason, Event};
use crate::fallback::Level;
use crate::frame::{Mode, PerMode};
use crate::link_end::{Control, LinkEnd};
use crate::session::{Handshake, SessionNumber, TransmitState};
use crate::time::Instant;

impl LinkEnd {
    pub(in crate::link_end) fn open(&mut self, now: Instant) {
        if self.is_sessionless() {
            // Numbers go on.
            return self.transmit.open(now, SessionNumber(0), &self.config);
        }
        let session = SessionNumber(self.next_random());
        self.transmit.open(now, session, &self.config);
        for mode in Mode::ALL {
            self.senders[mode].start(session.first_sequence(mode));
        }
        // The receiver counts stamps and frames from the beginning of the session, too.
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
    pub(in crate::link_end) fn close_softly(&mut self, now: Instant) {
        match self.transmit.state {
            TransmitState::Active => self.transmit.drain(now, self.unreleased(), &self.config),
            TransmitState::Opening => self.transmit.state = TransmitState::Dormant,
            TransmitState::Dormant | TransmitState::Draining => {}
        }
    }

    pub(in crate::link_end) fn handle_fin_echo(&mut self, now: Instant, session: SessionNumber) -> bool {
        let ends = self.transmit.handle_fin_echo(session);
        if ends {
            let by_fallback = self.protection.is_some() && self.fallback.level() == Level::Dormant;
            let reason = if by_fallback { CloseReason::Fallback } else { CloseReason::Requested };
            self.closed(now, reason);
        }
        if self.transmit.state == TransmitState::Active && session == self.transmit.session {
            // Not asked for: the receiver has lost the session, and an ended one never comes back.
            self.peer_lost(now, CloseReason::PeerLost);
        }
        // A repeated confirmation is no fault.
        self.transmit.handle_farewell_echo(session) || ends || session == self.transmit.session
    }

    pub(in crate::link_end) fn handle_transmit_timeout(&mut self, now: Instant) {
        self.end_overdue_pause(now);
        let (unreleased, drained) = (self.unreleased(), self.is_drained());
        if self.transmit.is_timed_out(now, unreleased, drained, &self.config) {
            let draining = self.transmit.state == TransmitState::Draining;
            if !self.is_sessionless() {
                self.transmit.give_up();
            }
            self.peer_lost(now, if draining { CloseReason::DrainTimeout } else { CloseReason::PeerLost });
        }
        if self.protection.is_some()
            && let Some(level) = self.fallback.handle_timeout(now)
        {
            self.level_changed(now, level, None);
        }
    }

    pub(in crate::link_end) fn poll_sender_handshake(&mut self, now: Instant) -> Option<Control> {
        if let Some(session) = self.transmit.poll_farewell() {
            return Some(Control::Fin { session });
        }
        let session = self.transmit.session;
        let drained = self.is_drained();
        let handshake = self.transmit.poll_handshake(now, drained, &self.config)?;
        if self.is_sessionless() {
            return self.sessionless_handshake(now, handshake);
        }
        Some(match handshake {
            Handshake::Init => Control::Init { session, format: self.config.format },
            Handshake::Start { nonce } => Control::Start { session, nonce },
            Handshake::Fin => Control::Fin { session },
        })
    }

    pub(in crate::link_end) fn update_copies(&mut self) {
        let Some(protection) = self.protection else { return };
        let copies = protection.copies.number(self.loss.held());
        if copies != self.copies {
            self.copies = copies;
            if let Some(loss) = self.loss.held() {
                self.event(Event::CopiesChanged { copies, loss });
            }
        }
    }

    pub(in crate::link_end) fn level_changed(&mut self, now: Instant, level: Level, loss: Option<f64>) {
        self.stats.fallback_changes += 1;
        self.event(Event::FallbackChanged { level, loss });
        match level {
            Level::Dormant => self.close_softly(now),
            Level::Full | Level::NonBlocking => {
                if self.protection.is_some() && self.transmit.state == TransmitState::Dormant {
                    self.open(now);
                }
            }
        }
    }

    pub(in crate::link_end) fn peer_lost(&mut self, now: Instant, reason: CloseReason) {
        self.transmit.state = TransmitState::Dormant;
        self.stats.peers_lost += 1;
        self.closed(now, reason);
    }

    /// The session is over: frees what is left, and begins a new one if protection is still wanted.
    pub(in crate::link_end) fn closed(&mut self, now: Instant, reason: CloseReason) {
        let abandoned =
            Mode::ALL.into_iter().map(|mode| self.senders[mode].abandon(&mut self.released)).sum();
        self.stats.abandoned_frames += abandoned;
        self.count_pause(now, false);
        self.withdrawal = false;
        self.event(Event::SessionClosed { session: self.transmit.session, reason, abandoned });
        if self.protection.is_some() && self.fallback.level() != Level::Dormant {
            self.open(now);
        }
    }
}
