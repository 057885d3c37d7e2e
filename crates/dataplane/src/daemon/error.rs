//! Why a daemon does not start, or must end.

use crate::config::HostPortError;
use crate::engine::StartError;
use linkmend_control::SocketError;
use linkmend_control::metrics::MetricsError;
use linkmend_diagnose::{Diagnose, Fault};

/// Why a daemon does not start, or must end.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// The control socket cannot be created, or another daemon has it.
    #[error(transparent)]
    Control(#[from] SocketError),
    /// Metrics cannot be served.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// A host port cannot be created.
    #[error(transparent)]
    HostPort(#[from] HostPortError),
    /// A link cannot be started.
    #[error("cannot start link {link}")]
    Link {
        /// Name of the link in the configuration.
        link: String,
        /// What prevents it from starting.
        source: StartError,
    },
    /// No link is left that could run.
    #[error("no link is left: {}", .links.iter().map(|(link, why)| format!("link {link}: {why}")).collect::<Vec<_>>().join("; "))]
    NoLink {
        /// Their names, and what is missing.
        links: Vec<(String, String)>,
    },
}

impl DaemonError {
    /// The message and those of its causes, on one line.
    pub(super) fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        text
    }

    fn cause(&self) -> Option<&dyn Diagnose> {
        match self {
            DaemonError::Control(error) => Some(error),
            DaemonError::Metrics(error) => Some(error),
            DaemonError::HostPort(error) => Some(error),
            DaemonError::Link { source, .. } => Some(source),
            DaemonError::NoLink { .. } => None,
        }
    }
}

impl Diagnose for DaemonError {
    fn fault(&self) -> Fault {
        self.cause().map_or(Fault::Failure, |cause| cause.fault())
    }

    fn hint(&self) -> Option<String> {
        match self {
            DaemonError::NoLink { .. } => Some(
                "bring the interface back, then start again; `linkmend run --check` says what is missing"
                    .to_owned(),
            ),
            other => other.cause().and_then(|cause| cause.hint()),
        }
    }
}
