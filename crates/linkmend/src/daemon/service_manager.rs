//! What systemd is told (sd_notify(3)). Without systemd nothing happens.

use sd_notify::NotifyState;
use std::time::Duration;

/// Links run, sockets listen.
pub fn ready() {
    tell(NotifyState::Ready);
}

/// The end has begun.
pub fn stopping() {
    tell(NotifyState::Stopping);
}

/// Every link is alive.
pub fn alive() {
    tell(NotifyState::Watchdog);
}

/// How often [`alive`] is due: a third of what systemd waits, so that one delay does no harm.
pub fn watchdog_interval() -> Option<Duration> {
    sd_notify::watchdog_enabled().map(|timeout| timeout / 3)
}

fn tell(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!("the service manager cannot be told: {error}");
    }
}
