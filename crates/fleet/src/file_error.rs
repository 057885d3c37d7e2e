//! Why a file with one thing a line was refused.

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
}
