//! From directions that corrupt to links of a topology, about which the fleet's planner decides.

mod links;
mod planner;

pub use links::{PlacedLink, Unplaced, corrupting_links};
pub use planner::{Planned, Planner, PlannerSettings, Verdict};
