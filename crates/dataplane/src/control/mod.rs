//! The control socket: requests to a running daemon, and its answers.
//!
//! Each request and each answer is one line of JSON ([`Request`], [`Response`]), over a Unix socket that only its owner
//! may use. Everything that arrives is answered, with an [`ErrorReply`] if it makes no sense. [`Server`] is the
//! daemon's side, [`Client`] the other; requests act on a [`Backend`].

mod backend;
mod capture_stream;
mod client;
mod client_error;
mod links;
mod message;
mod server;
mod socket;
mod streaming;
#[cfg(test)]
mod tests;

pub use backend::{Backend, answer};
pub use capture_stream::CaptureStream;
pub use client::{Client, sockets};
pub use client_error::ClientError;
pub(crate) use links::WAITS;
pub use links::{Links, Loss};
pub use message::{ErrorKind, ErrorReply, PROTOCOL_VERSION, REQUEST_BYTES_MAX, Request, Response};
pub use server::Server;
pub use socket::{ControlSocket, Reservation, SocketError};
