//! Observers of a run.
//!
//! - [`histogram`]: counts of values, good to one 128th, in constant space.

pub mod histogram;

pub use histogram::Histogram;
