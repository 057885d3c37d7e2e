//! Classes of frames with a deadline between two ends of a link, in both directions: what a driver needs in order to use
//! [`Sender`](crate::Sender) and [`Receiver`](crate::Receiver).
//!
//! Each end offers the classes that it sends, and measures the round trip by the answers. A class is ready once the peer has
//! accepted it; until then, and when the peer is silent for longer than three seconds, its frames must take another way. So an
//! end needs no configuration for what it receives, and a peer that does not know these messages gets none of the frames.
//!
//! A driver passes what arrives to [`Exchange::handle`], and calls [`Exchange::handle_timeout`] at
//! [`Exchange::next_timeout`]. After either, and after [`Exchange::send`], it delivers what [`Exchange::poll_deliver`] returns
//! and sends what [`Exchange::poll_message`] writes, until there is no more.

mod incoming;
mod message;
mod outgoing;

use crate::receiver::ReceiverCounters;
use crate::sender::SenderCounters;
use incoming::Incoming;
use message::{Answer, Envelope, Message};
use outgoing::Outgoing;

/// Most classes that an end sends.
pub const CLASSES_MAX: usize = 4;
/// The shortest deadline.
pub const DEADLINE_MIN_NS: u64 = 1_000_000;
/// The longest deadline: stamps wrap after three times as long.
pub const DEADLINE_MAX_NS: u64 = 1_000_000_000;
/// Ceiling of the expected overhead: parity frames and copies per frame.
pub const OVERHEAD_MAX: f64 = 1.0;
/// Share of frames that may be lost or late.
pub const TARGET: f64 = 1e-4;
/// What a message adds to a frame.
pub const MESSAGE_BYTES: usize = 1 + 1 + 4 + 4 + 2 + 1;

/// A class is offered this often while it is ready, and while it is not.
const OFFER_NS: u64 = 1_000_000_000;
const OFFER_AGAIN_NS: u64 = 250_000_000;
/// The peer is ready for this long after it was heard.
const READY_NS: u64 = 3_000_000_000;
/// Frames of a session that is not known are answered this often.
const STRANGER_NS: u64 = 100_000_000;

/// What the sending end of a class has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentCounters {
    pub deadline_ns: u64,
    /// Whether the peer takes its frames.
    pub is_ready: bool,
    pub round_trip_ns: Option<u64>,
    pub sender: SenderCounters,
}

/// What the receiving end of a class has counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedCounters {
    pub deadline_ns: u64,
    /// Frames and parity frames of a group, as planned now.
    pub group: [u8; 2],
    pub receiver: ReceiverCounters,
}

/// An end of a link. See the [module](self).
#[derive(Debug)]
pub struct Exchange {
    session: u32,
    outgoing: Vec<Outgoing>,
    incoming: [Option<Incoming>; CLASSES_MAX],
    /// Whose frames are not expected: class and session.
    stranger: Option<(u8, u32)>,
    stranger_ns: u64,
    malformed: u64,
}

impl Exchange {
    /// An end that sends no class. `session` must differ from that of an end before it.
    pub fn new(session: u32) -> Exchange {
        Exchange {
            session,
            outgoing: Vec::new(),
            incoming: Default::default(),
            stranger: None,
            stranger_ns: 0,
            malformed: 0,
        }
    }

    /// Sends classes with these deadlines, at most [`CLASSES_MAX`]; those before are forgotten.
    pub fn set_classes(&mut self, deadlines_ns: &[u64]) {
        self.session = self.session.wrapping_add(1);
        let classes = deadlines_ns.iter().take(CLASSES_MAX).enumerate();
        let outgoing = classes.map(|(class, deadline)| Outgoing::new(class as u8, self.session, *deadline));
        self.outgoing = outgoing.collect();
    }

    /// Whether frames of this class can be sent.
    pub fn is_ready(&self, now_ns: u64, class: u8) -> bool {
        self.outgoing.get(usize::from(class)).is_some_and(|outgoing| outgoing.is_ready(now_ns))
    }

