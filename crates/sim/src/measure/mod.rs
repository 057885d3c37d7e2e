//! Observers of a run.
//!
//! - [`histogram`]: counts of values, good to one 128th, in constant space.
//! - [`time_series`]: a level over time, in a bounded number of samples.
//! - [`capture`]: a run as packet analysers see links.

pub mod capture;
pub mod histogram;
mod sketch;
pub mod time_series;

pub use capture::{Capture, CaptureOptions};
pub use histogram::Histogram;
pub use time_series::{Sample, TimeSeries};
