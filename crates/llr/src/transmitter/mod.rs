//! The transmitter (section 5.1.5, Figure 5-3): numbers frames, keeps them until they are acknowledged, replays them.
//!
//! | from | to | when |
//! | --- | --- | --- |
//! | OFF | INIT | [`enable`](Transmitter::enable), if `remote` is set |
//! | INIT | ADVANCE | the echo has the number and the data of the INIT |
//! | ADVANCE | REPLAY | NACK with frames behind its number, or replay timer |
//! | REPLAY | ADVANCE | the last outstanding frame was retransmitted, or everything is acknowledged |
//! | ADVANCE, REPLAY | FLUSH | replay count, PCS-lost timer, data age timer |
//! | FLUSH | INIT | `re_init_on_discard`, once the PCS is up; or [`reinitialise`](Transmitter::reinitialise) |
//! | any | OFF | [`disable`](Transmitter::disable) |
//!
//! # Order of calls
//!
//! After any `handle_*` call, or when [`next_timeout`](Transmitter::next_timeout) has passed, call
//! [`handle_timeout`](Transmitter::handle_timeout) if it has, then [`poll_control`](Transmitter::poll_control) and
//! [`poll_replay`](Transmitter::poll_replay) whenever the wire is free, then offer new frames
//! ([`handle_frame`](Transmitter::handle_frame)), and last [`poll_release`](Transmitter::poll_release) until `None`.

mod buffer;
mod control;
mod state;
mod steady;

pub use state::{Admission, Admits, BlockedBy, Fate, FlushCause, TRANSMIT_STATES, TransmitState};

use crate::config::{
    Config, ConfigError, CountedReplays, FrameAction, IneligibleInReplay, REPLAY_COUNT_UNLIMITED,
    ReplayTimerStart,
};
use crate::counters::TransmitCounters;
use crate::frame::{Frame, FrameHandle, NumberedFrame};
use crate::sequence::{SequenceNumber, SequenceSpace};
use crate::state_times::StateTimes;
use crate::time::{Instant, Span};
use buffer::ReplayBuffer;
use control::Initialisation;
use std::collections::VecDeque;

/// Why a replay begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplayCause {
    Nack,
    Timer,
}

/// One end's transmitter.
#[derive(Debug, Clone)]
pub struct Transmitter {
    config: Config,
    space: SequenceSpace,
    state: TransmitState,
    /// Outstanding frames. Those before `cursor` have been retransmitted in the current replay.
    buffer: ReplayBuffer,
    cursor: u64,
    initialisation: Initialisation,
    /// Counted replays without progress.
    replays: u8,
    /// When the replay timer last started ([`ReplayTimerStart::LastProgress`]).
    timer_began: Instant,
    /// Since when the PCS has been lost.
    pcs_lost: Option<Instant>,
    paused: bool,
    last_flush: Option<FlushCause>,
    released: VecDeque<(FrameHandle, Fate)>,
    counters: TransmitCounters,
    times: StateTimes<5>,
}

impl Transmitter {
    /// A transmitter in OFF, with its PCS up.
    ///
    /// # Errors
    /// A parameter that is out of its range.
    pub fn new(config: Config) -> Result<Transmitter, ConfigError> {
        config.check()?;
        Ok(Transmitter {
            config,
            space: config.space(),
            state: TransmitState::Off,
            buffer: ReplayBuffer::new(config.first_count()),
            cursor: config.first_count(),
            initialisation: Initialisation::default(),
            replays: 0,
            timer_began: Instant(0),
            pcs_lost: None,
            paused: false,
            last_flush: None,
            released: VecDeque::new(),
            counters: TransmitCounters::default(),
            times: StateTimes::new(),
        })
    }

    /// Begins to initialise the peer's receiver. Does nothing if `remote` is not set or LLR is already running.
    pub fn enable(&mut self, now: Instant) {
        if self.config.remote && self.state == TransmitState::Off {
            self.enter_init(now);
        }
    }

    /// Disables LLR: discards all outstanding frames, and sends frames without numbers from now on.
    pub fn disable(&mut self, now: Instant) {
        self.discard_outstanding();
        self.enter(now, TransmitState::Off);
    }

    /// Discards all outstanding frames and initialises again, on request of management or because the peer has
    /// restarted. Does nothing in OFF.
    pub fn reinitialise(&mut self, now: Instant) {
        if self.state != TransmitState::Off {
            self.discard_outstanding();
            self.enter_init(now);
        }
    }

