//! Experiments with links: files that describe what is varied, drawn and compared with published values.
//! `linkmend_experiment` is the frame; this module defines the points of an experiment and what they measure.
//!
//! - [`StressParameters`] are the parameters of a run as people write them, on the command line and in files.
//! - [`Experiment::parse`] reads and checks a file; [`built_in`], [`read`] and [`read_folder`] find them.
//! - An [`Experiment`] is [`Runnable`](linkmend_experiment::Runnable): its points have a [`Task`], and another kind of
//!   run is another variant of it, of [`Kind`] and of [`Outcome`].
//! - [`Metric`] names what is measured, [`Outcome::pooled`] combines several outcomes, and [`compare`] puts published
//!   and measured values side by side.
//! - A [`Sweep`] is an experiment with its outcomes; [`plots`] and [`tables`] are made of it.

mod catalogue;
mod check;
mod compare;
mod definition;
mod file;
mod metric;
mod names;
mod outcome;
mod parameters;
pub mod plots;
mod resolve;
mod runner;
mod sweep;
pub mod tables;
#[cfg(test)]
mod tests;
mod value;
mod work;

pub use catalogue::{built_in, read, read_folder};
pub use check::check;
pub use compare::compare;
pub use definition::{
    Dimension, Expected, Experiment, Ordinate, PlotSpec, Point, Published, Replacement, Task,
};
pub use file::{Kind, LogAxes, PlotKind, Reference, Theory};
pub use metric::Metric;
pub use names::{BufferingName, ProtectionName, TransceiverName};
pub use outcome::{Outcome, Pool};
pub use parameters::StressParameters;
pub use runner::seed_of;
pub use sweep::Sweep;
pub use value::{PARAMETERS, Parameter, SWITCHES, Switch, VARIANT, is_parameter, keys, label_of, value_of};
pub use work::FRAMES_PER_SECOND;
