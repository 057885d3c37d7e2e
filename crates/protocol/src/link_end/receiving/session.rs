//! How the receiver's session begins and ends.

use crate::event::{CloseReason, Event};
use crate::frame::{Mode, PerMode};
use crate::link_end::receiving::Acks;
use crate::link_end::{Control, LinkEnd};
use crate::sequence::LongSequenceNumber;
use crate::session::SessionNumber;
use crate::time::Instant;

impl LinkEnd {
    pub(in crate::link_end) fn handle_start(
        &mut self,
        now: Instant,
        session: SessionNumber,
        nonce: u32,
    ) -> bool {
        if self.receive.active == Some(session) {
            // The feedback that confirmed it was lost.
            self.acks.urgent = true;
            return true;
        }
        let before = self.receive.active;
        if !self.receive.handle_start(now, session, nonce) {
            return false;
        }
        if let Some(before) = before {
            self.event(Event::SessionEnded { session: before, reason: CloseReason::Replaced });
        }
        for mode in Mode::ALL {
            self.receivers[mode].start(session.first_sequence(mode), &mut self.stats);
        }
        self.acks = Acks {
            urgent: true,
            announced: PerMode(
                Mode::ALL.map(|mode| session.first_sequence(mode)).map(LongSequenceNumber::from_absolute),
            ),
            lost_before: self.stats.lost_frames,
            overflows_before: self.stats.rx_buffer_overflows,
            ..Acks::default()
        };
        self.stats.sessions_accepted += 1;
        self.event(Event::SessionAccepted(session));
        true
    }

    pub(in crate::link_end) fn handle_receive_timeout(&mut self, now: Instant) {
        let timeouts = self.stats.recovery_timeouts;
        for mode in Mode::ALL {
            self.receivers[mode].handle_timeout(now, &mut self.stats);
        }
        if self.silence_ends_at().is_some_and(|at| now >= at) {
            self.stats.recovery_timeouts += self.wait_no_more();
        }
        // The sender may release what was given up.
        self.acks.urgent |= self.stats.recovery_timeouts != timeouts && !self.is_sessionless();
        if self.receive.active.is_some() && now >= self.receive.heard_at + self.config.session_expiry {
            self.end_receive_session(CloseReason::PeerLost);
        }
    }

    /// When a silence of the sender has lasted too long: first for what is missing, then for the session.
    pub(in crate::link_end) fn silence_ends_at(&self) -> Option<Instant> {
        let patience = if self.missing() > 0 { self.config.peer_timeout } else { self.config.session_expiry };
        self.receive.active.map(|_| self.receive.heard_at + patience)
    }

    /// The sender wants to end a session, or has given it up. Either way it holds nothing more of it.
    pub(in crate::link_end) fn handle_fin(&mut self, session: SessionNumber) -> bool {
        self.receive.handle_fin(session);
        if self.receive.ending {
            self.stats.unrecovered_frames += self.wait_no_more();
        }
        true
    }

    /// What is missing will not come: what is buffered behind it need not wait. How many frames that is.
    pub(in crate::link_end) fn wait_no_more(&mut self) -> u64 {
        Mode::ALL.into_iter().map(|mode| self.receivers[mode].wait_no_more()).sum()
    }

    pub(in crate::link_end) fn end_receive_session(&mut self, reason: CloseReason) {
        for mode in Mode::ALL {
            self.receivers[mode].end(&mut self.stats);
        }
        self.sessionless.forget(false);
        // An ACK that is still owed would acknowledge what was not waited for.
        self.acks = Acks::default();
        if let Some(session) = self.receive.end() {
            self.event(Event::SessionEnded { session, reason });
        }
    }

    pub(in crate::link_end) fn poll_handshake(&mut self, now: Instant) -> Option<Control> {
        if let Some((session, nonce)) = self.receive.echo.take() {
            let (window_frames, format) = (self.config.window_frames, self.config.format);
            return Some(Control::InitEcho { session, nonce, window_frames, format });
        }
        if self.receive.ending && Mode::ALL.iter().all(|&mode| self.receivers[mode].is_drained()) {
            self.receive.fin_echo = self.receive.active;
            self.end_receive_session(CloseReason::Requested);
        }
        if let Some(session) = self.receive.fin_echo.take() {
            return Some(Control::FinEcho { session });
        }
        self.poll_sender_handshake(now)
    }
}
