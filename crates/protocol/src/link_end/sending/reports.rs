//! Handles the peer's reports: acknowledgements, feedback frames, notifications.

use super::SendingSide;
use crate::event::Event;
use crate::frame::{Feedback, PiggybackAck, SequenceRange};
use crate::link_end::shared::Shared;
use crate::mode::{Mode, PerMode};
use crate::sequence::{SequenceNumber, WINDOW_MAX};
use crate::session::TransmitState;
use crate::time::{Instant, Ticks};

/// Round trips between the link ends, from a dummy to the feedback that echoes its stamp. They include the time the
/// other end takes to run, which is what matters for timeouts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Samples since the session opened.
    pub samples: u32,
    pub min: Ticks,
    pub max: Ticks,
}

impl RoundTrips {
    fn add(&mut self, sample: Ticks) {
        self.min = if self.samples == 0 { sample } else { self.min.min(sample) };
        self.max = self.max.max(sample);
        self.samples = self.samples.saturating_add(1);
    }
}

/// The content of the newest feedback, to tell newer from older ones and to count losses.
#[derive(Debug, Default)]
pub(super) struct LastFeedback {
    pub(super) number: Option<u16>,
    pub(super) dummy_stamp: u16,
    pub(super) lost_total: u32,
    pub(super) rx_overflow_total: u16,
    pub(super) seen: PerMode<u16>,
}

impl SendingSide {
    #[inline]
    pub(in crate::link_end) fn acknowledged(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        ack: PiggybackAck,
    ) -> bool {
        let mut mode = ack.mode;
        if shared.is_compact() {
            if shared.is_sessionless() {
                return self.handle_leading_ack(shared, now, ack.next, None);
            }
            // The authors' ACK does not name its lane.
            mode = self.compact_lane;
        }
        if !matches!(self.transmit.state, TransmitState::Active | TransmitState::Draining) {
            return false;
        }
        if !self.is_lane_confirmed() {
            self.transmit.heard_at = now;
            return true;
        }
        let fits = self.senders[mode].handle_ack(ack.next, &mut self.released);
        if fits {
            self.transmit.heard_at = now;
        } else {
            shared.stats.control_rejected += 1;
        }
        fits
    }

    /// Whether the receiver is known to have seen the lane in use. Until then, an ACK that names no lane may date from
    /// before, and would release frames of this lane that nobody has received.
    #[inline]
    pub(in crate::link_end) fn is_lane_confirmed(&self) -> bool {
        self.lane_begins_at.is_none()
    }

    /// Records that the compact format leaves the lane `before` for another. If nothing was sent there in this session,
    /// no ACK for it can be in flight.
    #[inline(never)]
    pub(super) fn begin_lane(&mut self, before: Mode) {
        let is_used = self.senders[before].next() != self.transmit.session.first_sequence(before);
        self.lane_begins_at = is_used.then(|| self.senders[self.compact_lane].next());
    }

    /// Confirms the lane in use by a feedback, which names its lanes, if the feedback has seen more of the lane than
    /// there was before. What the receiver wrote earlier is ahead of it in the queue.
    fn confirm_lane(&mut self, feedback: &Feedback) {
        let mode = self.compact_lane;
        let seen = feedback.lanes[mode].seen.expand(self.senders[mode].next());
        if let (Some(begins_at), Some(seen)) = (self.lane_begins_at, seen)
            && seen > begins_at
        {
            self.lane_begins_at = None;
        }
    }

