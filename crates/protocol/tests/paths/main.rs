//! Two link ends with two paths between them: cuts, flaps, corruption, paths of different speed.
//!
//! `LINKMEND_PATHS_SEEDS` sets how many runs the swarm draws.

#![expect(clippy::disallowed_methods, reason = "how many seeds run is set from outside")]

#[path = "../common/mod.rs"]
mod common;
mod duplicate;
mod failovers;
mod share;
mod sharing;
mod swarm;
mod world;
