//! Where counters come from.

mod complaints;
mod gnmi;
mod linkmend;
mod linux;
mod names;
mod prometheus;
mod sonic;

pub use gnmi::{GnmiDevice, GnmiSettings, GnmiSource};
pub use linkmend::LinkmendSource;
pub(crate) use linkmend::backup_port;
pub use linux::{CounterNames, DriverNames, LinuxSource};
pub use prometheus::{PrometheusSettings, PrometheusSource, QuerySet};
pub use sonic::{SonicSettings, SonicSource, SonicSources};

use crate::counters::Reading;
use crate::optics::OpticsReading;
use linkmend_diagnose::Diagnose;

/// Ports of one kind that are named in the log.
const NAMED_MOST: usize = 4;

/// Polls the counters of ports.
pub trait Source: Send {
    /// What is polled and with which counters, for the log.
    fn describe(&self) -> String;

    /// What all ports have counted up to now, by the names of the ports.
    ///
    /// # Errors
    /// If nothing could be polled. Ports that could not be read are left out otherwise.
    fn poll(&mut self) -> Result<Vec<(String, Reading)>, SourceError>;

    /// What the latest poll could not read, although there were other readings.
    fn troubles(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ports of which the latest polls have learned the alias by which neighbours know them, or that it is another one now.
    fn take_aliases(&mut self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What transceivers of ports have measured since the last call; `None` for a port that has none.
    fn take_optics(&mut self) -> Vec<(String, Option<OpticsReading>)> {
        Vec::new()
    }
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
