//! What the tests of whole runs share: random parameters that follow from a seed, a pool of threads that finds the first
//! seed that fails, an observer that keeps account of every frame, and exact binomial intervals.
#![allow(dead_code, unused_imports, reason = "each test binary uses its own part")]

pub mod binomial;
pub mod cases;
pub mod draw;
pub mod ledger;
pub mod swarm;

pub use cases::{Case, LossSeverity};
pub use draw::Draw;

use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::{StressReport, run};
use linkmend_sim::time::Rate;

/// Rates with whole picoseconds per byte, Gbit/s.
pub const GIGABITS: [u64; 8] = [10, 25, 40, 50, 100, 200, 400, 800];

/// # Panics
/// If a byte does not last whole picoseconds.
pub fn gigabits(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000_000).expect("a byte lasts whole picoseconds")
}

/// Runs to the end.
///
/// # Panics
/// If a parameter cannot be used.
pub fn simulate(config: &LinksConfig) -> StressReport {
    run(config, &mut |_| true).unwrap_or_else(|error| panic!("{error} in {config:?}"))
}

/// # Panics
/// If a frame was not delivered, or out of order.
pub fn assert_nothing_lost(report: &StressReport) {
    let counts = (report.frames_undelivered, report.frames_reordered);
    assert_eq!(counts, (0, 0), "undelivered and reordered of {}", report.frames_sent);
}

/// Everything a report says about the link, as it would be written to a file. How long the simulation took, and in how
/// many events, says nothing about the link.
pub fn bytes_of(report: &StressReport) -> String {
    let report = StressReport { events: 0, wall_s: 0.0, ..report.clone() };
    serde_json::to_string_pretty(&report).expect("a report can be written")
}
