//! Switches that may reorder.

use crate::histogram::Histogram;
use crate::link::ParallelConfig;
use crate::time::Time;
use linkmend_quantity::words;
use serde::Serialize;

words! {
    /// How frames are distributed over queues in parallel.
    #[derive(Default)]
    pub enum PlacementKind {
        #[default]
        Uniform = "uniform",
        Hashed = "hashed",
    }
}

/// A link with queues in parallel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spreading {
    pub queues: Option<ParallelConfig>,
    pub reverse_delay: Time,
}

/// What frames met in queues in parallel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadingReport {
    /// Frames that passed them.
    pub frames: u64,
    /// Share of the simulated time in which the port sent.
    pub utilisation: f64,
    /// From the arrival of a frame until its last bit left, in microseconds.
    pub delay_p50_us: f64,
    pub delay_p90_us: f64,
    pub delay_p99_us: f64,
    pub delay_p99_9_us: f64,
    pub delay_max_us: f64,
    /// All of these delays, in nanoseconds.
    #[serde(skip)]
    pub delays_ns: Histogram,
}
