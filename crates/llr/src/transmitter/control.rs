//! How the transmitter handles control ordered sets (ACK, NACK and INIT_ECHO), and the INITs that it sends.

use super::{ReplayCause, TransmitState, Transmitter};
use crate::config::NackInReplay;
use crate::frame::Control;
use crate::sequence::SequenceNumber;
use crate::time::{Instant, Span};
use crate::transmitter::Fate;

/// The current initialisation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Initialisation {
    first: SequenceNumber,
    /// Changes with each initialisation, so that the echo of an earlier INIT does not match.
    data: u16,
    /// INITs sent in this initialisation.
    sent: u64,
    began: Instant,
    due: Instant,
    last_sent: Instant,
    round_trip: Option<Span>,
}

impl Transmitter {
    /// Starts an initialisation. Numbering continues where it stopped, so that old frames are not mistaken for new
    /// ones.
    pub(super) fn enter_init(&mut self, now: Instant) {
        self.initialisation.first = self.space.wire(self.buffer.next());
        self.initialisation.data = self.initialisation.data.wrapping_add(1);
        self.initialisation.sent = 0;
        (self.initialisation.began, self.initialisation.due) = (now, now);
        self.enter(now, TransmitState::Init);
    }

    /// Whether the last initialisation began less than an INIT interval ago.
    pub(crate) fn has_just_initialised(&self, now: Instant) -> bool {
        let interval = Span::from_nanos(self.config.choices.init_interval_ns);
        now.since(self.initialisation.began) < interval
    }

    /// When the next INIT is due.
    pub(crate) fn control_due(&self) -> Option<Instant> {
        let waits = self.state == TransmitState::Init && self.pcs_lost.is_none();
        waits.then_some(self.initialisation.due)
    }

    /// The INIT that is due.
    pub fn poll_control(&mut self, now: Instant) -> Option<Control> {
        self.control_due().filter(|due| *due <= now)?;
        let interval = Span::from_nanos(self.config.choices.init_interval_ns);
        let initialisation = &mut self.initialisation;
        initialisation.sent += 1;
        initialisation.last_sent = now;
        initialisation.due = now + interval;
        self.counters.tx_init += 1;
        Some(Control::Init { first: initialisation.first, data: initialisation.data })
    }

    /// An ACK, a NACK or an INIT_ECHO has arrived. An INIT is handled by the receiver.
    pub fn handle_control(&mut self, now: Instant, control: Control) {
        match control {
            Control::Ack(sequence) => {
                self.counters.rx_ack += 1;
                self.acknowledge(now, sequence);
            }
            Control::Nack(sequence) => {
                self.counters.rx_nack += 1;
                if self.acknowledge(now, sequence) {
                    self.replay_after_nack(now);
                }
            }
            Control::InitEcho { first, data } => self.handle_echo(now, first, data),
            Control::Init { .. } => {}
        }
    }

    /// Releases the frames up to a number. Returns whether the number is in the window of a running transmitter; if
    /// not, nothing changes.
    fn acknowledge(&mut self, now: Instant, sequence: SequenceNumber) -> bool {
        let last_acknowledged = self.buffer.oldest() - 1;
        let frames = self.space.ahead(last_acknowledged, sequence);
        if !self.state.is_running() {
            return false;
        }
        if frames > self.buffer.frames() {
            self.counters.rx_ack_nack_seq_error += 1;
            return false;
        }
        for _ in 0..frames {
            if let Some(handle) = self.buffer.pop() {
                self.counters.acknowledged += 1;
                self.released.push_back((handle, Fate::Acknowledged));
            }
        }
        if frames > 0 {
            self.replays = 0;
            self.timer_began = now;
            self.cursor = self.cursor.max(self.buffer.oldest());
            self.end_replay(now);
        }
        true
    }

    fn replay_after_nack(&mut self, now: Instant) {
        let restarts = self.config.choices.nack_in_replay == NackInReplay::Restart;
        let is_replaying = self.state == TransmitState::Replay;
        if self.buffer.frames() > 0 && (!is_replaying || restarts) {
            self.begin_replay(now, ReplayCause::Nack);
        }
    }

    fn handle_echo(&mut self, now: Instant, first: SequenceNumber, data: u16) {
        self.counters.rx_init_echo += 1;
        if (first, data) != (self.initialisation.first, self.initialisation.data) {
            self.counters.init_echo_mismatches += 1;
            return;
        }
        if self.state != TransmitState::Init || self.initialisation.sent == 0 {
            return;
        }
        let initialisation = &mut self.initialisation;
        initialisation.round_trip = (initialisation.sent == 1).then(|| now.since(initialisation.last_sent));
        self.enter(now, TransmitState::Advance);
    }

    /// Time from INIT to its echo in the last initialisation; `None` if more than one INIT was needed.
    pub fn round_trip(&self) -> Option<Span> {
        self.initialisation.round_trip
    }
}
