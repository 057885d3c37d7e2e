//! Programs from files that other simulators read.
//!
//! - [`parse_connection_matrix`]: `.cm`, the connection matrices of htsim.
//! - [`parse_goal`]: GOAL as text, which LogGOPSim and ATLAHS read.
//! - [`parse_workload`]: the workloads that AICB writes for SimAI, which is based on ASTRA-sim.
//!
//! All take bytes. Whatever is wrong is refused with its line and the reason; memory is bounded by the size of the
//! file and by the limits of programs, whatever the numbers in the file.

mod connection_matrix;
mod error;
mod goal;
mod order;
mod text;
mod triggers;
mod workload;
mod workload_program;

pub use connection_matrix::parse_connection_matrix;
pub use error::{InputError, InputFault};
pub use goal::{GoalOptions, parse_goal};
pub use text::MAX_FILE_BYTES;
pub use workload_program::{WorkloadOptions, parse_workload};

use crate::program::Program;

/// What a file describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// What the ranks send and compute.
    pub program: Program,
    /// What of the file is not in the program, in sentences for people.
    pub left_out: Vec<String>,
}
