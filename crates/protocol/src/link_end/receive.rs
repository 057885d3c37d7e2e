//! The receiving direction of a link end: data, announcements, and the feedback it owes.

mod announce;

use super::{Control, LinkEnd, Reception};
use crate::config::Config;
use crate::event::{CloseReason, Event};
use crate::frame::{DataHeader, Feedback, FrameHandle, LaneFeedback, Mode, PerMode, PiggybackAck};
use crate::receiver::Verdict;
use crate::sequence::SequenceNumber;
use crate::session::SessionNumber;
use crate::time::{Instant, Nanos};

/// How often a change of the pause state is repeated, an ACK interval apart.
const PAUSE_REPEATS: u8 = 2;
/// Most feedbacks in an ACK interval that say again what is missing: some 256 runs of frames. With more missing, it takes
/// several intervals.
const REPEAT_PARTS_MAX: u8 = 8;

/// What the receiver owes its sender.
#[derive(Debug, Default)]
pub(super) struct Acks {
    /// Number of the next feedback.
    number: u16,
    /// Latest dummy stamp seen.
    dummy_stamp: u16,
    /// Losses and overflows before this session, to count from its beginning.
    lost_before: u64,
    overflows_before: u64,
    /// Lanes with arrivals that have not been acknowledged.
    pub(super) pending: PerMode<bool>,
    /// The lane whose ACK goes first if both owe one: that of the one that did not travel last.
    turn: usize,
    /// Something the sender must know at once: a loss, a change of the pause state, a new session.
    pub(super) urgent: bool,
    /// Feedbacks still to repeat a change of the pause state, should the first be lost.
    pub(super) repeats: u8,
    /// Anything arrived since the last feedback.
    news: bool,
    /// Latest acknowledgement of any kind; of each lane; and latest feedback.
    pub(super) ack_at: Instant,
    lane_ack_at: PerMode<Instant>,
    pub(super) feedback_at: Instant,
    /// When everything that is missing was last said, or begun to be said again; and how many more feedbacks may go on
    /// with that now.
    repeat_at: Instant,
    parts_left: u8,
    /// Compact format: the lane in which a loss was found, until its notification is out.
    notify: Option<Mode>,
    /// Compact format: the lane in use.
    pub(super) lane: Option<Mode>,
}

impl Acks {
    #[inline]
    fn arrived(&mut self, mode: Mode) {
        self.pending[mode] = true;
        self.news = true;
        self.lane = Some(mode);
    }

    /// The feedback that confirmed a session seems to be lost.
    pub(super) fn repeat_confirmation(&mut self, lost: bool) {
        self.urgent |= lost;
    }

    /// Whether anything but a plain ACK is owed at once, or within `interval` an ACK that repeats something.
    pub(super) fn has_more_to_say(&self, interval: Nanos, out_of_reach: Nanos) -> bool {
        self.urgent || self.notify.is_some() || (self.repeats > 0 && interval < out_of_reach)
    }

    pub(super) fn pending(&self) -> PerMode<bool> {
        self.pending
    }

    /// See [`super::SteadyState::ack_wait`].
    pub(super) fn waits(
        &self,
        now: Instant,
        config: &Config,
        out_of_reach: Nanos,
    ) -> (Nanos, PerMode<Nanos>) {
        let wait = |at: Instant, span: Nanos| if span < out_of_reach { (at + span).since(now) } else { span };
        let lanes = self.lane_ack_at.0.map(|at| wait(at, config.ack_interval));
        (wait(self.ack_at, config.ack_gap), PerMode(lanes))
    }

    /// Both lanes are acknowledged.
    pub(super) fn acknowledged(&mut self, now: Instant) {
        self.pending = PerMode::default();
        self.ack_at = now;
        self.lane_ack_at = PerMode([now; 2]);
    }

    /// When an ACK has waited long enough for an idle port or a frame to ride on. Each lane waits by itself, or one
    /// whose ACKs travel all the time would keep the other's back.
    pub(super) fn overdue_at(&self, config: &Config) -> Option<Instant> {
        let overdue_at =
            |mode: Mode| self.pending[mode].then(|| self.lane_ack_at[mode] + config.ack_interval);
        Mode::ALL.into_iter().filter_map(overdue_at).min()
    }

