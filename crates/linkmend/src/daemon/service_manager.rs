//! Reports to systemd (sd_notify(3)). Without systemd nothing happens.

use sd_notify::NotifyState;
use std::time::Duration;

/// Reports that links run and sockets listen.
pub fn ready() {
    notify(NotifyState::Ready);
}

/// Reports that the daemon is ending.
pub fn stopping() {
    notify(NotifyState::Stopping);
}

/// Reports that the daemon is alive.
pub fn alive() {
    notify(NotifyState::Watchdog);
}

/// How often [`alive`] is due: a third of systemd's timeout, so that one delay does no harm.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|timeout| timeout / 3)
}

fn notify(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!("cannot notify the service manager: {error}");
    }
}
