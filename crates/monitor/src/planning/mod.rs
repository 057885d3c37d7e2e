//! From directions that corrupt to links of a topology, about which the fleet's planner decides, and what guards its
//! decisions.

mod guard;
mod known;
mod links;
mod network;
mod planner;
mod upstream;

pub use guard::{BREAK_S, DisabledLink, Guard, GuardMemory, GuardSettings, Hold, Trial};
pub use known::{Known, unjudged};
pub use links::{Found, PlacedLink, Unplaced, corrupting_links};
pub use network::Network;
pub use planner::{Planned, Planner, PlannerSettings, Verdict};
pub use upstream::downstream_ports;
