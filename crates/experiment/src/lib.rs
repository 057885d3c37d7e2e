//! A common framework for all experiments: with links, flows, fleets, and future kinds.
//!
//! - A [`Kind`] of experiments says what can be varied, what one run does, and what it measures. Everything else is here.
//! - An [`Experiment`] of a kind is read from a file: what is varied, and which published values it is compared with.
//! - [`Parameters`] are what an experiment varies; [`combinations`] makes [points](Point) of the lists in a file, and
//!   [`Selection`] chooses among them.
//! - [`run_all`] runs the points of [`Runnable`] experiments, and [`run_each`] anything independent, on several
//!   threads. The results do not depend on the number of threads. Several runs of a point are [`Pooled`], or kept
//!   separately as [`Runs`].
//! - A [`Shard`] is one of the parts of experiments that run on several machines. Outcomes are [`Stored`] as bytes, and
//!   experiments whose outcomes were [`Recorded`] are pooled and reported as if they had run here.
//! - A [`Metric`] reads a [`Measurement`] from an outcome, with a confidence interval if the value was counted,
//!   is a percentile, or was computed from several runs.
//! - [`Published`] is a published value, and a [`Row`] compares it with the measured one. [`tables`] show all points.
//! - [`ExperimentError`] says what is wrong with an experiment file, and in which line.
#![forbid(unsafe_code)]

mod catalogue;
mod definition;
mod error;
mod kind;
mod measurement;
mod metric;
mod point;
mod pool;
mod published;
mod quantity;
mod runner;
mod runs;
mod shard;
mod stored;
mod sweep;
pub mod tables;
mod threads;

pub use catalogue::{kind_of, read_each, text_of};
pub use definition::Experiment;
pub use error::{ExperimentError, Source};
pub use kind::{ExperimentFile, ExtraOf, Head, Kind, PointOf, PublishedTable, Reader, RestOf};
pub use linkmend_report::{Tolerance, Verdict};
pub use linkmend_statistics::Counted;
pub use measurement::Measurement;
pub use metric::Metric;
pub use point::Point;
pub use pool::{Pooled, pooled};
pub use published::{Across, Published, PublishedAt, Row, RowKind, Shape};
pub use quantity::{Quantity, Value};
pub use runner::{Event, Failure, Run, Runnable, run_all};
pub use runs::Runs;
pub use shard::{Recorded, SHARDS_MAX, Shard, Unit, balanced, run_share};
pub use stored::Stored;
pub use sweep::{Combination, POINTS_MAX, Parameters, Replacement, Selection, Settings, combinations};
pub use threads::run_each;
