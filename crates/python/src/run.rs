//! One run, measured as a point of an experiment is.

use crate::study::LOOK;
use crate::{declared, refused};
use linkmend_sim::experiment::{Measured, measure as measured};
use pyo3::prelude::*;
use std::path::Path;
use std::time::Instant;

/// What a run has measured: a metric, its value, and the ends of its 95 % interval if it has one.
type Values = Vec<(&'static str, f64, Option<f64>, Option<f64>)>;

/// Runs once and returns what it has measured.
#[pyfunction]
pub fn measure(py: Python<'_>, parameters: Vec<(String, String)>, seed: u64) -> PyResult<Values> {
    let parameters = declared::read(py, parameters)?;
    let mut interruption = Ok(());
    let mut looked = Instant::now();
    // A run says often how far it is.
    let mut look = |_| {
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            interruption = Python::attach(|py| py.check_signals());
        }
        interruption.is_ok()
    };
    let outcome = py.detach(|| measured(&parameters, seed, &mut look));
    interruption?;
    let outcome = outcome.map_err(|error| refused::of_run(py, error))?;
    Ok(outcome.as_ref().map(values).unwrap_or_default())
}

fn values(measured: &Measured) -> Values {
    let value = |(metric, measurement): (
        &'static linkmend_sim::experiment::Metric,
        linkmend_experiment::Measurement,
    )| {
        let (low, high) = measurement.interval.unzip();
        (metric.name, measurement.value, low, high)
    };
    measured.values().map(value).collect()
}

/// Checks whether these parameters describe a run.
#[pyfunction]
pub fn check(py: Python<'_>, parameters: Vec<(String, String)>) -> PyResult<()> {
    let parameters = declared::read(py, parameters)?;
    linkmend_sim::experiment::check(&parameters, Path::new("")).map_err(|error| refused::of_run(py, error))
}
