//! The requester: sends the packets of posted messages, and retransmits those that are lost (sections 9.7.3 and 9.7.6).

use super::bitmap::Bitmap;
use super::completion::{Completion, Failure, RequestId};
use super::config::{Config, RNR_RETRIES_WITHOUT_END, Recovery};
use super::packet::{Body, Nak, Opcode, Packet, Response, Selective, Syndrome};
use super::send_queue::SendQueue;
use crate::tcp::Codepoint;
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// Counters of a requester.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub completed: u64,
    pub sent: u64,
    pub resent: u64,
    pub timeouts: u64,
    pub sequence_naks: u64,
    pub implied_naks: u64,
    pub rnr_naks: u64,
}

/// One end's requests.
///
/// Packets from `unacknowledged` to `next` are outstanding. Those from `resend_next` to `resend_end` are considered
/// lost, and are retransmitted before anything new, except for packets that the responder is known to have kept.
/// Go-back-N considers everything lost from the packet that a NAK names; selective repeat, only what a NAK shows to be
/// missing.
#[derive(Debug, Clone, Default)]
pub(super) struct Requester {
    queue: SendQueue,
    unacknowledged: u64,
    next: u64,
    resend_next: u64,
    resend_end: u64,
    /// Outstanding packets that the responder has kept (selective repeat).
    arrived: Bitmap,
    /// The messages of the last packets sent for the first time and again.
    new_cursor: u64,
    resend_cursor: u64,
    /// When the transport timer started: at the last progress, or when something was sent while nothing was
    /// outstanding.
    timer_began: Instant,
    /// The responder is not ready before this.
    rnr_until: Option<Instant>,
    /// The packet that was requested by the last NAK for a sequence error, or because of the last gap in READ
    /// responses.
    asked_for: Option<u64>,
    /// READs that were sent but have not been completely answered: the first number of each.
    reads: VecDeque<u64>,
    /// The packet of a READ response that was missing and was requested again, which is done only once.
    missed: Option<u64>,
    /// The packet of the NAK that was last counted as a retry, unless the timer has expired since. A second NAK for it
    /// is a copy made by the network, because a responder sends only one for each number that it expects (section
    /// 9.7.5.1).
    counted: Option<u64>,
    /// Retries since the last progress.
    retries: u8,
    rnr_retries: u8,
    pub counters: Counters,
}

impl Requester {
    pub fn queue(&self) -> &SendQueue {
        &self.queue
    }

