//! Link parameters that cannot be used.

use crate::link::PortError;
pub use linkmend_diagnose::ParameterError;
use linkmend_protocol::ConfigError;
use linkmend_quantity::{ByteSize, Span};
use std::fmt::Display;
use std::time::Duration;

/// `Ok` if `holds`, otherwise the parameter, its value and what is required of it.
pub(crate) fn check(
    holds: bool,
    parameter: &'static str,
    value: impl Display,
    requirement: &str,
) -> Result<(), ParameterError> {
    if holds { Ok(()) } else { Err(ParameterError::new(parameter, value, requirement)) }
}

/// The protocol's error, with the names and units used on the command line and in experiment files.
pub(crate) fn of_protocol(error: ConfigError) -> ParameterError {
    let parameter = match error.parameter {
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

impl From<PortError> for ParameterError {
    fn from(error: PortError) -> Self {
        match error {
            PortError::Protocol(error) => of_protocol(error),
            PortError::Corruption(error) => error,
        }
    }
}
