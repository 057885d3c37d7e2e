//! Experiments with runs: files that describe what is varied, drawn and compared with published values.
//! `linkmend_experiment` is the frame; this module defines the points of an experiment and what they measure.
//!
//! - [`RunExperiments`] are this [`Kind`](linkmend_experiment::Kind) of experiments: what is varied are the
//!   [parameters](crate::parameters) of a run, what is done at a point is the [run](crate::parameters::RunConfig) that they
//!   describe, and what it measures an [`Outcome`].
//! - Line-rate traffic ([`line_rate_metrics`]) is measured over all runs of a point as if they were one; other runs stand
//!   side by side ([`links_metrics`], [`flow_metrics`], [`FlowRun`]). Points that differ only in what recovers losses share their flows and seeds, so
//!   that their ratios are of pairs.
//! - [`Experiment::parse`] reads and checks a file; [`built_in`] has those of the papers.
//! - [`compare`] puts published and expected values beside measured ones. Judging them is left to the caller.
//! - Outcomes can be [`Stored`](linkmend_experiment::Stored) as bytes, for runs on other machines.
//! - [`plots`] and [`tables`] are made of an experiment and the outcomes of its points.

mod best;
mod catalogue;
mod compare;
mod compared;
mod completed;
mod definition;
mod file;
mod flow_metrics;
mod flow_plots;
mod flow_run;
#[cfg(test)]
mod flow_tests;
mod line_rate_metrics;
mod links_metrics;
mod measured;
mod metric;
mod outcome;
pub mod plots;
mod pool;
mod stored;
pub mod tables;
#[cfg(test)]
mod tests;
mod trials;
mod work;

pub use catalogue::built_in;
pub use compare::compare;
pub use definition::{
    Dimension, Expected, Experiment, Extra, Ordinate, PlotSpec, Point, Rest, RunExperiments,
};
pub use file::{File, LogAxes, PlotKind, Reference, Theory};
pub use flow_run::{FlowOutcome, FlowRun};
pub use measured::{Measured, check, measure};
pub use metric::{among_runs, metric_named, metrics, metrics_of};
pub use outcome::{Metric, Optics, Outcome};
pub use pool::Pool;
pub use trials::with_trials;