    /// Appends the message with a frame of a class that is ready.
    pub fn send(&mut self, now_ns: u64, class: u8, frame: &[u8], out: &mut Vec<u8>) {
        if let Some(outgoing) = self.outgoing.get_mut(usize::from(class)) {
            outgoing.send(now_ns, frame, out);
        }
    }

    /// Handles a message that has arrived.
    pub fn handle(&mut self, now_ns: u64, bytes: &[u8]) {
        let Some(Envelope { class, session, message }) = Envelope::parse(bytes) else {
            self.malformed += 1;
            return;
        };
        let place = usize::from(class);
        match message {
            Message::Feedback(_) => {
                let outgoing = self.outgoing.get_mut(place);
                outgoing.into_iter().for_each(|outgoing| outgoing.handle(now_ns, session, &message));
            }
            Message::Answer(answer) => self.handle_answer(now_ns, class, session, answer),
            Message::Offer(_) | Message::Frame(..) | Message::Parity(_) => {
                let Some(slot) = self.incoming.get_mut(place) else {
                    self.malformed += 1;
                    return;
                };
                if matches!(message, Message::Offer(_)) {
                    // The sender was restarted, or sends other classes now.
                    let known = slot.take_if(|incoming| incoming.session == session);
                    *slot = known.or_else(|| Some(Incoming::new(class, session)));
                }
                let is_expected = slot
                    .as_mut()
                    .is_some_and(|incoming| incoming.session == session && incoming.handle(now_ns, message));
                if !is_expected && now_ns >= self.stranger_ns {
                    self.stranger_ns = now_ns.saturating_add(STRANGER_NS);
                    self.stranger = Some((class, session));
                }
            }
        }
    }

    fn handle_answer(&mut self, now_ns: u64, class: u8, session: u32, answer: Answer) {
        let Some(outgoing) = self.outgoing.get_mut(usize::from(class)) else { return };
        if answer == UNKNOWN && session == self.session {
            outgoing.handle_stranger(now_ns);
        } else {
            outgoing.handle(now_ns, session, &Message::Answer(answer));
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.outgoing.iter_mut().for_each(|outgoing| outgoing.handle_timeout(now_ns));
        self.incoming.iter_mut().flatten().for_each(|incoming| incoming.handle_timeout(now_ns));
    }

    /// When there is something to do, to deliver or to send.
    pub fn next_timeout(&self) -> Option<u64> {
        let outgoing = self.outgoing.iter().map(Outgoing::next_timeout);
        let incoming = self.incoming.iter().flatten().filter_map(Incoming::next_timeout);
        outgoing.chain(incoming).min()
    }

    /// Appends the next message to send; `false` if there is none.
    pub fn poll_message(&mut self, now_ns: u64, out: &mut Vec<u8>) -> bool {
        if let Some((class, session)) = self.stranger.take() {
            Envelope { class, session, message: Message::Answer(UNKNOWN) }.emit(out);
            return true;
        }
        self.incoming.iter_mut().flatten().any(|incoming| incoming.poll(out))
            || self.outgoing.iter_mut().any(|outgoing| outgoing.poll(now_ns, out))
    }

    /// The next frame to deliver. Frames of one class come in order.
    pub fn poll_deliver(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        self.incoming.iter_mut().flatten().find_map(|incoming| incoming.poll_deliver(now_ns))
    }

    /// What was counted of each class that this end sends.
    pub fn sent(&self, now_ns: u64) -> Vec<SentCounters> {
        self.outgoing.iter().map(|outgoing| outgoing.counters(now_ns)).collect()
    }

    /// What was counted of each class that the peer sends.
    pub fn received(&self) -> Vec<ReceivedCounters> {
        let incoming = self.incoming.iter().flatten();
        incoming
            .map(|incoming| {
                let (receiver, group) = incoming.counters();
                ReceivedCounters { deadline_ns: incoming.deadline_ns, group, receiver }
            })
            .collect()
    }

    /// Messages that do not follow the format.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}

/// The answer to frames of a session that is not known. No offer is sent at 0.
const UNKNOWN: Answer = Answer { sent_us: 0, is_ready: false };
