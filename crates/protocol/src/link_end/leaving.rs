//! How an end leaves a link that goes on without it: it ends its own session, asks the peer to end the other, and begins
//! none.
//!
//! The request is a Fin of the peer's session. The peer ends that session as if it had been switched off: it holds its
//! frames until all is acknowledged, and sends the next ones unprotected. A peer of version 0.1 answers with a FinEcho
//! instead; the session is over then, too.

use super::LinkEnd;
use super::receiving::ReceivingSide;
use super::sending::SendingSide;
use super::shared::Shared;
use crate::event::CloseReason;
use crate::link_end::Control;
use crate::session::{SessionNumber, TransmitState};
use crate::time::{Instant, Ticks};

/// How long a peer that does not begin another session may repeat its Fin, in first waits of a handshake.
const ECHO_WAITS: u64 = 8;

/// What the receiving side knows about leaving.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Leaving {
    pub(super) begun: bool,
    /// When the peer is asked (again).
    ask_at: Instant,
    /// When the peer certainly knows that its session has ended.
    over_at: Instant,
}

impl LinkEnd {
    /// Begins to leave the link, because the driver is going to stop: ends both sessions without losing, duplicating or
    /// reordering a frame, and begins no other. The driver goes on as before until [`LinkEnd::has_left`], or for as
    /// long as it can.
    pub fn leave(&mut self, now: Instant) {
        let now = self.advance(now);
        self.sending.unprotect(&self.shared, now);
        self.receiving.leaving = Leaving { begun: true, ask_at: now, over_at: now };
    }

    /// Whether both sessions have ended since [`LinkEnd::leave`], and the peer knows.
    pub fn has_left(&self, now: Instant) -> bool {
        let LinkEnd { shared, sending, receiving } = self;
        let receives = receiving.receive.active.is_some() && !shared.is_sessionless();
        let is_over = now + shared.clock_lead >= receiving.leaving.over_at;
        receiving.leaving.begun && is_over && !receives && sending.transmit.state == TransmitState::Dormant
    }
}

impl ReceivingSide {
    /// When the peer is to be asked to end its session.
    pub(super) fn asks_at(&self, shared: &Shared) -> Option<Instant> {
        let asks = self.leaving.begun && !self.receive.ending && !shared.is_sessionless();
        self.receive.active.filter(|_| asks).map(|_| self.leaving.ask_at)
    }

    pub(super) fn poll_request(&mut self, shared: &Shared, now: Instant) -> Option<Control> {
        if self.asks_at(shared).is_none_or(|at| now < at) {
            return None;
        }
        self.leaving.ask_at = now + shared.config.handshake_min;
        self.receive.active.map(|session| Control::Fin { session })
    }

    /// Notes the peer's Fin, which it repeats until it hears the echo.
    pub(super) fn note_fin(&mut self, shared: &Shared) {
        self.leaving.over_at = shared.now + Ticks(ECHO_WAITS * shared.config.handshake_min.0);
    }

    /// Notes that the peer wants to begin a session, so it knows that the one before has ended. Returns whether this
    /// end leaves and takes part in none.
    pub(super) fn declines_session(&mut self, shared: &Shared) -> bool {
        if self.receive.active.is_none() {
            self.leaving.over_at = self.leaving.over_at.min(shared.now);
        }
        self.leaving.begun
    }

    /// Handles the word of a peer that was asked to end a session and knows of none.
    pub(super) fn handle_unknown(&mut self, shared: &mut Shared, session: SessionNumber) -> bool {
        let is_over = self.leaving.begun && self.receive.active == Some(session);
        if is_over {
            self.leave_to_kernel(shared, CloseReason::Stopped);
        }
        is_over
    }
}

impl SendingSide {
    /// Handles a Fin of this end's own session: the receiver asks to end it. `false` if it is another one.
    pub(super) fn handle_request(&mut self, shared: &Shared, now: Instant, session: SessionNumber) -> bool {
        let is_own = session == self.transmit.session && self.transmit.state != TransmitState::Dormant;
        if is_own && self.transmit.state == TransmitState::Active {
            self.peer_leaves = true;
            self.close_softly(shared, now);
        }
        is_own
    }
}
