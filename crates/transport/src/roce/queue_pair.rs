//! One end of a reliable connection.

use super::completion::{Completion, Failure, MESSAGE_BYTES_MAX, PostError, Request, RequestId};
use super::config::Config;
use super::dcqcn::{NotificationPoint, ReactionPoint};
use super::info::{Info, State};
use super::packet::{Body, Opcode, Packet};
use super::requester::Requester;
use super::responder::Responder;
use crate::tcp::Codepoint;
use crate::time::Instant;
use linkmend_diagnose::ParameterError;
use std::collections::VecDeque;
use std::sync::Arc;

/// One end of a reliable connection, which is created as established.
///
/// The driver calls [`post`](Self::post), [`handle_packet`](Self::handle_packet) and
/// [`handle_timeout`](Self::handle_timeout); after each, [`poll_transmit`](Self::poll_transmit) and
/// [`poll_completion`](Self::poll_completion) until they return `None`, and then [`next_timeout`](Self::next_timeout).
/// If the port is busy, the driver may call `poll_transmit` later: the driver is responsible for the rate of the port,
/// and `poll_transmit` holds back only packets that DCQCN delays, or that the window or an RNR NAK does not allow.
///
/// The cost of a packet depends neither on the length of its message nor on the number of outstanding packets. Memory
/// grows with the number of waiting messages and, with selective repeat, by its window once something is lost.
#[derive(Debug, Clone)]
pub struct QueuePair {
    config: Arc<Config>,
    requester: Requester,
    responder: Responder,
    notification: NotificationPoint,
    reaction: Option<ReactionPoint>,
    /// When a packet may leave that DCQCN held back in the last call to `poll_transmit`.
    paced_until: Option<Instant>,
    completions: VecDeque<Completion>,
    state: State,
    cnps_sent: u64,
    cnps_received: u64,
}

