//! Requests to a running link end, and its answers.

use crate::capture::{CAPTURES_MAX, FilterError};
use crate::loss_script::LossScript;
use crate::settings::ProtectionSettings;
use linkmend_control::report::Path;
use linkmend_control::{CorruptionModel, LinkReport};
use linkmend_diagnose::{Diagnose, ParameterError};
use linkmend_protocol::Format;

/// A request to a running link end.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Protect the sending direction, or change how.
    Protect(ProtectionSettings),
    /// End the protection of the sending direction.
    Unprotect,
    /// Corrupt frames that arrive on the link port; `None` stops it.
    Corrupt(Option<CorruptionModel>),
    /// Corrupt frames by a script instead, until the next request of either kind.
    CorruptByScript(LossScript),
    /// Corrupt frames that arrive on one of two links; `None` stops it.
    CorruptPath(Path, Option<CorruptionModel>),
    /// Use one of two links while both are up, and at once if the peer is heard on it.
    Prefer(Path),
    /// Reset the recorded extremes of the buffers' fill levels.
    ResetExtremes,
    /// Report the state.
    Report,
}

/// Why a request was refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CommandError {
    /// Corruption is for tests, and must be allowed when the daemon starts.
    #[error("link {link}: corruption is not allowed here")]
    CorruptionNotAllowed {
        /// Name of the link.
        link: String,
    },
    /// Two modes at once need the transparent format.
    #[error("link {link}: the {format} format carries one mode at a time")]
    OneMode {
        /// Name of the link.
        link: String,
        format: Format,
    },
    /// Retransmission is always in time on a cable.
    #[error("link {link}: classes with a deadline need a link over UDP")]
    DeadlineWithoutUdp {
        /// Name of the link.
        link: String,
    },
    /// There is only one link.
    #[error("link {link}: it has no second link")]
    NoBackup {
        /// Name of the link.
        link: String,
    },
    /// The corruption model has an impossible value.
    #[error("link {link}: corruption")]
    Corruption {
        /// Name of the link.
        link: String,
        /// Which value is wrong.
        #[source]
        error: ParameterError,
    },
    /// The filter of a capture cannot be parsed.
    #[error("link {link}: {error}")]
    CaptureFilter {
        /// Name of the link.
        link: String,
        /// Which word is not understood.
        error: FilterError,
    },
    /// Too many captures at once: more would slow the loop down.
    #[error("link {link}: {CAPTURES_MAX} captures are already running")]
    TooManyCaptures {
        /// Name of the link.
        link: String,
    },
    /// The loop did not answer in time. The request may still be carried out.
    #[error("link {link}: its loop does not respond; the request may still be carried out")]
    NoAnswer {
        /// Name of the link.
        link: String,
    },
    /// An interface of the link is gone. The link end starts again when the interface is back.
    #[error("link {link}: {why}")]
    Gone {
        /// Name of the link.
        link: String,
        /// Which interface it is, and what it needs.
        why: String,
    },
    /// The link end has stopped.
    #[error("link {link}: its loop has ended")]
    Stopped {
        /// Name of the link.
        link: String,
    },
}

impl Diagnose for CommandError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            CommandError::CorruptionNotAllowed { .. } => "start the daemon with --allow-corruption",
            CommandError::OneMode { .. } => "remove the classes or use the transparent format",
            CommandError::DeadlineWithoutUdp { .. } => {
                "give the class a mode; on a cable, retransmissions take microseconds"
            }
            CommandError::TooManyCaptures { .. } => "end one of them",
            CommandError::NoBackup { .. } => "start the daemon with --backup IF",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// The answer to every request is the state after it.
pub type CommandResult = Result<Box<LinkReport>, CommandError>;
