//! A daemon: its links, the sockets that report on them, and what happens when an interface disappears and comes back.

mod error;
mod link_restarts;
#[cfg(test)]
mod tests;

pub use error::DaemonError;

use crate::bypass::{self, carries_bypass};
use crate::config::{DaemonConfig, HostPort, LinkConfig, check_devices, uses_behind_bypass, uses_that_end};
use crate::control::{Backend, Links, Loss, Server};
use crate::metrics::page_of_links;
use crate::port::Interface;
use crate::{LinkEndHandle, SavedProtection};
use link_restarts::{LinkRestarts, interfaces_of};
use linkmend_control::metrics::MetricsServer;
use linkmend_control::{CONTROL_FOLDER, DaemonHealth, Reservation};
use linkmend_diagnose::Diagnose as _;
use std::path::Path;
use std::sync::Arc;

/// Everything that runs. Dropping it stops it all in the right order.
pub struct Daemon {
    configs: Vec<LinkConfig>,
    links: Arc<Links>,
    health: Arc<DaemonHealth>,
    host_ports: Vec<HostPort>,
    link_restarts: LinkRestarts,
    control: Option<Server>,
    metrics: Option<MetricsServer>,
    /// Whether the start has succeeded.
    started: bool,
}

impl Daemon {
    /// Starts all links, then the sockets that report on them. On an error, whatever was started is stopped again, and
    /// the ports are as they were before.
    /// `lost_lines` returns how many lines of the log could not be written so far.
    ///
    /// # Errors
    /// [`DaemonError`].
    pub fn start(config: &DaemonConfig, lost_lines: fn() -> u64) -> Result<Daemon, DaemonError> {
        let path = config.control.clone().unwrap_or_else(|| Path::new(CONTROL_FOLDER).join("control.sock"));
        // This comes first: a second daemon must fail before it changes anything.
        let reservation = Reservation::take(&path)?;
        let health = Arc::new(DaemonHealth::new(lost_lines));
        let saved = match (&config.state, config.restore) {
            (_, Some(false)) => SavedProtection::none(),
            (state, _) => {
                let path = state.clone().unwrap_or_else(|| path.with_extension("state"));
                SavedProtection::open(&path, Arc::clone(&health))
            }
        };
        let links = Arc::new(Links::new(Arc::clone(&health), saved));
        let mut daemon = Daemon {
            configs: config.links.clone(),
            links,
            health,
            host_ports: Vec::new(),
            link_restarts: LinkRestarts::default(),
            control: None,
            metrics: None,
            started: false,
        };
        for config in &config.links {
            for used in uses_behind_bypass(config) {
                let hint = used.hint().unwrap_or_default();
                tracing::warn!(
                    "{used}; the bypass is already attached to it, but a start after a reboot would be refused; \
                     hint: {hint}"
                );
            }
            for used in uses_that_end(config) {
                tracing::warn!("{used}; the port is taken over anyway, because `use-port-in-use` is set");
            }
            start_link(config, &daemon.links, &mut daemon.host_ports)?;
        }
        let backend = || Arc::clone(&daemon.links) as Arc<dyn Backend>;
        let metrics = config
            .metrics
            .map(|address| {
                let backend = backend();
                let page = Box::new(move || page_of_links(&*backend));
                MetricsServer::start(address, page, Arc::clone(&daemon.health))
            })
            .transpose()?;
        let control = Server::start(reservation, backend())?;
        tracing::info!("control socket {}", control.path().display());
        (daemon.metrics, daemon.control) = (metrics, Some(control));
        daemon.links.keep();
        daemon.started = true;
        Ok(daemon)
    }

