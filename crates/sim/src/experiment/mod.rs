//! Experiments: files that say what is varied, what is drawn and what is compared with published values.
//!
//! - [`StressParameters`] are the parameters of a run as people write them, on the command line and in files.
//! - [`Experiment::parse`] reads and checks a file; [`built_in`], [`read`] and [`read_folder`] find them.
//! - [`run_all`] runs the points of experiments on several threads; what comes out does not depend on how many.
//! - [`Metric`] names what is measured, [`Outcome::pooled`] makes one outcome of several, and [`compare`] puts published
//!   and measured values beside each other. Judging and drawing them is left to the caller.
//!
//! A point of an experiment has a [`Task`]; another kind of run is another variant of it, of [`Kind`] and of [`Outcome`].

mod catalogue;
mod check;
mod compare;
mod definition;
mod error;
mod file;
mod metric;
mod names;
mod outcome;
mod parameters;
mod resolve;
mod runner;
mod sweep;
#[cfg(test)]
mod tests;
mod value;
mod work;

pub use catalogue::{built_in, read, read_folder};
pub use check::check;
pub use compare::{Row, compare};
pub use definition::{
    Dimension, Experiment, LawRow, Ordinate, PlotSpec, Point, Published, Replacement, Task,
};
pub use error::ExperimentError;
pub use file::{Kind, Law, LogAxes, Of, PlotKind, Reference, Tolerance};
pub use metric::{Measurement, Metric};
pub use names::{BufferingName, ProtectionName, TransceiverName};
pub use outcome::{Outcome, Pool};
pub use parameters::StressParameters;
pub use runner::{News, run_all, seed_of};
pub use sweep::{POINTS_MAX, Selection};
pub use value::{
    PARAMETERS, Parameter, Quantity, SWITCHES, Switch, VARIANT, Value, is_parameter, keys, label_of, value_of,
};
