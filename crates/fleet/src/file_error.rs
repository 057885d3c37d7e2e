//! Why a file with one entry on each line was refused.

use linkmend_diagnose::{Diagnose, Fault};
use std::io::ErrorKind;

/// Why a file of loss events or links was refused.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file could not be read or written.
    #[error("{file}: {source}")]
    Io {
        /// Path of the file.
        file: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file does not have the expected form.
    #[error("{file}:{line}: {reason}")]
    Form {
        /// Path of the file.
        file: String,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with the line.
        reason: String,
    },
    /// The file says that it belongs to another network.
    #[error("{file} was made for another network: {network}")]
    OtherNetwork {
        /// Path of the file.
        file: String,
        /// The network that the file belongs to.
        network: String,
    },
    /// The file is Parquet, which is not read.
    #[error("{file} is Parquet, but traces are read as CSV")]
    Parquet {
        /// Path of the file.
        file: String,
    },
}

impl Diagnose for FileError {
    fn fault(&self) -> Fault {
        match self {
            FileError::Io { .. } => Fault::Failure,
            FileError::Form { .. } | FileError::OtherNetwork { .. } | FileError::Parquet { .. } => {
                Fault::Usage
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            FileError::OtherNetwork { .. } => {
                Some("omit --topology to use the trace's own network".to_owned())
            }
            FileError::Parquet { file } => Some(format!(
                "convert it: duckdb -c \"COPY (FROM '{file}') TO 'trace.csv'\", or with pandas: read_parquet('{file}').to_csv('trace.csv', \
                 index=False)"
            )),
            FileError::Io { .. } | FileError::Form { .. } => None,
        }
    }
}

impl FileError {
    /// The error of a line that could not be read: either it is not text, or reading the file failed.
    pub(crate) fn line(source: std::io::Error, file: &str, line: usize) -> FileError {
        let file = file.to_owned();
        match source.kind() {
            ErrorKind::InvalidData => FileError::Form { file, line, reason: "not UTF-8 text".to_owned() },
            _ => FileError::Io { file, source },
        }
    }
}
