//! One run by itself, measured as a point of an experiment is.

use super::completed::completed;
use super::metric::metrics_of;
use super::outcome::{Metric, Outcome};
use crate::link::config::ParameterError;
use crate::parameters::RunParameters;
use linkmend_experiment::Measurement;
use std::path::Path;

/// What a run has measured.
pub struct Measured(pub Outcome);

impl Measured {
    /// What the run has measured, in the order in which tables show it, in the units of the names.
    pub fn values(&self) -> impl Iterator<Item = (&'static Metric, Measurement)> {
        metrics_of(&self.0)
            .iter()
            .filter_map(|metric| Some((metric, metric.in_unit_of_name(metric.value(&self.0)?))))
    }
}

/// Runs once with these parameters, completed as a file's are. `progress` takes the share that is done, and says whether to
/// go on; `None` if it said no.
///
/// # Errors
/// The first parameter that cannot be used.
pub fn measure(
    written: &RunParameters,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<Option<Measured>, ParameterError> {
    let run = completed(written, Path::new("")).run(Path::new(""))?;
    Ok(Outcome::run(&run, seed, progress)?.map(Measured))
}

/// Checks whether these parameters describe a run. Relative paths start from `folder`.
///
/// # Errors
/// The first parameter that cannot be used.
pub fn check(written: &RunParameters, folder: &Path) -> Result<(), ParameterError> {
    completed(written, folder).run(folder).map(|_| ())
}
