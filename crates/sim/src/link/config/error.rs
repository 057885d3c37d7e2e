//! A parameter that cannot be used.

use crate::corruption;
use crate::link::PortError;
use linkmend_diagnose::{Diagnose, Fault};
use linkmend_protocol::ConfigError;
use linkmend_quantity::{ByteSize, Span};
use std::fmt::Display;
use std::time::Duration;

/// A parameter that cannot be used: which, its value, what is required, and what would do.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{parameter} = {value}: {requirement}")]
pub struct ParameterError {
    /// Its name, as the command line and experiment files spell it.
    pub parameter: &'static str,
    pub value: String,
    /// What is required of it.
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

impl Diagnose for ParameterError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

/// `Ok` if `holds`, otherwise the parameter, its value and what is required of it.
pub(crate) fn check(
    holds: bool,
    parameter: &'static str,
    value: impl Display,
    requirement: &str,
) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError::new(parameter, value, requirement)) }
}

impl From<ConfigError> for ParameterError {
    fn from(error: ConfigError) -> Self {
        let parameter = match error.field {
            "window_frames" => "window",
            "recovery_timeout" => "recovery-timeout",
            "pause_bytes" => "pause-threshold",
            "resume_bytes" => "resume-threshold",
            "rx_buffer_bytes" | "window_bytes" => "recirculation-buffer",
            "max_rounds" => "rounds",
            other => other,
        };
        let value = match parameter {
            "pause-threshold" | "resume-threshold" | "recirculation-buffer" => {
                ByteSize(error.value as u64).to_string()
            }
            // The link ends' clock ticks picoseconds.
            "recovery-timeout" => Span(Duration::from_nanos((error.value / 1e3) as u64)).to_string(),
            _ => error.value.to_string(),
        };
        ParameterError { parameter, value, requirement: error.requirement.to_owned() }
    }
}

impl From<corruption::ParameterError> for ParameterError {
    fn from(error: corruption::ParameterError) -> Self {
        ParameterError { parameter: error.parameter, value: error.value, requirement: error.requirement }
    }
}

impl From<PortError> for ParameterError {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Protocol(error) => error.into(),
            PortError::Corruption(error) => error.into(),
        }
    }
}
