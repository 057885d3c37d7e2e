//! What carries a plan out.

use crate::PortName;
use crate::actuator::{self, PortsDone, SonicPorts, Stop};
use crate::planning::Verdict;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chance is ruled out that a trial has too few frames to show the former loss rate.
const TRIAL_DOUBT: f64 = 1e-6;

/// See the module's documentation.
pub(in crate::daemon) enum Hands {
    /// Nothing: links that should be disabled are named.
    None,
    /// Nothing, and what would be done is said (dry run).
    Rehearsal,
    /// A program of the operator, which is told what to do.
    Hook(PathBuf),
    /// The configuration of SONiC switches.
    Ports(Box<SonicPorts>),
}

/// What is to be done about a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Disable,
    Trial,
    Enable,
}

impl Hands {
    /// Whether nothing outside of this process is changed.
    pub fn is_rehearsal(&self) -> bool {
        match self {
            Hands::Rehearsal => true,
            Hands::Ports(ports) => ports.is_dry_run(),
            Hands::None | Hands::Hook(_) => false,
        }
    }

    /// Whether a link may be disabled, as far as can be seen without doing it.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn check(&mut self, ports: &[PortName; 2]) -> Result<(), String> {
        match self {
            Hands::Ports(switches) => switches.check(ports),
            Hands::None | Hands::Rehearsal | Hands::Hook(_) => Ok(()),
        }
    }

    /// Does it, and returns what was done, for people. `down` has the ports that are down because of it.
    ///
    /// # Errors
    /// What went wrong, for people.
    pub(super) fn command(
        &mut self,
        action: Action,
        verdict: &Verdict,
        down: &mut BTreeSet<PortName>,
        stop: &Stop,
    ) -> Result<String, String> {
        match self {
            Hands::None | Hands::Rehearsal => Ok(String::new()),
            Hands::Hook(hook) => actuator::run(told(hook, action, verdict), stop).map(|()| String::new()),
            Hands::Ports(switches) => {
                let Verdict { link, ports, why, .. } = verdict;
                let done = match action {
                    Action::Disable => switches.take_down(ports, &format!("{link}: {why}")),
                    Action::Trial | Action::Enable => switches.bring_up(ports, down),
                };
                let PortsDone { what, down: now } = done?;
                down.retain(|port| !ports.contains(port));
                down.extend(now);
                Ok(what)
            }
        }
    }
}

/// The program with what it is to do in its environment.
fn told(hook: &Path, action: Action, verdict: &Verdict) -> Command {
    let Verdict { link, ports, loss_rate, why } = verdict;
    let frames = -libm::log(TRIAL_DOUBT) / loss_rate;
    let action = match action {
        Action::Disable => "disable",
        Action::Trial => "trial",
        Action::Enable => "enable",
    };
    let mut command = Command::new(hook);
    command.env("LINKMEND_ACTION", action).env("LINKMEND_LINK", link).env("LINKMEND_REASON", why);
    command.env("LINKMEND_PORTS", format!("{} {}", ports[0], ports[1]));
    command.env("LINKMEND_LOSS_RATE", format!("{loss_rate:e}"));
    command.env("LINKMEND_FRAMES", format!("{:.0}", frames.ceil()));
    command
}
