//! The receiving direction without sessions ([`crate::Format::Linkguardian`]).

use crate::event::{CloseReason, Event};
use crate::frame::{DataHeader, Mode, SequenceRange};
use crate::link_end::receiving::Acks;
use crate::link_end::sessionless::NO_SESSION;
use crate::link_end::{Control, LinkEnd};
use crate::sequence::SequenceNumber;
use crate::time::{Instant, Ticks};
use alloc::collections::VecDeque;

/// Most frames that one notification asks for (section 3.5, five 1-bit registers).
pub(in crate::link_end) const HOLE_MAX: u64 = 5;

/// A run of missing frames of which the sender has not been told.
#[derive(Debug, Clone, Copy)]
struct Hole {
    first: SequenceNumber,
    length: u64,
    /// One beyond what the notification acknowledges.
    acknowledged: SequenceNumber,
}

/// What only this protocol needs.
#[derive(Debug)]
pub(in crate::link_end) struct Sessionless {
    /// Holes to report, oldest first. Each is at least a frame apart from the next, within one window.
    holes: VecDeque<Hole>,
    /// Mode of the peer's latest frame: the lane that has its numbers.
    lane: Mode,
    /// The kernel has forwarded in this end's place: the next number to come is right, whatever it is.
    numbers_unknown: bool,
    /// When a pause that was not renewed ends.
    pub(in crate::link_end) pause_ends_at: Option<Instant>,
}

impl Sessionless {
    pub(in crate::link_end) fn new() -> Sessionless {
        Sessionless {
            holes: VecDeque::new(),
            lane: Mode::Ordered,
            numbers_unknown: false,
            pause_ends_at: None,
        }
    }

    /// After the end of a receiving session; `stalled` if somebody else has forwarded since.
    pub(in crate::link_end) fn forget(&mut self, stalled: bool) {
        self.holes.clear();
        self.numbers_unknown |= stalled;
    }

    /// Notes a hole of `length` frames that ends before `end`; `acknowledged` is one beyond the leading ACK.
    pub(in crate::link_end) fn note_hole(
        &mut self,
        end: SequenceNumber,
        length: u64,
        acknowledged: SequenceNumber,
    ) {
        self.holes.push_back(Hole { first: end.minus(length), length, acknowledged });
    }

    /// Notes a frame that arrived and found no room: as good as a hole, which the frame itself ends.
    pub(in crate::link_end) fn note_overflow(&mut self, number: SequenceNumber) {
        self.note_hole(number.plus(1), 1, number.plus(1));
    }

