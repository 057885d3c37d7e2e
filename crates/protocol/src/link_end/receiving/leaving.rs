//! How the receiving side has its peer end the session, because this end leaves, see `link_end::leaving`.

use super::ReceivingSide;
use crate::event::CloseReason;
use crate::link_end::Control;
use crate::link_end::shared::Shared;
use crate::session::SessionNumber;
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

impl ReceivingSide {
    /// Begins to leave: asks the peer to end its session, and takes part in no other.
    pub(in crate::link_end) fn leave(&mut self, now: Instant) {
        self.leaving = Leaving { begun: true, ask_at: now, over_at: now };
    }

    /// Whether this end leaves, and the peer certainly knows that its session has ended.
    pub(in crate::link_end) fn has_left(&self, now: Instant) -> bool {
        self.leaving.begun && now >= self.leaving.over_at
    }

    /// When the peer is to be asked to end its session.
    pub(in crate::link_end) fn asks_at(&self, shared: &Shared) -> Option<Instant> {
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

    /// Records the peer's Fin, which it repeats until it hears the echo.
    pub(super) fn note_fin(&mut self, shared: &Shared) {
        self.leaving.over_at = shared.now + Ticks(ECHO_WAITS * shared.config.handshake_min.0);
    }

    /// Records that the peer wants to begin a session, so it knows that the previous one has ended. Returns whether
    /// this end leaves and takes part in none.
    pub(in crate::link_end) fn declines_session(&mut self, shared: &Shared) -> bool {
        if self.receive.active.is_none() {
            self.leaving.over_at = self.leaving.over_at.min(shared.now);
        }
        self.leaving.begun
    }

    /// Handles the word of a peer that was asked to end a session and knows of none.
    pub(in crate::link_end) fn handle_unknown(
        &mut self,
        shared: &mut Shared,
        session: SessionNumber,
    ) -> bool {
        let is_over = self.leaving.begun && self.receive.active == Some(session);
        if is_over {
            self.leave_to_kernel(shared, CloseReason::Stopped);
        }
        is_over
    }
}
