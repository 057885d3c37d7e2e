//! Runs until a signal.

use super::CorruptdArgs;
use crate::daemon::{Signals, service_manager};
use crate::failure::Result;
use crate::output::print;
use linkmend_monitor::daemon::Corruptd;
use std::time::{Duration, Instant};

/// Starts, and serves until SIGINT or SIGTERM. SIGHUP reads the configuration again, with the files that it
/// names.
pub(super) fn execute(arguments: &CorruptdArgs) -> Result<()> {
    let (config, resolved) = arguments.configuration()?;
    if arguments.check {
        return Ok(print(&config.to_toml())?);
    }
    let signals = Signals::catch()?;
    let mut daemon = Corruptd::start(resolved)?;
    service_manager::ready();
    let mut stopped_by = None;
    let watchdog = service_manager::watchdog_interval();
    let mut fed = Instant::now();
    loop {
        daemon.run(|| {
            if watchdog.is_some_and(|watchdog| fed.elapsed() >= watchdog) {
                service_manager::alive();
                fed = Instant::now();
            }
            stopped_by = signals.wait(Duration::ZERO);
            stopped_by.is_some()
        });
        match stopped_by {
            Some("SIGHUP") => match arguments.configuration() {
                Ok((_, resolved)) => daemon.reconfigure(resolved),
                Err(error) => tracing::error!("SIGHUP: keeping the previous configuration: {error:#}"),
            },
            signal => {
                let signal = signal.unwrap_or("stopped");
                tracing::info!("{signal}: stopping; protected links stay protected");
                service_manager::stopping();
                return Ok(());
            }
        }
    }
}
