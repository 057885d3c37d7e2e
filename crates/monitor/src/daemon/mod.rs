//! `corruptd` itself: polls, and carries out what its [`Agent`](crate::agent::Agent) decides.

mod audit;
mod error;
mod keeper;
mod knowledge;
mod metrics;
mod opening;
mod own_ends;
mod plan_memory;
mod planner;
mod record;
mod run;
mod status;
mod telling;

pub use error::StartError;
pub use run::Corruptd;
pub use status::{StatusError, ask, ask_directions, ask_findings};
