//! Acknowledgements and loss notifications: which of them is due, and their content.

use super::ReceivingSide;
use crate::frame::{Feedback, LaneFeedback, PiggybackAck};
use crate::link_end::Control;
use crate::link_end::shared::Shared;
use crate::mode::{Mode, PerMode};
use crate::sequence::SequenceNumber;
use crate::session::SessionNumber;
use crate::time::Instant;

/// Maximum number of feedback frames in an ACK interval that repeat what is missing: some 256 runs of frames. With more
/// missing, it takes several intervals.
const REPEAT_PARTS_MAX: u8 = 8;

impl ReceivingSide {
    /// The next urgent feedback: a loss notification, a change of the pause state, or an ACK that has waited long
    /// enough.
    pub(in crate::link_end) fn poll_urgent_feedback(
        &mut self,
        shared: &mut Shared,
        now: Instant,
    ) -> Option<Control> {
        if shared.is_sessionless() {
            return self.poll_sessionless_urgent(shared, now);
        }
        let session = self.receive.active?;
        if let Some(mode) = self.acks.notify.take()
            && let Some(mut hole) = self.receivers[mode].first_hole()
        {
            hole.length = hole.length.min(u16::from(u8::MAX));
            shared.stats.notifications_sent += 1;
            return Some(Control::CompactNotification { next: self.receivers[mode].cumulative(), hole });
        }
        if self.feedback_due_at(shared).is_none_or(|at| now < at) {
            return None;
        }
        if self.acks.urgent {
            shared.stats.notifications_sent += 1;
            return Some(self.compose_new_losses(shared, now, session));
        }
        shared.stats.acks_sent += 1;
        self.acks.repeats = self.acks.repeats.saturating_sub(1);
        Some(match self.repeat_due_at(shared) {
            Some(at) if now >= at => self.compose_repetition(shared, now, session),
            _ => self.compose_new_losses(shared, now, session),
        })
    }

    /// Lets a complete feedback go immediately.
    pub(in crate::link_end) fn report_at_once(&mut self) {
        if self.receive.active.is_some() {
            self.acks.urgent = true;
            self.acks.repeats = self.acks.repeats.max(1);
        }
    }

    /// An explicit ACK, for a port that would otherwise be idle.
    pub(in crate::link_end) fn poll_ack(&mut self, shared: &mut Shared, now: Instant) -> Option<Control> {
        let session = self.receive.active?;
        if let Some(next) = self.compact_ack(shared, now) {
            return Some(Control::CompactAck { next });
        }
        if shared.is_sessionless() || !self.is_pending() || now < self.acks.ack_at + shared.config.ack_gap {
            return None;
        }
        shared.stats.acks_sent += 1;
        Some(self.compose_new_losses(shared, now, session))
    }

    #[inline]
    pub(in crate::link_end) fn compact_ack(
        &mut self,
        shared: &mut Shared,
        now: Instant,
    ) -> Option<SequenceNumber> {
        let lane = self.acks.lane?;
        let due = self.is_pending() && now >= self.acks.ack_at + shared.config.ack_gap;
        if !due || !shared.is_compact() || self.receive.active.is_none() {
            return None;
        }
        let next = self.acknowledgement(shared, lane)?;
        shared.stats.acks_sent += 1;
        self.acks.acknowledged(now);
        Some(next)
    }

    #[inline]
    pub(in crate::link_end) fn take_piggyback(
        &mut self,
        shared: &mut Shared,
        now: Instant,
    ) -> Option<PiggybackAck> {
        if self.is_pending() { self.compose_piggyback(shared, now) } else { None }
    }

    fn compose_piggyback(&mut self, shared: &mut Shared, now: Instant) -> Option<PiggybackAck> {
        if shared.config.explicit_acks {
            return None;
        }
        for offset in 0..Mode::ALL.len() {
            let mode = Mode::ALL[(self.acks.turn + offset) % Mode::ALL.len()];
            // The authors' ACK does not name its lane: it must be the one in use.
            if shared.is_compact() && self.acks.lane != Some(mode) {
                continue;
            }
            if !self.acks.pending[mode] {
                continue;
            }
            if let Some(next) = self.acknowledgement(shared, mode) {
                self.acks.turn = (mode as usize + 1) % Mode::ALL.len();
                self.acks.pending[mode] = false;
                self.acks.ack_at = now;
                self.acks.lane_ack_at[mode] = now;
                shared.stats.piggybacked_acks_sent += 1;
                return Some(PiggybackAck { mode, next });
            }
        }
        None
    }

