//! How the receiver's session begins and ends.

use super::Acks;
use super::ReceivingSide;
use crate::config::Config;
use crate::event::{CloseReason, Event};
use crate::link_end::Control;
use crate::link_end::shared::Shared;
use crate::mode::{Mode, PerMode};
use crate::receiver::ReceiverLimits;
use crate::sequence::LongSequenceNumber;
use crate::session::SessionNumber;
use crate::time::Instant;

impl ReceivingSide {
    pub(in crate::link_end) fn handle_start(
        &mut self,
        shared: &mut Shared,
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
        if self.declines_session(shared) {
            return true;
        }
        if !self.receive.handle_start(now, session, nonce) {
            return false;
        }
        if let Some(before) = before {
            shared.event(Event::SessionEnded { session: before, reason: CloseReason::Replaced });
        }
        for mode in Mode::ALL {
            self.receivers[mode].start(session.first_sequence(mode), &mut shared.stats);
        }
        self.acks = Acks {
            urgent: true,
            announced: PerMode(
                Mode::ALL.map(|mode| session.first_sequence(mode)).map(LongSequenceNumber::from_absolute),
            ),
            lost_before: shared.stats.lost_frames,
            overflows_before: shared.stats.rx_buffer_overflows,
            ..Acks::default()
        };
        shared.stats.sessions_accepted += 1;
        shared.event(Event::SessionAccepted(session));
        true
    }

    pub(in crate::link_end) fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        let timeouts = shared.stats.recovery_timeouts;
        for mode in Mode::ALL {
            self.receivers[mode].handle_timeout(now, &mut shared.stats);
        }
        if self.silence_ends_at(shared).is_some_and(|at| now >= at) {
            shared.stats.recovery_timeouts += self.give_up_missing();
        }
        // The sender may release what was given up.
        self.acks.urgent |= shared.stats.recovery_timeouts != timeouts && !shared.is_sessionless();
        if self.receive.active.is_some() && now >= self.receive.heard_at + shared.config.session_expiry {
            self.end_session(shared, CloseReason::PeerLost);
        }
    }

    /// When a silence of the sender has lasted too long: first for what is missing, then for the session.
    pub(in crate::link_end) fn silence_ends_at(&self, shared: &Shared) -> Option<Instant> {
        let patience =
            if self.missing() > 0 { shared.config.peer_timeout } else { shared.config.session_expiry };
        self.receive.active.map(|_| self.receive.heard_at + patience)
    }

    /// Handles the sender's wish to end a session, or its word that it has given the session up. Either way it holds
    /// nothing of the session any more.
    pub(in crate::link_end) fn handle_fin(&mut self, shared: &mut Shared, session: SessionNumber) -> bool {
        self.receive.handle_fin(session);
        self.note_fin(shared);
        if self.receive.ending {
            shared.stats.unrecovered_frames += self.give_up_missing();
        }
        true
    }

    /// Gives up everything missing, which will not come, so that what is buffered behind it need not wait. Returns the
    /// number of frames.
    fn give_up_missing(&mut self) -> u64 {
        Mode::ALL.into_iter().map(|mode| self.receivers[mode].give_up_missing()).sum()
    }

    /// Ends the session because the kernel delivers frames in this end's place: it did, or it will.
    pub(in crate::link_end) fn leave_to_kernel(&mut self, shared: &mut Shared, reason: CloseReason) {
        self.end_session(shared, reason);
        self.sessionless.forget(true);
    }

    /// Applies changed parameters.
    pub(in crate::link_end) fn reconfigure(&mut self, config: &Config) {
        for mode in Mode::ALL {
            self.receivers[mode].set_limits(ReceiverLimits::new(config));
        }
    }

    fn end_session(&mut self, shared: &mut Shared, reason: CloseReason) {
        for mode in Mode::ALL {
            self.receivers[mode].end(&mut shared.stats);
        }
        self.sessionless.forget(false);
        // An ACK that is still owed would acknowledge what was not waited for.
        self.acks = Acks::default();
        if let Some(session) = self.receive.end() {
            shared.event(Event::SessionEnded { session, reason });
        }
    }

    /// The frames by which the receiver takes part in the beginning and the end of a session.
    pub(in crate::link_end) fn poll_handshake(
        &mut self,
        shared: &mut Shared,
        now: Instant,
    ) -> Option<Control> {
        if let Some((session, nonce)) = self.receive.echo.take() {
            let (window_frames, format) = (shared.config.window_frames, shared.config.format);
            return Some(Control::InitEcho { session, nonce, window_frames, format });
        }
        if self.receive.ending && Mode::ALL.iter().all(|&mode| self.receivers[mode].is_drained()) {
            self.receive.fin_echo = self.receive.active;
            let reason = if self.leaving.begun { CloseReason::Stopped } else { CloseReason::Requested };
            self.end_session(shared, reason);
        }
        let echo = self.receive.fin_echo.take().map(|session| Control::FinEcho { session });
        echo.or_else(|| self.poll_request(shared, now))
    }
}
