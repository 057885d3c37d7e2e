//! What `linkmend run` is made of: links, sockets, signals, the service manager.

mod serve;
mod service_manager;
mod signals;

pub use serve::serve;
pub use signals::Signals;

use anyhow::Context;
use linkmend_dataplane::config::{CONTROL_FOLDER, DaemonConfig, HostPort, LinkConfig};
use linkmend_dataplane::control::{Backend, Links, Reservation, Server};
use linkmend_dataplane::metrics::MetricsServer;
use linkmend_dataplane::{DaemonHealth, KeptProtection, LinkEndHandle};
use std::path::Path;
use std::sync::Arc;

/// Everything that runs. Dropping it ends it in the right order.
pub struct Daemon {
    links: Arc<Links>,
    health: Arc<DaemonHealth>,
    host_ports: Vec<HostPort>,
    control: Option<Server>,
    metrics: Option<MetricsServer>,
}

impl Daemon {
    /// Starts all links, then what lets people see them. On an error, what was started is ended again.
    pub fn start(config: &DaemonConfig) -> anyhow::Result<Daemon> {
        let path = config.control.clone().unwrap_or_else(|| Path::new(CONTROL_FOLDER).join("control.sock"));
        // First of all: a second daemon must find out before it changes anything.
        let reservation = Reservation::take(&path)?;
        let health = Arc::new(DaemonHealth::new(crate::logging::lost_lines));
        let kept = match (&config.state, config.restore) {
            (_, Some(false)) => KeptProtection::none(),
            (state, _) => {
                let path = state.clone().unwrap_or_else(|| path.with_extension("state"));
                KeptProtection::open(&path, Arc::clone(&health))
            }
        };
        let (links, host_ports) = start_links(&config.links, &health, kept)?;
        let mut daemon = Daemon { links, health, host_ports, control: None, metrics: None };
        let backend = || Arc::clone(&daemon.links) as Arc<dyn Backend>;
        let metrics = config
            .metrics
            .map(|address| MetricsServer::start(address, backend(), Arc::clone(&daemon.health)))
            .transpose()?;
        let control = Server::start(reservation, backend())?;
        tracing::info!("control socket {}", control.path().display());
        (daemon.metrics, daemon.control) = (metrics, Some(control));
        Ok(daemon)
    }

    /// Looks at the links and the host: the first link whose loop has ended or does not answer.
    pub fn look(&self) -> Option<String> {
        self.health.look();
        self.links.first_dead()
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

fn start_links(
    configs: &[LinkConfig],
    health: &Arc<DaemonHealth>,
    kept: KeptProtection,
) -> anyhow::Result<(Arc<Links>, Vec<HostPort>)> {
    let (mut handles, mut host_ports) = (Vec::new(), Vec::new());
    for config in configs {
        let config = LinkConfig { protect: kept.restore(config), ..config.clone() };
        match start_link(&config, &mut host_ports) {
            Ok(handle) => handles.push(handle),
            Err(error) => {
                for handle in handles {
                    handle.stop();
                }
                // A pair that was there already may be in use by whoever is in our way.
                remove(host_ports.into_iter().filter(|port| !port.reused()));
                return Err(error);
            }
        }
    }
    Ok((Arc::new(Links::new(handles, Arc::clone(health), kept)), host_ports))
}

fn start_link(config: &LinkConfig, host_ports: &mut Vec<HostPort>) -> anyhow::Result<LinkEndHandle> {
    if let Some(port) = HostPort::make(config)? {
        let how = if port.reused() { "found again" } else { "made" };
        tracing::info!(link = config.name(), "host port {} {how}", port.host_interface());
        host_ports.push(port);
    }
    LinkEndHandle::start(config.settings()).with_context(|| format!("cannot start link {}", config.name()))
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
