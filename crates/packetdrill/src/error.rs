//! Errors of reading.

use linkmend_diagnose::{Diagnose, Fault};
use std::fmt;
use thiserror::Error;

/// A place in a text; both numbers begin with 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A text that is no script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{at}: {message}")]
pub struct ParseError {
    pub at: Position,
    pub message: String,
}

impl ParseError {
    /// An error at a place.
    pub fn new(at: Position, message: impl Into<String>) -> ParseError {
        ParseError { at, message: message.into() }
    }
}

/// A feature that the simulated host does not have.
pub type Lacking = String;

impl Diagnose for ParseError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        Some("packetdrill's documentation (\"Syntax\") describes the language".to_owned())
    }
}
