//! Line-rate traffic over one protected link: the paper's stress test (section 4.1, artifact).

mod report;
mod run;
mod warnings;

pub use crate::link::config::ParameterError;
use crate::link::scheme::{Absent, Llr, Parity, Scheme, Selective, Wharf};
use crate::network::{NoObserver, Observer};
use crate::run::flows::Recovery;
use crate::run::links::LinksConfig;
use crate::time::Time;
pub use report::{BufferSeries, PortCounter, StressReport, Undelivered};

/// Checks `config`, simulates, and reports. `progress` is called now and then with the frames sent so far; it returns
/// `false` to end the run early (the report then says how many frames were sent).
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used, before anything runs.
pub fn run(
    config: &LinksConfig,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<StressReport, ParameterError> {
    match config.recovery {
        Recovery::Described => {
            run::run::<_, Absent>(config, None, NoObserver, None, progress).map(|(report, ..)| report)
        }
        Recovery::Wharf(configs) => run_other::<Wharf>(config, &configs, progress),
        Recovery::Llr(llr) => run_other::<Llr>(config, &[llr; 2], progress),
        Recovery::Parity(configs) => run_other::<Parity>(config, &configs, progress),
        Recovery::Selective(ends) => run_other::<Selective>(config, &[ends; 2], progress),
    }
}

/// The same with a scheme that this crate does not know, instead of what `config` says. Its ends have these configurations:
/// first that of the sender.
///
/// # Errors
/// See [`run`].
pub fn run_other<X: Scheme>(
    config: &LinksConfig,
    schemes: &[X::Config; 2],
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<StressReport, ParameterError> {
    run::run::<_, X>(config, Some(schemes), NoObserver, None, progress).map(|(report, ..)| report)
}

/// The same, watched by `observer`; returns it as well. Fast-forward shows it nothing of what it skips.
///
/// With `step`, it also returns the levels of both buffers over time, in steps of this length at first: they double as often as is
/// needed to keep to a hundred thousand. Every event is simulated then, whatever `config` says.
///
/// # Errors
/// See [`run`].
pub fn run_observed<O: Observer>(
    config: &LinksConfig,
    observer: O,
    step: Option<Time>,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<(StressReport, O, Option<BufferSeries>), ParameterError> {
    config.validate_observed()?;
    let config = LinksConfig { full: config.full || step.is_some(), ..config.clone() };
    run::run::<_, Absent>(&config, None, observer, step, progress)
}
