//! A value that cannot be used.

use crate::{Diagnose, Fault};
use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display};

/// A parameter whose value cannot be used: its name, the value as it was given, and what is required of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterError {
    /// Its name, as the command line and files spell it.
    pub parameter: Cow<'static, str>,
    /// Its value, with its unit.
    pub value: String,
    /// What is required of it: `must be from 1 to 16`.
    pub requirement: Cow<'static, str>,
}

impl ParameterError {
    /// An error about this parameter, value and requirement.
    pub fn new(
        parameter: impl Into<Cow<'static, str>>,
        value: impl Display,
        requirement: impl Into<Cow<'static, str>>,
    ) -> ParameterError {
        ParameterError {
            parameter: parameter.into(),
            value: value.to_string(),
            requirement: requirement.into(),
        }
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
