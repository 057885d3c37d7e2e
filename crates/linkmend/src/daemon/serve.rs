//! The daemon's main thread: waits for a signal and watches the links.

use super::{Signals, service_manager};
use crate::failure::Result;
use linkmend_dataplane::Daemon;
use std::time::{Duration, Instant};

/// How often the links are checked.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Runs until a signal, which is success, or until no link is left.
pub fn serve(mut daemon: Daemon, signals: &Signals) -> Result<()> {
    service_manager::ready();
    let watchdog = service_manager::watchdog_interval();
    let interval = watchdog.map_or(LOOK_INTERVAL, |watchdog| watchdog.min(LOOK_INTERVAL));
    let mut fed: Option<Instant> = None;
    loop {
        if let Some(signal) = signals.wait(interval) {
            tracing::info!("{signal}: stopping; press Ctrl-C again to end immediately");
            service_manager::stopping();
            return Ok(());
        }
        if let Err(failure) = daemon.check() {
            service_manager::stopping();
            return Err(failure.into());
        }
        // A restart by the service manager would interrupt all links, so it must not come while one of them answers.
        if daemon.is_alive() && watchdog.is_some_and(|watchdog| fed.is_none_or(|at| at.elapsed() >= watchdog))
        {
            service_manager::alive();
            fed = Some(Instant::now());
        }
    }
}
