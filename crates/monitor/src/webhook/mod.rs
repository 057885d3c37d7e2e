//! Tells another program of every decision, as it is made: a signed POST request for each, as Standard Webhooks has them.
//!
//! - [`WebhookSettings`]: where to, and with which key;
//! - `Message`: what is sent, and its signature;
//! - `Outbox`: what waits, and when it is tried again;
//! - [`Webhook`]: the thread that sends it, so that no server delays the daemon.

mod message;
mod outbox;
mod sender;
mod settings;

pub use outbox::WebhookStatus;
pub use sender::Webhook;
pub use settings::{WebhookError, WebhookSettings};