    /// The PCS is lost or up again.
    pub fn handle_pcs(&mut self, now: Instant, is_up: bool) {
        match (is_up, self.pcs_lost) {
            (false, None) => self.pcs_lost = Some(now),
            (true, Some(_)) => self.pcs_lost = None,
            _ => return,
        }
        if !is_up && self.config.pcs_lost_timeout_ns == 0 {
            self.flush(now, FlushCause::PcsLost);
        }
        if is_up && self.state == TransmitState::Flush && self.config.re_init_on_discard {
            self.enter_init(now);
        }
    }

    /// The peer pauses this link (PFC), or ends the pause. Only new frames stop.
    pub fn handle_pause(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// What would happen to a new eligible frame of this length if it were offered now.
    pub fn admits(&self, bytes: u32) -> Admits {
        let action = match self.state {
            TransmitState::Off => FrameAction::BestEffort,
            TransmitState::Init => self.config.init_action,
            TransmitState::Flush => self.config.flush_action,
            TransmitState::Replay => return Admits::Blocked(BlockedBy::Replay),
            TransmitState::Advance => return self.admits_number(bytes),
        };
        match action {
            FrameAction::Discard => Admits::Discarded,
            FrameAction::Block => Admits::Blocked(BlockedBy::Action),
            FrameAction::BestEffort => self.admits_ineligible(),
        }
    }

    /// Offers a new eligible frame, if the wire is free for it now.
    pub fn handle_frame(&mut self, now: Instant, frame: Frame) -> Admission {
        match self.admits(frame.bytes) {
            Admits::Numbered => Admission::Numbered(self.number(now, frame)),
            Admits::Blocked(by) => Admission::Blocked(by),
            Admits::Ineligible => {
                self.counters.tx_ineligible += 1;
                Admission::Ineligible
            }
            Admits::Discarded => {
                self.counters.tx_discard += 1;
                Admission::Discarded
            }
        }
    }

    /// Offers a frame that is not eligible, if the wire is free for it now. It is sent without a number, or waits.
    pub fn handle_ineligible(&mut self) -> Admission {
        match self.admits_ineligible() {
            Admits::Blocked(by) => Admission::Blocked(by),
            _ => {
                self.counters.tx_ineligible += 1;
                Admission::Ineligible
            }
        }
    }

    fn admits_ineligible(&self) -> Admits {
        let waits = self.config.choices.ineligible_in_replay == IneligibleInReplay::Waits;
        match self.stopped() {
            Some(by) => Admits::Blocked(by),
            None if self.state == TransmitState::Replay && waits => Admits::Blocked(BlockedBy::Replay),
            None => Admits::Ineligible,
        }
    }

    fn admits_number(&self, bytes: u32) -> Admits {
        if let Some(by) = self.stopped() {
            return Admits::Blocked(by);
        }
        if self.buffer.frames() >= u64::from(self.config.outstanding_frames_max) {
            return Admits::Blocked(BlockedBy::Frames);
        }
        if self.buffer.bytes() + u64::from(bytes) > u64::from(self.config.outstanding_bytes_max) {
            return Admits::Blocked(BlockedBy::Bytes);
        }
        Admits::Numbered
    }

    fn stopped(&self) -> Option<BlockedBy> {
        if self.pcs_lost.is_some() {
            Some(BlockedBy::Pcs)
        } else if self.paused {
            Some(BlockedBy::Pause)
        } else {
            None
        }
    }

    fn number(&mut self, now: Instant, frame: Frame) -> SequenceNumber {
        if self.buffer.frames() == 0 {
            self.timer_began = now;
        }
        let count = self.buffer.push(now, frame);
        self.counters.accepted += 1;
        self.count_sent(frame);
        self.space.wire(count)
    }

    fn count_sent(&mut self, frame: Frame) {
        if frame.poisoned {
            self.counters.tx_poisoned += 1;
        } else {
            self.counters.tx_ok += 1;
        }
    }

    /// The next frame of the replay. PFC does not stop it.
    pub fn poll_replay(&mut self, now: Instant) -> Option<NumberedFrame> {
        if self.state != TransmitState::Replay || self.pcs_lost.is_some() {
            return None;
        }
        let frame = self.buffer.send_again(now, self.cursor)?;
        let sequence = self.space.wire(self.cursor);
        self.cursor += 1;
        self.count_sent(frame);
        self.counters.replayed_frames += 1;
        self.counters.replayed_bytes += u64::from(frame.bytes);
        self.end_replay(now);
        Some(NumberedFrame { sequence, frame })
    }

    /// Returns to ADVANCE if there is nothing left to replay.
    fn end_replay(&mut self, now: Instant) {
        if self.state == TransmitState::Replay && self.cursor >= self.buffer.next() {
            self.counters.tx_replay += 1;
            self.timer_began = now;
            self.enter(now, TransmitState::Advance);
        }
    }

    /// Go-back-N: retransmits everything that is outstanding, unless the replay count is exhausted.
    fn begin_replay(&mut self, now: Instant, cause: ReplayCause) {
        let counts =
            cause == ReplayCause::Timer || self.config.choices.counted_replays == CountedReplays::All;
        if counts {
            let limit = self.config.replay_count_max;
            if limit != REPLAY_COUNT_UNLIMITED && self.replays >= limit {
                self.flush(now, FlushCause::ReplayCount);
                return;
            }
            self.replays = self.replays.saturating_add(1);
        }
        match cause {
            ReplayCause::Nack => self.counters.nack_replays += 1,
            ReplayCause::Timer => self.counters.timer_replays += 1,
        }
        self.cursor = self.buffer.oldest();
        self.enter(now, TransmitState::Replay);
    }

    /// Gives up on all outstanding frames. In OFF, INIT and FLUSH, there are none.
    fn flush(&mut self, now: Instant, cause: FlushCause) {
        if !self.state.is_running() {
            return;
        }
        self.discard_outstanding();
        self.last_flush = Some(cause);
        self.enter(now, TransmitState::Flush);
        if self.config.re_init_on_discard && self.pcs_lost.is_none() {
            self.enter_init(now);
        }
    }

    fn discard_outstanding(&mut self) {
        while let Some(handle) = self.buffer.pop() {
            self.counters.flushed += 1;
            self.released.push_back((handle, Fate::Flushed));
        }
        self.replays = 0;
    }

    fn enter(&mut self, now: Instant, state: TransmitState) {
        self.state = state;
        self.times.enter(now, state as usize);
    }

    /// Acts on expired timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        let has_passed = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if has_passed(self.pcs_deadline()) {
            self.flush(now, FlushCause::PcsLost);
        } else if has_passed(self.age_deadline()) {
            self.flush(now, FlushCause::DataAge);
        } else if has_passed(self.replay_deadline()) {
            self.begin_replay(now, ReplayCause::Timer);
        }
    }

    /// When the next timer expires or the next INIT is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        [self.deadline(), self.control_due()].into_iter().flatten().min()
    }

    /// When the next timer expires.
    pub fn deadline(&self) -> Option<Instant> {
        [self.pcs_deadline(), self.age_deadline(), self.replay_deadline()].into_iter().flatten().min()
    }

    fn pcs_deadline(&self) -> Option<Instant> {
        let timeout = Span::from_nanos(self.config.pcs_lost_timeout_ns.into());
        self.pcs_lost.filter(|_| self.state.is_running()).map(|since| since + timeout)
    }

    fn age_deadline(&self) -> Option<Instant> {
        let timeout = Span::from_nanos(self.config.data_age_timeout_ns.into());
        let first_sent = self.buffer.front_first_sent()?;
        (timeout > Span::ZERO).then(|| first_sent + timeout)
    }

    /// The replay timer runs only in ADVANCE: in REPLAY, everything is being retransmitted anyway.
    fn replay_deadline(&self) -> Option<Instant> {
        let timeout = Span::from_nanos(self.config.replay_timer_ns.into());
        if self.state != TransmitState::Advance || timeout == Span::ZERO {
            return None;
        }
        let last_sent = self.buffer.front_last_sent()?;
        let began = match self.config.choices.replay_timer_start {
            ReplayTimerStart::LastProgress => self.timer_began,
            ReplayTimerStart::OldestFrame => last_sent,
        };
        Some(began + timeout)
    }

    /// A frame that the driver no longer needs to keep, and why.
    pub fn poll_release(&mut self) -> Option<(FrameHandle, Fate)> {
        self.released.pop_front()
    }

    /// The state of the state machine.
    pub const fn state(&self) -> TransmitState {
        self.state
    }

    /// Why it last entered FLUSH.
    pub const fn last_flush(&self) -> Option<FlushCause> {
        self.last_flush
    }

    /// Its counters so far.
    pub const fn counters(&self) -> &TransmitCounters {
        &self.counters
    }

    /// Frames outstanding: ((tx_seq - 1) - acked_seq) modulo the sequence space.
    pub fn outstanding_frames(&self) -> u64 {
        self.buffer.frames()
    }

    /// Bytes of the outstanding frames.
    pub fn outstanding_bytes(&self) -> u64 {
        self.buffer.bytes()
    }

    /// The number of the next new frame.
    pub fn next_sequence(&self) -> SequenceNumber {
        self.space.wire(self.buffer.next())
    }

    /// How long it has been in a state.
    pub fn time_in(&self, now: Instant, state: TransmitState) -> Span {
        self.times.span(now, state as usize)
    }

    /// How often it has entered a state.
    pub fn entries(&self, state: TransmitState) -> u64 {
        self.times.entries(state as usize)
    }
}
