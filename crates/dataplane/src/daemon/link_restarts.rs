//! Restarts links that have ended, because an interface was gone or for any other reason.

use super::error::DaemonError;
use crate::config::{DeviceError, LinkConfig};
use crate::control::{Links, WAITS};
use linkmend_diagnose::Diagnose;
use linkmend_linux::route;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
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
    attempts: BTreeMap<String, Attempt>,
}

/// The last attempt to start a link.
#[derive(Debug)]
struct Attempt {
    at: Instant,
    /// The wait after it, if the interfaces stay as they were.
    wait: Duration,
    interfaces: Vec<InterfaceState>,
    /// Why it failed, if it did.
    obstacle: Option<String>,
}

impl LinkRestarts {
    /// Starts the links that do not run and whose interfaces pass `check`, as when the daemon starts. Obstacles are
    /// reported once in the log, and in `status`. `look` tells how the interfaces are.
    pub(super) fn start_again(
        &mut self,
        configs: &[LinkConfig],
        links: &Links,
        check: impl Fn(&LinkConfig) -> Result<(), DeviceError>,
        look: impl Fn(&LinkConfig) -> Vec<InterfaceState>,
        mut start: impl FnMut(&LinkConfig) -> Result<(), DaemonError>,
    ) {
        for (name, _) in links.out_of_operation() {
            let Some(config) = configs.iter().find(|config| config.name() == name) else { continue };
            let (obstacle, follows) = match check(config) {
                Err(error) => (with_hint(&error), WAITS.to_owned()),
                Ok(()) => {
                    let (attempt, is_due) = self.attempt(&name, look(config));
                    if is_due {
                        attempt.obstacle = start(config).err().map(|error| error.chain());
                        if attempt.obstacle.is_none() {
                            tracing::info!(link = name, "the link runs again");
                            continue;
                        }
                    }
                    let Some(obstacle) = attempt.obstacle.clone() else { continue };
                    let left = attempt.wait.saturating_sub(attempt.at.elapsed()).as_secs() + 1;
                    (
                        obstacle,
                        format!(
                            "the next attempt follows within {left} s, or immediately if an interface changes"
                        ),
                    )
                }
            };
            // The log and the report name the link themselves.
            let obstacle = obstacle.replace(&format!("link {name}: "), "");
            if links.set_obstacle(&name, &obstacle, &follows) {
                tracing::warn!(link = name, "still out of operation: {obstacle}; {follows}");
            }
        }
    }

    /// The last attempt to start a link, and whether it is to be made now: the first one at once, and the next after a
    /// wait that doubles as long as the interfaces stay as they were.
    fn attempt(&mut self, name: &str, interfaces: Vec<InterfaceState>) -> (&mut Attempt, bool) {
        let now = Instant::now();
        let next = |wait, interfaces| Attempt { at: now, wait, interfaces, obstacle: None };
        match self.attempts.entry(name.to_owned()) {
            Entry::Vacant(none) => (none.insert(next(FIRST_WAIT, interfaces)), true),
            Entry::Occupied(last) => {
                let last = last.into_mut();
                let is_changed = last.interfaces != interfaces;
                let wait = if is_changed { FIRST_WAIT.min(last.wait) } else { last.wait };
                if now - last.at < wait {
                    return (last, false);
                }
                let starts_afresh = is_changed || now - last.at >= RAN_LONG;
                let wait = if starts_afresh { FIRST_WAIT } else { (last.wait * 2).min(LONGEST_WAIT) };
                *last = next(wait, interfaces);
                (last, true)
            }
        }
    }
}

fn with_hint(error: &DeviceError) -> String {
    match error.hint() {
        Some(hint) => format!("{error} (hint: {hint})"),
        None => error.to_string(),
    }
}

/// How an interface is, as far as a start depends on it: its index, its MTU, and whether it is up.
pub(super) type InterfaceState = Option<(u32, u32, bool)>;

/// How the interfaces of a link are.
pub(super) fn interfaces_of(config: &LinkConfig) -> Vec<InterfaceState> {
    let inner = config.inner.interface();
    let state = |name: &String| {
        let facts = route::interface(name).ok()??;
        Some((facts.index, facts.mtu, facts.up))
    };
    [&inner].into_iter().chain(config.link_interfaces()).map(state).collect()
}
