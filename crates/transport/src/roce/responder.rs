//! The responder: accepts requests in the order of their numbers and acknowledges them (sections 9.7.4 and 9.7.5).

use super::bitmap::Bitmap;
use super::completion::{Completion, MESSAGE_BYTES_MAX};
use super::config::Config;
use super::packet::{Body, Nak, Opcode, Packet, Position, RequestPacket, Response, Selective, Syndrome};
use super::reads::Reads;
use crate::tcp::Codepoint;
use std::cmp::Ordering;
use std::collections::VecDeque;

const INVALID_REQUEST: Syndrome = Syndrome::Nak(Nak::InvalidRequest);

/// Counters of a responder.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counters {
    pub bytes: u64,
    pub acks_sent: u64,
    pub naks_sent: u64,
    pub duplicates: u64,
    pub out_of_order: u64,
}

/// A message that has partly arrived.
#[derive(Debug, Clone, Copy)]
struct Incoming {
    opcode: Opcode,
    /// How many bytes of it have arrived.
    bytes: u32,
    /// The length that the RETH of a WRITE announced.
    dma_length: Option<u32>,
}

/// One end's answers to the peer's requests.
#[derive(Debug, Clone, Default)]
pub(super) struct Responder {
    /// ePSN, the number of the packet that is next in order.
    expected: u64,
    /// MSN, the messages completed.
    messages: u64,
    incoming: Option<Incoming>,
    /// Number of SENDs for which there are buffers; `None` for all.
    receives: Option<u32>,
    ack_due: bool,
    nak_due: Option<Syndrome>,
    /// A NAK for the expected packet was sent: no other follows until it arrives (section 9.7.5.1).
    nak_is_out: bool,
    pub reads: Reads,
    kept: Kept,
    /// The packet that made a NAK due: its bitmap ends there.
    reported: u64,
    pub counters: Counters,
}

/// Packets that arrived out of order (selective repeat).
#[derive(Debug, Clone, Default)]
struct Kept {
    present: Bitmap,
    /// A ring, a power of two long; no memory before the first packet.
    packets: Vec<RequestPacket>,
    /// The packet after the highest that was ever kept.
    end: u64,
}

impl Kept {
    fn insert(&mut self, psn: u64, request: &RequestPacket, window: u32) {
        if self.packets.is_empty() {
            self.packets = vec![*request; (window as usize).next_power_of_two()];
        }
        if self.present.insert(psn, window) {
            let place = psn as usize & (self.packets.len() - 1);
            self.packets[place] = *request;
        }
        self.end = self.end.max(psn + 1);
    }

    fn take(&mut self, psn: u64) -> Option<RequestPacket> {
        if !self.present.contains(psn) {
            return None;
        }
        self.present.remove(psn);
        let place = psn as usize & self.packets.len().wrapping_sub(1);
        self.packets.get(place).copied()
    }
}

impl Responder {
    pub fn new(config: &Config) -> Responder {
        Responder { receives: config.receives, ..Responder::default() }
    }

    /// ePSN, the number of the packet that is next in order.
    pub fn expected(&self) -> u64 {
        self.expected
    }

    /// Whether a packet after the expected one has arrived, and a NAK reports this.
    pub fn misses_expected(&self) -> bool {
        self.nak_is_out || self.kept.end > self.expected
    }

    /// MSN, the messages completed.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// Adds buffers for this many more SENDs.
    pub fn post_receives(&mut self, count: u32) {
        self.receives = self.receives.map(|receives| receives.saturating_add(count));
    }

    /// A request has arrived (section 9.7.4.1: its number is expected, a duplicate's, or ahead).
    ///
    /// # Errors
    /// It is refused permanently; the NAK that says so is due.
    pub fn handle_request(
        &mut self,
        psn: u64,
        request: &RequestPacket,
        config: &Config,
        completions: &mut VecDeque<Completion>,
    ) -> Result<(), Nak> {
        match psn.cmp(&self.expected) {
            Ordering::Equal => self.handle_expected(request, config, completions),
            Ordering::Less => {
                self.counters.duplicates += 1;
                self.handle_duplicate(psn, request, config);
                Ok(())
            }
            Ordering::Greater => {
                self.handle_out_of_order(psn, request, config);
                Ok(())
            }
        }
    }

    /// The next packet of a response to a READ. They are sent before anything that follows them in order.
    pub fn poll_read(&mut self, config: &Config) -> Option<Packet> {
        let response = self.reads.poll_transmit(config, self.messages)?;
        // It acknowledges all before it, too.
        self.ack_due &= response.psn + 1 < self.expected;
        Some(response)
    }

    /// The next response: a NAK if there is a reason for one, otherwise an ACK for everything that has arrived (section
    /// 9.7.5.1.2).
    pub fn poll_transmit(&mut self) -> Option<Packet> {
        if !self.reads.is_empty() {
            return None;
        }
        let (psn, syndrome) = match self.nak_due.take() {
            // A NAK acknowledges all before it.
            Some(syndrome) => (self.expected, syndrome),
            None if self.ack_due => (self.expected.saturating_sub(1), Syndrome::Ack),
            None => return None,
        };
        self.ack_due = false;
        let is_ack = syndrome == Syndrome::Ack;
        self.counters.acks_sent += u64::from(is_ack);
        self.counters.naks_sent += u64::from(!is_ack);
        let keeps = self.reported > self.expected && self.reported < self.kept.end;
        let selective = (syndrome == Syndrome::Nak(Nak::SequenceError) && keeps).then(|| Selective {
            highest: self.reported,
            arrived: self.kept.present.downwards(self.reported, self.expected),
        });
        let body = Body::Response(Response { syndrome, messages: self.messages, selective });
        Some(Packet { psn, codepoint: Codepoint::NotEct, body })
    }

