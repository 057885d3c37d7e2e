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

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.cm`.
    ConnectionMatrix,
    /// GOAL as text.
    Goal,
    /// A workload for SimAI.
    Workload,
}

impl Format {
    /// The format of a file with this content, by its first word after comments; `None` if it begins like none of them.
    pub fn of(content: &[u8]) -> Option<Format> {
        const BEGINNINGS: [(&str, Format); 4] = [
            ("Nodes", Format::ConnectionMatrix),
            ("num_ranks", Format::Goal),
            ("HYBRID_", Format::Workload),
            ("MICRO", Format::Workload),
        ];
        let beginning = String::from_utf8_lossy(&content[..content.len().min(BEGINNING_BYTES)]);
        let is_comment = |line: &&str| line.is_empty() || line.starts_with("//") || line.starts_with('#');
        let first = beginning.lines().map(str::trim).find(|line| !is_comment(line))?;
        BEGINNINGS.iter().find(|(word, _)| first.starts_with(word)).map(|(_, format)| *format)
    }
}

/// The first word must be within so many bytes.
const BEGINNING_BYTES: usize = 64 << 10;

/// What a file describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// What the ranks send and compute.
    pub program: Program,
    /// What of the file is not in the program, in sentences for people.
    pub left_out: Vec<String>,
}
