//! The thread that sends what waits.

use super::message::{Author, Message, signature};
use super::outbox::{Outbox, Outcome, WebhookStatus};
use super::settings::{WebhookError, WebhookSettings};
use crate::audit_chain::Place;
use crate::server::HttpServer;
use linkmend_diagnose::excerpt;
use ring::hmac;
use serde::Serialize;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long what waits may take when the daemon stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);
/// Of an answer, so much is read, so that the connection can be used again.
const ANSWER_BYTES_MOST: u64 = 64 << 10;
/// Characters of an answer that are shown with an error.
const ANSWER_SHOWN_MOST: usize = 200;

/// Sends decisions, without ever waiting for a server. Dropping it gives what waits a few seconds.
#[derive(Debug)]
pub struct Webhook {
    shared: Arc<Shared>,
    author: Author,
    server: String,
    sequence: u64,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Whenever the thread or whoever waits for it has something to do.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    outbox: Outbox,
    is_stopping: bool,
    has_ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, at_most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, at_most).unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Webhook {
    /// Starts the thread. `run` is a name that no other run of any agent has.
    ///
    /// # Errors
    /// [`WebhookError`]. Whether there is a server shows only later.
    pub fn start(
        settings: &WebhookSettings,
        agent: &str,
        run: &str,
        dry_run: bool,
    ) -> Result<Webhook, WebhookError> {
        let key = settings.read_key()?;
        let server = HttpServer::new(&settings.url, "--webhook-ca", settings.ca.clone(), settings.timeout);
        let author = Author { agent: agent.to_owned(), run: run.to_owned(), dry_run };
        let (shared, place) = (Arc::new(Shared::default()), server.origin().to_owned());
        let thread = Thread { shared: Arc::clone(&shared), server, key, begun: Instant::now() };
        let spawned = std::thread::Builder::new().name("webhook".to_owned()).spawn(move || thread.run());
        spawned.map_err(WebhookError::Thread)?;
        tracing::info!("sending decisions to {place}");
        Ok(Webhook { shared, author, server: place, sequence: 0 })
    }

    /// Has a decision sent, with its place in the audit log.
    pub fn send(&mut self, decision: &impl Serialize, place: Option<&Place>) {
        self.sequence += 1;
        match self.author.message(self.sequence, decision, place) {
            Ok(message) => {
                let mut state = self.shared.lock();
                let dropped = state.outbox.dropped;
                state.outbox.handle_message(message);
                if dropped == 0 && state.outbox.dropped > 0 {
                    tracing::warn!(
                        "webhook: too many decisions wait for {}: dropping the oldest",
                        self.server
                    );
                }
                self.shared.changed.notify_all();
            }
            Err(error) => tracing::warn!("webhook: a decision cannot be sent: {error}"),
        }
    }

    /// How it stands.
    pub fn status(&self) -> WebhookStatus {
        let State { outbox, .. } = &*self.shared.lock();
        WebhookStatus {
            server: self.server.clone(),
            delivered: outbox.delivered,
            dropped: outbox.dropped,
            waiting: outbox.len(),
            trouble: outbox.trouble.clone(),
        }
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        let deadline = Instant::now() + STOP_PATIENCE;
        let mut state = self.shared.lock();
        state.is_stopping = true;
        self.shared.changed.notify_all();
        while !state.has_ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.shared.wait(state, left);
        }
        match state.outbox.len() {
            0 => {}
            left => tracing::warn!("webhook: {left} decisions were not delivered to {}", self.server),
        }
    }
}

/// What the thread has.
struct Thread {
    shared: Arc<Shared>,
    server: HttpServer,
    key: hmac::Key,
    begun: Instant,
}

impl Thread {
    fn run(mut self) {
        while let Some(message) = self.next() {
            let outcome = self.post(&message);
            let now = self.begun.elapsed();
            let mut state = self.shared.lock();
            let before = (state.outbox.trouble.clone(), state.outbox.dropped);
            // Nobody waits for another attempt when the daemon stops.
            let is_over = state.is_stopping && outcome != Outcome::Delivered;
            state.outbox.handle_outcome(now, outcome);
            say(self.server.origin(), before, &state.outbox);
            if is_over {
                break;
            }
        }
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_all();
    }

    /// Waits for a message that is to be sent; `None` when there will be none.
    fn next(&self) -> Option<Message> {
        let mut state = self.shared.lock();
        loop {
            let now = self.begun.elapsed();
            if let Some(message) = state.outbox.poll_send(now) {
                return Some(message);
            }
            if state.is_stopping {
                return None;
            }
            let until = state.outbox.next_timeout().map_or(Duration::MAX, |at| at.saturating_sub(now));
            state = self.shared.wait(state, until.min(Duration::from_hours(1)));
        }
    }

    fn post(&mut self, message: &Message) -> Outcome {
        let agent = match self.server.agent() {
            Ok(agent) => agent,
            Err(why) => return Outcome::Unavailable(why),
        };
        let timestamp_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut request = agent
            .post(self.server.address())
            .header("Content-Type", "application/json")
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", timestamp_s.to_string())
            .header("webhook-signature", signature(&self.key, message, timestamp_s));
        if let Some(authorization) = self.server.authorization() {
            request = request.header("Authorization", authorization);
        }
        let mut response = match request.send(&*message.body) {
            Ok(response) => response,
            Err(error) => return Outcome::Unavailable(format!("{error}; {}", self.server.hint())),
        };
        let status = response.status().as_u16();
        let answer = response.body_mut().with_config().limit(ANSWER_BYTES_MOST).read_to_vec();
        outcome(status, &answer.unwrap_or_default())
    }
}

/// What an answer means for a message.
fn outcome(status: u16, answer: &[u8]) -> Outcome {
    let text = excerpt(String::from_utf8_lossy(answer).trim(), ANSWER_SHOWN_MOST);
    let said = if text.is_empty() { String::new() } else { format!(" ({text})") };
    let what = format!("it answers with HTTP status {status}{said}");
    match status {
        200..300 => Outcome::Delivered,
        300..400 => Outcome::Unavailable(format!(
            "{what}; redirects are not followed, so configure the address they lead to"
        )),
        401 | 403 => {
            Outcome::Unavailable(format!("{what}; check the key, and user and password if there are any"))
        }
        404 | 410 => Outcome::Unavailable(format!("{what}; check the path of the address")),
        408 | 429 | 502..=504 => Outcome::Unavailable(what),
        400..500 => Outcome::Refused(format!("{what}; the decision is dropped")),
        _ => Outcome::Failed(what),
    }
}

/// Logs what has changed.
fn say(server: &str, before: (Option<String>, u64), outbox: &Outbox) {
    let (trouble, dropped) = before;
    match (&trouble, &outbox.trouble) {
        (None, Some(why)) => tracing::warn!("webhook: cannot deliver decisions to {server}: {why}"),
        (Some(before), Some(why)) if before != why => tracing::warn!("webhook: {server}: {why}"),
        (Some(_), None) => tracing::info!(
            "webhook: decisions are delivered to {server} again; {} were dropped so far",
            outbox.dropped
        ),
        _ => {}
    }
    if outbox.dropped > dropped {
        tracing::warn!("webhook: {} decisions were dropped so far", outbox.dropped);
    }
}
