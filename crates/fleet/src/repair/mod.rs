//! Repairs: how long they take, how many go on at a time, and which comes first.

mod crew;
mod delays;
mod queue;
mod worth;

pub use crew::{Crew, RepairOrder, TakeDown};
pub use delays::{RepairDelays, RepairError};
pub(crate) use queue::WorthQueue;
pub(crate) use worth::{Optimize, Worth, take_down, tors_below};
