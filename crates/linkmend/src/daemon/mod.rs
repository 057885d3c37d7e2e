//! The parts of `linkmend run`: links, sockets, signals, the service manager.

mod link_restarts;
mod serve;
mod service_manager;
mod signals;

pub use serve::serve;
pub use signals::Signals;

use crate::failure::{Context, Hinted, Result};
use link_restarts::LinkRestarts;
use linkmend_dataplane::config::{CONTROL_FOLDER, DaemonConfig, HostPort, LinkConfig};
use linkmend_dataplane::control::{Backend, Links, Loss, Reservation, Server};
use linkmend_dataplane::metrics::MetricsServer;
use linkmend_dataplane::{DaemonHealth, LinkEndHandle, SavedProtection};
use std::path::Path;
use std::sync::Arc;

/// What to do when a loop has failed.
const KERNEL_FORWARDS: &str = "the log above says why; with AF_XDP ports the kernel forwards in the meantime";

/// Everything that runs. Dropping it ends it in the right order.
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
    /// Starts all links, then the sockets that report on them. On an error, what was started is ended again.
    pub fn start(config: &DaemonConfig) -> Result<Daemon> {
        let path = config.control.clone().unwrap_or_else(|| Path::new(CONTROL_FOLDER).join("control.sock"));
        // This comes first: a second daemon must fail before it changes anything.
        let reservation = Reservation::take(&path)?;
        let health = Arc::new(DaemonHealth::new(crate::logging::lost_lines));
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
            .map(|address| MetricsServer::start(address, backend(), Arc::clone(&daemon.health)))
            .transpose()?;
        let control = Server::start(reservation, backend())?;
        tracing::info!("control socket {}", control.path().display());
        (daemon.metrics, daemon.control) = (metrics, Some(control));
        Ok(daemon)
    }

    /// Checks the links and the host. A link whose interface is gone waits until the interface is back, while others
    /// run.
    ///
    /// # Errors
    /// The daemon must end: a loop has failed or does not answer, or no link is left.
    pub fn check(&mut self) -> Result<(), Hinted> {
        self.health.check();
        for loss in self.links.check() {
            match loss {
                Loss::Interface { link, interface } => tracing::error!(
                    link,
                    interface,
                    "this link is out of operation; the others go on, and it starts again when the interface is back"
                ),
                Loss::Loop { link } => {
                    return Err(Hinted {
                        message: format!("link {link}: its loop has ended or does not answer"),
                        hint: KERNEL_FORWARDS.to_owned(),
                    });
                }
            }
        }
        if !self.links.any_runs() {
            return Err(self.gone().unwrap_or_else(|| Hinted {
                message: "no link runs any more".to_owned(),
                hint: KERNEL_FORWARDS.to_owned(),
            }));
        }
        self.link_restarts.start_again(&self.configs, &self.links, &mut self.host_ports);
        Ok(())
    }

    /// The links that are out of operation, as an error; `None` if there are none.
    pub fn gone(&self) -> Option<Hinted> {
        let gone = self.links.gone();
        if gone.is_empty() {
            return None;
        }
        let texts: Vec<String> = gone.iter().map(|(link, why)| format!("link {link}: {why}")).collect();
        Some(Hinted {
            message: texts.join("; "),
            hint: "bring the interface back, then start again; `linkmend run --check` says what is missing"
                .to_owned(),
        })
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

fn start_links(configs: &[LinkConfig], links: &Links) -> Result<Vec<HostPort>> {
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

/// Starts a link, and makes its host port if it asks for one.
fn start_link(config: &LinkConfig, links: &Links, host_ports: &mut Vec<HostPort>) -> Result<()> {
    if let Some(port) = HostPort::make(config)? {
        let how = if port.reused() { "found again" } else { "made" };
        tracing::info!(link = config.name(), "host port {} {how}", port.host_interface());
        host_ports.retain(|known| known.host_interface() != port.host_interface());
        host_ports.push(port);
    }
    let handle = LinkEndHandle::start(links.restored(config).settings())
        .with_context(|| format!("cannot start link {}", config.name()))?;
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
