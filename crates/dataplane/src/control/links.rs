//! The links of a daemon: those that run, and those whose interface is gone.

use super::backend::{Backend, protect_command};
use crate::capture::{Capture, CaptureOptions};
use crate::command::{Command, CommandError, CommandResult};
use crate::config::{LinkConfig, ProtectConfig};
use crate::engine::ExitReason;
use crate::handle::LinkEndHandle;
use crate::health::DaemonHealth;
use crate::report::{LinkReport, PortReport};
use crate::saved_protection::SavedProtection;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// What happens to a link without an interface.
const WAITS: &str = "the link starts again by itself when that is mended";

/// The links, shared by everything that serves requests about them.
#[derive(Debug)]
pub struct Links {
    links: RwLock<Vec<Link>>,
    health: Arc<DaemonHealth>,
    saved: SavedProtection,
}

#[derive(Debug)]
struct Link {
    name: String,
    /// Its interfaces, inner and link.
    interfaces: [String; 2],
    state: State,
}

#[derive(Debug)]
enum State {
    Running(LinkEndHandle),
    /// The link does not run because an interface is missing; the text says why.
    OutOfOperation(String),
}

/// Why a link no longer runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// One of its interfaces is gone. The other links keep running.
    Interface {
        /// Name of the link.
        link: String,
        interface: String,
    },
    /// Its loop has failed or does not answer, which only a restart of the daemon can repair.
    Loop {
        /// Name of the link.
        link: String,
    },
}

impl Link {
    fn has_ended(&self) -> bool {
        matches!(&self.state, State::Running(handle) if !handle.is_running())
    }

    /// Removes a link whose loop has ended, and returns the reason.
    fn end(&mut self) -> Loss {
        let link = self.name.clone();
        let State::Running(handle) = &mut self.state else { return Loss::Loop { link } };
        let Some(ExitReason::InterfaceGone { interface }) = handle.ending() else {
            return Loss::Loop { link };
        };
        self.state = State::OutOfOperation(format!("interface `{interface}` is gone; {WAITS}"));
        Loss::Interface { link, interface }
    }
}

impl Links {
    /// Creates an empty set of links. What is set at run time goes to `saved`.
    pub fn new(health: Arc<DaemonHealth>, saved: SavedProtection) -> Links {
        Links { links: RwLock::default(), health, saved }
    }

    /// The configuration with which a link starts, protected as it was set at run time, or else as configured.
    pub fn restored(&self, config: &LinkConfig) -> LinkConfig {
        LinkConfig { protect: self.saved.restore(config), ..config.clone() }
    }

    /// Adds a link that has been started, replacing one of the same name whose interface was gone.
    pub fn add(&self, config: &LinkConfig, handle: LinkEndHandle) {
        let mut links = self.write();
        let state = State::Running(handle);
        match links.iter_mut().find(|link| link.name == config.name()) {
            Some(link) => link.state = state,
            None => {
                let interfaces = [config.inner.interface(), config.link.clone()];
                links.push(Link { name: config.name().to_owned(), interfaces, state });
            }
        }
    }

    /// Checks all links. Returns those that have stopped running since the last check.
    pub fn check(&self) -> Vec<Loss> {
        let answers = |link: &Link| match &link.state {
            // If the loop has only just ended, the reason is found below or at the next check.
            State::Running(handle) => {
                matches!(handle.command(Command::Report), Ok(_) | Err(CommandError::Stopped { .. }))
            }
            State::OutOfOperation(_) => true,
        };
        let silent = |link: &Link| (!answers(link)).then(|| Loss::Loop { link: link.name.clone() });
        let mut lost: Vec<Loss> = self.read().iter().filter_map(silent).collect();
        if self.read().iter().any(Link::has_ended) {
            lost.extend(self.write().iter_mut().filter(|link| link.has_ended()).map(Link::end));
        }
        lost
    }

    /// Whether any link runs.
    pub fn any_runs(&self) -> bool {
        self.read().iter().any(|link| matches!(link.state, State::Running(_)))
    }

    /// Names of the links whose interface is gone, with the reasons.
    pub fn out_of_operation(&self) -> Vec<(String, String)> {
        let reason = |link: &Link| match &link.state {
            State::Running(_) => None,
            State::OutOfOperation(why) => Some((link.name.clone(), why.clone())),
        };
        self.read().iter().filter_map(reason).collect()
    }

    /// Records what now keeps such a link from starting again. Returns `true` if that is new.
    pub fn set_obstacle(&self, name: &str, obstacle: &str) -> bool {
        let now = format!("{obstacle}; {WAITS}");
        for link in &mut *self.write() {
            if let State::OutOfOperation(why) = &mut link.state
                && link.name == name
                && *why != now
            {
                *why = now;
                return true;
            }
        }
        false
    }

    /// Stops all links and removes them.
    pub fn stop(&self) {
        for link in std::mem::take(&mut *self.write()) {
            if let State::Running(handle) = link.state {
                handle.stop();
            }
        }
    }

    /// Calls `request` with a running link; `None` if there is no such link.
    fn with<T>(
        &self,
        name: &str,
        request: impl FnOnce(&LinkEndHandle) -> Result<T, CommandError>,
    ) -> Option<Result<T, CommandError>> {
        let links = self.read();
        let link = links.iter().find(|link| link.name == name)?;
        Some(match &link.state {
            State::Running(handle) => request(handle),
            State::OutOfOperation(why) => Err(CommandError::Gone { link: name.to_owned(), why: why.clone() }),
        })
    }

    /// The report of a link that does not run; `None` if it runs.
    fn report_out_of_operation(&self, name: &str) -> Option<LinkReport> {
        let links = self.read();
        let link = links.iter().find(|link| link.name == name)?;
        let State::OutOfOperation(why) = &link.state else { return None };
        let [inner, outer] = link.interfaces.clone();
        let port = |interface| PortReport { interface, ..PortReport::default() };
        Some(LinkReport {
            name: link.name.clone(),
            pid: std::process::id(),
            gone: Some(why.clone()),
            inner: port(inner),
            link: port(outer),
            ..LinkReport::default()
        })
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<Link>> {
        // The list is consistent even if a thread panicked while holding the lock.
        self.links.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Link>> {
        self.links.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for Links {
    fn links(&self) -> Vec<String> {
        self.read().iter().map(|link| link.name.clone()).collect()
    }

    fn command(&self, link: &str, command: Command) -> Option<CommandResult> {
        let report = matches!(command, Command::Report).then(|| self.report_out_of_operation(link)).flatten();
        let result = match report {
            Some(report) => Ok(Box::new(report)),
            None => self.with(link, |handle| handle.command(command))?,
        };
        Some(result.map(|mut report| {
            report.daemon = self.health.report();
            report.set_at_run_time = self.saved.differs(link);
            report.restart_forgets = report.set_at_run_time && !self.saved.outlives_the_daemon();
            report
        }))
    }

    fn capture(&self, link: &str, options: CaptureOptions) -> Option<Result<Capture, CommandError>> {
        self.with(link, |handle| handle.capture(options))
    }

    fn protect(&self, link: &str, protect: &ProtectConfig) -> Option<CommandResult> {
        let set = || match self.with(link, |handle| handle.command(protect_command(protect))) {
            Some(Ok(report)) => Ok(report),
            other => Err(other),
        };
        match self.saved.apply(link, protect, set) {
            // This asks again, because what is saved has changed.
            Ok(_) => self.command(link, Command::Report),
            Err(refusal) => refusal,
        }
    }
}
