//! Line-rate traffic over one protected link: the paper's stress test (section 4.1, artifact).

mod config;
mod report;

pub use config::{Backpressure, Buffering, Copies, Protection, StressConfig, StressError, Switch};
pub use report::{Percentiles, Quartiles, StressReport};

/// Checks `config`, simulates, and reports. `progress` is called now and then with the frames sent so far; it returns
/// `false` to end the run early (the report then says how many frames were sent).
///
/// # Errors
/// [`StressError`] names the parameter that cannot be used, before anything runs.
pub fn run(
    config: &StressConfig,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<StressReport, StressError> {
    let _ = (config, progress);
    unimplemented!("the skeleton")
}
