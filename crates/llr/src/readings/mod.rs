//! The same counts as others define them: Broadcom's switches, as FBOSS shows them, and testers.

mod broadcom;
mod testers;

pub use broadcom::{BroadcomCounters, BroadcomReceiveState, BroadcomTransmitState};
pub use testers::TesterCounters;