    /// The first packet that is not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.unacknowledged
    }

    /// The first packet that was never sent.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The first packet that a READ waits for.
    pub fn unread(&self) -> Option<u64> {
        self.reads.front().map(|first| self.unacknowledged.max(*first))
    }

    /// The packet that was requested by the last NAK for a sequence error, or because of the last gap in READ
    /// responses.
    pub fn asked_for(&self) -> Option<u64> {
        self.asked_for
    }

    /// Adds a message to the queue.
    pub fn post(&mut self, opcode: Opcode, bytes: u32, config: &Config) -> RequestId {
        RequestId(self.queue.push(opcode, bytes, config.path_mtu))
    }

    /// The next packet to send.
    pub fn poll_transmit(&mut self, now: Instant, config: &Config) -> Option<Packet> {
        self.end_wait(now);
        if self.rnr_until.is_some() {
            return None;
        }
        let window_end = self.unacknowledged + u64::from(config.outstanding_max());
        let lost = self.next_lost(config);
        let psn = match lost {
            Some(psn) => psn,
            None if self.next < self.queue.end().min(window_end) => self.next,
            None => return None,
        };
        let cursor = if lost.is_some() { &mut self.resend_cursor } else { &mut self.new_cursor };
        let (mut request, end) = self.queue.packet(psn, config.path_mtu, cursor)?;
        let is_read = request.opcode == Opcode::Read;
        if is_read && lost.is_none() && self.reads.len() >= usize::from(config.reads) {
            return None;
        }
        let is_nth = config.ack_interval > 0 && (psn + 1).is_multiple_of(u64::from(config.ack_interval));
        // After a packet that fills the window, only an ACK lets the next one leave. With selective repeat, a
        // retransmission is not followed by other packets that would request an ACK.
        let is_awaited = psn + 1 >= window_end || lost.is_some() && config.selective_window().is_some();
        request.ack_request = !is_read && (request.position.ends() || is_nth || is_awaited);
        self.counters.sent += 1;
        if lost.is_some() {
            self.counters.resent += 1;
            self.resend_next = end;
        } else {
            if self.unacknowledged == self.next {
                self.timer_began = now;
            }
            self.next = end;
            if is_read {
                self.reads.push_back(psn);
            }
        }
        let codepoint = if config.dcqcn.is_some() { Codepoint::Ect0 } else { Codepoint::NotEct };
        Some(Packet { psn, codepoint, body: Body::Request(request) })
    }

    /// An ACK or NAK has arrived (section 9.7.6).
    ///
    /// # Errors
    /// The failure of the first message in the queue.
    pub fn handle_response(
        &mut self,
        now: Instant,
        psn: u64,
        response: &Response,
        config: &Config,
        completions: &mut VecDeque<Completion>,
    ) -> Result<(), Failure> {
        // Numbers that were never sent are dropped silently, and so are NAKs that are older than the last progress
        // (section 9.7.6.1).
        let is_nak = response.syndrome != Syndrome::Ack;
        if psn >= self.next || is_nak && psn < self.unacknowledged {
            return Ok(());
        }
        // A response acknowledges all packets before its own (section 9.7.5.1.2), except those of READ responses.
        let acknowledged = if is_nak { psn } else { psn + 1 };
        let unread = self.unread().filter(|unread| *unread < acknowledged);
        self.progress(now, unread.unwrap_or(acknowledged), completions);
        if let Some(unread) = unread
            && matches!(response.syndrome, Syndrome::Ack | Syndrome::Nak(Nak::SequenceError))
        {
            return self.handle_gap(now, unread, config);
        }
        let psn = unread.unwrap_or(psn);
        match response.syndrome {
            Syndrome::Ack => Ok(()),
            Syndrome::Nak(Nak::SequenceError) => self.handle_sequence_error(now, psn, response, config),
            Syndrome::Nak(nak) => Err(Failure::Refused(nak)),
            Syndrome::ReceiverNotReady { timer } => self.handle_not_ready(now, psn, timer, config),
        }
    }

    /// A packet of a READ response has arrived, which acknowledges everything before it.
    ///
    /// # Errors
    /// The failure of the first message in the queue.
    pub fn handle_read_response(
        &mut self,
        now: Instant,
        psn: u64,
        config: &Config,
        completions: &mut VecDeque<Completion>,
    ) -> Result<(), Failure> {
        let Some(unread) = self.unread().filter(|unread| (*unread..self.next).contains(&psn)) else {
            return Ok(());
        };
        if psn > unread {
            self.progress(now, unread, completions);
            return self.handle_gap(now, unread, config);
        }
        self.progress(now, psn + 1, completions);
        Ok(())
    }

    /// The time returned by [`next_timeout`](Self::next_timeout) has come.
    ///
    /// # Errors
    /// The failure of the first message in the queue.
    pub fn handle_timeout(&mut self, now: Instant, config: &Config) -> Result<(), Failure> {
        self.end_wait(now);
        if self.next_timeout(config).is_none_or(|deadline| deadline > now) || self.rnr_until.is_some() {
            return Ok(());
        }
        self.counters.timeouts += 1;
        self.count_retry(config)?;
        self.resend_next = self.unacknowledged;
        self.resend_end = self.next;
        self.timer_began = now;
        self.missed = None;
        self.counted = None;
        Ok(())
    }

    /// The end of the wait for a receiver that is not ready, or the expiry of the transport timer while something is
    /// outstanding (section 9.7.6.1.3).
    pub fn next_timeout(&self, config: &Config) -> Option<Instant> {
        if self.rnr_until.is_some() {
            return self.rnr_until;
        }
        if self.unacknowledged == self.next {
            return None;
        }
        Some(self.timer_began + self.timeout(config)?)
    }

    /// Empties the queue: the first message has failed, the others are flushed.
    pub fn fail(&mut self, failure: Failure, completions: &mut VecDeque<Completion>) {
        let mut failure = failure;
        while let Some(message) = self.queue.take() {
            completions.push_back(Completion::Failed { id: RequestId(message.number), failure });
            failure = Failure::Flushed;
        }
        // Nothing is outstanding any more, so no timer runs.
        self.next = self.unacknowledged;
        self.reads.clear();
        self.rnr_until = None;
    }

    /// Everything before `acknowledged` has arrived.
    fn progress(&mut self, now: Instant, acknowledged: u64, completions: &mut VecDeque<Completion>) {
        if acknowledged <= self.unacknowledged {
            return;
        }
        self.arrived.remove_range(self.unacknowledged, acknowledged);
        self.unacknowledged = acknowledged;
        self.timer_began = now;
        self.rnr_until = None;
        self.retries = 0;
        self.rnr_retries = 0;
        while let Some(message) = self.queue.retire(acknowledged) {
            self.counters.completed += 1;
            if message.opcode == Opcode::Read {
                self.reads.pop_front();
            }
            let id = RequestId(message.number);
            completions.push_back(Completion::Sent { id, opcode: message.opcode, bytes: message.bytes });
        }
    }

    /// A packet has arrived that comes after `unread`, which is missing (implied NAK, section 9.7.5.2): everything from
    /// there on is requested again. Packets that were already in flight will still arrive, and do not count as a second
    /// loss. If there is one, the timer detects it.
    fn handle_gap(&mut self, now: Instant, unread: u64, config: &Config) -> Result<(), Failure> {
        if self.missed == Some(unread) {
            return Ok(());
        }
        self.counters.implied_naks += 1;
        self.count_retry(config)?;
        self.missed = Some(unread);
        self.asked_for = Some(unread);
        self.resend_next = unread;
        self.resend_end = self.next;
        self.timer_began = now;
        Ok(())
    }

    /// The responder misses `psn`.
    fn handle_sequence_error(
        &mut self,
        now: Instant,
        psn: u64,
        response: &Response,
        config: &Config,
    ) -> Result<(), Failure> {
        self.counters.sequence_naks += 1;
        self.asked_for = Some(psn);
        let Some(window) = config.selective_window() else {
            self.resend_next = psn;
            self.resend_end = self.next;
            // Copies count as one loss and do not restart the timer, so that even endless copies eventually end in a
            // timeout.
            if self.counted != Some(psn) {
                self.count_retry(config)?;
                self.counted = Some(psn);
                self.timer_began = now;
            }
            return Ok(());
        };
        let mut end = psn + 1;
        // Only packets between the missing one and the next new one count; anything else is outdated or malicious.
        let selective = response.selective.map(|selective| selective.within(psn + 1, self.next));
        if let Some(Selective { highest, arrived }) = selective.filter(|selective| selective.arrived != 0) {
            self.arrived.insert_downwards(highest, arrived, window);
            end = end.max(highest - u64::from(arrived.trailing_zeros()));
        }
        // Packets missing below the highest one that has arrived are lost. Each is retransmitted once; if that is lost,
        // too, the timer detects it (IRN, section 3.1).
        self.resend_end = self.resend_end.max(end);
        Ok(())
    }

    /// The responder has no buffer for the message of `psn`, and asks the requester to wait.
    fn handle_not_ready(
        &mut self,
        now: Instant,
        psn: u64,
        timer: u8,
        config: &Config,
    ) -> Result<(), Failure> {
        self.counters.rnr_naks += 1;
        if config.rnr_retries != RNR_RETRIES_WITHOUT_END {
            if self.rnr_retries >= config.rnr_retries {
                return Err(Failure::RnrRetriesExceeded);
            }
            self.rnr_retries += 1;
        }
        self.rnr_until = Some(now + Config::rnr_wait(timer));
        self.arrived.remove(psn);
        self.resend_next = psn;
        let is_selective = config.selective_window().is_some();
        self.resend_end = if is_selective { self.resend_end.max(psn + 1) } else { self.next };
        Ok(())
    }

    /// Counts one more retry without progress (section 9.9.2).
    fn count_retry(&mut self, config: &Config) -> Result<(), Failure> {
        if self.retries >= config.retries {
            return Err(Failure::RetriesExceeded);
        }
        self.retries += 1;
        Ok(())
    }

    /// Ends the wait for the receiver when it is over; the transport timer then restarts.
    fn end_wait(&mut self, now: Instant) {
        if self.rnr_until.is_some_and(|until| until <= now) {
            self.rnr_until = None;
            self.timer_began = now;
        }
    }

    /// The next packet to retransmit.
    fn next_lost(&mut self, config: &Config) -> Option<u64> {
        let from = self.resend_next.max(self.unacknowledged);
        if from >= self.resend_end {
            return None;
        }
        let is_selective = config.selective_window().is_some();
        let psn = if is_selective { self.arrived.next_absent(from, self.resend_end) } else { from };
        self.resend_next = psn;
        (psn < self.resend_end).then_some(psn)
    }

    /// How long to wait for progress with what is outstanding now.
    fn timeout(&self, config: &Config) -> Option<Nanos> {
        if let Recovery::SelectiveRepeat { short_timeout: Some(short), .. } = config.recovery
            && self.next - self.unacknowledged < u64::from(short.below_packets)
        {
            return Some(short.timeout);
        }
        config.timeout()
    }
}
