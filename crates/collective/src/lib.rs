//! Training traffic: collective operations as programs of sends and computations.
//!
//! A [`Program`] says what each rank sends and computes, and what each of these operations waits for. It knows nothing
//! about networks: whoever runs it decides where ranks are placed and how bytes travel.
#![forbid(unsafe_code)]

mod error;
mod limits;
mod program;

pub use error::ProgramError;
pub use limits::{MAX_COMPUTE_NANOS, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, MAX_SEND_BYTES, MAX_STEPS};
pub use program::{Action, Operation, Program, ProgramBuilder};
