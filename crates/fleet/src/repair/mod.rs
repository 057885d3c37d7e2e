//! Repairs: how long they take, how many are under way at a time, and which comes first.

mod benefit;
mod crew;
mod delays;
mod queue;

pub(crate) use benefit::{Optimize, RepairBenefit, take_down};
pub use crew::{Crew, RepairOrder, TakeDown};
pub use delays::{RepairDelays, RepairError};
pub(crate) use queue::RepairQueue;
