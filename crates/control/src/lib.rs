//! What daemons and their clients share.
//!
//! - The control socket: [`Client`] sends a [`Request`] and gets a [`Response`], each one line of JSON, over a Unix
//!   socket that only its owner may use. A daemon takes the path ([`Reservation`]) and listens there ([`ControlSocket`]).
//! - Content of requests: [`ProtectConfig`], [`CorruptionModel`], and the options and records of a [`capture`].
//! - Content of replies: the state of a link end, [`LinkReport`], with the port of each [`Side`], and of its daemon
//!   ([`report`]).
//! - What each daemon serves: its [`health`], and its [`metrics`] over HTTP.
//!
//! The link ends' daemon is in `linkmend-dataplane`, corruptd in `linkmend-monitor`. Neither depends on the other,
//! because what corruptd needs from link ends is here.

#![forbid(unsafe_code)]
// A log line that cannot be written must not end a daemon.
#![warn(clippy::print_stderr)]

pub mod capture;
mod capture_stream;
mod class_field;
mod client;
mod client_error;
mod corruption_model;
pub mod health;
mod message;
pub mod metrics;
mod protect;
pub mod report;
mod side;
mod socket;

pub use capture_stream::CaptureStream;
pub use class_field::ClassField;
pub use client::{Client, sockets};
pub use client_error::ClientError;
pub use corruption_model::CorruptionModel;
pub use health::DaemonHealth;
pub use message::{ErrorKind, ErrorReply, PROTOCOL_VERSION, REQUEST_BYTES_MAX, Request, Response};
pub use protect::{
    ClassError, ClassRule, ClassService, DEADLINES, INITIAL_LOSS_DEFAULT, ProtectConfig, ProtectMode,
    TARGET_LOSS_DEFAULT,
};
pub use report::LinkReport;
pub use side::Side;
pub use socket::{CONTROL_FOLDER, ControlSocket, Reservation, SocketError};
