//! Training traffic: collective operations as programs of sends and computations.
//!
//! A [`Program`] says what each rank sends and computes, and what each of these operations waits for. It knows nothing
//! about networks: the caller decides how bytes travel, and [`Placement`] maps ranks to hosts.
//!
//! - [`Training`]: a [`Collective`] operation in [`Groups`] of ranks, once or in every step. [`algorithm`] has one file
//!   for each algorithm, with its closed forms.
//! - [`Pipeline`]: micro-batches that pass through stages.
//! - [`mod@read`]: programs from files of other simulators.
//! - [`ideal`]: how long a program takes at least.
#![forbid(unsafe_code)]

pub mod algorithm;
mod collective;
#[cfg(test)]
mod correctness_tests;
mod error;
mod frontier;
mod groups;
pub mod ideal;
mod limits;
mod pipeline;
mod placement;
mod program;
pub mod read;
mod training;

pub use collective::{Algorithm, Collective, MAX_CHANNELS};
pub use error::{GenerateError, ProgramError};
pub use groups::Groups;
pub use limits::{MAX_COMPUTE_NANOS, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, MAX_SEND_BYTES, MAX_STEPS};
pub use pipeline::{Pipeline, Schedule};
pub use placement::Placement;
pub use program::{Action, Operation, Program, ProgramBuilder};
pub use training::Training;
