//! What can be wrong with an experiment file, and where.

use linkmend_diagnose::{Diagnose, Fault, LineSuffix, line_of};
use std::io;

/// Why an experiment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A folder without any experiment file.
    #[error("{path} has no experiment file (*.toml)")]
    NoExperiment { path: String },
    /// Two files describe experiments of the same name.
    #[error("{path}: there is another experiment `{id}`, in {other}")]
    Twice { path: String, id: String, other: String },
    /// Not TOML, an unknown key, or a value that cannot be.
    #[error("{path}{}: {message}", LineSuffix(*line))]
    Content {
        path: String,
        /// Where, counted from 1.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
}

impl Diagnose for ExperimentError {
    fn fault(&self) -> Fault {
        match self {
            ExperimentError::Unreadable { .. } => Fault::Failure,
            _ => Fault::Usage,
        }
    }
}

/// A file's name and text, for error messages that name a line.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The file's name, as messages use it.
    pub path: &'a str,
    /// The file's content.
    pub text: &'a str,
}

impl Source<'_> {
    /// An error at this offset.
    pub fn error(self, offset: Option<usize>, message: impl Into<String>) -> ExperimentError {
        let line = offset.map(|offset| line_of(self.text, offset));
        ExperimentError::Content { path: self.path.to_owned(), line, message: message.into() }
    }

    /// The error of a text that is not TOML, or not of the right form.
    pub fn syntax(self, error: &toml::de::Error) -> ExperimentError {
        let (span, message) = (error.span(), error.message().trim_end().replace('\n', ", "));
        let key = span.clone().and_then(|span| self.text.get(span));
        let message = match key {
            Some(key) if message == "duplicate key" => {
                format!("`{key}` is given twice; leave one of them out, or write a list to sweep over both")
            }
            _ => message,
        };
        self.error(span.map(|span| span.start), message)
    }
}
