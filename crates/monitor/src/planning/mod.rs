//! From directions that corrupt to links of a topology, about which the fleet's planner decides, and what guards its
//! decisions.

mod guard;
mod links;
mod planner;

pub use guard::{DisabledLink, Guard, GuardMemory, GuardSettings, Hold, Trial};
pub use links::{PlacedLink, Unplaced, corrupting_links};
pub use planner::{Planned, Planner, PlannerSettings, Verdict};
