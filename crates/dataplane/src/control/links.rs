//! The links of a daemon: those that run, and those that wait to start again.

use super::backend::{Backend, protect_command};
use crate::capture::Capture;
use crate::command::{Command, CommandError, CommandResult};
use crate::config::LinkConfig;
use crate::engine::ExitReason;
use crate::handle::LinkEndHandle;
use crate::handle::REPLY_TIMEOUT;
use crate::saved_protection::SavedProtection;
use linkmend_control::capture::CaptureOptions;
use linkmend_control::report::PortReport;
use linkmend_control::{DaemonHealth, LinkReport, ProtectConfig};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

/// What happens to a link that lacks something.
pub(crate) const WAITS: &str = "the link restarts automatically once that is fixed";
/// How long to wait for the answer of a loop that gave none before. Others must not wait for it.
const PATIENCE_WITH_SILENT: Duration = Duration::from_millis(50);

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
    /// Whether its loop gave no answer when it was last asked.
    is_silent: AtomicBool,
}

#[derive(Debug)]
enum State {
    Running(LinkEndHandle),
    /// The link does not run; the texts say why, and what follows.
    OutOfOperation {
        why: String,
        then: String,
        /// Whether an interface is missing, without which nothing can be done.
        interface_gone: bool,
    },
}

/// What has become of a link. None of it concerns the other links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Loss {
    /// One of its interfaces is gone.
    Interface {
        /// Name of the link.
        link: String,
        interface: String,
    },
    /// Its loop has ended.
    Loop {
        /// Name of the link.
        link: String,
        /// What is known of the cause.
        why: &'static str,
    },
    /// Its loop does not answer.
    Silent {
        /// Name of the link.
        link: String,
    },
    /// Its loop answers again.
    Answers {
        /// Name of the link.
        link: String,
    },
}

impl Link {
    fn has_ended(&self) -> bool {
        matches!(&self.state, State::Running(handle) if !handle.is_running())
    }

    /// Removes a loop that has ended, and returns the reason; `None` if there is none.
    fn end(&mut self) -> Option<Loss> {
        let link = self.name.clone();
        let State::Running(handle) = &mut self.state else { return None };
        let ending = handle.ending();
        let (why, then, loss) = match ending {
            Some(ExitReason::InterfaceGone { interface }) => {
                (format!("interface `{interface}` is gone"), WAITS, Loss::Interface { link, interface })
            }
            other => {
                let why = match other {
                    Some(ExitReason::InterfaceBack) => "an interface is back",
                    Some(_) => "it ended on its own",
                    None => "it panicked",
                };
                (format!("its loop has ended ({why})"), "it restarts automatically", Loss::Loop { link, why })
            }
        };
        let interface_gone = matches!(loss, Loss::Interface { .. });
        self.state = State::OutOfOperation { why, then: then.to_owned(), interface_gone };
        Some(loss)
    }

    /// Asks the loop for an answer, and says what has changed about that.
    fn ask(&self) -> Option<Loss> {
        let State::Running(handle) = &self.state else { return None };
        let was_silent = self.is_silent.load(Ordering::Relaxed);
        let patience = if was_silent { PATIENCE_WITH_SILENT } else { REPLY_TIMEOUT };
        let answer = handle.command_within(patience, Command::Report);
        // If the loop has only just ended, the reason is found at once or at the next check.
        let is_silent = matches!(answer, Err(CommandError::NoAnswer { .. }));
        self.is_silent.store(is_silent, Ordering::Relaxed);
        let link = || self.name.clone();
        match (was_silent, is_silent) {
            (false, true) => Some(Loss::Silent { link: link() }),
            (true, false) => Some(Loss::Answers { link: link() }),
            _ => None,
        }
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
            Some(link) => (link.state, link.is_silent) = (state, AtomicBool::new(false)),
            None => {
                let interfaces = [config.inner.interface(), config.link.clone()];
                let (name, is_silent) = (config.name().to_owned(), AtomicBool::new(false));
                links.push(Link { name, interfaces, state, is_silent });
            }
        }
    }

    /// Lets what the links attached stay when they end: the start of the daemon, or of a link, has succeeded.
    pub fn keep(&self) {
        for link in self.read().iter() {
            if let State::Running(handle) = &link.state {
                handle.keep();
            }
        }
    }

    /// Checks all links. Returns what has changed since the last check.
    pub fn check(&self) -> Vec<Loss> {
        let mut lost: Vec<Loss> = self.read().iter().filter_map(Link::ask).collect();
        if self.read().iter().any(Link::has_ended) {
            lost.extend(self.write().iter_mut().filter(|link| link.has_ended()).filter_map(Link::end));
        }
        lost
    }

    /// Whether any link runs, or will as soon as its loop has been started again.
    pub fn any_runs(&self) -> bool {
        self.read()
            .iter()
            .any(|link| !matches!(link.state, State::OutOfOperation { interface_gone: true, .. }))
    }

    /// Whether any loop answered when it was last asked, or none runs.
    pub fn any_answers(&self) -> bool {
        let links = self.read();
        let mut running = links.iter().filter(|link| matches!(link.state, State::Running(_))).peekable();
        running.peek().is_none() || running.any(|link| !link.is_silent.load(Ordering::Relaxed))
    }

    /// Names of the links that do not run, with the reasons.
    pub fn out_of_operation(&self) -> Vec<(String, String)> {
        let reason = |link: &Link| match &link.state {
            State::Running(_) => None,
            State::OutOfOperation { why, .. } => Some((link.name.clone(), why.clone())),
        };
        self.read().iter().filter_map(reason).collect()
    }

    /// Records what now keeps such a link from starting again, and what follows. Returns `true` if the obstacle is new.
    pub fn set_obstacle(&self, name: &str, obstacle: &str, follows: &str) -> bool {
        for link in &mut *self.write() {
            if let State::OutOfOperation { why, then, .. } = &mut link.state
                && link.name == name
            {
                follows.clone_into(then);
                return std::mem::replace(why, obstacle.to_owned()) != obstacle;
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
            State::OutOfOperation { why, then, .. } => {
                Err(CommandError::Gone { link: name.to_owned(), why: format!("{why}; {then}") })
            }
        })
    }

    /// The report of a link that does not run; `None` if it runs.
    fn report_out_of_operation(&self, name: &str) -> Option<LinkReport> {
        let links = self.read();
        let link = links.iter().find(|link| link.name == name)?;
        let State::OutOfOperation { why, then, .. } = &link.state else { return None };
        let [inner, outer] = link.interfaces.clone();
        let port = |interface| PortReport { interface, ..PortReport::default() };
        Some(LinkReport {
            name: link.name.clone(),
            pid: std::process::id(),
            gone: Some(format!("{why}; {then}")),
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