    /// The number that an ACK without further content may carry for a lane: none while frames are missing, which needs
    /// a complete feedback first or, in the authors' protocol, a notification.
    #[inline]
    fn acknowledgement(&self, shared: &Shared, lane: Mode) -> Option<SequenceNumber> {
        if shared.is_sessionless() {
            (!self.has_holes_to_report()).then(|| self.leading_number())
        } else {
            (self.receivers[lane].missing() == 0).then(|| self.receivers[lane].cumulative())
        }
    }

    /// See [`LinkEnd::owes_ack`](crate::LinkEnd::owes_ack).
    #[inline]
    pub(in crate::link_end) fn owes_ack(&self) -> bool {
        self.receive.active.is_some() && self.is_pending()
    }

    pub(super) fn is_pending(&self) -> bool {
        self.acks.pending[Mode::Ordered] || self.acks.pending[Mode::NonBlocking]
    }

    /// When an explicit ACK may take an idle port.
    pub(in crate::link_end) fn idle_ack_at(&self, shared: &Shared) -> Option<Instant> {
        self.owes_ack().then(|| self.acks.ack_at + shared.config.ack_gap)
    }

    /// When missing frames, or other reports that may have been lost, must be repeated.
    fn repeat_due_at(&self, shared: &Shared) -> Option<Instant> {
        if self.acks.parts_left > 0 {
            return Some(shared.now);
        }
        (self.missing() > 0 || self.acks.repeats > 0)
            .then(|| self.acks.repeat_at + shared.config.ack_interval)
    }

    /// When an urgent feedback must go, if a session is in use.
    pub(in crate::link_end) fn urgent_feedback_due_at(&self, shared: &Shared) -> Option<Instant> {
        self.receive.active.and_then(|_| self.feedback_due_at(shared))
    }

    /// When a feedback must go, whatever else is queued.
    fn feedback_due_at(&self, shared: &Shared) -> Option<Instant> {
        if shared.is_sessionless() {
            return self.sessionless_due_at(shared);
        }
        if self.acks.urgent {
            return Some(shared.now);
        }
        let repeat = self.repeat_due_at(shared);
        let overdue = self.acks.overdue_at(&shared.config);
        let alive = self.acks.has_arrivals.then(|| self.acks.feedback_at + shared.config.keepalive);
        [repeat, overdue, alive].into_iter().flatten().min()
    }

    /// A feedback with what has not been reported yet. If one feedback does not hold it all, the next one is urgent.
    fn compose_new_losses(&mut self, shared: &mut Shared, now: Instant, session: SessionNumber) -> Control {
        let lanes = PerMode(Mode::ALL.map(|mode| self.receivers[mode].report_new_losses(now)));
        self.acks.urgent = lanes.0.iter().any(|lane| lane.covered != lane.seen);
        if lanes.0.iter().all(|lane| lane.from == lane.cumulative.short() && lane.covered == lane.seen) {
            // That was everything, so nothing need be repeated for a while.
            (self.acks.repeat_at, self.acks.parts_left) = (now, 0);
        }
        self.compose_feedback(shared, now, session, lanes)
    }

    /// A feedback with the next stretch of the repetition.
    fn compose_repetition(&mut self, shared: &mut Shared, now: Instant, session: SessionNumber) -> Control {
        if self.acks.parts_left == 0 {
            (self.acks.repeat_at, self.acks.parts_left) = (now, REPEAT_PARTS_MAX);
            Mode::ALL.into_iter().for_each(|mode| self.receivers[mode].begin_repetition());
        }
        let lanes = PerMode(Mode::ALL.map(|mode| self.receivers[mode].report_repetition(now)));
        let more = Mode::ALL.into_iter().any(|mode| self.receivers[mode].has_more_repetition());
        self.acks.parts_left = if more { self.acks.parts_left - 1 } else { 0 };
        self.compose_feedback(shared, now, session, lanes)
    }

    fn compose_feedback(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        session: SessionNumber,
        lanes: PerMode<LaneFeedback>,
    ) -> Control {
        self.acks.number = self.acks.number.wrapping_add(1);
        self.acks.acknowledged(now);
        self.acks.has_arrivals = false;
        self.acks.feedback_at = now;
        Control::Feedback(Feedback {
            session,
            number: self.acks.number,
            dummy_stamp: self.acks.dummy_stamp,
            lost_total: (shared.stats.lost_frames - self.acks.lost_before) as u32,
            rx_overflow_total: (shared.stats.rx_buffer_overflows - self.acks.overflows_before) as u16,
            lanes,
        })
    }
}
