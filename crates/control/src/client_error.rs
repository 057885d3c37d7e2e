//! Why a daemon did not do what a client asked.

use crate::message::ErrorReply;
use linkmend_diagnose::Diagnose;
use std::io;
use std::path::PathBuf;

/// Why a daemon did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// Nothing listens there.
    #[error("no daemon is responding at {}", path.display())]
    Connect {
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The connection broke, or no answer came in time.
    #[error("the daemon at {} did not respond", path.display())]
    Exchange {
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The answer makes no sense: it comes from another program, or another version.
    #[error("the daemon at {} sent a malformed reply", path.display())]
    Nonsense {
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The answer does not fit the request.
    #[error("the daemon at {} replied to a different request", path.display())]
    Unexpected { path: PathBuf },
    /// The daemon refused.
    #[error(transparent)]
    Refused(#[from] ErrorReply),
    /// No daemon knows the link.
    #[error("no running daemon serves link `{link}`")]
    UnknownLink {
        /// Name of the link.
        link: String,
        /// The links that exist.
        known: Vec<String>,
    },
}

impl Diagnose for ClientError {
    fn hint(&self) -> Option<String> {
        match self {
            ClientError::Connect { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("the control socket belongs to the daemon's user; run as root".to_owned())
            }
            ClientError::Connect { .. } => {
                Some("start one with `linkmend run`, or give its socket with --control".to_owned())
            }
            ClientError::Nonsense { .. } | ClientError::Unexpected { .. } => {
                Some("does the daemon have a different version? restart it".to_owned())
            }
            ClientError::Refused(reply) => reply.hint.clone(),
            ClientError::UnknownLink { known, .. } if known.is_empty() => {
                Some("start one with `linkmend run`, or give its socket with --control".to_owned())
            }
            ClientError::UnknownLink { known, .. } => Some(format!("there is {}", known.join(", "))),
            ClientError::Exchange { .. } => None,
        }
    }
}
