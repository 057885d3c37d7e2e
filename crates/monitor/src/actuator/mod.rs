//! What carries out requests at a port of this machine.

mod better_link;
mod control_socket;
mod dry_run;
mod hook;
mod sonic_database;
mod sonic_llr;
mod sonic_ports;
mod stop;
mod worker;

pub use control_socket::ControlSocket;
pub use dry_run::DryRun;
pub use hook::Hook;
pub(crate) use hook::{fault, run};
pub(crate) use sonic_llr::PORTS_DEFAULT as LLR_PORTS_DEFAULT;
pub use sonic_llr::{LlrProfile, SonicLlr, SonicLlrSettings};
pub use sonic_ports::{PortsDone, SonicPorts, SonicPortsSettings};
pub use stop::Stop;
pub use worker::{Outcome, Worker};

use crate::exchange::{Effect, Request};
use serde::{Deserialize, Serialize};

/// Which end of a link's direction a port is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    Sends,
    Receives,
}

/// Carries out requests. It may take seconds, so a [`Worker`] calls it from a thread of its own.
pub trait Actuator: Send {
    /// What it is, for the log.
    fn describe(&self) -> String;

    /// Whether the port that receives has to do something, too. It is asked for that as the one that sends is.
    fn acts_at_both_ends(&self) -> bool {
        false
    }

    /// Carries out a request at a port, which is one end of the direction that the request is about. `again` says that it was done before, as far as the bus knows: then
    /// only what is missing is done.
    ///
    /// # Errors
    /// What went wrong, for people.
    fn apply(&mut self, port: &str, end: End, request: &Request, again: bool) -> Result<Effect, String>;

    /// How a port that was asked for protection is now; `None` if that can never be seen.
    ///
    /// # Errors
    /// Why it cannot be seen now, for people.
    fn observe(&mut self, port: &str) -> Result<Option<Effect>, String>;
}
