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
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread::JoinHandle;
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
    /// Those whose command has begun, and has not succeeded: nobody knows whether they are up.
    #[serde(default)]
    disabling: Vec<Verdict>,
}

/// What was done before a restart.
#[derive(Debug, Default)]
pub(super) struct Before {
    pub disabled: BTreeSet<[PortName; 2]>,
    pub disabling: Vec<Verdict>,
}

/// Reads which links were disabled before a restart, and which were about to be.
///
/// # Errors
/// Why the file cannot be used.
pub(super) fn disabled_before(path: &Path) -> Result<Before, String> {
    match memory::read::<Memory>(path)? {
        None => Ok(Before::default()),
        Some(Memory { version: VERSION, disabled, disabling }) => Ok(Before { disabled, disabling }),
        Some(Memory { version, .. }) => {
            Err(format!("its version is {version}, this program knows {VERSION}"))
        }
    }
}

/// The thread, which ends when it is no longer needed and nothing is under way.
pub(super) struct PlanThread {
    directions: Option<SyncSender<Directions>>,
    /// What could not be handed over yet, because a plan is being made or carried out. Only the latest counts.
    waiting: Option<Directions>,
    decisions: Receiver<Decision>,
    thread: Option<JoinHandle<()>>,
}

struct Keeper {
    planner: Planner,
    /// What disables links; without it, they are only named.
    hook: Option<PathBuf>,
    memory: PathBuf,
    /// Links whose command has begun and has not succeeded. They count as disabled, because it may have done so.
    disabling: Vec<Verdict>,
    retry_at: Instant,
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
        disabling: Vec<Verdict>,
        started: Instant,
    ) -> io::Result<PlanThread> {
        let (directions, changed) = sync_channel(1);
        let (told, decisions) = channel();
        let keeper = Keeper {
            planner,
            hook,
            memory,
            disabling,
            retry_at: started,
            started,
            decisions: told,
            said: BTreeSet::new(),
            unplaced: BTreeSet::new(),
            unheard: BTreeSet::new(),
        };
        let thread =
            std::thread::Builder::new().name("planner".to_owned()).spawn(move || keeper.run(&changed))?;
        Ok(PlanThread { directions: Some(directions), waiting: None, decisions, thread: Some(thread) })
    }

    /// Hands over all directions of which agents have said something.
    pub fn plan(&mut self, directions: Directions) {
        self.waiting = Some(directions);
        self.hand_over();
    }

    /// Hands over what waits, if the thread can take it. Called now and then.
    pub fn hand_over(&mut self) {
        let (Some(waiting), Some(sender)) = (self.waiting.take(), &self.directions) else { return };
        match sender.try_send(waiting) {
            Ok(()) => {}
            Err(TrySendError::Full(waiting)) => self.waiting = Some(waiting),
            Err(TrySendError::Disconnected(_)) => {
                tracing::error!("links are not planned for any more until a restart: the planner has ended");
                self.directions = None;
            }
        }
    }

    /// What came of it since the last call.
    pub fn decisions(&self) -> impl Iterator<Item = Decision> {
        self.decisions.try_iter()
    }
}

impl Drop for PlanThread {
    /// Waits for a command that is under way, at most for its 30 s: it would be run again after a restart.
    fn drop(&mut self) {
        self.directions = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
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
                changed.recv_timeout(self.retry_at.saturating_duration_since(Instant::now()))
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
        let still: BTreeSet<[PortName; 2]> = self.planner.all_disabled().clone();
        self.disabling.retain(|verdict| still.contains(&verdict.ports));
        if has_returned {
            self.remember();
        }
        // What has failed is tried again first, when it is time: meanwhile it counts as disabled.
        if Instant::now() >= self.retry_at {
            for verdict in std::mem::take(&mut self.disabling) {
                self.disable(verdict);
            }
        }
        for verdict in planned.disable {
            self.disable(verdict);
        }
        self.disabling.is_empty()
    }

    /// Disables a link, if there is something that does. That it is about to be done is remembered first: a crash in between
    /// must not leave a link disabled that nobody knows of.
    fn disable(&mut self, verdict: Verdict) {
        let Some(hook) = self.hook.clone() else {
            let Verdict { link, ports, why, .. } = verdict;
            if self.said.insert(ports.clone()) {
                self.tell(ports, PlanVerdict::Advised, link, why);
            }
            return;
        };
        self.planner.disabled(verdict.ports.clone());
        self.disabling.push(verdict.clone());
        self.remember();
        let Verdict { link, ports, loss_rate, why } = verdict;
        let mut command = Command::new(hook);
        command.env("LINKMEND_ACTION", "disable").env("LINKMEND_LINK", &link).env("LINKMEND_REASON", &why);
        command.env("LINKMEND_PORTS", format!("{} {}", ports[0], ports[1]));
        command.env("LINKMEND_LOSS_RATE", format!("{loss_rate:e}"));
        match actuator::run(command) {
            Ok(()) => {
                self.disabling.retain(|verdict| verdict.ports != ports);
                self.remember();
                self.tell(ports, PlanVerdict::Disabled, link, why);
            }
            Err(error) => {
                self.retry_at = Instant::now() + RETRY_INTERVAL;
                self.tell(ports, PlanVerdict::Failed, link, error);
            }
        }
    }

    fn tell(&self, ports: [PortName; 2], verdict: PlanVerdict, link: String, reason: String) {
        let decision = Decision::of_plan(self.started.elapsed(), ports, verdict, link, reason);
        // Nobody listens any more when the daemon ends.
        let _ = self.decisions.send(decision);
    }

    fn remember(&self) {
        let (disabled, disabling) = (self.planner.all_disabled().clone(), self.disabling.clone());
        let memory = Memory { version: VERSION, disabled, disabling };
        if let Err(error) = memory::write(&self.memory, &memory) {
            let path = self.memory.display();
            tracing::warn!("{path}: a restart would forget which links were disabled: {error}");
        }
    }
}
