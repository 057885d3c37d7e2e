//! Handles hellos, and every other proof that the peer hears this end.

use super::shared::Shared;
use super::{Control, LinkEnd};
use crate::config::Format;
use crate::event::Event;
use crate::time::Instant;

impl Shared {
    /// Handles a hello. It is answered unless its writer has heard this end already.
    pub(super) fn handle_hello(&mut self, now: Instant, nonce: u64, echo: u64) {
        let is_echo = echo == self.peer.nonce;
        let is_new = core::mem::replace(&mut self.peer.heard_nonce, nonce) != nonce;
        if is_new || !is_echo {
            self.peer.answer(now, self.config.hello_interval);
        }
        if is_echo {
            self.note_proof(now);
        }
    }

    /// Handles a hello of an end that cannot prove anything.
    pub(super) fn handle_old_hello(&mut self, now: Instant) {
        self.peer.answer(now, self.config.hello_interval);
        if !core::mem::replace(&mut self.peer.is_older_told, true) {
            self.event(Event::PeerIsOlder);
        }
    }

    /// Records that the peer has proved that it hears this end.
    pub(super) fn note_proof(&mut self, now: Instant) {
        self.peer.proofs += 1;
        if self.peer.proved_at.replace(now).is_none() {
            self.event(Event::PeerSeen);
        }
    }

    /// When a silent peer is forgotten.
    pub(super) fn peer_forgotten_at(&self) -> Option<Instant> {
        let memory = self.config.hello_interval * 3 + self.config.peer_timeout;
        self.peer.proved_at.map(|at| at + memory)
    }

    pub(super) fn forget_silent_peer(&mut self, now: Instant) {
        if self.peer_forgotten_at().is_some_and(|at| now >= at) {
            self.peer.proved_at = None;
            self.mismatched_format = None;
            self.event(Event::PeerGone);
        }
    }

    /// Records that another control frame was sent, which tells the peer as much as a hello would, except for an Init.
    #[inline]
    pub(super) fn postpone_hello(&mut self, now: Instant, sent: &Control) {
        let from = if matches!(sent, Control::Init { .. }) { self.peer.sent_at } else { now };
        self.peer.hello_at = self.peer.hello_at.max(from + self.config.hello_interval);
    }

    /// When a hello is due. The authors' protocol has none.
    pub(super) fn hello_due_at(&self) -> Option<Instant> {
        let at = if self.peer.answer_due { Instant(0) } else { self.peer.hello_at };
        (self.config.format != Format::Linkguardian).then_some(at)
    }

    pub(super) fn poll_hello(&mut self, now: Instant) -> Option<Control> {
        self.hello_due_at().filter(|&at| now >= at)?;
        (self.peer.answer_due, self.peer.sent_at) = (false, now);
        Some(self.peer.hello())
    }
}

impl LinkEnd {
    /// Whether the peer is known to speak Linkmend, and to hear this end: it has proved so within three hello intervals.
    pub fn peer_known(&self) -> bool {
        self.shared.peer_forgotten_at().is_some_and(|at| self.shared.now < at)
    }

    /// Whether a peer has been known since this end started.
    pub const fn peer_was_known(&self) -> bool {
        self.shared.peer.proofs > 0
    }

    /// The nonce of this end's start.
    pub const fn nonce(&self) -> u64 {
        self.shared.peer.nonce
    }

    /// How often the peer has proved that it hears this end. If handling a control frame adds one, its writer is the peer.
    pub const fn proofs(&self) -> u64 {
        self.shared.peer.proofs
    }

    /// Whether a control frame is a hello whose writer hears this end.
    pub const fn is_heard_by_writer(&self, control: &Control) -> bool {
        matches!(control, Control::Hello { echo, .. } if *echo == self.shared.peer.nonce)
    }

    /// Whether a control frame is a hello of this end itself.
    pub const fn is_own_hello(&self, control: &Control) -> bool {
        matches!(control, Control::Hello { nonce, .. } if *nonce == self.shared.peer.nonce)
    }

    /// A hello to an end other than the peer, in answer to one of its control frames: an end that hears this hello can
    /// prove it.
    pub const fn hello_to(&self, other: &Control) -> Control {
        let echo = if let Control::Hello { nonce, .. } = other { *nonce } else { 0 };
        Control::Hello { nonce: self.shared.peer.nonce, echo }
    }
}
