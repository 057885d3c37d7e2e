//! Experiments with links: files that describe what is varied, drawn and compared with published values.
//! `linkmend_experiment` is the frame; this module defines the points of an experiment and what they measure.
//!
//! - [`StressParameters`] are the parameters of a run as people write them, on the command line and in files.
//! - [`LinkExperiments`] are this [`Kind`](linkmend_experiment::Kind) of experiments: what is done at a point is a
//!   [`Task`], and what it measures an [`Outcome`]. Another kind of run with links is another variant of both, and of
//!   [`Kind`].
//! - [`Experiment::parse`] reads and checks a file; [`built_in`] has those of the paper.
//! - [`compare`] puts published and expected values beside measured ones. Judging them is left to the caller.
//! - [`flows`] are another kind, in a folder of its own: experiments with flows between hosts.
//! - A [`Sweep`] is an experiment with its outcomes; [`plots`] and [`tables`] are made of it.

mod catalogue;
mod check;
mod compare;
mod definition;
mod file;
pub mod flows;
mod metric;
mod names;
mod outcome;
mod parameters;
pub mod plots;
mod resolve;
mod runner;
mod sweep;
pub mod tables;
mod task;
#[cfg(test)]
mod tests;
mod value;
mod work;

pub use catalogue::built_in;
pub use check::check;
pub use compare::compare;
pub use definition::{
    Dimension, Expected, Experiment, LinkExperiments, LinkExtra, Ordinate, PlotSpec, Point, Rest,
};
pub use file::{File, Kind, LogAxes, PlotKind, Reference, Theory};
pub use metric::{Metric, metric_named, metrics_of};
pub use names::{BufferingName, ProtectionName, TransceiverName};
pub use outcome::{Outcome, Pool};
pub use parameters::StressParameters;
pub use sweep::Sweep;
pub use task::Task;
pub use value::{PARAMETERS, Parameter, SWITCHES, Switch, VARIANT, is_parameter, keys, label_of, value_of};
