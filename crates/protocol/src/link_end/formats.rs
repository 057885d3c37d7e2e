//! Refuses sessions between ends of different formats.
//!
//! The authors' ACK names no lane, so an end that sends it and one that numbers two lanes at once would acknowledge the
//! wrong frames. Init and InitEcho carry the format of the end that writes them. Ends that differ refuse each other's
//! sessions, report it once, and leave the link unprotected. Handshakes continue, at long intervals, so that protection
//! begins as soon as one end has been corrected.

use super::receiving::ReceivingSide;
use super::sending::SendingSide;
use super::shared::Shared;
use crate::config::Format;
use crate::event::Event;
use crate::mode::Mode;
use crate::session::{SessionNumber, TransmitState};
use crate::time::Instant;

impl ReceivingSide {
    pub(super) fn handle_init(
        &mut self,
        shared: &mut Shared,
        session: SessionNumber,
        format: Format,
    ) -> bool {
        if !shared.formats_agree(format) {
            self.receive.refuse(session);
            return true;
        }
        if self.declines_session(shared) {
            return true;
        }
        let fresh = shared.next_random();
        self.receive.handle_init(session, fresh);
        self.acks.repeat_confirmation(self.receive.active == Some(session));
        true
    }
}

impl SendingSide {
    pub(super) fn handle_init_echo(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        session: SessionNumber,
        nonce: u32,
        window_frames: u32,
        format: Format,
    ) -> bool {
        if self.transmit.state != TransmitState::Opening || session != self.transmit.session {
            return false;
        }
        if !shared.formats_agree(format) {
            return true;
        }
        let fits = self.transmit.handle_init_echo(now, session, nonce, &shared.config);
        if fits {
            Mode::ALL.into_iter().for_each(|mode| self.senders[mode].limit_window(window_frames));
        }
        fits
    }
}

impl Shared {
    /// Whether the peer's format is this end's. Reports it once if not.
    fn formats_agree(&mut self, peer: Format) -> bool {
        let mismatched = (peer != self.config.format).then_some(peer);
        if mismatched.is_some() && self.mismatched_format != mismatched {
            self.event(Event::FormatsDiffer { own: self.config.format, peer });
        }
        self.mismatched_format = mismatched;
        mismatched.is_none()
    }
}
