//! Repairs: how long they take, how many go on at a time, and which comes first.

mod crew;
mod delays;
mod queue;
mod benefit;

pub use crew::{Crew, RepairOrder, TakeDown};
pub use delays::{RepairDelays, RepairError};
pub(crate) use queue::RepairQueue;
pub(crate) use benefit::{Optimize, RepairBenefit, take_down, tors_below};
