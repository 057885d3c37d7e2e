//! Why a configuration cannot be used.

use crate::CablingError;
use linkmend_diagnose::{Diagnose, Fault, ParameterError, line_of};
use linkmend_topology::file::TopologyFileError;
use linkmend_topology::spec::SpecError;
use std::io;
use std::path::{Path, PathBuf};

/// See the module's documentation.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The system refused.
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// It is longer than any configuration.
    #[error("{}: it has {bytes} bytes, but at most {limit} are read", path.display())]
    TooLarge { path: PathBuf, bytes: u64, limit: u64 },
    /// It is not TOML, or has a key or a value that there is not.
    #[error("{}{}: {message}", path.display(), line.map_or(String::new(), |line| format!(", line {line}")))]
    Syntax {
        path: PathBuf,
        /// From 1.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// A value cannot be used.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Neighbours are not described in lldpd's form, or a network in none that is known.
    #[error(transparent)]
    Network(#[from] TopologyFileError),
    /// A line describes no network.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Ports contradict each other.
    #[error(transparent)]
    Cabling(#[from] CablingError),
}

impl ConfigError {
    pub(super) fn syntax(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
        let line = error.span().map(|span| line_of(text, span.start));
        let message = error.message().trim().replace('\n', "; ");
        ConfigError::Syntax { path: path.to_owned(), line, message }
    }
}

impl Diagnose for ConfigError {
    fn fault(&self) -> Fault {
        match self {
            ConfigError::Unreadable { .. } => Fault::Failure,
            _ => Fault::Usage,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Cabling(error) => error.hint(),
            ConfigError::Parameter(error) => error.hint(),
            ConfigError::Network(error) => error.hint(),
            ConfigError::Spec(error) => error.hint(),
            _ => None,
        }
    }
}
