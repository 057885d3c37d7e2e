//! Experiments: one frame for links, fleets and whatever comes next. What a point of an experiment is, how it is run and
//! what it measures is the business of the crate that has it; everything around that is here.
//!
//! - [`Parameters`] are what an experiment varies; [`combinations`] makes points of the lists in a file, [`Selection`] says
//!   which of them are meant.
//! - [`run_all`] runs the points of [`Runnable`] experiments, and [`run_each`] anything independent, on several threads.
//!   What comes out does not depend on how many.
//! - [`Measurement`] is a measured value, with its confidence interval where it has one: counted
//!   ([`poisson_interval`]) or the mean of several runs.
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
