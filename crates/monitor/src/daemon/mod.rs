//! `corruptd` itself: polls, and carries out what its [`Agent`](crate::agent::Agent) decides.

mod audit;
mod keeper;
mod knowledge;
mod metrics;
mod plan_memory;
mod planner;
mod run;
mod status;

pub use audit::Audit;
pub use run::{Corruptd, StartError};
pub use status::{StatusError, ask, ask_directions, ask_findings};
