//! Where agents put what they ask for and what they have done.

mod embedded;
mod redis;
mod rehearsed;

pub use embedded::EmbeddedBus;
pub use redis::{PREFIX_DEFAULT, RedisBus, RedisSettings};
pub use rehearsed::RehearsedBus;

use crate::PortName;
use crate::exchange::DirectionState;
use crate::findings::Findings;
use linkmend_diagnose::Diagnose;

/// What a bus says.
#[derive(Debug, Clone, PartialEq)]
pub enum BusEvent {
    /// The state of a direction, as it is now.
    State(PortName, DirectionState),
    /// The same, where nobody has confirmed to this run of the agent that the request still stands: somebody may have put it there
    /// again.
    Recorded(PortName, DirectionState),
    /// Every direction that the bus knows is named from here on, once more.
    Rereading,
    /// Every direction that the bus knows has been named.
    Synchronised,
    /// What an agent finds out about its ports.
    Findings(String, Findings),
}

/// Holds the state of all directions, and tells every agent about changes.
pub trait Bus: Send {
    /// What it is, for the log.
    fn describe(&self) -> String;

    /// What speaks against relying on it, for people.
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Writes what is not older than what the bus has of this direction.
    ///
    /// # Errors
    /// If it cannot be reached; the next [`poll`](Self::poll) connects anew.
    fn put(&mut self, port: &PortName, state: DirectionState) -> Result<(), BusError>;

    /// Sees to it that what was put is not forgotten. Called after all that belongs together was put.
    ///
    /// # Errors
    /// If that cannot be promised; the next call tries again.
    fn flush(&mut self) -> Result<(), BusError> {
        Ok(())
    }

    /// Says what this agent finds out about its ports, to whoever plans. A bus without others has nobody to hear it.
    ///
    /// # Errors
    /// If it cannot be reached; the next [`poll`](Self::poll) connects anew.
    fn say(&mut self, findings: &Findings) -> Result<(), BusError> {
        let _ = findings;
        Ok(())
    }

    /// What has changed since the last call, without waiting. After a new connection that is everything, and then
    /// [`BusEvent::Synchronised`].
    ///
    /// # Errors
    /// If it cannot be reached; the next call connects anew.
    fn poll(&mut self) -> Result<Vec<BusEvent>, BusError>;
}

/// Why a bus cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub struct BusError {
    /// What was tried, and what came of it.
    pub what: String,
    /// What a person can do about it.
    pub hint: Option<String>,
}

impl Diagnose for BusError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}
