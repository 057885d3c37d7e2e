//! The daemon's main thread: waits for a signal and watches the links.

use super::{Daemon, Signals, service_manager};
use crate::failure::Hinted;
use std::time::{Duration, Instant};

/// How often the links are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Runs until a signal, which is success, or until a link ends by itself, which is not.
pub fn serve(daemon: Daemon, signals: &Signals) -> anyhow::Result<()> {
    service_manager::ready();
    let watchdog = service_manager::watchdog_interval();
    let interval = watchdog.map_or(LOOK_INTERVAL, |watchdog| watchdog.min(LOOK_INTERVAL));
    let mut fed: Option<Instant> = None;
    loop {
        if let Some(signal) = signals.wait(interval) {
            tracing::info!("{signal}: stopping; once more with Ctrl-C ends at once");
            service_manager::stopping();
            drop(daemon);
            return Ok(());
        }
        if let Some(link) = daemon.look() {
            service_manager::stopping();
            return Err(Hinted {
                message: format!("link {link}: its loop has ended or does not answer"),
                hint: "the log above says why; with AF_XDP ports the kernel forwards in the meantime"
                    .to_owned(),
            }
            .into());
        }
        // Reached only while every link answers.
        if watchdog.is_some_and(|watchdog| fed.is_none_or(|at| at.elapsed() >= watchdog)) {
            service_manager::alive();
            fed = Some(Instant::now());
        }
    }
}