    /// ACKs went on being sent; complete feedbacks did not, and are as old as they were.
    pub(super) fn fast_forward(&mut self, elapsed: Nanos) {
        self.ack_at = self.ack_at + elapsed;
        self.lane_ack_at = PerMode(self.lane_ack_at.0.map(|at| at + elapsed));
    }
}

impl LinkEnd {
    /// Takes a frame with a data header from the link. Its acknowledgement, if it carries one, is used as well.
    #[inline]
    pub fn handle_data(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        let now = self.advance(now);
        // A copy repeats the ACK of its first sending, which may speak of an ended session.
        if let Some(ack) = header.ack
            && !header.retransmitted
        {
            self.acknowledged(now, ack);
        }
        if self.is_sessionless() {
            self.follow_frame(now, header);
        }
        if self.receive.active.is_none() {
            return self.handle_orphan(header);
        }
        self.stats.received_frames += 1;
        self.receive.heard_at = now;
        if self.receivers[header.mode].accept_next(header.sequence) {
            self.acks.arrived(header.mode);
            self.stats.delivered_frames += 1;
            self.stats.delivered_bytes += u64::from(bytes);
            return Reception::Deliver;
        }
        self.handle_out_of_order(now, header, frame, bytes)
    }

    /// A frame behind a loss, a copy, a frame of another time.
    fn handle_out_of_order(
        &mut self,
        now: Instant,
        header: &DataHeader,
        frame: FrameHandle,
        bytes: u32,
    ) -> Reception {
        let lost = self.stats.lost_frames;
        let take = |this: &mut Self| {
            let lane = &mut this.receivers[header.mode];
            lane.handle_data(now, header.sequence, frame, bytes, &mut this.stats)
        };
        let mut verdict = take(self);
        if self.is_sessionless()
            && !header.retransmitted
            && matches!(verdict, Verdict::Duplicate | Verdict::OutOfWindow)
        {
            self.follow_restart(now, header.sequence);
            verdict = take(self);
        }
        if verdict == Verdict::OutOfWindow {
            self.stats.out_of_window_frames += 1;
            return Reception::Drop;
        }
        self.acks.arrived(header.mode);
        let lost = self.stats.lost_frames - lost;
        let overflow = self.is_sessionless() && verdict == Verdict::Overflow && !header.retransmitted;
        if lost > 0 {
            let seen = header.sequence.plus(u64::from(!overflow));
            self.loss_found(header.mode, header.sequence, lost, seen);
        }
        if overflow {
            self.sessionless.note_overflow(header.sequence);
        }
        match verdict {
            Verdict::Deliver => {
                self.stats.delivered_frames += 1;
                self.stats.delivered_bytes += u64::from(bytes);
                Reception::Deliver
            }
            Verdict::Buffered => {
                self.update_pause();
                Reception::Buffered
            }
            Verdict::Duplicate => {
                self.stats.duplicates_dropped += 1;
                Reception::Drop
            }
            Verdict::Overflow | Verdict::OutOfWindow => Reception::Drop,
        }
    }

    /// The next buffered frame whose turn has come.
    #[inline]
    pub fn poll_deliver(&mut self) -> Option<FrameHandle> {
        let (frame, bytes) = self.receivers[Mode::Ordered].poll_deliver()?;
        self.stats.delivered_frames += 1;
        self.stats.delivered_bytes += u64::from(bytes);
        self.update_pause();
        Some(frame)
    }

    /// The buffered frame that [`LinkEnd::poll_deliver`] would return. For drivers that can reach a buffered frame only
    /// at certain times: on the Tofino, when it comes round (section 3.3).
    #[inline]
    pub fn next_delivery(&self) -> Option<FrameHandle> {
        self.receivers[Mode::Ordered].next_delivery()
    }

    /// Whether something waits that [`LinkEnd::poll_urgent`] returns at once.
    #[inline]
    pub fn is_urgent(&self) -> bool {
        self.acks.urgent || self.has_holes_to_report()
    }

