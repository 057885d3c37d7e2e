//! A value that cannot be used.

use crate::{Diagnose, Fault};
use std::error::Error;
use std::fmt::{self, Display};

/// A parameter whose value cannot be used: its name, the value as it was given, and what is required of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterError {
    /// Its name, as the command line and files spell it.
    pub parameter: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// What is required of it: `must be from 1 to 16`.
    pub requirement: String,
}

impl ParameterError {
    /// An error about this parameter, value and requirement.
    pub fn new(
        parameter: &'static str,
        value: impl Display,
        requirement: impl Into<String>,
    ) -> ParameterError {
        ParameterError { parameter, value: value.to_string(), requirement: requirement.into() }
    }
}

impl Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.parameter, self.value, self.requirement)
    }
}

impl Error for ParameterError {}

impl Diagnose for ParameterError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}