impl QueuePair {
    /// A connection whose two ends have this configuration.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Arc<Config>) -> Result<QueuePair, ParameterError> {
        config.check()?;
        Ok(QueuePair {
            requester: Requester::default(),
            responder: Responder::new(&config),
            notification: NotificationPoint::default(),
            reaction: config.dcqcn.as_ref().map(ReactionPoint::new),
            paced_until: None,
            completions: VecDeque::new(),
            state: State::ReadyToSend,
            cnps_sent: 0,
            cnps_received: 0,
            config,
        })
    }

    /// Adds a message to the send queue.
    ///
    /// # Errors
    /// The message is too long, the queue is full, or the queue pair has failed.
    pub fn post(&mut self, request: Request) -> Result<RequestId, PostError> {
        if self.state == State::Error {
            return Err(PostError::Failed);
        }
        if request.opcode == Opcode::Read && self.config.selective_window().is_some() {
            return Err(PostError::ReadNeedsGoBackN);
        }
        if request.bytes > MESSAGE_BYTES_MAX {
            return Err(PostError::TooLong { bytes: request.bytes });
        }
        let messages = self.config.send_queue;
        if self.requester.queue().len() >= messages as usize {
            return Err(PostError::QueueFull { messages });
        }
        Ok(self.requester.post(request.opcode, request.bytes, &self.config))
    }

    /// Adds buffers for this many SENDs of the peer, if the configuration counts them.
    pub fn post_receives(&mut self, count: u32) {
        self.responder.post_receives(count);
    }

    /// A packet has arrived that passed its checks (ICRC, section 9.7.4.1).
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if self.state == State::Error {
            return;
        }
        match &packet.body {
            Body::Request(request) => {
                self.handle_mark(now, packet.codepoint);
                let completions = &mut self.completions;
                if self.responder.handle_request(packet.psn, request, &self.config, completions).is_err() {
                    // The NAK is still sent (section 9.9.3).
                    self.fail(Failure::Flushed);
                }
            }
            Body::ReadResponse(_) => {
                self.handle_mark(now, packet.codepoint);
                let (config, completions) = (&self.config, &mut self.completions);
                let handled = self.requester.handle_read_response(now, packet.psn, config, completions);
                handled.unwrap_or_else(|failure| self.fail(failure));
            }
            Body::Response(response) => {
                let (config, completions) = (&self.config, &mut self.completions);
                let handled = self.requester.handle_response(now, packet.psn, response, config, completions);
                handled.unwrap_or_else(|failure| self.fail(failure));
            }
            Body::CongestionNotification => {
                self.cnps_received += 1;
                if let (Some(reaction), Some(dcqcn)) = (&mut self.reaction, &self.config.dcqcn) {
                    reaction.handle_cnp(now, dcqcn);
                }
            }
        }
    }

    /// The time returned by [`next_timeout`](Self::next_timeout) has come; an earlier call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        // The driver now knows that it may poll. It may do so later, when the port is free.
        self.paced_until = self.paced_until.filter(|until| *until > now);
        if self.state == State::ReadyToSend {
            let handled = self.requester.handle_timeout(now, &self.config);
            handled.unwrap_or_else(|failure| self.fail(failure));
        }
    }

    /// Handles the codepoint of a packet with data, which a switch may have marked.
    fn handle_mark(&mut self, now: Instant, codepoint: Codepoint) {
        if let (Some(dcqcn), Codepoint::Ce) = (&self.config.dcqcn, codepoint) {
            self.notification.handle_mark(now, dcqcn.cnp_interval);
        }
    }

    /// The next packet that may leave now: a CNP, then an ACK or NAK, then a READ response, then a request.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.paced_until = None;
        if self.notification.take_due() {
            self.cnps_sent += 1;
            let body = Body::CongestionNotification;
            return Some(Packet { psn: 0, codepoint: Codepoint::NotEct, body });
        }
        if let Some(response) = self.responder.poll_transmit() {
            return Some(response);
        }
        if self.state == State::Error {
            return None;
        }
        if let (Some(reaction), Some(dcqcn)) = (&mut self.reaction, &self.config.dcqcn) {
            self.paced_until = reaction.blocked_until(now, dcqcn);
            if self.paced_until.is_some() {
                return None;
            }
        }
        let packet = match self.responder.poll_read(&self.config) {
            Some(response) => response,
            None => self.requester.poll_transmit(now, &self.config)?,
        };
        if let (Some(reaction), Some(dcqcn)) = (&mut self.reaction, &self.config.dcqcn) {
            reaction.handle_sent(now, packet.frame_bytes(), dcqcn);
        }
        Some(packet)
    }

    /// The latest time for the next call; `None` if only a packet or a request changes anything.
    pub fn next_timeout(&self) -> Option<Instant> {
        let transport = self.requester.next_timeout(&self.config);
        [transport, self.paced_until].into_iter().flatten().min()
    }

    /// The next completion, oldest first.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Whether this end has executed the READ that begins at a packet again, as far back as it remembers READs.
    pub fn has_read_again(&self, psn: u64) -> bool {
        self.responder.reads.was_again(psn)
    }

    /// The state and the counters of the queue pair.
    pub fn info(&self) -> Info {
        let (requester, responder) = (&self.requester.counters, &self.responder.counters);
        Info {
            state: self.state,
            posted: self.requester.queue().posted(),
            completed: requester.completed,
            unacknowledged: self.requester.unacknowledged(),
            next: self.requester.next(),
            expected: self.responder.expected(),
            misses_expected: self.responder.misses_expected(),
            asked_for: self.requester.asked_for(),
            unread: self.requester.unread(),
            received_messages: self.responder.messages(),
            received_bytes: responder.bytes,
            requests_sent: requester.sent,
            requests_resent: requester.resent,
            timeouts: requester.timeouts,
            sequence_naks: requester.sequence_naks,
            implied_naks: requester.implied_naks,
            rnr_naks: requester.rnr_naks,
            acks_sent: responder.acks_sent,
            read_responses_sent: self.responder.reads.responses_sent,
            naks_sent: responder.naks_sent,
            duplicates: responder.duplicates,
            out_of_order: responder.out_of_order,
            cnps_sent: self.cnps_sent,
            cnps_received: self.cnps_received,
            // The line rate is a whole number, and rates do not exceed it.
            rate: self.reaction.as_ref().map(|reaction| reaction.rate() as u64),
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.state = State::Error;
        self.paced_until = None;
        self.requester.fail(failure, &mut self.completions);
    }
}
