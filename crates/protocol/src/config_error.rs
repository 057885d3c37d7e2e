//! Parameters that are out of range.

use core::fmt;

/// A parameter that is out of range: its name, its value, and the requirement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfigError {
    /// Name of the field of [`Config`](crate::Config).
    pub parameter: &'static str,
    /// Its value (times in ns, sizes in bytes).
    pub value: f64,
    pub requirement: &'static str,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.parameter, self.value, self.requirement)
    }
}

impl core::error::Error for ConfigError {}
