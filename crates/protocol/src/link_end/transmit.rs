//! The sending direction of a link end: normal frames, copies, dummies, and what the peer's feedback changes.

use super::{Admission, Control, LinkEnd, Transmit};
use crate::event::{CloseReason, Event};
use crate::fallback::Level;
use crate::frame::{DataHeader, Feedback, FrameHandle, Mode, PerMode, PiggybackAck, SequenceRange};
use crate::sequence::{LongSequenceNumber, SequenceNumber, WINDOW_MAX};
use crate::session::{Handshake, SessionNumber, TransmitState};
use crate::time::{Instant, Ticks};

/// Round trips between the link ends, from a dummy to the feedback that echoes its stamp. They include the time the
/// other end takes to run, which is what matters for timeouts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Samples since the session opened.
    pub samples: u32,
    /// Shortest.
    pub min: Ticks,
    /// Longest.
    pub max: Ticks,
}

impl RoundTrips {
    fn add(&mut self, sample: Ticks) {
        self.min = if self.samples == 0 { sample } else { self.min.min(sample) };
        self.max = self.max.max(sample);
        self.samples = self.samples.saturating_add(1);
    }
}

/// What the newest feedback said, to tell newer from older and to count losses.
#[derive(Debug, Default)]
pub(super) struct LastFeedback {
    number: Option<u16>,
    dummy_stamp: u16,
    lost_total: u32,
    rx_overflow_total: u16,
    seen: PerMode<u16>,
}

