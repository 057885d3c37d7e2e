//! The receiver (section 5.1.7, Figure 5-4): accepts frames in order, and sends ACKs and NACKs.
//!
//! | from | to | when |
//! | --- | --- | --- |
//! | OFF | SEND_ACKS | INIT, if `local` is set |
//! | SEND_ACKS | SEND_NACK | a good or poisoned frame after a gap, or a bad frame with the expected number |
//! | SEND_NACK | NACK_SENT | the NACK was sent |
//! | SEND_NACK, NACK_SENT | SEND_ACKS | a good or poisoned frame with the expected number, or INIT |
//! | NACK_SENT | SEND_NACK | only with [`NackRearm::EachReplay`]: the replay has lost the expected frame again |
//!
//! In NACK_SENT, neither ACKs nor NACKs are sent. Frames after the gap are dropped until the expected number arrives.
//!
//! # Order of calls
//!
//! After any `handle_*` call, or when [`next_timeout`](Receiver::next_timeout) has passed, call
//! [`poll_control`](Receiver::poll_control) until `None`.

use crate::config::{Config, ConfigError, InitWhileRunning, NackRearm};
use crate::counters::ReceiveCounters;
use crate::frame::{Control, Integrity};
use crate::sequence::{SequenceNumber, SequenceSpace};
use crate::state_times::StateTimes;
use crate::time::{Instant, Span};

/// The states of section 5.1.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReceiveState {
    Off,
    SendAcks,
    /// A NACK is due.
    SendNack,
    /// Waits silently for the expected number.
    NackSent,
}

/// All states of the receiver.
pub const RECEIVE_STATES: [ReceiveState; 4] =
    [ReceiveState::Off, ReceiveState::SendAcks, ReceiveState::SendNack, ReceiveState::NackSent];

/// What happens to a frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is passed on; a poisoned frame stays poisoned.
    Deliver,
    /// This link damaged it.
    DropBad,
    /// It has been delivered before.
    DropDuplicate,
    /// Frames before it are missing.
    DropAfterGap,
}

/// One end's receiver.
#[derive(Debug, Clone)]
pub struct Receiver {
    config: Config,
    space: SequenceSpace,
    /// Time from one ACK or NACK to the next.
    spacing: Span,
    state: ReceiveState,
    expected: u64,
    /// The last number seen, expanded.
    last_seen: u64,
    /// The first number and the data of the INIT that began this session.
    session: Option<(SequenceNumber, u16)>,
    echo_due: bool,
    ack_due: bool,
    /// A replay has begun since the NACK was sent.
    replay_seen: bool,
    /// When the next ACK or NACK may be sent.
    slot: Instant,
    counters: ReceiveCounters,
    times: StateTimes<4>,
}

impl Receiver {
    /// A receiver in OFF, on a line with this rate in bits per second.
    ///
    /// # Errors
    /// A parameter that is out of its range.
    pub fn new(config: Config, rate_bps: u64) -> Result<Receiver, ConfigError> {
        config.check()?;
        ConfigError::demand("rate_bps", rate_bps, (1, u64::MAX))?;
        Ok(Receiver {
            config,
            space: config.space(),
            spacing: Span::of_octets(config.ctlos_spacing_bytes.into(), rate_bps),
            state: ReceiveState::Off,
            expected: config.first_count(),
            last_seen: config.first_count() - 1,
            session: None,
            echo_due: false,
            ack_due: false,
            replay_seen: false,
            slot: Instant(0),
            counters: ReceiveCounters::default(),
            times: StateTimes::new(),
        })
    }

    /// Disables the receiver: the peer has to initialise this end again.
    pub fn disable(&mut self, now: Instant) {
        (self.session, self.echo_due, self.ack_due) = (None, false, false);
        self.enter(now, ReceiveState::Off);
    }

    /// An INIT has arrived. Returns whether it interrupted a running session.
    pub fn handle_init(&mut self, now: Instant, first: SequenceNumber, data: u16) -> bool {
        self.counters.rx_init += 1;
        if !self.config.local {
            return false;
        }
        let first_count = self.space.first_count(first);
        let is_repeated = self.session == Some((first, data)) && self.expected == first_count;
        let interrupts = self.state != ReceiveState::Off && !is_repeated;
        if interrupts && self.config.choices.init_while_running == InitWhileRunning::Ignore {
            return false;
        }
        self.session = Some((first, data));
        (self.expected, self.last_seen) = (first_count, first_count - 1);
        (self.echo_due, self.ack_due, self.replay_seen) = (true, false, false);
        self.enter(now, ReceiveState::SendAcks);
        interrupts
    }

    /// A frame without a number has arrived.
    pub fn handle_ineligible(&mut self, integrity: Integrity) -> Verdict {
        self.counters.rx_ineligible += 1;
        if integrity == Integrity::Bad {
            self.counters.rx_ineligible_bad += 1;
            return Verdict::DropBad;
        }
        Verdict::Deliver
    }

    /// A frame with a number has arrived. In OFF, numbers have no meaning.
    pub fn handle_frame(&mut self, now: Instant, sequence: SequenceNumber, integrity: Integrity) -> Verdict {
        if self.state == ReceiveState::Off {
            return self.handle_ineligible(integrity);
        }
        match integrity {
            Integrity::Good => self.counters.rx_ok += 1,
            Integrity::Poisoned => self.counters.rx_poisoned += 1,
            Integrity::Bad => self.counters.rx_bad += 1,
        }
        let count = self.space.expand(self.expected, sequence);
        if count <= self.last_seen {
            self.counters.rx_replay += 1;
            self.replay_seen = true;
        }
        self.last_seen = count;
        if count < self.expected {
            self.handle_duplicate(integrity)
        } else if count == self.expected {
            self.handle_expected(now, integrity)
        } else {
            self.handle_gap(now, integrity)
        }
    }

