//! The daemon's side of the control socket, whose requests and answers are those of `linkmend-control`.
//!
//! Everything that arrives at a [`Server`] is answered, with an [`ErrorReply`](linkmend_control::ErrorReply) if it makes no
//! sense. Requests act on a [`Backend`].

mod backend;
mod links;
mod server;
mod streaming;
#[cfg(test)]
mod tests;

pub use backend::{Backend, answer};
pub(crate) use links::WAITS;
pub use links::{Links, Loss};
pub use server::Server;
