//! The sending end of a class: it offers the class to the peer, and sends frames when that has accepted.

use super::message::{Answer, Envelope, Message, Offer};
use super::{OFFER_AGAIN_NS, OFFER_NS, READY_NS, SentCounters};
use crate::feedback::ParityFrame;
use crate::reed_solomon::ReedSolomon;
use crate::sender::{Sender, SenderConfig};

/// Weight of the newest sample of the round trip, as TCP's (RFC 6298).
const ROUND_TRIP_WEIGHT: u64 = 8;

/// A class that this end sends.
#[derive(Debug)]
pub(super) struct Outgoing {
    class: u8,
    session: u32,
    deadline_ns: u64,
    sender: Sender<ReedSolomon>,
    round_trip_ns: Option<u64>,
    offer_at_ns: u64,
    /// When the peer last said something that only a ready one says.
    ready_ns: Option<u64>,
}

impl Outgoing {
    pub fn new(class: u8, session: u32, deadline_ns: u64) -> Outgoing {
        let config = SenderConfig { deadline_ns, one_way_ns: 0, group: 1, parity: 0, age_ns: 0 };
        Outgoing {
            class,
            session,
            deadline_ns,
            sender: Sender::new(config, ReedSolomon),
            round_trip_ns: None,
            offer_at_ns: 0,
            ready_ns: None,
        }
    }

    /// Whether frames can be sent: the peer was heard, and half of the round trip is left of the deadline.
    pub fn is_ready(&self, now_ns: u64) -> bool {
        self.ready_ns.is_some_and(|at| now_ns < at.saturating_add(READY_NS))
            && self.round_trip_ns.is_some_and(|round_trip| round_trip / 2 < self.deadline_ns)
    }

    pub fn send(&mut self, now_ns: u64, frame: &[u8], out: &mut Vec<u8>) {
        let header = self.sender.send(now_ns, frame.to_vec());
        self.envelope(Message::Frame(header, frame)).emit(out);
    }

    /// Writes the next message.
    pub fn poll(&mut self, now_ns: u64, out: &mut Vec<u8>) -> bool {
        if let Some(parity) = self.sender.poll_parity() {
            let content = &parity.content[..];
            let ParityFrame { first, frames, count, index, .. } = parity;
            self.envelope(Message::Parity(ParityFrame { first, frames, count, index, content })).emit(out);
        } else if let Some((header, frame)) = self.sender.poll_retransmission() {
            self.envelope(Message::Frame(header, &frame)).emit(out);
        } else if self.offer_at_ns <= now_ns {
            let is_ready = self.is_ready(now_ns);
            self.offer_at_ns = now_ns.saturating_add(if is_ready { OFFER_NS } else { OFFER_AGAIN_NS });
            let offer = Offer {
                deadline_us: micros(self.deadline_ns),
                next: self.sender.next_number(),
                // 0 is what an answer says that answers none.
                sent_us: micros(now_ns).max(1),
                round_trip_us: self.round_trip_ns.map_or(0, |ns| micros(ns).max(1)),
            };
            self.envelope(Message::Offer(offer)).emit(out);
        } else {
            return false;
        }
        true
    }

    /// Handles what the receiver says of this session.
    pub fn handle(&mut self, now_ns: u64, session: u32, message: &Message<'_>) {
        if session != self.session {
            return;
        }
        match *message {
            Message::Answer(Answer { sent_us, is_ready }) => self.handle_answer(now_ns, sent_us, is_ready),
            Message::Feedback(feedback) => {
                self.ready_ns = self.ready_ns.map(|_| now_ns);
                self.sender.handle_feedback(now_ns, feedback);
            }
            Message::Frame(..) | Message::Parity(_) | Message::Offer(_) => {}
        }
    }

    fn handle_answer(&mut self, now_ns: u64, sent_us: u32, is_ready: bool) {
        let elapsed_ns = u64::from(micros(now_ns).wrapping_sub(sent_us)) * 1_000;
        // An older one, or a forged one, says nothing about the path.
        if elapsed_ns > READY_NS {
            return;
        }
        let before = self.round_trip_ns.unwrap_or(elapsed_ns);
        let round_trip_ns = (before * (ROUND_TRIP_WEIGHT - 1) + elapsed_ns) / ROUND_TRIP_WEIGHT;
        self.round_trip_ns = Some(round_trip_ns);
        self.sender.set_one_way(round_trip_ns / 2);
        if is_ready {
            self.ready_ns = Some(now_ns);
        } else {
            self.ready_ns = None;
            // The first answer brings the round trip, which the peer waits for.
            self.offer_at_ns = self.offer_at_ns.min(now_ns);
        }
    }

    /// The peer does not know the session: it was restarted.
    pub fn handle_stranger(&mut self, now_ns: u64) {
        self.ready_ns = None;
        self.offer_at_ns = self.offer_at_ns.min(now_ns);
    }

    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.sender.handle_timeout(now_ns);
    }

    pub fn next_timeout(&self) -> u64 {
        self.sender.next_timeout().map_or(self.offer_at_ns, |at| at.min(self.offer_at_ns))
    }

    pub fn counters(&self, now_ns: u64) -> SentCounters {
        SentCounters {
            deadline_ns: self.deadline_ns,
            is_ready: self.is_ready(now_ns),
            round_trip_ns: self.round_trip_ns,
            sender: self.sender.counters(),
        }
    }

    fn envelope<'a>(&self, message: Message<'a>) -> Envelope<'a> {
        Envelope { class: self.class, session: self.session, message }
    }
}

/// Microseconds modulo 2^32, which wrap after more than an hour.
fn micros(ns: u64) -> u32 {
    (ns / 1_000) as u32
}
