//! How an end leaves a link that continues without it: it ends its own session, asks the peer to end the other one, and
//! begins no new one.
//!
//! The request is a Fin of the peer's session. The peer ends that session as if it had been switched off: it holds its
//! frames until all is acknowledged, and sends the next ones unprotected. A peer of version 0.1 answers with a FinEcho
//! instead; the session is over then, too.

use super::LinkEnd;
use super::sending::SendingSide;
use super::shared::Shared;
use crate::session::{SessionNumber, TransmitState};
use crate::time::Instant;

impl LinkEnd {
    /// Begins to leave the link, because the driver is going to stop: ends both sessions without losing, duplicating or
    /// reordering a frame, and begins no other. The driver continues as before until [`LinkEnd::has_left`], or for as
    /// long as it can.
    pub fn leave(&mut self, now: Instant) {
        let now = self.advance(now);
        self.sending.unprotect(&self.shared, now);
        self.receiving.leave(now);
    }

    /// Whether both sessions have ended since [`LinkEnd::leave`], and the peer knows.
    pub fn has_left(&self, now: Instant) -> bool {
        let LinkEnd { shared, sending, receiving } = self;
        let receives = receiving.receive.active.is_some() && !shared.is_sessionless();
        receiving.has_left(now + shared.clock_lead)
            && !receives
            && sending.transmit.state == TransmitState::Dormant
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
