//! Why a file with one thing a line was refused.

use std::io::ErrorKind;

/// Why a file of loss events or links was refused.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read or written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not of the expected form.
    #[error("{file}:{line}: {reason}")]
    Form {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The file says that it is for another network.
    #[error("{file} was made for another network: {network}")]
    OtherNetwork {
        /// The file.
        file: String,
        /// The network that it is for.
        network: String,
    },
}

impl FileError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            FileError::OtherNetwork { .. } => Some("leave --topology out to take the trace's own".to_owned()),
            FileError::Io { .. } | FileError::Form { .. } => None,
        }
    }

    /// What a line could not be read for: either there is no text, or the file failed.
    pub(crate) fn line(source: std::io::Error, file: &str, line: usize) -> FileError {
        let file = file.to_owned();
        match source.kind() {
            ErrorKind::InvalidData => FileError::Form { file, line, reason: "not UTF-8 text".to_owned() },
            _ => FileError::Io { file, source },
        }
    }
}
