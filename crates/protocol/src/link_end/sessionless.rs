//! The published program's protocol, which has no sessions ([`Format::Linkguardian`](crate::Format::Linkguardian)).
//!
//! What is different from a link between two Linkmend ends:
//!
//! - Numbers begin at 0 when an end starts, and go on for as long as it runs; both modes share them.
//! - The leading ACK is the latest number seen, whatever is missing before it. A loss notification carries the frame
//!   that revealed the hole as its leading ACK, is sent once, and asks for at most [`HOLE_MAX`] frames: their sender has
//!   that many registers. A longer hole is asked for in pieces, whose leading ACK is the end of the piece.
//! - A frame that is asked for comes back once, in N copies, and is forgotten: there are no further rounds.
//! - Pause and resume are priority flow control frames of class 1 (IEEE 802.1Qbb).
//!
//! Their receiver answers nothing but frames, so an end that is to send *knocks*: a dummy that announces one number more
//! than was sent makes any receiver of theirs report that number missing. Only then are frames protected, and a peer that
//! has been silent for half its timeout is asked in the same way. The number is skipped.
//!
//! Originals arrive in the order of their numbers, because a link is a queue. So one that steps back, or a dummy that
//! announces less than has been seen, means that the peer has started again: its numbers are believed.

use super::receive::Acks;
use super::{Control, LinkEnd};
use crate::config::Format;
use crate::event::{CloseReason, Event};
use crate::frame::{DataHeader, Mode, SequenceRange};
use crate::sequence::SequenceNumber;
use crate::session::{Handshake, SessionNumber, TransmitState};
use crate::time::{Instant, Ticks};
use alloc::collections::VecDeque;

/// Most frames that one notification asks for (section 3.5, five 1-bit registers).
pub(super) const HOLE_MAX: u64 = 5;

/// Stands for the session of a peer that knows none.
const NO_SESSION: SessionNumber = SessionNumber(0);

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
pub(super) struct Sessionless {
    /// Holes to report, oldest first. Each is at least a frame apart from the next, within one window.
    holes: VecDeque<Hole>,
    /// Mode of the peer's latest frame: the lane that has its numbers.
    lane: Mode,
    /// The kernel has forwarded in this end's place: the next number to come is right, whatever it is.
    numbers_unknown: bool,
    /// When a pause that was not renewed ends.
    pub(super) pause_ends_at: Option<Instant>,
}

impl Sessionless {
    pub(super) fn new() -> Sessionless {
        Sessionless {
            holes: VecDeque::new(),
            lane: Mode::Ordered,
            numbers_unknown: false,
            pause_ends_at: None,
        }
    }

    /// After the end of a receiving session; `stalled` if somebody else has forwarded since.
    pub(super) fn forget(&mut self, stalled: bool) {
        self.holes.clear();
        self.numbers_unknown |= stalled;
    }

    /// Notes a hole of `length` frames that ends before `end`; `acknowledged` is one beyond the leading ACK.
    pub(super) fn note_hole(&mut self, end: SequenceNumber, length: u64, acknowledged: SequenceNumber) {
        self.holes.push_back(Hole { first: end.minus(length), length, acknowledged });
    }

    /// Notes a frame that arrived and found no room: as good as a hole, which the frame itself ends.
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

/// The receiving direction.
impl LinkEnd {
    pub(super) fn is_sessionless(&self) -> bool {
        self.config.format == Format::Linkguardian
    }

    /// Whether the peer's numbers may be acknowledged: what is missing is to be reported first.
    pub(super) fn has_holes_to_report(&self) -> bool {
        !self.sessionless.holes.is_empty()
    }

    /// Follows the peer before one of its frames is taken: to its first number, to the lane it uses now. A copy changes
    /// nothing.
    pub(super) fn follow_frame(&mut self, now: Instant, header: &DataHeader) {
        if !header.retransmitted {
            self.use_lane(header.mode);
            if self.receive.active.is_none() {
                self.begin_sessionless(now, header.sequence);
            }
        }
    }

    /// An original that cannot be new: the peer has begun to count anew, with this one.
    pub(super) fn follow_restart(&mut self, now: Instant, number: SequenceNumber) {
        self.event(Event::SessionEnded { session: NO_SESSION, reason: CloseReason::Replaced });
        self.sessionless.forget(true);
        self.begin_sessionless(now, number);
    }

