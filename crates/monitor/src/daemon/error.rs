//! Why the daemon cannot start.

use crate::bus::BusError;
use crate::config::ConfigError;
use crate::webhook::WebhookError;
use linkmend_control::SocketError;
use linkmend_control::metrics::MetricsError;
use linkmend_diagnose::{Diagnose, ParameterError};
use std::io;
use std::path::PathBuf;

/// See the module's documentation.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// See [`SocketError`].
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// A value cannot be used.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// See [`BusError`].
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The kernel cannot be asked for counters.
    #[error("cannot ask the kernel for the counters of interfaces")]
    Counters(#[source] io::Error),
    /// The audit log cannot be written.
    #[error("cannot write the audit log")]
    Audit(#[source] io::Error),
    /// See [`WebhookError`].
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// See [`MetricsError`].
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The network that is to be planned for cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It cannot be known which links were disabled before.
    #[error("cannot use {}: {problem}", path.display())]
    PlanState { path: PathBuf, problem: String },
    /// There can be no more threads.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
}

impl Diagnose for StartError {
    fn hint(&self) -> Option<String> {
        match self {
            StartError::Socket(error) => error.hint(),
            StartError::Bus(error) => error.hint(),
            StartError::Parameter(error) => error.hint(),
            StartError::Config(error) => error.hint(),
            StartError::Webhook(error) => error.hint(),
            StartError::PlanState { .. } => {
                Some("move the file away; disabled links then count as in operation".to_owned())
            }
            _ => None,
        }
    }
}