    /// The ACK for a duplicate was lost or is late, so it is retransmitted.
    fn handle_duplicate(&mut self, integrity: Integrity) -> Verdict {
        self.counters.rx_duplicate_seq += 1;
        self.ack_due = true;
        if integrity == Integrity::Good {
            self.counters.duplicate_good += 1;
        }
        Verdict::DropDuplicate
    }

    /// A poisoned frame is accepted, because a retransmission would be just as poisoned.
    fn handle_expected(&mut self, now: Instant, integrity: Integrity) -> Verdict {
        match integrity {
            Integrity::Good => self.counters.rx_expected_seq_good += 1,
            Integrity::Poisoned => self.counters.rx_expected_seq_poisoned += 1,
            Integrity::Bad => {
                self.counters.rx_expected_seq_bad += 1;
                self.want_nack(now);
                return Verdict::DropBad;
            }
        }
        self.expected += 1;
        (self.ack_due, self.replay_seen) = (true, false);
        self.enter(now, ReceiveState::SendAcks);
        Verdict::Deliver
    }

    /// The number of a bad frame is not trusted to reveal a gap.
    fn handle_gap(&mut self, now: Instant, integrity: Integrity) -> Verdict {
        self.counters.rx_missing_seq += 1;
        if integrity == Integrity::Good {
            self.counters.missing_good += 1;
        }
        if integrity == Integrity::Bad {
            return Verdict::DropBad;
        }
        self.want_nack(now);
        Verdict::DropAfterGap
    }

    /// One NACK for each gap, unless a replay has lost the expected frame again and the configuration allows another.
    fn want_nack(&mut self, now: Instant) {
        let rearms = self.config.choices.nack_rearm == NackRearm::EachReplay && self.replay_seen;
        let is_new = self.state == ReceiveState::SendAcks;
        if is_new || self.state == ReceiveState::NackSent && rearms {
            self.enter(now, ReceiveState::SendNack);
        }
    }

    fn enter(&mut self, now: Instant, state: ReceiveState) {
        self.state = state;
        self.times.enter(now, state as usize);
    }

    /// The next control ordered set: INIT_ECHO immediately, ACKs and NACKs at the target spacing.
    pub fn poll_control(&mut self, now: Instant) -> Option<Control> {
        if let Some((first, data)) = self.session.filter(|_| self.echo_due) {
            self.echo_due = false;
            self.counters.tx_init_echo += 1;
            return Some(Control::InitEcho { first, data });
        }
        if self.next_timeout()? > now {
            return None;
        }
        self.slot = now + self.spacing;
        let last_good = self.space.wire(self.expected - 1);
        if self.state == ReceiveState::SendNack {
            self.counters.tx_nack += 1;
            // A NACK acknowledges as well.
            (self.ack_due, self.replay_seen) = (false, false);
            self.enter(now, ReceiveState::NackSent);
            return Some(Control::Nack(last_good));
        }
        self.counters.tx_ack += 1;
        self.ack_due = false;
        Some(Control::Ack(last_good))
    }

    /// When the next control ordered set may be sent; `None` if nothing is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        let answers = match self.state {
            ReceiveState::Off | ReceiveState::NackSent => false,
            ReceiveState::SendAcks => self.ack_due,
            ReceiveState::SendNack => true,
        };
        if self.echo_due { Some(Instant(0)) } else { answers.then_some(self.slot) }
    }

    /// Records the state that determines the future, relative to the clock and to frame numbers, for drivers that skip
    /// repetitions. `None` while something is missing or an echo is due.
    pub fn steady_state(&self, now: Instant, state: &mut Vec<u64>) -> Option<()> {
        let is_quiet = matches!(self.state, ReceiveState::Off | ReceiveState::SendAcks) && !self.echo_due;
        if !is_quiet {
            return None;
        }
        state.extend([u64::from(self.ack_due), self.slot.since(now).0, self.expected - self.last_seen]);
        Some(())
    }

    /// Skips some cycles of the steady state, in which this many frames were delivered and this many ACKs were sent.
    pub fn fast_forward(&mut self, elapsed: Span, frames: u64, acks: u64) {
        self.expected += frames;
        self.last_seen += frames;
        self.slot = self.slot + elapsed;
        self.counters.rx_ok += frames;
        self.counters.rx_expected_seq_good += frames;
        self.counters.tx_ack += acks;
    }

    /// The state of the state machine.
    pub const fn state(&self) -> ReceiveState {
        self.state
    }

    /// Its counters so far.
    pub const fn counters(&self) -> &ReceiveCounters {
        &self.counters
    }

    /// The number that it expects next.
    pub fn expected_sequence(&self) -> SequenceNumber {
        self.space.wire(self.expected)
    }

    /// How long it has been in a state.
    pub fn time_in(&self, now: Instant, state: ReceiveState) -> Span {
        self.times.span(now, state as usize)
    }

    /// How often it has entered a state.
    pub fn entries(&self, state: ReceiveState) -> u64 {
        self.times.entries(state as usize)
    }
}
