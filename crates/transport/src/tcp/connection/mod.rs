//! One end of a connection: its states, its handshake and its end (RFC 9293), around a sender and a receiver.

mod application;
mod events;
mod handshake;
mod persist;
mod state;
mod transmit;

pub use events::{Abort, Event};
pub use state::State;

use super::config::Config;
use super::info::Info;
use super::receiver::{Options, Receiver, RoundTrip};
use super::segment::{Flags, Segment};
use super::sender::Sender;
use crate::time::{Instant, Nanos};
use events::Events;
use handshake::{Handshake, is_first_syn};
use linkmend_diagnose::ParameterError;
use persist::Persist;
use std::sync::Arc;

/// How long an end that closed first remembers the connection (RFC 9293, section 3.4.2: twice the longest life of a
/// segment; Linux: 60 s).
const TIME_WAIT: Nanos = Nanos::from_secs(60);
/// Timeouts in a row after which a connection is given up (RFC 9293, section 3.8.3; Linux: `tcp_retries2`).
const RETRIES_MAX: u32 = 15;
/// The number after that of a SYN.
const AFTER_SYN: u64 = 1;

/// A RST that is to be sent.
#[derive(Debug, Clone, Copy)]
struct Reset {
    sequence: u64,
    acknowledgement: Option<u64>,
}

/// One end of a TCP connection.
///
/// The driver calls, in this order:
///
/// 1. a constructor, and [`open`](Self::open) unless it is [`established`](Self::established);
/// 2. whenever something happens, one of [`handle_segment`](Self::handle_segment),
///    [`handle_timeout`](Self::handle_timeout), [`write`](Self::write), [`read`](Self::read), [`close`](Self::close) and
///    [`abort`](Self::abort);
/// 3. then [`poll_transmit`](Self::poll_transmit) until it answers `None`: the segments leave in this order, at this
///    instant;
/// 4. then [`poll_event`](Self::poll_event) until it answers `None`;
/// 5. and again from 2, no later than [`next_timeout`](Self::next_timeout), which only these calls change.
///
/// Time must never go back. Segments may contain anything: no segment causes a panic or unbounded memory use.
#[derive(Debug, Clone)]
pub struct Connection {
    config: Arc<Config>,
    state: State,
    sender: Sender,
    receiver: Receiver,
    handshake: Handshake,
    persist: Persist,
    events: Events,
    /// Agreed with the peer, once its SYN has arrived.
    options: Option<Options>,
    reset: Option<Reset>,
    /// The end of TIME-WAIT.
    forgets_at: Option<Instant>,
    /// The application closed before the handshake was over.
    closes_when_established: bool,
    has_written: bool,
    reads_no_more: bool,
    user_timeout: Option<Nanos>,
    is_queue_full: bool,
}

