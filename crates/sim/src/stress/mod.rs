//! Line-rate traffic over one protected link: the paper's stress test (section 4.1, artifact).

mod config;
mod report;
mod run;
mod validate;

use crate::network::{NoObserver, Observer};
pub use config::{Backpressure, Buffering, Copies, Mode, Protection, StressConfig, StressError, Switch};

pub use report::{Percentiles, Quartiles, StressReport};
pub(crate) use run::{percentiles, quartiles};
pub(crate) use validate::REPEAT;

/// Checks `config`, simulates, and reports. `progress` is called now and then with the frames sent so far; it returns
/// `false` to end the run early (the report then says how many frames were sent).
///
/// # Errors
/// [`StressError`] names the parameter that cannot be used, before anything runs.
pub fn run(
    config: &StressConfig,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<StressReport, StressError> {
    run::run(config, NoObserver, progress).map(|(report, _)| report)
}

/// The same, watched by `observer`; returns it as well. Fast-forward shows it nothing of what it skips.
///
/// # Errors
/// See [`run`].
pub fn run_observed<O: Observer>(
    config: &StressConfig,
    observer: O,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(StressReport, O), StressError> {
    run::run(config, observer, progress)
}