    pub(super) fn handle_compact_dummy(&mut self, now: Instant, mode: Mode, next: SequenceNumber) -> bool {
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
    fn begin_sessionless(&mut self, now: Instant, number: SequenceNumber) {
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
    fn use_lane(&mut self, mode: Mode) {
        let before = core::mem::replace(&mut self.sessionless.lane, mode);
        self.acks.lane = Some(mode);
        if before != mode {
            let next = self.receivers[before].highest();
            self.receivers[before].end(&mut self.stats);
            self.receivers[mode].start(next, &mut self.stats);
        }
    }

    /// A notification, a pause or resume, an ACK that has waited for long enough.
    pub(super) fn poll_sessionless_urgent(&mut self, now: Instant) -> Option<Control> {
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
    pub(super) fn sessionless_due_at(&self) -> Option<Instant> {
        if self.has_holes_to_report() {
            return Some(self.now);
        }
        let paused = self.receivers[Mode::Ordered].is_paused();
        let pause = self.acks.pause_due_at(self.now, paused, self.config.ack_interval);
        [pause, self.acks.overdue_at(&self.config)].into_iter().flatten().min()
    }

    /// One beyond the leading ACK.
    pub(super) fn leading_number(&self) -> SequenceNumber {
        SequenceNumber::from_absolute(self.receivers[self.sessionless.lane].highest())
    }
}

/// The sending direction.
impl LinkEnd {
    /// Before a frame leaves in `mode`, in either of the authors' formats. In their protocol, silence counts from the first
    /// frame that waits for an answer, and the lane gets the numbers of the one before.
    #[inline]
    pub(super) fn before_compact_send(&mut self, now: Instant, mode: Mode) {
        let before = core::mem::replace(&mut self.compact_lane, mode);
        if !self.is_sessionless() {
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

    /// An ACK or a notification.
    pub(super) fn handle_leading_ack(
        &mut self,
        now: Instant,
        next: SequenceNumber,
        hole: Option<SequenceRange>,
    ) -> bool {
        let sender = &mut self.senders[self.compact_lane];
        match self.transmit.state {
            TransmitState::Dormant => return false,
            TransmitState::Opening => {
                // The answer to the latest knock: what it announced is known now.
                return next == sender.next_sequence() && self.opened_by_answer(now);
            }
            TransmitState::Active | TransmitState::Draining => {}
        }
        let Some(news) = sender.handle_leading_ack(next, hole, &mut self.released) else {
            self.stats.control_rejected += u64::from(hole.is_none());
            return false;
        };
        self.transmit.heard_at = now;
        if self.loss.add(news.acknowledged, news.lost, 0).is_some() {
            self.update_copies();
        }
        true
    }

    fn opened_by_answer(&mut self, now: Instant) -> bool {
        self.transmit.handle_acknowledgement(now);
        self.stats.sessions_opened += 1;
        self.dummies.opened(now);
        self.event(Event::SessionOpened(NO_SESSION));
        true
    }

    /// A dummy that any receiver answers: it announces a number that was never sent. `None` if the window is full.
    pub(super) fn knock(&mut self) -> Option<Control> {
        let sender = &mut self.senders[self.compact_lane];
        sender
            .skip_number()
            .then(|| Control::CompactDummy { mode: self.compact_lane, next: sender.next_sequence() })
    }

    /// The dummy that is due: after a long silence one that is answered.
    pub(super) fn sessionless_dummy(&mut self, now: Instant) -> Control {
        let silence = now.since(self.transmit.heard_at);
        let knock = if silence * 2 >= self.config.peer_timeout { self.knock() } else { None };
        let (mode, next) = (self.compact_lane, self.senders[self.compact_lane].next_sequence());
        knock.unwrap_or(Control::CompactDummy { mode, next })
    }

    /// Pause and resume of the normal queue. A pause ends by itself, should the resume be lost: when what caused it must
    /// have come or been given up.
    pub(super) fn handle_priority_pause(&mut self, now: Instant, paused: bool) -> bool {
        let fits = self.is_sessionless()
            && matches!(self.transmit.state, TransmitState::Active | TransmitState::Draining);
        if fits {
            self.senders[Mode::Ordered].paused = paused;
            self.count_pause(now, paused);
            self.sessionless.pause_ends_at = paused.then(|| now + self.config.recovery_timeout);
        }
        fits
    }

    pub(super) fn end_overdue_pause(&mut self, now: Instant) {
        if self.sessionless.pause_ends_at.is_some_and(|at| now >= at) {
            self.handle_priority_pause(now, false);
            self.sessionless.pause_ends_at = None;
        }
    }

    /// To begin, a knock. To end, nothing, as there is nothing to agree on; but the leading ACK says nothing of what the
    /// peer still holds back, which an unprotected frame must not overtake.
    pub(super) fn sessionless_handshake(&mut self, now: Instant, due: Handshake) -> Option<Control> {
        if due == Handshake::Init {
            return self.knock();
        }
        if due == Handshake::Fin && now >= self.transmit.heard_at + self.config.recovery_timeout {
            self.transmit.state = TransmitState::Dormant;
            self.closed(now, CloseReason::Requested);
        }
        None
    }
}

impl Acks {
    /// When a pause or resume is due: at once if it has changed, then as often as it is repeated or has to be renewed.
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

    /// Whether a pause or resume is to be sent: it has changed, is repeated, or has to be renewed.
    fn take_pause(&mut self, now: Instant, paused: bool, interval: Ticks) -> bool {
        let due = self.pause_due_at(now, paused, interval).is_some_and(|at| now >= at);
        if due {
            self.pause_sent(now);
        }
        due
    }
}
