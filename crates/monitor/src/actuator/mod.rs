//! What carries out requests at a port of this machine.

mod better_link;
mod control_socket;
mod dry_run;
mod hook;
mod stop;
mod worker;

pub use control_socket::ControlSocket;
pub use dry_run::DryRun;
pub use hook::Hook;
pub(crate) use hook::{fault, run};
pub use stop::Stop;
pub use worker::{Outcome, Worker};

use crate::exchange::{Effect, Request};

/// Carries out requests. It may take seconds, so a [`Worker`] calls it from a thread of its own.
pub trait Actuator: Send {
    /// What it is, for the log.
    fn describe(&self) -> String;

    /// Carries out a request at a port that sends. `again` says that it was done before, as far as the bus knows: then
    /// only what is missing is done.
    ///
    /// # Errors
    /// What went wrong, for people.
    fn apply(&mut self, sender: &str, request: &Request, again: bool) -> Result<Effect, String>;

    /// How a port that was asked for protection is now; `None` if that can never be seen.
    ///
    /// # Errors
    /// Why it cannot be seen now, for people.
    fn observe(&mut self, sender: &str) -> Result<Option<Effect>, String>;
}