impl LinkEnd {
    /// Whether a frame of `bytes` that is to go in `mode` may leave now.
    #[inline]
    pub fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        match self.transmit.state {
            TransmitState::Active => {
                let mode = self.effective_mode(mode);
                let sender = &self.senders[mode];
                if sender.paused || !sender.has_room(bytes) || self.is_other_lane_in_use(mode) {
                    Admission::Held
                } else {
                    Admission::Protected
                }
            }
            TransmitState::Draining => Admission::Held,
            TransmitState::Dormant | TransmitState::Opening => Admission::Unprotected,
        }
    }

    /// Whether a frame that is held in `mode` waits until all of the other lane is acknowledged, as the authors' headers
    /// name no lane. That never comes if more and more is sent there.
    pub fn waits_for_turn(&self, mode: Mode) -> bool {
        self.transmit.state == TransmitState::Active && self.is_other_lane_in_use(self.effective_mode(mode))
    }

    #[inline]
    fn is_other_lane_in_use(&self, mode: Mode) -> bool {
        self.is_compact() && mode != self.compact_lane && !self.is_drained()
    }

    /// Numbers a frame and keeps its handle until [`LinkEnd::poll_release`] returns it. `None`: it is to go
    /// unprotected, and its handle stays with the driver. Ask [`LinkEnd::admission`] first; a frame that is held is
    /// treated as unprotected here, which loses its place.
    #[inline]
    pub fn send(&mut self, now: Instant, mode: Mode, frame: FrameHandle, bytes: u32) -> Option<DataHeader> {
        if self.admission(mode, bytes) != Admission::Protected {
            self.advance(now);
            self.stats.unprotected_frames += 1;
            return None;
        }
        Some(self.send_admitted(now, mode, frame, bytes))
    }

    /// The same for a frame that [`LinkEnd::admission`] has just found [`Admission::Protected`], and without asking it
    /// again.
    ///
    /// # Panics
    /// In debug builds, if it is not.
    #[inline]
    pub fn send_admitted(&mut self, now: Instant, mode: Mode, frame: FrameHandle, bytes: u32) -> DataHeader {
        debug_assert_eq!(self.admission(mode, bytes), Admission::Protected, "ask for admission first");
        let now = self.advance(now);
        let mode = self.effective_mode(mode);
        let compact = self.is_compact();
        if compact {
            self.before_compact_send(now, mode);
        }
        let sequence = self.senders[mode].send(frame, bytes);
        self.stats.protected_frames += 1;
        self.stats.protected_bytes += u64::from(bytes);
        self.dummies.sent(now, mode);
        let ack = if compact { None } else { self.take_piggyback(now) };
        DataHeader { sequence, mode, retransmitted: false, ack }
    }

    /// Round trips measured in this session.
    pub const fn round_trips(&self) -> RoundTrips {
        self.round_trips
    }

    /// An acknowledgement that travelled on a frame.
    #[inline]
    pub fn handle_ack(&mut self, now: Instant, ack: PiggybackAck) -> bool {
        let now = self.advance(now);
        self.acknowledged(now, ack)
    }

    #[inline]
    pub(super) fn acknowledged(&mut self, now: Instant, ack: PiggybackAck) -> bool {
        let mut mode = ack.mode;
        if self.is_compact() {
            if self.is_sessionless() {
                return self.handle_leading_ack(now, ack.next, None);
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
            self.stats.control_rejected += 1;
        }
        fits
    }

    /// Whether the receiver is known to have seen the lane in use. Until then an ACK that names no lane may be under way from
    /// the time before, and would release frames of this lane that nobody has received.
    #[inline]
    pub(super) fn is_lane_confirmed(&self) -> bool {
        self.lane_begins_at.is_none()
    }

    /// The compact format leaves the lane `before` for the one now in use. If nothing was sent there in this session, no ACK of it
    /// can be under way.
    #[inline(never)]
    pub(super) fn begin_lane(&mut self, before: Mode) {
        let is_used = self.senders[before].next() != self.transmit.session.first_sequence(before);
        self.lane_begins_at = is_used.then(|| self.senders[self.compact_lane].next());
    }

    /// A feedback names its lanes: one that has seen more of the lane in use than there was before confirms it. What the
    /// receiver wrote earlier is before it in the queue.
    fn confirm_lane(&mut self, feedback: &Feedback) {
        let mode = self.compact_lane;
        let seen = feedback.lanes[mode].seen.expand(self.senders[mode].next());
        if let (Some(begins_at), Some(seen)) = (self.lane_begins_at, seen)
            && seen > begins_at
        {
            self.lane_begins_at = None;
        }
    }

    #[inline]
    pub(super) fn effective_mode(&self, mode: Mode) -> Mode {
        if self.fallback.level() == Level::Full { mode } else { Mode::NonBlocking }
    }

    pub(super) fn open(&mut self, now: Instant) {
        if self.is_sessionless() {
            // Numbers go on.
            return self.transmit.open(now, SessionNumber(0), &self.config);
        }
        let session = SessionNumber(self.next_random());
        self.transmit.open(now, session, &self.config);
        for mode in Mode::ALL {
            self.senders[mode].start(session.first_sequence(mode));
        }
        // The receiver counts stamps and frames from the beginning of the session, too.
        self.dummies.start();
        self.last_feedback = LastFeedback {
            seen: PerMode(Mode::ALL.map(|mode| session.first_sequence(mode) as u16)),
            ..LastFeedback::default()
        };
        self.round_trips = RoundTrips::default();
        self.withdrawal = false;
        self.lane_begins_at = None;
    }

    /// Ends the session without loss if there is one, or stops trying to open one.
    pub(super) fn close_softly(&mut self, now: Instant) {
        match self.transmit.state {
            TransmitState::Active => self.transmit.drain(now, self.unreleased(), &self.config),
            TransmitState::Opening => self.transmit.state = TransmitState::Dormant,
            TransmitState::Dormant | TransmitState::Draining => {}
        }
    }

    pub(super) fn handle_feedback(&mut self, now: Instant, feedback: &Feedback) -> bool {
        if feedback.session != self.transmit.session || self.transmit.state == TransmitState::Dormant {
            return false;
        }
        // One that comes late by an era says nothing of now, not even of a lane that has stood still since.
        if !Mode::ALL.into_iter().all(|mode| self.senders[mode].is_of_this_time(&feedback.lanes[mode])) {
            return false;
        }
        // Its own number repeats sooner than those of the lanes: after half of its values, a late one seems to be news.
        let overtaken = Mode::ALL.into_iter().any(|mode| self.senders[mode].is_beyond(&feedback.lanes[mode]));
        let lane = |this: &mut Self, mode: Mode| {
            let sender = &mut this.senders[mode];
            let next = sender.next();
            let (released, stats) = (&mut this.released, &mut this.stats);
            let fits = sender.fit_feedback(&feedback.lanes[mode], feedback.dummy_stamp, released, stats);
            if sender.next() != next {
                // Numbers were left out, which a dummy has to say.
                this.dummies.sent(now, mode);
            }
            fits
        };
        if !(lane(self, Mode::Ordered) & lane(self, Mode::NonBlocking)) {
            return false;
        }
        if self.transmit.handle_acknowledgement(now) {
            self.stats.sessions_opened += 1;
            self.dummies.opened(now);
            self.event(Event::SessionOpened(feedback.session));
        }
        self.confirm_lane(feedback);
        self.stats.feedbacks_received += 1;
        if let Some(round_trip) = self.dummies.handle_echo(now, feedback.dummy_stamp) {
            self.round_trips.add(round_trip);
        }
        let ahead = self.last_feedback.number.map_or(1, |last| feedback.number.wrapping_sub(last) as i16);
        if ahead > 0 && !overtaken {
            self.handle_news(now, feedback);
        }
        self.withdrawal = Mode::ALL.into_iter().any(|mode| self.senders[mode].has_withdrawal());
        true
    }

    pub(super) fn handle_fin_echo(&mut self, now: Instant, session: SessionNumber) -> bool {
        let ends = self.transmit.handle_fin_echo(session);
        if ends {
            let by_fallback = self.protection.is_some() && self.fallback.level() == Level::Dormant;
            let reason = if by_fallback { CloseReason::Fallback } else { CloseReason::Requested };
            self.closed(now, reason);
        }
        if self.transmit.state == TransmitState::Active && session == self.transmit.session {
            // Not asked for: the receiver has lost the session, and an ended one never comes back.
            self.peer_lost(now, CloseReason::PeerLost);
        }
        // A repeated confirmation is no fault.
        self.transmit.handle_farewell_echo(session) || ends || session == self.transmit.session
    }

    /// See [`Sender::handle_notification`](crate::sender::Sender::handle_notification).
    pub(super) fn handle_notification(
        &mut self,
        now: Instant,
        next: SequenceNumber,
        hole: SequenceRange,
    ) -> bool {
        if self.is_sessionless() {
            return self.handle_leading_ack(now, next, Some(hole));
        }
        if !matches!(self.transmit.state, TransmitState::Active | TransmitState::Draining) {
            return false;
        }
        if !self.is_lane_confirmed() {
            // A feedback that says the same, and of which lane, is behind it.
            self.transmit.heard_at = now;
            return true;
        }
        let sender = &mut self.senders[self.compact_lane];
        let fits = sender.handle_notification(next, hole, &mut self.released, &mut self.stats);
        if fits {
            self.transmit.heard_at = now;
        }
        fits
    }

    pub(super) fn handle_transmit_timeout(&mut self, now: Instant) {
        self.end_overdue_pause(now);
        let (unreleased, drained) = (self.unreleased(), self.is_drained());
        if self.transmit.is_timed_out(now, unreleased, drained, &self.config) {
            let draining = self.transmit.state == TransmitState::Draining;
            if !self.is_sessionless() {
                self.transmit.give_up();
            }
            self.peer_lost(now, if draining { CloseReason::DrainTimeout } else { CloseReason::PeerLost });
        }
        if self.protection.is_some()
            && let Some(level) = self.fallback.handle_timeout(now)
        {
            self.level_changed(now, level, None);
        }
    }

    pub(super) fn poll_sender_handshake(&mut self, now: Instant) -> Option<Control> {
        if let Some(session) = self.transmit.poll_farewell() {
            return Some(Control::Fin { session });
        }
        let session = self.transmit.session;
        let drained = self.is_drained();
        let handshake = self.transmit.poll_handshake(now, drained, &self.config)?;
        if self.is_sessionless() {
            return self.sessionless_handshake(now, handshake);
        }
        Some(match handshake {
            Handshake::Init => Control::Init { session, format: self.config.format },
            Handshake::Start { nonce } => Control::Start { session, nonce },
            Handshake::Fin => Control::Fin { session },
        })
    }

    /// The next copy of [`Priority::High`](super::Priority::High), for drivers that cannot retransmit at every moment.
    pub fn poll_retransmission(&mut self) -> Option<Transmit> {
        Mode::ALL.into_iter().find_map(|mode| self.poll_copy(mode))
    }

    /// The next copy of `frame`, if it waits for retransmission. For drivers that can reach a frame of the Tx buffer only
    /// at certain times: on the Tofino, when it comes round (appendix A.2).
    #[inline]
    pub fn poll_retransmission_of(&mut self, frame: FrameHandle) -> Option<Transmit> {
        let waits_in = |mode: &Mode| {
            let sender = &mut self.senders[*mode];
            sender.has_retransmissions() && sender.prefer_retransmission(frame)
        };
        let mode = Mode::ALL.into_iter().find(waits_in)?;
        self.poll_copy(mode)
    }

    fn poll_copy(&mut self, mode: Mode) -> Option<Transmit> {
        let stamp = self.dummies.stamp;
        let copy = self.senders[mode].poll_retransmission(self.copies, stamp, &mut self.stats);
        let (frame, sequence) = copy?;
        if self.is_sessionless() {
            self.senders[mode].forget_retransmitted(sequence, &mut self.released);
        }
        self.dummies.copied(self.now, mode, &self.config);
        let header = DataHeader { sequence, mode, retransmitted: true, ack: None };
        Some(Transmit::Retransmission { frame, header })
    }

    /// Whether the peer holds the ordered lane back (Algorithm 2).
    #[inline]
    pub fn is_paused(&self) -> bool {
        self.senders[Mode::Ordered].paused
    }

    /// Frames sent and not yet acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.outstanding_in(Mode::Ordered) + self.outstanding_in(Mode::NonBlocking)
    }

    /// Frames in the Tx buffers.
    fn unreleased(&self) -> u64 {
        Mode::ALL.iter().map(|&mode| self.senders[mode].buffer().frames).sum()
    }

    /// Those of one lane.
    #[inline]
    pub fn outstanding_in(&self, mode: Mode) -> u64 {
        self.senders[mode].outstanding()
    }

    /// A dummy for an idle port.
    pub(super) fn poll_dummy(&mut self, now: Instant) -> Option<Control> {
        (now >= self.dummy_due_at()?).then(|| self.compose_dummy(now))
    }

    /// A dummy that has found no idle port for too long.
    pub(super) fn poll_overdue_dummy(&mut self, now: Instant) -> Option<Control> {
        (now >= self.dummy_overdue_at()?).then(|| self.compose_dummy(now))
    }

    fn compose_dummy(&mut self, now: Instant) -> Control {
        self.stats.dummies_sent += 1;
        let lanes = self.lanes_outstanding();
        if self.is_sessionless() {
            self.dummies.left(now, lanes, &self.config);
            return self.sessionless_dummy(now);
        }
        if self.is_compact()
            && let Some(mode) = self.dummies.first_burst(now, lanes, &self.config)
        {
            let lane = PerMode(Mode::ALL.map(|other| other == mode));
            self.dummies.left(now, lane, &self.config);
            let next = self.senders[mode].next_sequence();
            return Control::CompactDummy { mode, next };
        }
        self.dummies.left(now, lanes, &self.config);
        self.compose_whole_dummy(now)
    }

    /// A dummy that says everything, whatever the format.
    fn compose_whole_dummy(&mut self, now: Instant) -> Control {
        let stamp = self.dummies.next_stamp(now);
        let next = Mode::ALL.map(|mode| self.senders[mode].next());
        Control::Dummy {
            session: self.transmit.session,
            stamp,
            next: PerMode(next.map(LongSequenceNumber::from_absolute)),
            held_from: PerMode(Mode::ALL.map(|mode| self.senders[mode].announce_held())),
        }
    }

    /// A dummy that cannot wait: the receiver waits for what there is no more.
    pub(super) fn poll_withdrawal(&mut self, now: Instant) -> Option<Control> {
        core::mem::take(&mut self.withdrawal).then(|| {
            self.stats.dummies_sent += 1;
            self.compose_whole_dummy(now)
        })
    }

    pub(super) fn update_copies(&mut self) {
        let Some(protection) = self.protection else { return };
        let copies = protection.copies.number(self.loss.held());
        if copies != self.copies {
            self.copies = copies;
            if let Some(loss) = self.loss.held() {
                self.event(Event::CopiesChanged { copies, loss });
            }
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        Mode::ALL.iter().all(|&mode| self.senders[mode].is_drained())
    }

    #[inline]
    pub(super) fn lanes_outstanding(&self) -> PerMode<bool> {
        PerMode([!self.senders[Mode::Ordered].is_drained(), !self.senders[Mode::NonBlocking].is_drained()])
    }

    /// When the next dummy may take an idle port: soon while something is unacknowledged, as a keepalive otherwise.
    #[inline]
    pub(super) fn dummy_due_at(&self) -> Option<Instant> {
        match self.transmit.state {
            TransmitState::Dormant | TransmitState::Opening => None,
            TransmitState::Active | TransmitState::Draining => {
                let due_at = self.dummies.due_at(self.lanes_outstanding(), &self.config);
                // The authors' receiver answers no dummy that announces nothing new.
                let keeps_alive = self.transmit.state == TransmitState::Active && !self.is_sessionless();
                due_at.or_else(|| keeps_alive.then(|| self.dummies.keepalive_at(&self.config)))
            }
        }
    }

    /// When the next dummy no longer waits for an idle port. Drivers that poll [`Priority::High`](super::Priority::High)
    /// only when there is reason to, and whose port may be busy without end, do so then.
    #[inline]
    pub fn dummy_overdue_at(&self) -> Option<Instant> {
        Some(self.dummy_due_at()? + self.config.dummy_interval_min)
    }

    /// What only the newest feedback may change: pause state, how the receiver gives up, and loss counts.
    fn handle_news(&mut self, now: Instant, feedback: &Feedback) {
        let mut frames = 0;
        for mode in Mode::ALL {
            // Not what it covers: that moves back when much is said again.
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
        self.count_pause(now, self.senders[Mode::Ordered].paused);
        if let Some(measured) = self.loss.add(frames, u64::from(lost), u32::from(overflows)) {
            self.update_copies();
            if let Some(level) = self.fallback.handle_window(now, measured.loss, measured.rx_overflows) {
                self.level_changed(now, level, Some(measured.loss));
            }
        }
    }

    pub(super) fn count_pause(&mut self, now: Instant, paused: bool) {
        match (paused, self.paused_since) {
            (true, None) => {
                self.stats.pauses_received += 1;
                self.paused_since = Some(now);
            }
            (false, Some(since)) => {
                self.stats.paused_ticks += now.since(since).0;
                self.paused_since = None;
            }
            _ => {}
        }
    }

    pub(super) fn level_changed(&mut self, now: Instant, level: Level, loss: Option<f64>) {
        self.stats.fallback_changes += 1;
        self.event(Event::FallbackChanged { level, loss });
        match level {
            Level::Dormant => self.close_softly(now),
            Level::Full | Level::NonBlocking => {
                if self.protection.is_some() && self.transmit.state == TransmitState::Dormant {
                    self.open(now);
                }
            }
        }
    }

    fn peer_lost(&mut self, now: Instant, reason: CloseReason) {
        self.transmit.state = TransmitState::Dormant;
        self.stats.peers_lost += 1;
        self.closed(now, reason);
    }

    /// The session is over: frees what is left, and begins a new one if protection is still wanted.
    pub(super) fn closed(&mut self, now: Instant, reason: CloseReason) {
        let abandoned =
            Mode::ALL.into_iter().map(|mode| self.senders[mode].abandon(&mut self.released)).sum();
        self.stats.abandoned_frames += abandoned;
        self.count_pause(now, false);
        self.withdrawal = false;
        self.event(Event::SessionClosed { session: self.transmit.session, reason, abandoned });
        if self.protection.is_some() && self.fallback.level() != Level::Dormant {
            self.open(now);
        }
    }
}
