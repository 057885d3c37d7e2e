//! Handles dummies: what they announce as sent, and what the sender has withdrawn.

use super::ReceivingSide;
use crate::link_end::shared::Shared;
use crate::mode::{Mode, PerMode};
use crate::receiver::Receiver;
use crate::sequence::{LongSequenceNumber, SequenceNumber};
use crate::session::SessionNumber;
use crate::stats::Stats;
use crate::time::Instant;

impl ReceivingSide {
    pub(in crate::link_end) fn handle_dummy(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        session: SessionNumber,
        stamp: u16,
        next: PerMode<LongSequenceNumber>,
        held_from: PerMode<LongSequenceNumber>,
    ) -> bool {
        if self.receive.active != Some(session) {
            // This end restarted or stalled, so its peer need not wait for its own timeout with a full window.
            self.receive.fin_echo = Some(session);
            return false;
        }
        let fits = Mode::ALL.into_iter().all(|mode| {
            self.announce_by(shared, now, mode, |receiver, stats| {
                receiver.handle_dummy(now, next[mode], held_from[mode], stats)
            })
        });
        // Stamps repeat sooner than numbers: after half of their values, a late dummy seems to be the latest, but its
        // sender had sent less.
        let overtaken = Mode::ALL.into_iter().any(|mode| next[mode].is_before(self.acks.announced[mode]));
        if fits && !overtaken && stamp.wrapping_sub(self.acks.dummy_stamp) as i16 > 0 {
            (self.acks.dummy_stamp, self.acks.announced) = (stamp, next);
            // Only a complete feedback echoes it, however many ACKs ride on other frames.
            self.acks.repeats = self.acks.repeats.max(1);
        }
        fits
    }

    /// Learns that everything before `next` has been sent.
    pub(super) fn announce(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        mode: Mode,
        next: SequenceNumber,
    ) -> bool {
        self.announce_by(shared, now, mode, |receiver, stats| receiver.handle_announcement(now, next, stats))
    }

    fn announce_by(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        mode: Mode,
        handle: impl FnOnce(&mut Receiver, &mut Stats) -> bool,
    ) -> bool {
        let (lost, given_up) = (shared.stats.lost_frames, shared.stats.given_up_frames());
        let fits = handle(&mut self.receivers[mode], &mut shared.stats);
        if fits {
            self.receive.heard_at = now;
            self.acks.pending[mode] = true;
            self.acks.has_arrivals = true;
        }
        let lost = shared.stats.lost_frames - lost;
        if lost > 0 {
            self.change_lane(shared, mode);
            let end = SequenceNumber::from_absolute(self.receivers[mode].highest());
            self.loss_found(shared, mode, end, lost, end);
        }
        // The sender's window may advance.
        self.acks.urgent |= shared.stats.given_up_frames() != given_up;
        fits
    }
}
