//! Why a file is not read.

use crate::error::{GenerateError, ProgramError};
use linkmend_diagnose::{Diagnose, Fault, ParameterError, excerpt};
use std::fmt;

/// The longest excerpt of a file in a message.
const MAX_EXCERPT: usize = 40;

/// What is wrong with a file, and where. The message does not name the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// The line, from 1, if it concerns one.
    pub line: Option<u32>,
    /// What is wrong.
    pub fault: InputFault,
}

/// What can be wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputFault {
    /// Something else than the format demands here.
    #[error("expected {expected}, not `{found}`")]
    Form {
        /// What the format demands.
        expected: String,
        /// What is there, shortened.
        found: String,
    },
    /// A value that is out of its range.
    #[error(transparent)]
    Value(#[from] ParameterError),
    /// Something that may be there only once.
    #[error("{what} is given a second time")]
    Repeated { what: String },
    /// Something that the format demands.
    #[error("{what} is missing")]
    Missing { what: String },
    /// More or fewer of something than the file itself says.
    #[error("the file says that it has {said} {what}, but it has {found}")]
    Count { what: &'static str, said: u64, found: u64 },
    /// Something that can never begin, or never end.
    #[error("{what}")]
    NeverHappens { what: String },
    /// Something that the format allows but that no program can express.
    #[error("{what} cannot be simulated")]
    Unsupported {
        what: String,
        /// What to do about it.
        instead: &'static str,
    },
    /// An operation or a size that no program can have.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A collective operation that cannot be generated.
    #[error(transparent)]
    Generate(#[from] GenerateError),
}

impl InputFault {
    /// Something else than the format demands.
    pub(crate) fn form(expected: impl Into<String>, found: &str) -> InputFault {
        InputFault::Form { expected: expected.into(), found: excerpt(found, MAX_EXCERPT) }
    }

    /// The error in this line.
    pub(crate) fn at(self, line: u32) -> InputError {
        InputError { line: Some(line), fault: self }
    }

    /// The error of the whole file.
    pub(crate) fn anywhere(self) -> InputError {
        InputError { line: None, fault: self }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        self.fault.fmt(f)
    }
}

impl std::error::Error for InputError {}

impl Diagnose for InputError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        match &self.fault {
            InputFault::Unsupported { instead, .. } => Some((*instead).to_owned()),
            InputFault::Program(error) => error.hint(),
            InputFault::Generate(error) => error.hint(),
            InputFault::Value(error) => error.hint(),
            InputFault::Count { .. } => Some("the file may be cut short; write it again".to_owned()),
            InputFault::Form { .. }
            | InputFault::Repeated { .. }
            | InputFault::Missing { .. }
            | InputFault::NeverHappens { .. } => {
                Some("docs/collectives.md describes what is read of this format".to_owned())
            }
        }
    }
}
