//! One frame for all experiments, with links, fleets and what comes next. The crate that offers an experiment defines
//! its points, how they are run, and what is measured; everything around that is here.
//!
//! - [`Parameters`] are what an experiment varies; [`combinations`] makes points of the lists in a file, and
//!   [`Selection`] says which of them are meant.
//! - [`run_all`] runs the points of [`Runnable`] experiments, and [`run_each`] anything independent, on several
//!   threads. The results do not depend on how many.
//! - [`Measurement`] is a measured value, with a confidence interval if it was counted ([`poisson_interval`]) or is the
//!   mean of several runs.
//! - [`Published`] is a published value, and a [`Row`] has the measured one beside it.
//! - [`ExperimentError`] says what is wrong with an experiment file, and in which line.
#![forbid(unsafe_code)]

mod error;
mod interval;
mod measurement;
mod published;
mod quantity;
mod runner;
mod sweep;
mod threads;

pub use error::{ExperimentError, Source};
pub use interval::{CONFIDENCE, poisson_interval};
pub use linkmend_report::Tolerance;
pub use measurement::Measurement;
pub use published::{Across, Published, Row};
pub use quantity::{Quantity, Value};
pub use runner::{Event, Failure, Runnable, run_all};
pub use sweep::{Combination, POINTS_MAX, Parameters, Selection, Settings, combinations};
pub use threads::run_each;