/// The earlier of two times, either of which may be `None`. It is called after every segment, and is several times as
/// fast as the minimum of a list.
fn earliest(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

impl Connection {
    /// An end that will open the connection, at [`open`](Self::open).
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn new_client(config: impl Into<Arc<Config>>) -> Result<Connection, ParameterError> {
        Connection::new(config.into(), State::Closed)
    }

    /// An end that waits for its peer to open the connection.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn new_server(config: impl Into<Arc<Config>>) -> Result<Connection, ParameterError> {
        Connection::new(config.into(), State::Listen)
    }

    /// An end of a connection that is open, although no handshake was exchanged. Both ends are assumed to have the same
    /// configuration.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn established(now: Instant, config: impl Into<Arc<Config>>) -> Result<Connection, ParameterError> {
        Connection::established_with(now, config, None)
    }

    /// The same with the round-trip time that a handshake would have measured.
    ///
    /// # Errors
    /// If the configuration cannot be used.
    pub fn established_with(
        now: Instant,
        config: impl Into<Arc<Config>>,
        rtt: Option<Nanos>,
    ) -> Result<Connection, ParameterError> {
        let mut connection = Connection::new(config.into(), State::Established)?;
        let options = handshake::agreed_without_handshake(&connection.config);
        connection.options = Some(options);
        connection.receiver.agree(options);
        connection.receiver.open_without_handshake();
        connection.receiver.data_at = now;
        let (mss, window) = (connection.config.mss, connection.config.receive_buffer);
        connection.sender.set_mss(mss);
        connection.sender.agree(options);
        connection.sender.search_path(now, mss, false);
        connection.sender.set_peer_window(u64::from(window), 0);
        connection.sender.open(now, rtt, 0);
        Ok(connection)
    }

    fn new(config: Arc<Config>, state: State) -> Result<Connection, ParameterError> {
        config.check()?;
        Ok(Connection {
            state,
            sender: Sender::new(&config, config.mss),
            receiver: Receiver::new(&config, AFTER_SYN),
            handshake: Handshake::default(),
            persist: Persist::default(),
            events: Events::default(),
            options: None,
            reset: None,
            forgets_at: None,
            closes_when_established: false,
            has_written: false,
            reads_no_more: false,
            user_timeout: None,
            is_queue_full: false,
            config,
        })
    }

    /// Opens the connection: a SYN is sent.
    pub fn open(&mut self) {
        if self.state == State::Closed {
            self.state = State::SynSent;
            self.handshake.start();
        }
    }

    /// Its state, as RFC 9293 names it.
    pub fn state(&self) -> State {
        self.state
    }

    /// Its state, as Linux reports it in `tcp_info`.
    pub fn info(&self, now: Instant) -> Info {
        let advmss = handshake::offer(&self.config).mss.map_or(0, u32::from);
        let (probes, backoff, _) = self.persist.state();
        let last_data_recv = now.since(self.receiver.data_at);
        let info = self.sender.info(now);
        let (rcv_mss, backoff) = (self.receiver.segment(), info.backoff.max(backoff));
        Info {
            advmss,
            rcv_mss,
            last_data_recv,
            probes,
            backoff,
            beyond_window: self.receiver.beyond_window,
            ..info
        }
    }

    /// A segment of the peer has arrived.
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment) {
        match self.state {
            State::Closed => self.answer_by_reset(segment),
            State::Listen => self.handle_in_listen(now, segment),
            State::SynSent => self.handle_in_syn_sent(now, segment),
            _ => self.handle_synchronized(now, segment),
        }
    }

    /// RFC 9293, section 3.10.7.2.
    fn handle_in_listen(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            return self.answer_by_reset(segment);
        }
        if is_first_syn(segment) {
            self.handle_syn(now, segment);
            self.state = State::SynReceived;
            self.handshake.start();
        }
    }

    /// RFC 9293, section 3.10.7.3.
    fn handle_in_syn_sent(&mut self, now: Instant, segment: &Segment) {
        let is_acknowledged = segment.flags.contains(Flags::ACK);
        let is_reset = segment.flags.contains(Flags::RST);
        if is_acknowledged && segment.acknowledgement != AFTER_SYN {
            return self.answer_by_reset(segment);
        }
        if is_reset && is_acknowledged {
            return self.end(Some(Abort::Refused));
        }
        if is_reset || !is_first_syn(segment) {
            return;
        }
        self.handle_syn(now, segment);
        if is_acknowledged {
            self.receiver.owe_ack();
            self.establish(now);
        } else {
            // Both ends opened it at the same time: each SYN is answered.
            self.state = State::SynReceived;
            self.handshake.start();
        }
    }

    /// The SYN of the peer: options are agreed on.
    fn handle_syn(&mut self, now: Instant, segment: &Segment) {
        let (options, mss) = handshake::agree(&self.config, segment);
        self.options = Some(options);
        self.receiver.agree(options);
        self.receiver.handle_timestamps(now, segment);
        self.sender.set_mss(mss);
        self.sender.agree(options);
        let takes = handshake::peer_takes(segment, options);
        self.sender.search_path(now, takes, self.state == State::SynSent);
        self.sender.set_peer_window(u64::from(segment.window), segment.sequence);
    }

    /// The peer has acknowledged the SYN.
    fn establish(&mut self, now: Instant) {
        self.state = State::Established;
        self.receiver.data_at = now;
        self.sender.open(now, self.handshake.rtt(now), self.handshake.retries());
        self.handshake.stop();
        self.events.established = true;
        if std::mem::take(&mut self.closes_when_established) {
            self.close(now);
        }
    }

    /// RFC 9293, section 3.10.7.4, with RFC 5961 and RFC 7323.
    fn handle_synchronized(&mut self, now: Instant, segment: &Segment) {
        let flags = segment.flags;
        let answers_syn = self.state == State::SynReceived && is_first_syn(segment);
        if answers_syn && (!flags.contains(Flags::ACK) || segment.acknowledgement != AFTER_SYN) {
            // The SYN again: the answer was lost.
            return self.handshake.repeat();
        }
        if !answers_syn {
            let is_outdated = self.receiver.is_outdated(now, segment) && !flags.contains(Flags::RST);
            if is_outdated || !self.receiver.accepts(segment) {
                return self.handle_unacceptable(now, segment);
            }
            if flags.contains(Flags::RST) {
                return self.handle_reset(now, segment);
            }
            if flags.contains(Flags::SYN) {
                // RFC 5961, section 4.2.
                return self.receiver.challenge(now);
            }
        }
        if !flags.contains(Flags::ACK) {
            return;
        }
        if self.state == State::SynReceived {
            if segment.acknowledgement != AFTER_SYN {
                return self.answer_by_reset(segment);
            }
            self.establish(now);
            self.sender.set_peer_window(u64::from(segment.window), segment.sequence);
            if answers_syn {
                return self.receiver.owe_ack();
            }
        }
        // RFC 5961, section 5.2: neither of what was not sent, nor older than any window.
        let oldest = self.sender.unacknowledged().saturating_sub(self.sender.largest_window());
        if segment.acknowledgement > self.sender.next() || segment.acknowledgement < oldest.max(AFTER_SYN) {
            return self.receiver.challenge(now);
        }
        self.receiver.handle_timestamps(now, segment);
        self.handle_ack(now, segment);
        if segment.sequence_length() > 0 {
            self.handle_data(now, segment);
        }
    }

    fn handle_unacceptable(&mut self, now: Instant, segment: &Segment) {
        if !segment.flags.contains(Flags::RST) {
            self.receiver.handle_unacceptable(now, segment);
            self.restart_time_wait(now, segment);
        }
    }

    /// RFC 5961, section 3.2: only a RST with exactly the next number counts.
    fn handle_reset(&mut self, now: Instant, segment: &Segment) {
        if segment.sequence != self.receiver.next() {
            return self.receiver.challenge(now);
        }
        match self.state {
            State::SynReceived => self.end(Some(Abort::Refused)),
            State::Closing | State::LastAck => self.end(None),
            // RFC 1337: a RST does not end TIME-WAIT.
            State::TimeWait => (),
            _ => self.end(Some(Abort::Reset)),
        }
    }

    fn handle_ack(&mut self, now: Instant, segment: &Segment) {
        self.persist.handle_answer();
        let was_finished = self.sender.is_finished();
        let acknowledged = self.sender.handle_ack(now, segment);
        let is_finished = self.sender.is_finished();
        // The FIN takes a number, but is not a byte of the application.
        let bytes = acknowledged.bytes - u64::from(is_finished && !was_finished);
        if bytes > 0 {
            self.events.acknowledged += bytes;
            self.events.all_acknowledged = self.sender.is_acknowledged();
        }
        if !self.sender.waits_for_window() {
            self.persist.stop();
        }
        if is_finished {
            self.enter(now, self.state.after_fin_acknowledged());
        }
    }

    fn handle_data(&mut self, now: Instant, segment: &Segment) {
        let data_end = segment.sequence.saturating_add(u64::from(segment.length));
        if self.reads_no_more && self.state.may_receive() && data_end > self.receiver.next() {
            self.answer_by_reset(segment);
            return self.end(Some(Abort::Requested));
        }
        if !self.receiver.wants(segment) || !self.state.may_receive() {
            self.receiver.handle_unacceptable(now, segment);
            return self.restart_time_wait(now, segment);
        }
        let received = self.receiver.handle_data(now, segment, self.round_trip());
        self.events.delivered += received.bytes;
        if received.is_finished {
            if self.state != State::Established {
                // This end has closed already: there is no FIN to come that could carry the acknowledgement.
                self.receiver.owe_ack();
            }
            self.events.peer_closed = true;
            self.enter(now, self.state.after_peer_fin());
        }
    }

    /// RFC 9293, section 3.10.7.4: the FIN of the peer again restarts TIME-WAIT.
    fn restart_time_wait(&mut self, now: Instant, segment: &Segment) {
        if self.state == State::TimeWait && segment.flags.contains(Flags::FIN) {
            self.forgets_at = Some(now + TIME_WAIT);
        }
    }

    /// Changes the state.
    fn enter(&mut self, now: Instant, state: State) {
        if state == self.state {
            return;
        }
        self.state = state;
        match state {
            State::TimeWait => {
                self.forgets_at = Some(now + TIME_WAIT);
                self.events.closed = true;
            }
            State::Closed => self.end(None),
            _ => (),
        }
    }

    /// The connection no longer exists.
    fn end(&mut self, abort: Option<Abort>) {
        self.state = State::Closed;
        self.handshake.stop();
        self.persist.end();
        self.forgets_at = None;
        match abort {
            Some(_) => self.events.aborted = abort,
            None => self.events.closed = true,
        }
    }

    /// A segment for which there is no connection (RFC 9293, section 3.10.7.1).
    fn answer_by_reset(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.reset = Some(if segment.flags.contains(Flags::ACK) {
            Reset { sequence: segment.acknowledgement, acknowledgement: None }
        } else {
            Reset { sequence: 0, acknowledgement: Some(segment.end()) }
        });
    }

    fn round_trip(&self) -> RoundTrip {
        RoundTrip { smoothed: self.sender.smoothed_rtt(), timeout: self.sender.timeout() }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called at the latest.
    pub fn next_timeout(&self) -> Option<Instant> {
        earliest(self.unpaced_timeout(), self.paced_until())
    }

    /// The same without pacing. A driver whose timers are coarse may be late for it, as kernels are.
    pub fn unpaced_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Closed | State::Listen => None,
            State::SynSent | State::SynReceived => self.handshake.timer(),
            _ => {
                let halves = earliest(self.receiver.next_timeout(), self.sender.next_timeout());
                let ends = earliest(self.forgets_at, self.user_deadline());
                earliest(earliest(halves, self.persist.timer()), ends)
            }
        }
    }

    /// When the application gives up on the peer.
    fn user_deadline(&self) -> Option<Instant> {
        let timeout = self.user_timeout?;
        let (_, _, first_probe_at) = self.persist.state();
        Some(earliest(self.sender.unanswered_since(), first_probe_at)? + timeout)
    }

    /// When pacing lets the next segment go, if it waits for that. A driver whose timers are coarse waits for this one exactly,
    /// as kernels do.
    pub fn paced_until(&self) -> Option<Instant> {
        self.sender.paced_until().filter(|_| self.state.is_synchronized())
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Closed | State::Listen => return,
            State::SynSent | State::SynReceived => {
                let is_answer = self.state == State::SynReceived;
                if self.handshake.handle_timeout(now, is_answer) {
                    self.end(Some(Abort::TimedOut));
                }
                return;
            }
            _ => (),
        }
        if self.user_deadline().is_some_and(|deadline| deadline <= now) {
            return self.end(Some(Abort::TimedOut));
        }
        self.receiver.handle_timeout(now, self.round_trip());
        self.sender.handle_timeout(now);
        let unanswered = self.persist.handle_timeout(now);
        let is_given_up = unanswered > RETRIES_MAX || self.sender.timeouts_in_a_row() > RETRIES_MAX;
        if is_given_up && self.user_timeout.is_none() {
            return self.end(Some(Abort::TimedOut));
        }
        if self.forgets_at.is_some_and(|at| at <= now) {
            // The application was told at the beginning of TIME-WAIT.
            self.end(None);
            self.events.closed = false;
        }
    }

    /// What the application should know, until `None`.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }
}
