//! The sending direction without sessions ([`crate::Format::Linkguardian`]).

use super::SendingSide;
use crate::event::{CloseReason, Event};
use crate::frame::SequenceRange;
use crate::link_end::Control;
use crate::link_end::sessionless::NO_SESSION;
use crate::link_end::shared::Shared;
use crate::mode::Mode;
use crate::sequence::SequenceNumber;
use crate::session::{Handshake, TransmitState};
use crate::time::Instant;

impl SendingSide {
    /// Prepares for a frame that leaves in `mode`, in either of the authors' formats. In their protocol, silence counts
    /// from the first frame that waits for an answer, and the lane gets the numbers of the previous one.
    #[inline]
    pub(super) fn before_compact_send(&mut self, shared: &mut Shared, now: Instant, mode: Mode) {
        let before = core::mem::replace(&mut self.compact_lane, mode);
        if !shared.is_sessionless() {
            if mode != before {
                self.begin_lane(before);
            }
        } else if self.outstanding() == 0 {
            self.transmit.heard_at = now;
            if mode != before {
                let next = self.senders[before].next();
                self.senders[mode].start(next);
            }
        }
    }

    /// Handles an ACK or a notification.
    pub(super) fn handle_leading_ack(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        next: SequenceNumber,
        hole: Option<SequenceRange>,
    ) -> bool {
        let sender = &mut self.senders[self.compact_lane];
        match self.transmit.state {
            TransmitState::Dormant => return false,
            TransmitState::Opening => {
                // The answer to the latest probe, which confirms what the probe announced.
                return next == sender.next_sequence() && self.opened_by_answer(shared, now);
            }
            TransmitState::Active | TransmitState::Draining => {}
        }
        let Some(effect) = sender.handle_leading_ack(next, hole, &mut self.released) else {
            shared.stats.control_rejected += u64::from(hole.is_none());
            return false;
        };
        self.transmit.heard_at = now;
        if self.loss.add(effect.acknowledged, effect.lost, 0).is_some() {
            self.update_copies(shared);
        }
        true
    }

    fn opened_by_answer(&mut self, shared: &mut Shared, now: Instant) -> bool {
        self.transmit.handle_acknowledgement(now);
        shared.stats.sessions_opened += 1;
        self.dummies.opened(now);
        shared.event(Event::SessionOpened(NO_SESSION));
        true
    }

    /// A probe: a dummy that any receiver answers, because it announces a number that was never sent. `None` if the
    /// window is full.
    fn probe(&mut self) -> Option<Control> {
        let sender = &mut self.senders[self.compact_lane];
        sender
            .skip_number()
            .then(|| Control::CompactDummy { mode: self.compact_lane, next: sender.next_sequence() })
    }

    /// The dummy that is due; after a long silence, one that is answered.
    pub(super) fn sessionless_dummy(&mut self, shared: &mut Shared, now: Instant) -> Control {
        let silence = now.since(self.transmit.heard_at);
        let probe = if silence * 2 >= shared.config.peer_timeout { self.probe() } else { None };
        let (mode, next) = (self.compact_lane, self.senders[self.compact_lane].next_sequence());
        probe.unwrap_or(Control::CompactDummy { mode, next })
    }

    /// Handles pause and resume of the normal queue. In case the resume is lost, a pause ends by itself when its cause
    /// must have arrived or been given up.
    pub(in crate::link_end) fn handle_priority_pause(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        paused: bool,
    ) -> bool {
        let fits = shared.is_sessionless()
            && matches!(self.transmit.state, TransmitState::Active | TransmitState::Draining);
        if fits {
            self.senders[Mode::Ordered].paused = paused;
            self.count_pause(shared, now, paused);
            self.pause_ends_at = paused.then(|| now + shared.config.recovery_timeout);
        }
        fits
    }

    pub(super) fn end_overdue_pause(&mut self, shared: &mut Shared, now: Instant) {
        if self.pause_ends_at.is_some_and(|at| now >= at) {
            self.handle_priority_pause(shared, now, false);
            self.pause_ends_at = None;
        }
    }

    /// The frame that begins or ends protection. To begin, it is a probe. To end, there is none, since there is nothing
    /// to agree on; but the leading ACK does not say what the peer still holds back, which an unprotected frame must
    /// not overtake.
    pub(super) fn sessionless_handshake(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        due: Handshake,
    ) -> Option<Control> {
        if due == Handshake::Init {
            return self.probe();
        }
        if due == Handshake::Fin && now >= self.transmit.heard_at + shared.config.recovery_timeout {
            self.transmit.state = TransmitState::Dormant;
            self.closed(shared, now, CloseReason::Requested);
        }
        None
    }
}