    /// When the receiver gives up what is missing (`ackNoTimeout`).
    pub fn next_recovery_timeout(&self) -> Option<Instant> {
        Mode::ALL.iter().filter_map(|&mode| self.receivers[mode].next_timeout()).min()
    }

    /// Frames missing now.
    #[inline]
    pub fn missing(&self) -> u64 {
        self.receivers[Mode::Ordered].missing() + self.receivers[Mode::NonBlocking].missing()
    }

    /// An acknowledgement to put on an unprotected frame, if one is owed (section 3.1: reverse traffic need not be
    /// protected to carry ACKs).
    pub fn poll_piggyback(&mut self, now: Instant) -> Option<PiggybackAck> {
        let now = self.advance(now);
        self.take_piggyback(now)
    }

    pub(super) fn handle_start(&mut self, now: Instant, session: SessionNumber, nonce: u32) -> bool {
        if self.receive.active == Some(session) {
            // The feedback that confirmed it was lost.
            self.acks.urgent = true;
            return true;
        }
        let before = self.receive.active;
        if !self.receive.handle_start(now, session, nonce) {
            return false;
        }
        if let Some(before) = before {
            self.event(Event::SessionEnded { session: before, reason: CloseReason::Replaced });
        }
        for mode in Mode::ALL {
            self.receivers[mode].start(session.first_sequence(mode), &mut self.stats);
        }
        self.acks = Acks {
            urgent: true,
            lost_before: self.stats.lost_frames,
            overflows_before: self.stats.rx_buffer_overflows,
            ..Acks::default()
        };
        self.stats.sessions_accepted += 1;
        self.event(Event::SessionAccepted(session));
        true
    }

    pub(super) fn handle_receive_timeout(&mut self, now: Instant) {
        let timeouts = self.stats.recovery_timeouts;
        for mode in Mode::ALL {
            self.receivers[mode].handle_timeout(now, &mut self.stats);
        }
        // The sender may release what was given up.
        self.acks.urgent |= self.stats.recovery_timeouts != timeouts && !self.is_sessionless();
        if self.receive.active.is_some() && now >= self.receive.heard_at + self.config.session_expiry {
            self.end_receive_session(CloseReason::PeerLost);
        }
    }

    pub(super) fn end_receive_session(&mut self, reason: CloseReason) {
        for mode in Mode::ALL {
            self.receivers[mode].end(&mut self.stats);
        }
        self.sessionless.forget(false);
        // An ACK that is still owed would acknowledge what was not waited for.
        self.acks = Acks::default();
        if let Some(session) = self.receive.end() {
            self.event(Event::SessionEnded { session, reason });
        }
    }

    pub(super) fn poll_handshake(&mut self, now: Instant) -> Option<Control> {
        if let Some((session, nonce)) = self.receive.echo.take() {
            let (window_frames, format) = (self.config.window_frames, self.config.format);
            return Some(Control::InitEcho { session, nonce, window_frames, format });
        }
        if self.receive.ending && Mode::ALL.iter().all(|&mode| self.receivers[mode].is_drained()) {
            self.receive.fin_echo = self.receive.active;
            self.end_receive_session(CloseReason::Requested);
        }
        if let Some(session) = self.receive.fin_echo.take() {
            return Some(Control::FinEcho { session });
        }
        self.poll_sender_handshake(now)
    }

    /// A loss notification, a change of the pause state, or an ACK that has waited long enough.
    pub(super) fn poll_urgent_feedback(&mut self, now: Instant) -> Option<Control> {
        if self.is_sessionless() {
            return self.poll_sessionless_urgent(now);
        }
        let session = self.receive.active?;
        if let Some(mode) = self.acks.notify.take()
            && let Some(mut hole) = self.receivers[mode].first_hole()
        {
            hole.length = hole.length.min(u16::from(u8::MAX));
            self.stats.notifications_sent += 1;
            return Some(Control::CompactNotification { next: self.receivers[mode].cumulative(), hole });
        }
        if self.feedback_due_at().is_none_or(|at| now < at) {
            return None;
        }
        if self.acks.urgent {
            self.stats.notifications_sent += 1;
            return Some(self.compose_news(now, session));
        }
        self.stats.acks_sent += 1;
        self.acks.repeats = self.acks.repeats.saturating_sub(1);
        Some(match self.repeat_due_at() {
            Some(at) if now >= at => self.compose_repeat(now, session),
            _ => self.compose_news(now, session),
        })
    }

