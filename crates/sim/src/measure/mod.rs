//! Observers of a run, and their parts.
//!
//! - [`LinkMeasures`]: losses, buffer levels, deliveries and resumes of every link; [`Measured`] adds another observer.
//! - [`levels`]: how long a buffer was at each level.
//! - [`histogram`]: counts of values, accurate to one 128th, in constant space.
//! - [`time_series`]: a level over time, in a bounded number of samples.
//! - [`capture`]: a run as a file for packet analysers.

pub mod capture;
mod capture_file;
mod deliveries;
mod gaps;
pub mod levels;
mod links;
mod losses;
mod resumes;
mod sketch;
mod summaries;
pub mod time_series;

pub use crate::histogram::{self, Histogram};
pub use capture::{Capture, CaptureOptions};
pub use capture_file::CaptureFile;
pub use deliveries::Deliveries;
pub use levels::Levels;
pub use links::{LinkMark, LinkMeasures, Measured};
pub use losses::GivenUp;
pub use summaries::{Percentiles, Quartiles};
pub use time_series::{Sample, TimeSeries};
