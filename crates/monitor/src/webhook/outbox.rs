//! What waits to be sent, and when it is tried again.
//!
//! Give it messages with [`handle_message`](Outbox::handle_message). When [`poll_send`](Outbox::poll_send) has one, send it, and
//! tell what came of it with [`handle_outcome`](Outbox::handle_outcome). [`next_timeout`](Outbox::next_timeout) says when to ask
//! next. Only one is in flight at a time, so that they arrive in their order.

use super::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// Messages that wait. Beyond that, the oldest is dropped. One takes about a kilobyte.
pub(super) const WAITING_MOST: usize = 1_000;
/// Time before a message is sent again, which doubles with each failure in a row ...
const RETRY_FIRST: Duration = Duration::from_secs(1);
/// ... up to this.
const RETRY_MOST: Duration = Duration::from_secs(60);
/// How often a message is sent to a server that answers it with an error of its own, before the others get their turn.
const ERRORS_MOST: u32 = 8;

/// What came of sending a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Delivered,
    /// The server cannot be reached, or is not the right one: later, it may take this message.
    Unavailable(String),
    /// The server failed at this message, perhaps because of it.
    Failed(String),
    /// The server never takes this message.
    Refused(String),
}

/// How it stands with a webhook, for people and programs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookStatus {
    /// The server, without the path, which may be secret.
    pub server: String,
    pub delivered: u64,
    /// Decisions that were dropped, because too many waited or the server did not take them.
    pub dropped: u64,
    /// Decisions that wait or are in flight.
    pub waiting: usize,
    /// Why nothing is delivered, if that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    waiting: VecDeque<Waiting>,
    in_flight: Option<Waiting>,
    /// In a row.
    failures: u32,
    not_before: Duration,
    pub delivered: u64,
    pub dropped: u64,
    pub trouble: Option<String>,
}

#[derive(Debug)]
struct Waiting {
    message: Message,
    /// How often the server failed at it.
    errors: u32,
}

impl Outbox {
    /// Takes another message.
    pub fn handle_message(&mut self, message: Message) {
        self.waiting.push_back(Waiting { message, errors: 0 });
        if self.waiting.len() > WAITING_MOST {
            self.waiting.pop_front();
            self.dropped += 1;
        }
    }

    /// The message that is to be sent now.
    pub fn poll_send(&mut self, now: Duration) -> Option<Message> {
        if self.in_flight.is_some() || now < self.not_before {
            return None;
        }
        self.in_flight = self.waiting.pop_front();
        self.in_flight.as_ref().map(|waiting| waiting.message.clone())
    }

    /// When [`poll_send`](Self::poll_send) may have a message again; `None` if only another event changes that.
    pub fn next_timeout(&self) -> Option<Duration> {
        (self.in_flight.is_none() && !self.waiting.is_empty()).then_some(self.not_before)
    }

    /// Takes what came of the message in flight.
    pub fn handle_outcome(&mut self, now: Duration, outcome: Outcome) {
        let Some(mut waiting) = self.in_flight.take() else { return };
        let why = match outcome {
            Outcome::Delivered => {
                self.delivered += 1;
                (self.failures, self.trouble) = (0, None);
                return;
            }
            Outcome::Refused(why) => {
                self.dropped += 1;
                (self.failures, self.trouble) = (0, Some(why));
                return;
            }
            Outcome::Failed(why) => {
                waiting.errors += 1;
                why
            }
            Outcome::Unavailable(why) => why,
        };
        self.trouble = Some(why);
        self.not_before = now + RETRY_FIRST.saturating_mul(1 << self.failures.min(10)).min(RETRY_MOST);
        self.failures = self.failures.saturating_add(1);
        // It is the oldest of all.
        if waiting.errors >= ERRORS_MOST || self.waiting.len() >= WAITING_MOST {
            self.dropped += 1;
        } else {
            self.waiting.push_front(waiting);
        }
    }

    /// Messages that have not arrived.
    pub fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.in_flight.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(number: usize) -> Message {
        Message { id: number.to_string(), body: "".into() }
    }

    fn outbox(messages: usize) -> Outbox {
        let mut outbox = Outbox::default();
        (0..messages).for_each(|number| outbox.handle_message(message(number)));
        outbox
    }

    /// Sends until nothing is left or a day has passed, with the times in seconds.
    fn send_all(outbox: &mut Outbox, mut answer: impl FnMut(&str, u64) -> Outcome) -> Vec<(u64, String)> {
        let (mut now, mut sent) = (Duration::ZERO, Vec::new());
        while let Some(at) = outbox.next_timeout().filter(|at| at.as_secs() < 86_400) {
            now = now.max(at);
            let message = outbox.poll_send(now).expect("it is time");
            assert_eq!(outbox.poll_send(now), None, "one is in flight");
            sent.push((now.as_secs(), message.id.clone()));
            outbox.handle_outcome(now, answer(&message.id, now.as_secs()));
        }
        sent
    }

    #[test]
    fn messages_wait_for_a_server_and_keep_their_order() {
        let mut outbox = outbox(3);
        let sent = send_all(&mut outbox, |_, now| match now {
            0..100 => Outcome::Unavailable("refused".to_owned()),
            _ => Outcome::Delivered,
        });
        let times: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
        assert_eq!(times, [0, 1, 3, 7, 15, 31, 63, 123, 123, 123], "1 s, doubled, up to 60 s");
        let ids: Vec<&str> = sent[7..].iter().map(|(_, id)| id.as_str()).collect();
        assert_eq!((ids, outbox.delivered, outbox.dropped), (vec!["0", "1", "2"], 3, 0));
        assert_eq!(outbox.trouble, None);
    }

    #[test]
    fn a_message_that_a_server_does_not_take_does_not_keep_the_others() {
        for (outcome, attempts) in [
            (Outcome::Refused("400".to_owned()), 1),
            (Outcome::Failed("500".to_owned()), usize::try_from(ERRORS_MOST).expect("small")),
        ] {
            let mut outbox = outbox(3);
            let sent = send_all(&mut outbox, |id, _| match id {
                "1" => outcome.clone(),
                _ => Outcome::Delivered,
            });
            assert_eq!(sent.iter().filter(|(_, id)| id == "1").count(), attempts);
            assert_eq!((outbox.delivered, outbox.dropped, outbox.len()), (2, 1, 0));
        }
    }

    #[test]
    fn the_oldest_are_dropped_and_counted() {
        let mut full = outbox(WAITING_MOST + 5);
        assert_eq!((full.len(), full.dropped), (WAITING_MOST, 5));
        assert_eq!(full.poll_send(Duration::ZERO), Some(message(5)));
        full.handle_message(message(2_000));
        assert_eq!((full.len(), full.dropped), (WAITING_MOST + 1, 5));
        full.handle_message(message(2_001));
        assert_eq!((full.len(), full.dropped), (WAITING_MOST + 1, 6));
        // The one in flight is the oldest now.
        full.handle_outcome(Duration::ZERO, Outcome::Unavailable("gone".to_owned()));
        assert_eq!((full.len(), full.dropped), (WAITING_MOST, 7));
        let sent = send_all(&mut full, |_, _| Outcome::Delivered);
        assert_eq!(sent.first().map(|(at, id)| (*at, id.as_str())), Some((1, "7")));
        assert_eq!(sent.last().map(|(_, id)| id.as_str()), Some("2001"));
        assert_eq!(full.delivered + full.dropped, WAITING_MOST as u64 + 7);
    }
}
