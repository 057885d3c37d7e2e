//! A daemon: its links, the sockets that report on them, and what happens when an interface disappears and comes back.

mod error;
mod link_restarts;

pub use error::DaemonError;

use crate::config::{CONTROL_FOLDER, DaemonConfig, HostPort, LinkConfig};
use crate::control::{Backend, Links, Loss, Reservation, Server};
use crate::metrics::{MetricsServer, page_of_links};
use crate::{DaemonHealth, LinkEndHandle, SavedProtection};
use link_restarts::LinkRestarts;
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
}

impl Daemon {
    /// Starts all links, then the sockets that report on them. On an error, whatever was started is stopped again.
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
        let host_ports = start_links(&config.links, &links)?;
        let configs = config.links.clone();
        let link_restarts = LinkRestarts::default();
        let mut daemon =
            Daemon { configs, links, health, host_ports, link_restarts, control: None, metrics: None };
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
        Ok(daemon)
    }

    /// Checks the links and the host. A link whose interface is gone waits for it to come back while the others run.
    ///
    /// # Errors
    /// The daemon must end: a loop has failed or does not answer, or no link is left.
    pub fn check(&mut self) -> Result<(), DaemonError> {
        self.health.check();
        for loss in self.links.check() {
            match loss {
                Loss::Interface { link, interface } => tracing::error!(
                    link,
                    interface,
                    "this link is out of operation; the others go on, and it starts again when the interface is back"
                ),
                Loss::Loop { link } => return Err(DaemonError::Loop { link }),
            }
        }
        if !self.links.any_runs() {
            return Err(self.out_of_operation().unwrap_or(DaemonError::NoLink));
        }
        self.link_restarts.start_again(&self.configs, &self.links, &mut self.host_ports);
        Ok(())
    }

    /// The links that are out of operation, as an error; `None` if there are none.
    pub fn out_of_operation(&self) -> Option<DaemonError> {
        let links = self.links.out_of_operation();
        (!links.is_empty()).then_some(DaemonError::OutOfOperation { links })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.control = None;
        self.metrics = None;
        self.links.stop();
        remove(self.host_ports.drain(..));
    }
}

fn start_links(configs: &[LinkConfig], links: &Links) -> Result<Vec<HostPort>, DaemonError> {
    let mut host_ports = Vec::new();
    for config in configs {
        if let Err(error) = start_link(config, links, &mut host_ports) {
            links.stop();
            // A pair that existed before may be in use by others.
            remove(host_ports.into_iter().filter(|port| !port.reused()));
            return Err(error);
        }
    }
    Ok(host_ports)
}

/// Starts a link, and creates its host port if it asks for one.
fn start_link(config: &LinkConfig, links: &Links, host_ports: &mut Vec<HostPort>) -> Result<(), DaemonError> {
    if let Some(port) = HostPort::make(config)? {
        let how = if port.reused() { "found again" } else { "made" };
        tracing::info!(link = config.name(), "host port {} {how}", port.host_interface());
        host_ports.retain(|known| known.host_interface() != port.host_interface());
        host_ports.push(port);
    }
    let handle = LinkEndHandle::start(links.restored(config).settings())
        .map_err(|source| DaemonError::Link { link: config.name().to_owned(), source })?;
    links.add(config, handle);
    Ok(())
}

fn remove(host_ports: impl Iterator<Item = HostPort>) {
    for port in host_ports {
        let name = port.host_interface().to_owned();
        match port.remove() {
            Ok(()) => tracing::info!("host port {name} removed"),
            Err(error) => tracing::warn!("host port {name} is left behind: {error}"),
        }
    }
}
