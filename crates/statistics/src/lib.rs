//! Confidence intervals, each of which contains the true value in at least 95 of 100 experiments.
//!
//! - [`Counted`]: a rate of rare events, which may come in clusters or count with weights.
//! - [`percentile`] and [`percentile_ranks`]: a percentile of independent values, whatever their distribution.
//! - [`mean_interval`]: the mean of independent values, such as one per run.
//! - [`jackknife_interval`]: anything computed from several runs; [`ratio_interval`]: ratios of two such values.
//!
//! An interval that is unbounded above ends at infinity: so few events were seen that no upper bound is known. Special
//! functions come from `statrs`, which computes them with `libm`, so that an interval is the same on every machine.
//! `tests/coverage.rs` counts how often each kind of interval contains the true value.
#![forbid(unsafe_code)]

mod counted;
mod jackknife;
mod mean;
mod percentile;

pub use counted::{Counted, poisson_at_least};
pub use jackknife::{jackknife_interval, ratio_interval};
pub use mean::mean_interval;
pub use percentile::{percentile, percentile_ranks};

/// How often an interval contains the true value, at least.
pub const CONFIDENCE: f64 = 0.95;
/// How often the true value lies beyond either end of an interval, at most.
const TAIL: f64 = (1.0 - CONFIDENCE) / 2.0;