    /// An explicit ACK, for a port that would otherwise be idle.
    pub(super) fn poll_ack(&mut self, now: Instant) -> Option<Control> {
        let session = self.receive.active?;
        if let Some(next) = self.compact_ack(now) {
            return Some(Control::CompactAck { next });
        }
        if self.is_sessionless() || !self.is_pending() || now < self.acks.ack_at + self.config.ack_gap {
            return None;
        }
        self.stats.acks_sent += 1;
        Some(self.compose_news(now, session))
    }

    /// The ACK of [`Priority::Low`](super::Priority::Low) if it is one in the authors' format, which is only a number.
    /// For drivers to whom the size of a [`Control`] matters: it is the one control frame that is as frequent as data.
    #[inline]
    pub fn poll_compact_ack(&mut self, now: Instant) -> Option<SequenceNumber> {
        let now = self.advance(now);
        if self.dummy_due_at().is_some_and(|at| now >= at) {
            return None;
        }
        let next = self.compact_ack(now)?;
        self.hello_at = self.hello_at.max(now + self.config.hello_interval);
        Some(next)
    }

    #[inline]
    fn compact_ack(&mut self, now: Instant) -> Option<SequenceNumber> {
        let lane = self.acks.lane?;
        let due = self.is_pending() && now >= self.acks.ack_at + self.config.ack_gap;
        if !due || !self.is_compact() || self.receive.active.is_none() {
            return None;
        }
        let next = self.acknowledgement(lane)?;
        self.stats.acks_sent += 1;
        self.acks.acknowledged(now);
        Some(next)
    }

    #[inline]
    pub(super) fn take_piggyback(&mut self, now: Instant) -> Option<PiggybackAck> {
        if self.is_pending() { self.compose_piggyback(now) } else { None }
    }

    fn compose_piggyback(&mut self, now: Instant) -> Option<PiggybackAck> {
        for offset in 0..Mode::ALL.len() {
            let mode = Mode::ALL[(self.acks.turn + offset) % Mode::ALL.len()];
            // The authors' ACK does not name its lane: it must be the one in use.
            if self.is_compact() && self.acks.lane != Some(mode) {
                continue;
            }
            if !self.acks.pending[mode] {
                continue;
            }
            if let Some(next) = self.acknowledgement(mode) {
                self.acks.turn = (mode as usize + 1) % Mode::ALL.len();
                self.acks.pending[mode] = false;
                self.acks.ack_at = now;
                self.acks.lane_ack_at[mode] = now;
                self.stats.piggybacked_acks_sent += 1;
                return Some(PiggybackAck { mode, next });
            }
        }
        None
    }

    /// What an ACK that is only a number may say of a lane: nothing while frames are missing, which needs a complete
    /// feedback, or, in the authors' protocol, a notification before it.
    #[inline]
    fn acknowledgement(&self, lane: Mode) -> Option<SequenceNumber> {
        if self.is_sessionless() {
            (!self.has_holes_to_report()).then(|| self.leading_number())
        } else {
            (self.receivers[lane].missing() == 0).then(|| self.receivers[lane].cumulative())
        }
    }

    /// A frame without a session: this end restarted, or its session has ended, and the peer does not know yet. An
    /// original travels once, so delivering it cannot duplicate; a copy might.
    fn handle_orphan(&mut self, header: &DataHeader) -> Reception {
        if header.retransmitted {
            self.stats.orphan_copies_dropped += 1;
            Reception::Drop
        } else {
            self.stats.orphan_frames += 1;
            Reception::Deliver
        }
    }