    pub(in crate::link_end) fn handle_feedback(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        feedback: &Feedback,
    ) -> bool {
        if feedback.session != self.transmit.session || self.transmit.state == TransmitState::Dormant {
            return false;
        }
        // A feedback that is late by an era says nothing about the present, not even about a lane that has stood still
        // since.
        if !Mode::ALL.into_iter().all(|mode| self.senders[mode].is_of_this_time(&feedback.lanes[mode])) {
            return false;
        }
        // Its own number repeats sooner than those of the lanes: after half of its values, a late feedback seems to be
        // new.
        let overtaken = Mode::ALL.into_iter().any(|mode| self.senders[mode].is_beyond(&feedback.lanes[mode]));
        let mut lane = |mode: Mode| {
            let sender = &mut self.senders[mode];
            let next = sender.next();
            let (released, stats) = (&mut self.released, &mut shared.stats);
            let fits = sender.fit_feedback(&feedback.lanes[mode], feedback.dummy_stamp, released, stats);
            if sender.next() != next {
                // Numbers were skipped, which a dummy has to announce.
                self.dummies.sent(now, mode);
            }
            fits
        };
        if !(lane(Mode::Ordered) & lane(Mode::NonBlocking)) {
            return false;
        }
        if self.transmit.handle_acknowledgement(now) {
            shared.stats.sessions_opened += 1;
            self.dummies.opened(now);
            shared.event(Event::SessionOpened(feedback.session));
        }
        self.confirm_lane(feedback);
        shared.stats.feedbacks_received += 1;
        if let Some(round_trip) = self.dummies.handle_echo(now, feedback.dummy_stamp) {
            self.round_trips.add(round_trip);
        }
        let ahead = self.last_feedback.number.map_or(1, |last| feedback.number.wrapping_sub(last) as i16);
        if ahead > 0 && !overtaken {
            self.handle_newest(shared, now, feedback);
        }
        self.withdrawal = Mode::ALL.into_iter().any(|mode| self.senders[mode].has_withdrawal());
        true
    }

    /// Applies what only the newest feedback may change: pause state, how the receiver gives up, and loss counts.
    fn handle_newest(&mut self, shared: &mut Shared, now: Instant, feedback: &Feedback) {
        let mut frames = 0;
        for mode in Mode::ALL {
            // Not what it covers, which moves back when much is repeated.
            let seen = feedback.lanes[mode].seen.number();
            let ahead = seen.wrapping_sub(self.last_feedback.seen[mode]);
            if u32::from(ahead) <= WINDOW_MAX {
                frames += u64::from(ahead);
                self.last_feedback.seen[mode] = seen;
            }
            (self.senders[mode].paused, self.senders[mode].by_clock) =
                (feedback.lanes[mode].paused, feedback.lanes[mode].by_clock);
        }
        let lost = feedback.lost_total.wrapping_sub(self.last_feedback.lost_total);
        let overflows = feedback.rx_overflow_total.wrapping_sub(self.last_feedback.rx_overflow_total);
        self.last_feedback.number = Some(feedback.number);
        self.last_feedback.dummy_stamp = feedback.dummy_stamp;
        self.last_feedback.lost_total = feedback.lost_total;
        self.last_feedback.rx_overflow_total = feedback.rx_overflow_total;
        self.count_pause(shared, now, self.senders[Mode::Ordered].paused);
        if let Some(measured) = self.loss.add(frames, u64::from(lost), u32::from(overflows)) {
            self.update_copies(shared);
            if !self.has_clean_other
                && let Some(level) = self.fallback.handle_window(now, measured.loss, measured.rx_overflows)
            {
                self.level_changed(shared, now, level, Some(measured.loss));
            }
        }
    }

    /// See [`Sender::handle_notification`](crate::sender::Sender::handle_notification).
    pub(in crate::link_end) fn handle_notification(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        next: SequenceNumber,
        hole: SequenceRange,
    ) -> bool {
        if shared.is_sessionless() {
            return self.handle_leading_ack(shared, now, next, Some(hole));
        }
        if !matches!(self.transmit.state, TransmitState::Active | TransmitState::Draining) {
            return false;
        }
        if !self.is_lane_confirmed() {
            // A feedback with the same content, and with the lane, follows it.
            self.transmit.heard_at = now;
            return true;
        }
        let sender = &mut self.senders[self.compact_lane];
        let fits = sender.handle_notification(next, hole, &mut self.released, &mut shared.stats);
        if fits {
            self.transmit.heard_at = now;
        }
        fits
    }

    pub(super) fn count_pause(&mut self, shared: &mut Shared, now: Instant, paused: bool) {
        match (paused, self.paused_since) {
            (true, None) => {
                shared.stats.pauses_received += 1;
                self.paused_since = Some(now);
            }
            (false, Some(since)) => {
                shared.stats.paused_ticks += now.since(since).0;
                self.paused_since = None;
            }
            _ => {}
        }
    }
}
