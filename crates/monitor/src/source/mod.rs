//! Where counters come from.

mod linkmend;
mod linux;

pub use linkmend::LinkmendSource;
pub use linux::{CounterNames, DriverNames, LinuxSource};

use crate::counters::Reading;
use linkmend_diagnose::Diagnose;

/// Polls the counters of ports.
pub trait Source: Send {
    /// What is polled and with which counters, for the log.
    fn describe(&self) -> String;

    /// What all ports have counted up to now, by the names of the ports.
    ///
    /// # Errors
    /// If nothing could be polled. Ports that could not be read are left out otherwise.
    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError>;
}

/// Why nothing could be polled. The next poll tries again.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct SourceError {
    /// What was tried, and what came of it.
    pub what: String,
    /// What a person can do about it.
    pub hint: Option<String>,
}

impl Diagnose for SourceError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
