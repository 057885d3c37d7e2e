//! The receiving direction without sessions ([`crate::Format::Linkguardian`]).

use super::Acks;
use super::ReceivingSide;
use crate::event::{CloseReason, Event};
use crate::frame::{DataHeader, SequenceRange};
use crate::link_end::Control;
use crate::link_end::sessionless::NO_SESSION;
use crate::link_end::shared::Shared;
use crate::mode::Mode;
use crate::sequence::SequenceNumber;
use crate::time::{Instant, Ticks};
use alloc::collections::VecDeque;

/// How many frames one notification may ask for (section 3.5, five 1-bit registers).
const HOLE_MAX: u64 = 5;

/// A run of missing frames that has not been reported to the sender.
#[derive(Debug, Clone, Copy)]
struct Hole {
    first: SequenceNumber,
    length: u64,
    /// One beyond what the notification acknowledges.
    acknowledged: SequenceNumber,
}

/// State that only this protocol needs.
#[derive(Debug)]
pub(super) struct Sessionless {
    /// Holes to report, oldest first. Each is at least a frame apart from the next, within one window.
    holes: VecDeque<Hole>,
    /// Mode of the peer's latest frame: the lane that has its numbers.
    lane: Mode,
    /// Whether the kernel has forwarded in this end's place, so that the next number to arrive is right, whatever it
    /// is.
    numbers_unknown: bool,
}

impl Sessionless {
    pub(super) fn new() -> Sessionless {
        Sessionless { holes: VecDeque::new(), lane: Mode::Ordered, numbers_unknown: false }
    }

    /// Resets the state after the end of a receiving session; `stalled` if somebody else has forwarded since.
    pub(super) fn forget(&mut self, stalled: bool) {
        self.holes.clear();
        self.numbers_unknown |= stalled;
    }

    /// Records a hole of `length` frames that ends before `end`; `acknowledged` is one beyond the leading ACK.
    pub(super) fn note_hole(&mut self, end: SequenceNumber, length: u64, acknowledged: SequenceNumber) {
        self.holes.push_back(Hole { first: end.minus(length), length, acknowledged });
    }

    /// Records a frame that arrived and did not fit: it counts as a hole that ends with the frame itself.
    pub(super) fn note_overflow(&mut self, number: SequenceNumber) {
        self.note_hole(number.plus(1), 1, number.plus(1));
    }

    /// The next notification: a hole, or the first piece of it.
    fn next_notification(&mut self) -> Option<(SequenceNumber, SequenceRange)> {
        let hole = self.holes.front_mut()?;
        let length = hole.length.min(HOLE_MAX);
        let range = SequenceRange { first: hole.first, length: length as u16 };
        if hole.length == length {
            let acknowledged = hole.acknowledged;
            self.holes.pop_front();
            return Some((acknowledged, range));
        }
        hole.first = hole.first.plus(length);
        hole.length -= length;
        Some((hole.first, range))
    }
}

impl ReceivingSide {
    /// Whether missing frames must be reported before the peer's numbers may be acknowledged.
    pub(super) fn has_holes_to_report(&self) -> bool {
        !self.sessionless.holes.is_empty()
    }

    /// Follows the peer before one of its frames is handled: to its first number, and to the lane that it uses now. A
    /// copy changes nothing.
    pub(super) fn follow_frame(&mut self, shared: &mut Shared, now: Instant, header: &DataHeader) {
        if !header.retransmitted {
            self.use_lane(shared, header.mode);
            if self.receive.active.is_none() {
                self.begin_sessionless(shared, now, header.sequence);
            }
        }
    }

    /// Handles an original that cannot be new: the peer has started counting again, with this frame.
    pub(super) fn follow_restart(&mut self, shared: &mut Shared, now: Instant, number: SequenceNumber) {
        shared.event(Event::SessionEnded { session: NO_SESSION, reason: CloseReason::Replaced });
        self.sessionless.forget(true);
        self.begin_sessionless(shared, now, number);
    }

