//! Runs the `ip` and `tc` programs of iproute2.

use linkmend_diagnose::Diagnose;
use std::io;
use std::process::{Command, Stdio};

use crate::namespace::{Namespace, NamespaceError};

/// Why an iproute2 command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum IpError {
    /// The program is not installed.
    #[error("`{program}` was not found")]
    Missing {
        /// `ip` or `tc`.
        program: &'static str,
    },
    /// The namespace in which it was to run could not be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The program could not be started.
    #[error("cannot start `{command}`: {source}")]
    Start {
        /// The command line.
        command: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The program failed.
    #[error("`{command}` failed: {message}")]
    Failed {
        /// The command line.
        command: String,
        /// Its standard error, trimmed.
        message: String,
    },
}

impl Diagnose for IpError {
    fn hint(&self) -> Option<String> {
        match self {
            IpError::Missing { .. } => Some("install iproute2, e.g. `apt install iproute2`".to_owned()),
            IpError::Namespace(error) => error.hint(),
            IpError::Start { .. } | IpError::Failed { .. } => None,
        }
    }
}

/// Runs `ip` with the words of `arguments`, in the namespace of the caller.
pub(crate) fn ip(arguments: &str) -> Result<String, IpError> {
    run("ip", None, arguments)
}

/// Runs `ip` with the words of `arguments` inside `namespace`.
pub(crate) fn ip_in(namespace: &Namespace, arguments: &str) -> Result<String, IpError> {
    run("ip", Some(namespace), arguments)
}

/// Runs `tc` with the words of `arguments` inside `namespace`.
pub(crate) fn tc_in(namespace: &Namespace, arguments: &str) -> Result<String, IpError> {
    run("tc", Some(namespace), arguments)
}

fn run(program: &'static str, inside: Option<&Namespace>, arguments: &str) -> Result<String, IpError> {
    let place = inside.map(|namespace| format!("[{}] ", namespace.name())).unwrap_or_default();
    let shown = || format!("{place}{program} {arguments}");
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).stdin(Stdio::null()).env("LC_ALL", "C");
    let output = match inside {
        Some(namespace) => namespace.run(|| command.output())?,
        None => command.output(),
    };
    let output = output.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => IpError::Missing { program },
        _ => IpError::Start { command: shown(), source },
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let message = if message.is_empty() { output.status.to_string() } else { message };
    Err(IpError::Failed { command: shown(), message })
}
