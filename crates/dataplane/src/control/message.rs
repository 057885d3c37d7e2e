//! Requests and answers on the control socket.

use crate::capture::CaptureOptions;
use crate::config::ProtectConfig;
use crate::corruption::CorruptionModel;
use crate::report::LinkReport;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;

/// Changes when a request or an answer changes its meaning.
pub const PROTOCOL_VERSION: u32 = 1;
/// Longest request, its newline included.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// What a daemon can be asked: `{"request":"status","link":"uplink"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Which daemon this is.
    Version {},
    /// How one link stands, or all.
    Status {
        /// Name of the link; absent for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    },
    /// Protect the sending direction, or change how.
    Protect {
        /// Name of the link.
        link: String,
        /// How; the same keys as in a configuration file.
        #[serde(default)]
        protect: ProtectConfig,
    },
    /// End the protection of the sending direction.
    Unprotect {
        /// Name of the link.
        link: String,
    },
    /// Drop frames that arrive on the link port, or stop that.
    Corrupt {
        /// Name of the link.
        link: String,
        /// Which frames; absent for none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        corruption: Option<CorruptionModel>,
    },
    /// Send what passes through a link's ports from now on. The connection then carries
    /// [records](crate::capture::record) until it is closed, and no more requests.
    Capture {
        /// Name of the link.
        link: String,
        options: CaptureOptions,
    },
    /// Begin a new observation of the buffers' least and most.
    ResetExtremes {
        /// Name of the link; absent for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        link: Option<String>,
    },
}

/// What it answers: `{"response":"links","links":[...]}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "response", rename_all = "kebab-case")]
pub enum Response {
    /// To [`Request::Version`].
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
    /// To [`Request::Capture`]: it has begun.
    Capturing {},
    /// To every other request: how the links concerned stand after it.
    Links {
        /// One report for each.
        links: Vec<LinkReport>,
    },
    /// The request was refused.
    Error(ErrorReply),
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
    /// Not a request.
    Malformed,
    /// Longer than [`REQUEST_BYTES_MAX`].
    TooLong,
    /// Too many clients.
    Busy,
    /// Begun, but not ended in time.
    TimedOut,
    /// No link of this name here.
    UnknownLink,
    /// A value that cannot be.
    Invalid,
    /// The daemon was not started for that.
    NotAllowed,
    /// The link's loop has ended.
    Stopped,
}

impl ErrorReply {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> ErrorReply {
        ErrorReply { kind, message: message.into(), hint: None }
    }

    pub(super) fn with_hint(self, hint: impl Into<String>) -> ErrorReply {
        ErrorReply { hint: Some(hint.into()), ..self }
    }
}

/// Writes a response as one line.
pub(super) fn write(stream: &mut UnixStream, response: &Response) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    stream.write_all(&line)
}