    pub(in crate::link_end) fn handle_compact_dummy(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        mode: Mode,
        next: SequenceNumber,
    ) -> bool {
        if !shared.is_sessionless() {
            return self.receive.active.is_some() && self.announce(shared, now, mode, next);
        }
        self.use_lane(shared, mode);
        if self.receive.active.is_none() {
            self.begin_sessionless(shared, now, next);
        }
        let highest = self.receivers[mode].highest();
        let ahead = next.expand(highest).is_some_and(|next| next >= highest);
        if !(ahead && self.announce(shared, now, mode, next)) {
            self.follow_restart(shared, now, next);
            self.announce(shared, now, mode, next);
        }
        true
    }

    /// Begins to listen where it left off, unless the peer is further ahead than one notification can ask for.
    fn begin_sessionless(&mut self, shared: &mut Shared, now: Instant, number: SequenceNumber) {
        let receiver = &mut self.receivers[self.sessionless.lane];
        let highest = receiver.highest();
        let near = number.expand(highest).is_some_and(|at| (highest..=highest + HOLE_MAX).contains(&at));
        if core::mem::take(&mut self.sessionless.numbers_unknown) || !near {
            receiver.start(number.absolute_near(highest), &mut shared.stats);
        }
        self.receive.active = Some(NO_SESSION);
        self.receive.heard_at = now;
        self.acks = Acks::default();
        self.acks.lane = Some(self.sessionless.lane);
        shared.stats.sessions_accepted += 1;
        shared.event(Event::SessionAccepted(NO_SESSION));
    }

    /// Changes the lane in use, which takes the numbers of the other lane, because both modes share them.
    fn use_lane(&mut self, shared: &mut Shared, mode: Mode) {
        let before = core::mem::replace(&mut self.sessionless.lane, mode);
        self.acks.lane = Some(mode);
        if before != mode {
            let next = self.receivers[before].highest();
            self.receivers[before].end(&mut shared.stats);
            self.receivers[mode].start(next, &mut shared.stats);
        }
    }

    /// The next urgent frame: a notification, a pause or resume, or an ACK that has waited for long enough.
    pub(super) fn poll_sessionless_urgent(&mut self, shared: &mut Shared, now: Instant) -> Option<Control> {
        self.receive.active?;
        if let Some((next, hole)) = self.sessionless.next_notification() {
            self.receivers[self.sessionless.lane].report_hole(now, hole);
            shared.stats.notifications_sent += 1;
            self.acks.acknowledged(now);
            return Some(Control::CompactNotification { next, hole });
        }
        let paused = self.receivers[Mode::Ordered].is_paused();
        if self.acks.take_pause(now, paused, shared.config.ack_interval) {
            return Some(Control::PriorityPause { paused });
        }
        if self.acks.overdue_at(&shared.config).is_none_or(|at| now < at) {
            return None;
        }
        shared.stats.acks_sent += 1;
        self.acks.acknowledged(now);
        Some(Control::CompactAck { next: self.leading_number() })
    }

    /// When [`ReceivingSide::poll_sessionless_urgent`] has something.
    pub(super) fn sessionless_due_at(&self, shared: &Shared) -> Option<Instant> {
        if self.has_holes_to_report() {
            return Some(shared.now);
        }
        let paused = self.receivers[Mode::Ordered].is_paused();
        let pause = self.acks.pause_due_at(shared.now, paused, shared.config.ack_interval);
        [pause, self.acks.overdue_at(&shared.config)].into_iter().flatten().min()
    }

    /// One beyond the leading ACK.
    pub(super) fn leading_number(&self) -> SequenceNumber {
        SequenceNumber::from_absolute(self.receivers[self.sessionless.lane].highest())
    }
}

impl Acks {
    /// When a pause or resume is due: immediately if it has changed, then as often as it is repeated or must be
    /// renewed.
    fn pause_due_at(&self, now: Instant, paused: bool, interval: Ticks) -> Option<Instant> {
        if self.urgent {
            Some(now)
        } else {
            (paused || self.repeats > 0).then(|| self.feedback_at + interval)
        }
    }

    fn pause_sent(&mut self, now: Instant) {
        if !core::mem::take(&mut self.urgent) {
            self.repeats = self.repeats.saturating_sub(1);
        }
        self.feedback_at = now;
    }

    /// Whether to send a pause or resume: it has changed, is repeated, or must be renewed.
    fn take_pause(&mut self, now: Instant, paused: bool, interval: Ticks) -> bool {
        let due = self.pause_due_at(now, paused, interval).is_some_and(|at| now >= at);
        if due {
            self.pause_sent(now);
        }
        due
    }
}
