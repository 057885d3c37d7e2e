//! A thread that keeps the plan, because planning for a large network takes seconds, and disabling a link as well.

use crate::PortName;
use crate::actuator;
use crate::agent::{Decision, PlanVerdict};
use crate::exchange::Directions;
use crate::memory;
use crate::planning::{Planner, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long after a failure a link is tried to be disabled again.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// Increases when the meaning of the file changes.
const VERSION: u32 = 1;

/// What must outlive a restart.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Memory {
    version: u32,
    /// Links by their ports.
    disabled: BTreeSet<[PortName; 2]>,
}

/// Reads which links were disabled before a restart.
///
/// # Errors
/// Why the file cannot be used.
pub(super) fn disabled_before(path: &Path) -> Result<BTreeSet<[PortName; 2]>, String> {
    match memory::read::<Memory>(path)? {
        None => Ok(BTreeSet::new()),
        Some(Memory { version: VERSION, disabled }) => Ok(disabled),
        Some(Memory { version, .. }) => {
            Err(format!("its version is {version}, this program knows {VERSION}"))
        }
    }
}

/// The thread, which ends when it is no longer needed and nothing is under way.
pub(super) struct PlanThread {
    directions: Sender<Directions>,
    decisions: Receiver<Decision>,
}

struct Keeper {
    planner: Planner,
    /// What disables links; without it, they are only named.
    hook: Option<PathBuf>,
    memory: PathBuf,
    started: Instant,
    decisions: Sender<Decision>,
    /// What was said last, so that it is said once.
    said: BTreeSet<[PortName; 2]>,
    unplaced: BTreeSet<String>,
    unheard: BTreeSet<[PortName; 2]>,
}

impl PlanThread {
    /// Starts it.
    ///
    /// # Errors
    /// If there can be no more threads.
    pub fn start(
        planner: Planner,
        hook: Option<PathBuf>,
        memory: PathBuf,
        started: Instant,
    ) -> io::Result<PlanThread> {
        let (directions, changed) = channel();
        let (told, decisions) = channel();
        let keeper = Keeper {
            planner,
            hook,
            memory,
            started,
            decisions: told,
            said: BTreeSet::new(),
            unplaced: BTreeSet::new(),
            unheard: BTreeSet::new(),
        };
        std::thread::Builder::new().name("planner".to_owned()).spawn(move || keeper.run(&changed))?;
        Ok(PlanThread { directions, decisions })
    }

    /// Hands over all directions of which agents have said something.
    pub fn plan(&self, directions: Directions) {
        // It fails only if the thread has ended, and then everything does.
        let _ = self.directions.send(directions);
    }

    /// What came of it since the last call.
    pub fn decisions(&self) -> impl Iterator<Item = Decision> {
        self.decisions.try_iter()
    }
}

impl Keeper {
    fn run(mut self, changed: &Receiver<Directions>) {
        let Ok(mut latest) = changed.recv() else { return };
        loop {
            if let Some(newer) = changed.try_iter().last() {
                latest = newer;
            }
            let done = self.plan(&latest);
            let next = if done {
                changed.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                changed.recv_timeout(RETRY_INTERVAL)
            };
            match next {
                Ok(newer) => latest = newer,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Plans, and carries it out; whether all of it worked.
    fn plan(&mut self, directions: &Directions) -> bool {
        let planned = self.planner.plan(directions);
        for unplaced in planned.unplaced {
            let text = unplaced.to_string();
            if self.unplaced.len() < 1_000 && self.unplaced.insert(text.clone()) {
                tracing::warn!("not planned for: {text}");
            }
        }
        for ports in self.planner.unheard(directions) {
            let [one, other] = &ports;
            if !self.unheard.contains(&ports) {
                let memory = self.memory.display();
                tracing::warn!(
                    "the link between {one} and {other} was disabled, and no agent says how it is; if it is repaired, stop \
                     corruptd and take the link out of {memory}"
                );
                self.unheard.insert(ports);
            }
        }
        let has_returned = !planned.returned.is_empty();
        for ports in planned.returned {
            let reason = "neither of its directions corrupts any more".to_owned();
            self.tell(ports, PlanVerdict::Returned, String::new(), reason);
        }
        let named: BTreeSet<[PortName; 2]> =
            planned.disable.iter().map(|verdict| verdict.ports.clone()).collect();
        self.said.retain(|ports| named.contains(ports));
        let mut all_done = true;
        let mut changed = has_returned;
        for verdict in planned.disable {
            match self.disable(verdict) {
                Some(true) => changed = true,
                Some(false) => all_done = false,
                None => {}
            }
        }
        if changed {
            self.remember();
        }
        all_done
    }

    /// Disables a link, if there is something that does; whether that has worked.
    fn disable(&mut self, verdict: Verdict) -> Option<bool> {
        let Verdict { link, ports, loss_rate, why } = verdict;
        let Some(hook) = &self.hook else {
            if self.said.insert(ports.clone()) {
                self.tell(ports, PlanVerdict::Advised, link, why);
            }
            return None;
        };
        let mut command = Command::new(hook);
        command.env("LINKMEND_ACTION", "disable").env("LINKMEND_LINK", &link).env("LINKMEND_REASON", &why);
        command.env("LINKMEND_PORTS", format!("{} {}", ports[0], ports[1]));
        command.env("LINKMEND_LOSS_RATE", format!("{loss_rate:e}"));
        match actuator::run(command) {
            Ok(()) => {
                self.planner.disabled(ports.clone());
                self.tell(ports, PlanVerdict::Disabled, link, why);
                Some(true)
            }
            Err(error) => {
                if self.said.insert(ports.clone()) {
                    self.tell(ports, PlanVerdict::Failed, link, error);
                }
                Some(false)
            }
        }
    }

    fn tell(&self, ports: [PortName; 2], verdict: PlanVerdict, link: String, reason: String) {
        let decision = Decision::of_plan(self.started.elapsed(), ports, verdict, link, reason);
        // Nobody listens any more when the daemon ends.
        let _ = self.decisions.send(decision);
    }

    fn remember(&self) {
        let memory = Memory { version: VERSION, disabled: self.planner.all_disabled().clone() };
        if let Err(error) = memory::write(&self.memory, &memory) {
            let path = self.memory.display();
            tracing::warn!("{path}: a restart would forget which links were disabled: {error}");
        }
    }
}
