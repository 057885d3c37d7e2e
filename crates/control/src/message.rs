//! Requests and answers on the control socket.

use crate::capture::CaptureOptions;
use crate::corruption_model::CorruptionModel;
use crate::protect::ProtectConfig;
use crate::report::{LinkReport, Path};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;

/// Increases when a request or an answer changes its meaning.
pub const PROTOCOL_VERSION: u32 = 1;
/// The longest request, including its newline.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// A request to a daemon: `{"request":"status","link":"uplink"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Which daemon this is.
    Version {},
    /// The state of one link, or of all.
    Status {
        /// Name of the link; absent for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    },
    /// Protect the sending direction, or change its protection.
    Protect {
        /// Name of the link.
        link: String,
        /// The protection, with the same keys as in a configuration file.
        #[serde(default)]
        protect: ProtectConfig,
    },
    /// End the protection of the sending direction.
    Unprotect {
        /// Name of the link.
        link: String,
    },
    /// Drop frames that arrive on the link port, or stop doing so.
    Corrupt {
        /// Name of the link.
        link: String,
        /// Which frames to drop; absent for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corruption: Option<CorruptionModel>,
        /// The one of two links whose frames to drop; absent for all that there are.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on: Option<Path>,
    },
    /// Use one of two links while both are up, and at once if the peer is heard on it.
    Prefer {
        /// Name of the link end.
        link: String,
        path: Path,
    },
    /// Send what passes through a link's ports from now on. Until it is closed, the connection then carries
    /// [records](crate::capture::record) and no more requests.
    Capture {
        /// Name of the link.
        link: String,
        options: CaptureOptions,
    },
    /// Reset the recorded extremes of the buffers' fill levels.
    ResetExtremes {
        /// Name of the link; absent for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    },
}

/// A daemon's answer: `{"response":"links","links":[...]}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    /// Answers [`Request::Version`].
    Version {
        /// Version of the program.
        version: String,
        /// [`PROTOCOL_VERSION`].
        protocol: u32,
        /// Its process id.
        pid: u32,
        /// Names of its links.
        links: Vec<String>,
    },
    /// Answers [`Request::Capture`]: the capture has begun.
    Capturing {},
    /// Answers every other request with the state of the links concerned afterwards.
    Links {
        /// One report for each link.
        links: Vec<LinkReport>,
    },
    /// The request was refused.
    Error(ErrorReply),
}

impl Response {
    /// Writes it as one line.
    ///
    /// # Errors
    /// What the kernel says of the connection.
    pub fn write(&self, stream: &mut UnixStream) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        stream.write_all(&line)
    }
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ErrorReply {
    pub kind: ErrorKind,
    pub message: String,
    /// What a person can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// Kinds of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not a request.
    Malformed,
    /// The request is longer than [`REQUEST_BYTES_MAX`].
    TooLong,
    /// There are too many clients.
    Busy,
    /// The request was begun, but not completed in time.
    TimedOut,
    /// This daemon has no link of this name.
    UnknownLink,
    /// A value is impossible.
    Invalid,
    /// The daemon was started without permission for this request.
    NotAllowed,
    /// The link's loop has ended.
    Stopped,
}

impl ErrorReply {
    /// A refusal without a hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> ErrorReply {
        ErrorReply { kind, message: message.into(), hint: None }
    }

    /// The same with a hint.
    pub fn with_hint(self, hint: impl Into<String>) -> ErrorReply {
        ErrorReply { hint: Some(hint.into()), ..self }
    }
}