    /// The packet that is next in order, followed by kept packets that are then next.
    fn handle_expected(
        &mut self,
        request: &RequestPacket,
        config: &Config,
        completions: &mut VecDeque<Completion>,
    ) -> Result<(), Nak> {
        self.nak_due = None;
        self.nak_is_out = false;
        self.accept(request, config, completions)?;
        let mut is_kept = false;
        while !self.nak_is_out
            && let Some(kept) = self.kept.take(self.expected)
        {
            is_kept = true;
            self.accept(&kept, config, completions)?;
        }
        self.ack_due |= is_kept;
        if self.kept.end > self.expected && !self.nak_is_out {
            // There is another hole.
            self.nak_due = Some(Syndrome::Nak(Nak::SequenceError));
            self.reported = self.kept.end - 1;
        }
        Ok(())
    }

    /// Accepts the packet with the expected number, or schedules the NAK that refuses it.
    fn accept(
        &mut self,
        request: &RequestPacket,
        config: &Config,
        completions: &mut VecDeque<Completion>,
    ) -> Result<(), Nak> {
        if request.opcode == Opcode::Read {
            return self.accept_read(request, config);
        }
        let incoming = match self.check(request, config) {
            Ok(incoming) => incoming,
            Err(syndrome) => {
                self.nak_due = Some(syndrome);
                self.nak_is_out = true;
                return if let Syndrome::Nak(nak) = syndrome { Err(nak) } else { Ok(()) };
            }
        };
        if request.opcode == Opcode::Send && request.position.begins() {
            self.receives = self.receives.map(|receives| receives.saturating_sub(1));
        }
        self.expected += 1;
        self.counters.bytes += u64::from(request.payload);
        self.ack_due |= request.ack_request;
        self.incoming = Some(incoming);
        if request.position.ends() {
            self.incoming = None;
            let (number, opcode, bytes) = (self.messages, incoming.opcode, incoming.bytes);
            self.messages += 1;
            completions.push_back(Completion::Received { number, opcode, bytes });
        }
        Ok(())
    }

    /// Accepts a READ, whose response is its acknowledgement, or schedules the NAK that refuses it.
    fn accept_read(&mut self, request: &RequestPacket, config: &Config) -> Result<(), Nak> {
        let asked_for = Reads::asked_for(request, config);
        let Some((bytes, packets)) =
            asked_for.filter(|_| self.incoming.is_none() && self.reads.has_room(config))
        else {
            self.nak_due = Some(INVALID_REQUEST);
            self.nak_is_out = true;
            return Err(Nak::InvalidRequest);
        };
        self.reads.push(self.expected, bytes, packets);
        self.expected += packets;
        self.messages += 1;
        Ok(())
    }

    /// A packet that has arrived before: a READ is executed again (section 9.7.5.2), anything else is acknowledged.
    fn handle_duplicate(&mut self, psn: u64, request: &RequestPacket, config: &Config) {
        if request.opcode != Opcode::Read {
            self.ack_due = true;
            return;
        }
        if let Some((bytes, packets)) = Reads::asked_for(request, config)
            && packets <= self.expected - psn
        {
            self.reads.push_again(psn, bytes, packets, config);
        }
    }

    /// The message with this packet added, if the packet's position and lengths are correct (section 9.7.4.1) and there
    /// is a buffer for it.
    fn check(&self, request: &RequestPacket, config: &Config) -> Result<Incoming, Syndrome> {
        let (begins, ends) = (request.position.begins(), request.position.ends());
        let opcode = request.opcode;
        let begun = match self.incoming {
            None if begins => Incoming { opcode, bytes: 0, dma_length: request.dma_length },
            Some(incoming) if !begins && incoming.opcode == opcode && request.dma_length.is_none() => {
                incoming
            }
            _ => return Err(INVALID_REQUEST),
        };
        let (payload, path_mtu) = (u32::from(request.payload), u32::from(config.path_mtu));
        let payload_fits = match request.position {
            Position::First | Position::Middle => payload == path_mtu,
            Position::Last => (1..=path_mtu).contains(&payload),
            Position::Only => payload <= path_mtu,
        };
        // At most 2^31 have arrived before, and the sum is checked each time.
        let bytes = begun.bytes + payload;
        let message_fits = match (opcode, begun.dma_length) {
            (Opcode::Write, Some(length)) if ends => bytes == length,
            (Opcode::Write, Some(length)) => bytes < length && length <= MESSAGE_BYTES_MAX,
            (Opcode::Send, None) => bytes <= MESSAGE_BYTES_MAX,
            _ => false,
        };
        if !payload_fits || !message_fits {
            return Err(INVALID_REQUEST);
        }
        if opcode == Opcode::Send && begins && self.receives == Some(0) {
            return Err(Syndrome::ReceiverNotReady { timer: config.rnr_timer });
        }
        Ok(Incoming { bytes, ..begun })
    }

    /// A packet ahead of the expected one: dropped, or kept by selective repeat. Go-back-N sends one NAK and is then
    /// silent until the expected packet arrives (section 9.7.5.1); selective repeat reports each packet that arrives.
    fn handle_out_of_order(&mut self, psn: u64, request: &RequestPacket, config: &Config) {
        self.counters.out_of_order += 1;
        let window = config.selective_window();
        let mut reported = psn;
        if let Some(window) = window {
            if psn - self.expected < u64::from(window) {
                self.kept.insert(psn, request, window);
            } else {
                reported = self.kept.end.saturating_sub(1);
            }
        }
        if self.nak_is_out {
            return;
        }
        self.reported = if self.nak_due.is_some() { self.reported.max(reported) } else { reported };
        self.nak_due = Some(Syndrome::Nak(Nak::SequenceError));
        self.nak_is_out = window.is_none();
    }
}
