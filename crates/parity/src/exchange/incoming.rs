//! The receiving end of a class that the peer sends.

use super::message::{Answer, Envelope, Message, Offer};
use super::{DEADLINE_MAX_NS, OVERHEAD_MAX, TARGET};
use crate::feedback::ParityFrame;
use crate::losses::Losses;
use crate::planner::Limits;
use crate::receiver::{Receiver, ReceiverConfig, ReceiverCounters};
use crate::reed_solomon::ReedSolomon;

/// What is assumed of a path until it is measured: too much rather than too little, and soon forgotten.
const FIRST_LOSS: f64 = 0.1;
const FIRST_LOSS_FRAMES: f64 = 32.0;
const FIRST_FRAMES_PER_SECOND: f64 = 100.0;

/// A class that the peer sends.
#[derive(Debug)]
pub(super) struct Incoming {
    class: u8,
    pub session: u32,
    pub deadline_ns: u64,
    /// `None` until the sender knows the round trip.
    receiver: Option<Receiver<ReedSolomon>>,
    answer: Option<Answer>,
}

impl Incoming {
    pub fn new(class: u8, session: u32) -> Incoming {
        Incoming { class, session, deadline_ns: 0, receiver: None, answer: None }
    }

    /// Handles what the sender says of this session. `false` if frames were not expected.
    pub fn handle(&mut self, now_ns: u64, message: Message<'_>) -> bool {
        match message {
            Message::Offer(offer) => {
                self.accept(&offer);
                return true;
            }
            Message::Frame(..) | Message::Parity(_) => {}
            Message::Feedback(_) | Message::Answer(_) => return true,
        }
        let Some(receiver) = &mut self.receiver else { return false };
        match message {
            Message::Frame(header, frame) => receiver.handle_frame(now_ns, header, frame.to_vec()),
            Message::Parity(ParityFrame { first, frames, count, index, content }) => {
                let content = content.to_vec();
                receiver.handle_parity(now_ns, ParityFrame { first, frames, count, index, content });
            }
            Message::Offer(_) | Message::Feedback(_) | Message::Answer(_) => {}
        }
        true
    }

    fn accept(&mut self, offer: &Offer) {
        let round_trip_ns = u64::from(offer.round_trip_us) * 1_000;
        self.deadline_ns = (u64::from(offer.deadline_us) * 1_000).min(DEADLINE_MAX_NS);
        match &mut self.receiver {
            None if round_trip_ns == 0 => {}
            None => {
                let limits =
                    Limits { deadline_ns: self.deadline_ns, overhead_max: OVERHEAD_MAX, target: TARGET };
                let (losses, frame_rate) = (Losses::independent(FIRST_LOSS), FIRST_FRAMES_PER_SECOND);
                let prior_frames = FIRST_LOSS_FRAMES;
                let config =
                    ReceiverConfig { limits, round_trip_ns, losses, frame_rate, prior_frames, fixed: None };
                let mut receiver = Receiver::new(config, ReedSolomon);
                receiver.begin_at(offer.next);
                self.receiver = Some(receiver);
            }
            Some(receiver) => receiver.set_round_trip(round_trip_ns),
        }
        self.answer = Some(Answer { sent_us: offer.sent_us, is_ready: self.receiver.is_some() });
    }

    /// Writes the next message.
    pub fn poll(&mut self, out: &mut Vec<u8>) -> bool {
        let answer = self.answer.take().map(Message::Answer);
        let mut feedback = || self.receiver.as_mut().and_then(Receiver::poll_feedback).map(Message::Feedback);
        let Some(message) = answer.or_else(&mut feedback) else { return false };
        Envelope { class: self.class, session: self.session, message }.emit(out);
        true
    }

    /// The next frame in order.
    pub fn poll_deliver(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        self.receiver.as_mut()?.poll_deliver(now_ns).map(|delivered| delivered.frame)
    }

    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.receiver.iter_mut().for_each(|receiver| receiver.handle_timeout(now_ns));
    }

    pub fn next_timeout(&self) -> Option<u64> {
        self.receiver.as_ref()?.next_timeout()
    }

    /// What it has counted, and the group that it has asked for: frames and parity.
    pub fn counters(&self) -> (ReceiverCounters, [u8; 2]) {
        let Some(receiver) = &self.receiver else { return (ReceiverCounters::default(), [1, 0]) };
        let plan = receiver.plan();
        (receiver.counters(), [plan.group, plan.parity])
    }
}
