//! Restarts links that have ended, because an interface was gone or for any other reason.

use super::error::DaemonError;
use crate::config::{DeviceError, LinkConfig};
use crate::control::Links;
use linkmend_diagnose::Diagnose;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long to wait after an attempt that failed, or a loop that ended soon. An attempt does not affect the other links,
/// but the driver may have reset the interface for it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The wait doubles up to this.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A loop that has run for this long does not count as ended soon.
const RAN_LONG: Duration = Duration::from_secs(180);

/// The state of the attempts, by link.
#[derive(Debug, Default)]
pub(super) struct LinkRestarts {
    attempts: BTreeMap<String, Attempts>,
}

#[derive(Debug)]
struct Attempts {
    /// The last one.
    at: Instant,
    /// The wait after it.
    wait: Duration,
}

impl LinkRestarts {
    /// Starts the links that do not run and whose interfaces pass `check`, as when the daemon starts. Obstacles are
    /// reported once in the log, and in `status`.
    pub(super) fn start_again(
        &mut self,
        configs: &[LinkConfig],
        links: &Links,
        check: impl Fn(&LinkConfig) -> Result<(), DeviceError>,
        mut start: impl FnMut(&LinkConfig) -> Result<(), DaemonError>,
    ) {
        for (name, _) in links.out_of_operation() {
            let Some(config) = configs.iter().find(|config| config.name() == name) else { continue };
            let obstacle = match check(config) {
                Err(error) => match error.hint() {
                    Some(hint) => format!("{error} (hint: {hint})"),
                    None => error.to_string(),
                },
                Ok(()) if !self.is_due(&name) => continue,
                Ok(()) => match start(config) {
                    Ok(()) => {
                        tracing::info!(link = name, "the link runs again");
                        continue;
                    }
                    Err(error) => error.chain(),
                },
            };
            // The log and the report name the link themselves.
            let obstacle = obstacle.trim_start_matches(&format!("link {name}: "));
            if links.set_obstacle(&name, obstacle) {
                tracing::warn!(link = name, "still out of operation: {obstacle}");
            }
        }
    }

    /// Whether a link may be started now; if so, that counts as an attempt. The first one is due at once.
    fn is_due(&mut self, name: &str) -> bool {
        let now = Instant::now();
        let wait = match self.attempts.get(name) {
            Some(last) if now - last.at < last.wait => return false,
            Some(last) if now - last.at < RAN_LONG => (last.wait * 2).min(LONGEST_WAIT),
            _ => FIRST_WAIT,
        };
        self.attempts.insert(name.to_owned(), Attempts { at: now, wait });
        true
    }
}
