//! Parameters that are out of their range.

use linkmend_diagnose::{Diagnose, Fault};
use std::error::Error;
use std::fmt;

/// A parameter that is out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigError {
    /// Name of the field of [`Config`](super::Config).
    pub parameter: &'static str,
    pub value: u64,
    /// The smallest value that can be used.
    pub min: u64,
    /// The largest value that can be used.
    pub max: u64,
}

impl ConfigError {
    /// Rejects a value outside `range`, which includes both ends.
    pub(crate) fn demand(parameter: &'static str, value: u64, range: (u64, u64)) -> Result<(), ConfigError> {
        let (min, max) = range;
        if (min..=max).contains(&value) { Ok(()) } else { Err(ConfigError { parameter, value, min, max }) }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConfigError { parameter, value, min, max } = self;
        write!(f, "{parameter} = {value}: must be {min} to {max}")
    }
}

impl Error for ConfigError {}

impl Diagnose for ConfigError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        let hint = match self.parameter {
            "outstanding_frames_max" => "at most half of the sequence numbers may be outstanding",
            "replay_count_max" => "255 means no limit",
            "pcs_lost_timeout_ns" => "0 flushes as soon as the PCS is lost",
            "sequence_space" => "it is a power of two; the wire format has 20 bits",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}
