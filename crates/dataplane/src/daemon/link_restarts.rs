//! Restarts links when their interfaces are back.

use super::start_link;
use crate::config::{HostPort, LinkConfig, check_devices};
use crate::control::Links;
use linkmend_diagnose::Diagnose;
use std::time::{Duration, Instant};

/// Interval between attempts to start links whose interfaces exist. A failed attempt does not affect the other links,
/// but the driver may have reset the interface for it.
const START_INTERVAL: Duration = Duration::from_secs(5);

/// The state of the attempts.
#[derive(Debug, Default)]
pub(super) struct LinkRestarts {
    failed_at: Option<Instant>,
}

impl LinkRestarts {
    /// Starts the links that are out of operation and whose interfaces can be used, as when the daemon starts.
    /// Obstacles are reported once in the log, and in `status`.
    pub(super) fn start_again(
        &mut self,
        configs: &[LinkConfig],
        links: &Links,
        host_ports: &mut Vec<HostPort>,
    ) {
        for (name, _) in links.out_of_operation() {
            let Some(config) = configs.iter().find(|config| config.name() == name) else { continue };
            let obstacle = match check_devices(config) {
                Err(error) => match error.hint() {
                    Some(hint) => format!("{error} (hint: {hint})"),
                    None => error.to_string(),
                },
                Ok(()) if self.failed_at.is_some_and(|at| at.elapsed() < START_INTERVAL) => continue,
                Ok(()) => match start_link(config, links, host_ports) {
                    Ok(()) => {
                        tracing::info!(link = name, "the interface is back; the link runs again");
                        continue;
                    }
                    Err(error) => {
                        self.failed_at = Some(Instant::now());
                        error.chain()
                    }
                },
            };
            // The log and the report name the link themselves.
            let obstacle = obstacle.trim_start_matches(&format!("link {name}: "));
            if links.set_obstacle(&name, obstacle) {
                tracing::warn!(link = name, "still out of operation: {obstacle}");
            }
        }
    }
}