    /// `lost` frames before `end` are missing; everything else before `seen` is not.
    fn loss_found(&mut self, mode: Mode, end: SequenceNumber, lost: u64, seen: SequenceNumber) {
        if self.is_sessionless() {
            return self.sessionless.note_hole(end, lost, seen);
        }
        self.acks.urgent = true;
        if self.is_compact() {
            self.acks.notify = Some(mode);
        }
    }

    fn update_pause(&mut self) {
        if let Some(paused) = self.receivers[Mode::Ordered].update_pause() {
            self.acks.urgent = true;
            self.acks.repeats = PAUSE_REPEATS;
            self.stats.pauses_sent += u64::from(paused);
        }
    }

    fn is_pending(&self) -> bool {
        self.acks.pending[Mode::Ordered] || self.acks.pending[Mode::NonBlocking]
    }

    /// When an explicit ACK may take an idle port.
    pub(super) fn idle_ack_at(&self) -> Option<Instant> {
        let owed = self.receive.active.is_some() && self.is_pending();
        owed.then(|| self.acks.ack_at + self.config.ack_gap)
    }

    /// When what is missing, or what else may have been lost, is to be said again.
    fn repeat_due_at(&self) -> Option<Instant> {
        if self.acks.parts_left > 0 {
            return Some(self.now);
        }
        (self.missing() > 0 || self.acks.repeats > 0).then(|| self.acks.repeat_at + self.config.ack_interval)
    }

    /// When a feedback must go, whatever else is queued.
    pub(super) fn feedback_due_at(&self) -> Option<Instant> {
        if self.is_sessionless() {
            return self.sessionless_due_at();
        }
        if self.acks.urgent {
            return Some(self.now);
        }
        let repeat = self.repeat_due_at();
        let overdue = self.acks.overdue_at(&self.config);
        let alive = self.acks.news.then(|| self.acks.feedback_at + self.config.keepalive);
        [repeat, overdue, alive].into_iter().flatten().min()
    }

    /// What the sender has not been told yet. If one feedback does not hold it, it is urgent to go on.
    fn compose_news(&mut self, now: Instant, session: SessionNumber) -> Control {
        let lanes = PerMode(Mode::ALL.map(|mode| self.receivers[mode].report_news(now)));
        self.acks.urgent = lanes.0.iter().any(|lane| lane.covered != lane.seen);
        if lanes.0.iter().all(|lane| lane.from == lane.cumulative && lane.covered == lane.seen) {
            // That was everything: nothing need be said again for a while.
            (self.acks.repeat_at, self.acks.parts_left) = (now, 0);
        }
        self.compose_feedback(now, session, lanes)
    }

    /// The next stretch of what is said again.
    fn compose_repeat(&mut self, now: Instant, session: SessionNumber) -> Control {
        if self.acks.parts_left == 0 {
            (self.acks.repeat_at, self.acks.parts_left) = (now, REPEAT_PARTS_MAX);
            Mode::ALL.into_iter().for_each(|mode| self.receivers[mode].begin_again());
        }
        let lanes = PerMode(Mode::ALL.map(|mode| self.receivers[mode].report_again(now)));
        let more = Mode::ALL.into_iter().any(|mode| self.receivers[mode].has_more_to_repeat());
        self.acks.parts_left = if more { self.acks.parts_left - 1 } else { 0 };
        self.compose_feedback(now, session, lanes)
    }

    fn compose_feedback(
        &mut self,
        now: Instant,
        session: SessionNumber,
        lanes: PerMode<LaneFeedback>,
    ) -> Control {
        self.acks.number = self.acks.number.wrapping_add(1);
        self.acks.acknowledged(now);
        self.acks.news = false;
        self.acks.feedback_at = now;
        Control::Feedback(Feedback {
            session,
            number: self.acks.number,
            dummy_stamp: self.acks.dummy_stamp,
            lost_total: (self.stats.lost_frames - self.acks.lost_before) as u32,
            rx_overflow_total: (self.stats.rx_buffer_overflows - self.acks.overflows_before) as u16,
            lanes,
        })
    }
}