    /// Checks the links and the host. A link whose interface is gone waits for it to come back, and one whose loop has
    /// ended starts again, while the others run.
    ///
    /// # Errors
    /// The daemon must end: no link has its interfaces.
    pub fn check(&mut self) -> Result<(), DaemonError> {
        self.health.check();
        let lost = self.links.check();
        let any_runs = self.links.any_runs();
        for loss in lost {
            match loss {
                // The error says it.
                Loss::Interface { .. } if !any_runs => {}
                Loss::Interface { link, interface } => tracing::error!(
                    link,
                    interface,
                    "this link is out of operation, and starts again when its interface is back; the other \
                     links are not affected"
                ),
                Loss::Loop { link, why } => tracing::error!(
                    link,
                    "its loop has ended: {why}; the link is restarted, and the other links are not affected"
                ),
                Loss::Silent { link } => tracing::error!(
                    link,
                    "its loop does not respond; with AF_XDP ports the kernel forwards on this link, and the \
                     other links are not affected; hint: if this persists, restart the daemon"
                ),
                Loss::Answers { link } => tracing::warn!(link, "its loop is responding again"),
            }
        }
        if !any_runs {
            return Err(DaemonError::NoLink { links: self.links.out_of_operation() });
        }
        let start = |config: &LinkConfig| {
            start_link(config, &self.links, &mut self.host_ports)?;
            self.links.keep();
            Ok(())
        };
        self.link_restarts.start_again(&self.configs, &self.links, check_devices, interfaces_of, start);
        Ok(())
    }

    /// Whether a loop answers, or none is left that could. If not, only a new process helps, and it disturbs nobody.
    pub fn is_alive(&self) -> bool {
        self.links.any_answers()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.control = None;
        self.metrics = None;
        let out_of_operation = self.links.out_of_operation();
        self.links.stop();
        let started = self.started;
        for (name, why) in out_of_operation {
            if let Some(config) = self.configs.iter().find(|config| config.name() == name) {
                give_back(config, &why);
            }
        }
        // A pair that was there before a start that failed may be in use by others.
        remove(self.host_ports.drain(..).filter(|port| started || !port.reused()));
    }
}

/// Starts a link, and creates its host port if it asks for one.
fn start_link(config: &LinkConfig, links: &Links, host_ports: &mut Vec<HostPort>) -> Result<(), DaemonError> {
    if let Some(port) = HostPort::make(config)? {
        let how = if port.reused() { "reused" } else { "created" };
        tracing::info!(link = config.name(), "host port {} {how}", port.host_interface());
        host_ports.retain(|known| known.host_interface() != port.host_interface());
        host_ports.push(port);
    }
    let handle = LinkEndHandle::start_on_trial(links.restored(config).settings())
        .map_err(|source| DaemonError::Link { link: config.name().to_owned(), source })?;
    links.add(config, handle);
    Ok(())
}

/// Removes the bypass from what is left of the ports of a link that is out of operation, or says how to.
fn give_back(config: &LinkConfig, why: &str) {
    let (link, inner) = (config.name(), config.inner.interface());
    let ports: Vec<&String> =
        [&inner].into_iter().chain(config.link_interfaces()).filter(|port| carries_bypass(port)).collect();
    tracing::warn!(link, "stopped while out of operation: {why}");
    if !config.settings().detach_on_stop && !ports.is_empty() {
        let ports = ports.iter().map(|port| port.as_str()).collect::<Vec<_>>().join(" ");
        tracing::info!(link, "the bypass stays on its ports; hint: `linkmend detach {ports}` removes it");
        return;
    }
    for port in ports {
        let removed = Interface::acquire(port).and_then(|interface| bypass::remove(&interface));
        if let Err(error) = removed {
            tracing::warn!(link, port, %error, "cannot remove the bypass");
        }
    }
}

fn remove(host_ports: impl Iterator<Item = HostPort>) {
    for port in host_ports {
        let name = port.host_interface().to_owned();
        match port.remove() {
            Ok(()) => tracing::info!("host port {name} removed"),
            Err(error) => tracing::warn!("cannot remove host port {name}: {error}"),
        }
    }
}
