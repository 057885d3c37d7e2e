//! Why a laboratory could not be built, used or taken down.

use super::ip::IpError;
use super::marker::{MarkerError, PROCESSES_MAX};
use super::options::BadOption;
use crate::namespace::NamespaceError;
use crate::offload::OffloadError;
use linkmend_diagnose::Diagnose;

/// Why a laboratory could not be built, used or taken down.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// See [`BadOption`].
    #[error(transparent)]
    Option(#[from] BadOption),
    /// A namespace of the same name exists, and this program did not create it.
    #[error("network namespace `{name}` already exists and is not part of a lab, so it is left alone")]
    Foreign {
        /// Name of the namespace.
        name: String,
    },
    /// There is no record of such a laboratory.
    #[error("lab `{prefix}` is not running")]
    NotUp {
        /// Prefix of the laboratory.
        prefix: String,
    },
    /// The laboratory exists with other options, and programs run in it.
    #[error("lab `{prefix}` is in use: {program} (pid {pid}) runs in it")]
    InUse {
        /// Prefix of the laboratory.
        prefix: String,
        /// One of the running processes.
        pid: u32,
        program: String,
    },
    /// A kernel setting could not be written.
    #[error("cannot write `{value}` to /proc/sys/{key} in `{namespace}`: {source}")]
    Setting {
        /// Path below `/proc/sys`.
        key: String,
        /// The value to be written.
        value: String,
        /// The namespace in which it was to be written.
        namespace: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// A program could not be started inside.
    #[error("cannot start `{program}` in `{namespace}`: {source}")]
    Spawn {
        program: String,
        namespace: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// There are more processes than a laboratory keeps track of.
    #[error("lab `{prefix}` already runs {PROCESSES_MAX} processes")]
    TooManyProcesses {
        /// Prefix of the laboratory.
        prefix: String,
    },
    /// A process did not end.
    #[error("process {pid} ({program}) of lab `{prefix}` cannot be stopped{reason}")]
    StillRunning {
        /// Prefix of the laboratory.
        prefix: String,
        pid: u32,
        program: String,
        /// The kernel's reason, if there is one.
        reason: String,
    },
    /// A link was to be cut or mended where there is only one.
    #[error("lab `{prefix}` has only one link, but a cut requires two")]
    OneLink {
        /// Prefix of the laboratory.
        prefix: String,
    },
    /// A link could not be set up or down.
    #[error("cannot set `{interface}` in `{namespace}` {state}: {source}")]
    State {
        interface: &'static str,
        namespace: String,
        /// `up` or `down`.
        state: &'static str,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// See [`MarkerError`].
    #[error(transparent)]
    Marker(#[from] MarkerError),
    /// See [`IpError`].
    #[error(transparent)]
    Ip(#[from] IpError),
    /// See [`NamespaceError`].
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// See [`OffloadError`].
    #[error(transparent)]
    Offload(#[from] OffloadError),
}

impl Diagnose for LabError {
    fn hint(&self) -> Option<String> {
        match self {
            LabError::Foreign { name } => Some(format!(
                "choose another prefix, or remove it with `ip netns del {name}` if you know it is unused"
            )),
            LabError::NotUp { .. } => Some("start it with `linkmend lab up`".to_owned()),
            LabError::InUse { .. } => {
                Some("end it with `linkmend lab down`, or choose another prefix".to_owned())
            }
            LabError::OneLink { prefix } => {
                let again = if prefix == "lm" { String::new() } else { format!(" --prefix {prefix}") };
                Some(format!(
                    "take it down, then create one with two links: `linkmend lab up --backup{again}`"
                ))
            }
            LabError::TooManyProcesses { .. } => Some("end some of them first".to_owned()),
            LabError::StillRunning { .. } => Some("it may hang in the kernel".to_owned()),
            LabError::Option(error) => error.hint(),
            LabError::Marker(error) => error.hint(),
            LabError::Ip(error) => error.hint(),
            LabError::Namespace(error) => error.hint(),
            LabError::Setting { .. }
            | LabError::State { .. }
            | LabError::Spawn { .. }
            | LabError::Offload(_) => None,
        }
    }
}
