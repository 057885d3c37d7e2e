//! The control socket: how a running daemon is asked and told.
//!
//! One request a line, one answer a line, both JSON ([`Request`], [`Response`]), over a Unix socket that only its owner
//! may use. Whatever arrives is answered, with an [`ErrorReply`] if it makes no sense. [`Server`] is the daemon's side,
//! [`Client`] the other; what the requests act on is a [`Backend`].

mod backend;
mod client;
mod links;
mod message;
mod server;
mod socket;
mod streaming;
#[cfg(test)]
mod tests;

pub use backend::{Backend, answer};
pub use client::{Client, ClientError, sockets};
pub use links::{Links, Loss};
pub use message::{ErrorKind, ErrorReply, PROTOCOL_VERSION, REQUEST_BYTES_MAX, Request, Response};
pub use server::Server;
pub use socket::{Reservation, SocketError};
pub use streaming::CaptureStream;