    /// The next notification: a hole, or the first piece of it.
    pub(in crate::link_end) fn next_notification(&mut self) -> Option<(SequenceNumber, SequenceRange)> {
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

impl LinkEnd {
    /// Whether the peer's numbers may be acknowledged: what is missing is to be reported first.
    pub(in crate::link_end) fn has_holes_to_report(&self) -> bool {
        !self.sessionless.holes.is_empty()
    }

    /// Follows the peer before one of its frames is taken: to its first number, to the lane it uses now. A copy changes
    /// nothing.
    pub(in crate::link_end) fn follow_frame(&mut self, now: Instant, header: &DataHeader) {
        if !header.retransmitted {
            self.use_lane(header.mode);
            if self.receive.active.is_none() {
                self.begin_sessionless(now, header.sequence);
            }
        }
    }

    /// An original that cannot be new: the peer has begun to count anew, with this one.
    pub(in crate::link_end) fn follow_restart(&mut self, now: Instant, number: SequenceNumber) {
        self.event(Event::SessionEnded { session: NO_SESSION, reason: CloseReason::Replaced });
        self.sessionless.forget(true);
        self.begin_sessionless(now, number);
    }

    pub(in crate::link_end) fn handle_compact_dummy(
        &mut self,
        now: Instant,
        mode: Mode,
        next: SequenceNumber,
    ) -> bool {
        if !self.is_sessionless() {
            return self.receive.active.is_some() && self.announce(now, mode, next);
        }
        self.use_lane(mode);
        if self.receive.active.is_none() {
            self.begin_sessionless(now, next);
        }
        let highest = self.receivers[mode].highest();
        let ahead = next.expand(highest).is_some_and(|next| next >= highest);
        if !(ahead && self.announce(now, mode, next)) {
            self.follow_restart(now, next);
            self.announce(now, mode, next);
        }
        true
    }

    /// Begins to listen: where it left off, unless the peer is further on than one notification can ask for.
    pub(in crate::link_end) fn begin_sessionless(&mut self, now: Instant, number: SequenceNumber) {
        let receiver = &mut self.receivers[self.sessionless.lane];
        let highest = receiver.highest();
        let near = number.expand(highest).is_some_and(|at| (highest..=highest + HOLE_MAX).contains(&at));
        if core::mem::take(&mut self.sessionless.numbers_unknown) || !near {
            receiver.start(number.absolute_near(highest), &mut self.stats);
        }
        self.receive.active = Some(NO_SESSION);
        self.receive.heard_at = now;
        self.acks = Acks::default();
        self.acks.lane = Some(self.sessionless.lane);
        self.stats.sessions_accepted += 1;
        self.event(Event::SessionAccepted(NO_SESSION));
    }

    /// Both modes share their numbers: the lane in use hands them to the other.
    pub(in crate::link_end) fn use_lane(&mut self, mode: Mode) {
        let before = core::mem::replace(&mut self.sessionless.lane, mode);
        self.acks.lane = Some(mode);
        if before != mode {
            let next = self.receivers[before].highest();
            self.receivers[before].end(&mut self.stats);
            self.receivers[mode].start(next, &mut self.stats);
        }
    }

    /// A notification, a pause or resume, an ACK that has waited for long enough.
    pub(in crate::link_end) fn poll_sessionless_urgent(&mut self, now: Instant) -> Option<Control> {
        self.receive.active?;
        if let Some((next, hole)) = self.sessionless.next_notification() {
            self.receivers[self.sessionless.lane].report_hole(now, hole);
            self.stats.notifications_sent += 1;
            self.acks.acknowledged(now);
            return Some(Control::CompactNotification { next, hole });
        }
        let paused = self.receivers[Mode::Ordered].is_paused();
        if self.acks.take_pause(now, paused, self.config.ack_interval) {
            return Some(Control::PriorityPause { paused });
        }
        if self.acks.overdue_at(&self.config).is_none_or(|at| now < at) {
            return None;
        }
        self.stats.acks_sent += 1;
        self.acks.acknowledged(now);
        Some(Control::CompactAck { next: self.leading_number() })
    }

    /// When [`LinkEnd::poll_sessionless_urgent`] has something.
    pub(in crate::link_end) fn sessionless_due_at(&self) -> Option<Instant> {
        if self.has_holes_to_report() {
            return Some(self.now);
        }
        let paused = self.receivers[Mode::Ordered].is_paused();
        let pause = self.acks.pause_due_at(self.now, paused, self.config.ack_interval);
        [pause, self.acks.overdue_at(&self.config)].into_iter().flatten().min()
    }

    /// One beyond the leading ACK.
    pub(in crate::link_end) fn leading_number(&self) -> SequenceNumber {
        SequenceNumber::from_absolute(self.receivers[self.sessionless.lane].highest())
    }
}

impl Acks {
    /// When a pause or resume is due: at once if it has changed, then as often as it is repeated or has to be renewed.
    pub(in crate::link_end) fn pause_due_at(
        &self,
        now: Instant,
        paused: bool,
        interval: Ticks,
    ) -> Option<Instant> {
        if self.urgent {
            Some(now)
        } else {
            (paused || self.repeats > 0).then(|| self.feedback_at + interval)
        }
    }

    pub(in crate::link_end) fn pause_sent(&mut self, now: Instant) {
        if !core::mem::take(&mut self.urgent) {
            self.repeats = self.repeats.saturating_sub(1);
        }
        self.feedback_at = now;
    }

    /// Whether a pause or resume is to be sent: it has changed, is repeated, or has to be renewed.
    pub(in crate::link_end) fn take_pause(&mut self, now: Instant, paused: bool, interval: Ticks) -> bool {
        let due = self.pause_due_at(now, paused, interval).is_some_and(|at| now >= at);
        if due {
            self.pause_sent(now);
        }
        due
    }
}
