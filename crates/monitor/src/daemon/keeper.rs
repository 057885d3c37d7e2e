//! Keeps the plan: disables what it disables, tries that later, and enables what is healthy.

use super::plan_memory::Memory;
use crate::PortName;
use crate::actuator::{self, Stop};
use crate::agent::{Decision, DisabledStatus, HeldStatus, PlanStatus, PlanVerdict};
use crate::exchange::Directions;
use crate::memory;
use crate::planning::{Guard, GuardSettings, Planned, Planner, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long after a failure a command is tried again.
const RETRY_S: u64 = 60;
/// Chance is ruled out that a trial has too few frames to show the former loss rate.
const TRIAL_DOUBT: f64 = 1e-6;

/// What the keeper is started with.
pub(super) struct Setup {
    pub planner: Planner,
    pub guard: GuardSettings,
    pub hands: Hands,
    pub memory: PathBuf,
    pub before: Memory,
    pub stop: Stop,
    pub started: Instant,
}

/// What carries a plan out.
pub(super) enum Hands {
    /// Nothing: links that should be disabled are named.
    None,
    /// Nothing, and what would be done is said (dry run).
    Rehearsal,
    /// A program of the operator, which is told what to do.
    Hook(PathBuf),
}

/// See the module's documentation.
pub(super) struct Keeper {
    planner: Planner,
    guard: Guard,
    hands: Hands,
    memory: PathBuf,
    /// Links whose command has begun and has not succeeded. They count as disabled, because it may have done so.
    disabling: Vec<Verdict>,
    /// When commands that have failed are tried again, in seconds since 1970.
    retry_s: Option<u64>,
    /// Why the latest command has failed.
    trouble: Option<String>,
    stop: Stop,
    started: Instant,
    decisions: Sender<Decision>,
    status: Arc<Mutex<PlanStatus>>,
    /// What was said last, so that it is said once.
    said: BTreeSet<[PortName; 2]>,
    held: BTreeSet<[PortName; 2]>,
    unplaced: BTreeSet<String>,
    unheard: BTreeSet<[PortName; 2]>,
}

/// Seconds since 1970: limits must hold across restarts.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

impl Keeper {
    pub fn new(setup: Setup, decisions: Sender<Decision>, status: Arc<Mutex<PlanStatus>>) -> Keeper {
        let Setup { planner, guard, hands, memory, mut before, stop, started } = setup;
        // People may take a link out of the file.
        before.guard.links.retain(|link| before.disabled.contains(&link.verdict.ports));
        Keeper {
            planner,
            guard: Guard::new(guard, before.guard, now_s()),
            hands,
            memory,
            disabling: before.disabling,
            retry_s: None,
            trouble: None,
            stop,
            started,
            decisions,
            status,
            said: BTreeSet::new(),
            held: BTreeSet::new(),
            unplaced: BTreeSet::new(),
            unheard: BTreeSet::new(),
        }
    }

    /// Plans whenever directions have changed or something is due, until nobody hands over any more.
    pub fn run(mut self, changed: &Receiver<Directions>) {
        let Ok(mut latest) = changed.recv() else { return };
        loop {
            if let Some(newer) = changed.try_iter().last() {
                latest = newer;
            }
            self.plan(&latest);
            let now = now_s();
            let due = self.guard.next_timeout(now).into_iter().chain(self.retry_s).min();
            let next = match due {
                None => changed.recv().map_err(|_| RecvTimeoutError::Disconnected),
                // What is overdue cannot be done now: no agent says anything of it.
                Some(due) if due <= now => changed.recv_timeout(Duration::from_secs(RETRY_S)),
                Some(due) => changed.recv_timeout(Duration::from_secs(due - now)),
            };
            match next {
                Ok(newer) => latest = newer,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Plans, and carries it out.
    fn plan(&mut self, directions: &Directions) {
        let Planned { disable, returned, unplaced } = self.planner.plan(directions);
        self.name_what_is_not_planned_for(unplaced.iter().map(ToString::to_string), directions);
        if self.retry_s.is_some_and(|at| at <= now_s()) {
            self.retry_s = None;
        }
        for ports in returned {
            self.take_back(ports);
        }
        let named: BTreeSet<[PortName; 2]> = disable.iter().map(|verdict| verdict.ports.clone()).collect();
        self.said.retain(|ports| named.contains(ports));
        self.held.retain(|ports| named.contains(ports));
        let still = self.planner.all_disabled();
        self.disabling.retain(|verdict| still.contains(&verdict.ports));
        // What has failed is tried again first, when it is time: meanwhile it counts as disabled.
        if self.retry_s.is_none() {
            for verdict in std::mem::take(&mut self.disabling) {
                self.disable(verdict);
            }
        }
        for (verdict, why) in self.guard.failed_trials(now_s(), directions) {
            self.end_trial(verdict, why);
        }
        self.guard.want(now_s(), &disable);
        for verdict in disable {
            self.consider(verdict);
        }
        for verdict in self.guard.due(now_s(), directions) {
            if !self.is_failing(&verdict.ports) {
                self.try_again(verdict, directions);
            }
        }
        self.show(&named);
    }

    /// Whether the command that disables a link has failed, so that it may carry traffic as before.
    fn is_failing(&self, ports: &[PortName; 2]) -> bool {
        self.disabling.iter().any(|verdict| verdict.ports == *ports)
    }

    fn name_what_is_not_planned_for(
        &mut self,
        unplaced: impl Iterator<Item = String>,
        directions: &Directions,
    ) {
        for text in unplaced {
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
    }

    /// Disables a link that the plan wants disabled, unless something holds that up.
    fn consider(&mut self, verdict: Verdict) {
        if matches!(self.hands, Hands::None) {
            let Verdict { link, ports, why, .. } = verdict;
            if self.said.insert(ports.clone()) {
                self.tell(ports, PlanVerdict::Advised, link, why);
            }
            return;
        }
        let now = now_s();
        match self.guard.hold(now, &verdict.ports) {
            Some(hold) if hold.is_limit() => {
                if self.held.insert(verdict.ports.clone()) {
                    self.tell(verdict.ports, PlanVerdict::Held, verdict.link, hold.to_string());
                }
            }
            Some(hold) => {
                if self.said.insert(verdict.ports.clone()) {
                    let reason = format!("{hold}: {}", verdict.why);
                    self.tell(verdict.ports, PlanVerdict::Advised, verdict.link, reason);
                }
            }
            None => {
                self.planner.disabled(verdict.ports.clone());
                self.guard.disabled(now, verdict.clone());
                self.disable(verdict);
            }
        }
    }

    /// Has a link disabled. That it is about to be done is remembered first: a crash in between must not leave a link disabled
    /// that nobody knows of.
    fn disable(&mut self, verdict: Verdict) {
        self.disabling.push(verdict.clone());
        self.remember();
        match self.command("disable", &verdict) {
            Ok(()) => {
                self.disabling.retain(|other| other.ports != verdict.ports);
                self.remember();
                self.tell(verdict.ports, PlanVerdict::Disabled, verdict.link, verdict.why);
            }
            Err(error) => self.fail(verdict, error),
        }
    }

    /// Has a disabled link put into operation, to see whether it still corrupts.
    fn try_again(&mut self, verdict: Verdict, directions: &Directions) {
        self.guard.begin_trial(now_s(), &verdict.ports, directions);
        self.remember();
        self.tell(verdict.ports.clone(), PlanVerdict::Tried, verdict.link.clone(), verdict.why.clone());
        if let Err(error) = self.command("trial", &verdict) {
            self.end_trial(verdict, &error);
        }
    }

    fn end_trial(&mut self, verdict: Verdict, why: &str) {
        self.guard.end_trial(now_s(), &verdict.ports);
        self.tell(verdict.ports.clone(), PlanVerdict::TrialFailed, verdict.link.clone(), why.to_owned());
        self.disable(verdict);
    }

    /// A link that was disabled does not corrupt any more, and carries traffic again.
    fn take_back(&mut self, ports: [PortName; 2]) {
        let known = self.guard.memory().links.iter().find(|link| link.verdict.ports == ports);
        let verdict = known.map(|link| link.verdict.clone());
        let waits = self.retry_s.is_some();
        let done = match &verdict {
            Some(_) if waits => Err(None),
            Some(verdict) => self.command("enable", verdict).map_err(Some),
            // A file of an earlier version, or a person, says no more of it.
            None => Ok(()),
        };
        match (done, verdict) {
            (Err(error), Some(verdict)) => {
                // Until it is enabled, it carries nothing.
                self.planner.disabled(ports);
                if let Some(error) = error {
                    self.fail(verdict, error);
                }
            }
            (_, verdict) => {
                self.guard.returned(&ports);
                self.remember();
                let link = verdict.map(|verdict| verdict.link).unwrap_or_default();
                let reason = "neither of its directions corrupts any more".to_owned();
                self.tell(ports, PlanVerdict::Returned, link, reason);
            }
        }
    }

    fn fail(&mut self, verdict: Verdict, error: String) {
        self.retry_s = Some(now_s() + RETRY_S);
        self.trouble = Some(error.clone());
        self.tell(verdict.ports, PlanVerdict::Failed, verdict.link, error);
    }

    fn command(&mut self, action: &str, verdict: &Verdict) -> Result<(), String> {
        let Hands::Hook(hook) = &self.hands else { return Ok(()) };
        let Verdict { link, ports, loss_rate, why } = verdict;
        let frames = -libm::log(TRIAL_DOUBT) / loss_rate;
        let mut command = Command::new(hook);
        command.env("LINKMEND_ACTION", action).env("LINKMEND_LINK", link).env("LINKMEND_REASON", why);
        command.env("LINKMEND_PORTS", format!("{} {}", ports[0], ports[1]));
        command.env("LINKMEND_LOSS_RATE", format!("{loss_rate:e}"));
        command.env("LINKMEND_FRAMES", format!("{:.0}", frames.ceil()));
        let done = actuator::run(command, &self.stop);
        if done.is_ok() {
            self.trouble = None;
        }
        done
    }

    fn tell(&self, ports: [PortName; 2], verdict: PlanVerdict, link: String, reason: String) {
        let mut decision = Decision::of_plan(self.started.elapsed(), ports, verdict, link, reason);
        decision.dry_run = matches!(self.hands, Hands::Rehearsal);
        // Nobody listens any more when the daemon ends.
        let _ = self.decisions.send(decision);
    }

    fn remember(&self) {
        if matches!(self.hands, Hands::Rehearsal) {
            return;
        }
        let disabled = self.planner.all_disabled().clone();
        let memory = Memory::new(disabled, self.disabling.clone(), self.guard.memory().clone());
        if let Err(error) = memory::write(&self.memory, &memory) {
            let path = self.memory.display();
            tracing::warn!("{path}: a restart would forget which links were disabled: {error}");
        }
    }

    /// Lets the status show what is disabled and what waits.
    fn show(&self, wanted: &BTreeSet<[PortName; 2]>) {
        let known: BTreeMap<&[PortName; 2], _> =
            self.guard.memory().links.iter().map(|link| (&link.verdict.ports, link)).collect();
        let disabled = self.planner.all_disabled().iter().map(|ports| {
            let link = known.get(ports);
            DisabledStatus {
                ports: ports.clone(),
                link: link.map(|link| link.verdict.link.clone()).unwrap_or_default(),
                reason: link.map(|link| link.verdict.why.clone()).unwrap_or_default(),
                since_s: link.map(|link| link.since_s),
                on_trial: link.is_some_and(|link| link.trial.is_some()),
                failed_trials: link.map_or(0, |link| link.failed_trials),
                failing: self.is_failing(ports),
                trial_at_s: link
                    .filter(|_| !self.is_failing(ports))
                    .and_then(|link| self.guard.trial_at(link)),
            }
        });
        let is_advice = matches!(self.hands, Hands::None);
        let now = now_s();
        let held = wanted.iter().filter(|ports| !self.planner.all_disabled().contains(*ports)).map(|ports| {
            let hold = self.guard.hold(now, ports).filter(|_| !is_advice);
            let until_s = hold.as_ref().and_then(|hold| hold.left_s()).map(|left_s| now + left_s);
            let reason = hold.map_or_else(|| "nothing here disables it".to_owned(), |hold| hold.to_string());
            HeldStatus { ports: ports.clone(), reason, until_s }
        });
        let status =
            PlanStatus { disabled: disabled.collect(), held: held.collect(), trouble: self.trouble.clone() };
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{DirectionState, Protection, Request};
    use crate::planning::{GuardMemory, PlannerSettings};
    use linkmend_dataplane::config::ProtectMode;
    use linkmend_topology::file::{TopologyFileOptions, parse_topology};
    use std::path::Path;
    use std::sync::mpsc::channel;

    /// A leaf with four spines, of which three must stay.
    fn planner(disabled: BTreeSet<[PortName; 2]>) -> Planner {
        let spines: String = (1..=4).map(|spine| format!("  - {{name: spine{spine}, layer: 1}}\n")).collect();
        let links: String =
            (1..=4).map(|spine| format!("  - {{from: leaf1, to: spine{spine}, speed: 100G}}\n")).collect();
        let text = format!("switches:\n  - {{name: leaf1, layer: 0}}\n{spines}links:\n{links}");
        let network = parse_topology(text.into_bytes(), "network.yaml", &TopologyFileOptions::default());
        let settings = PlannerSettings { constraint: 0.75, target: 1e-8 };
        Planner::new(network.expect("a network").topology, settings, disabled)
    }

    /// What agents ask for at the link to the first spine.
    fn asked(generation: u64, loss_rate: Option<f64>) -> Directions {
        let protection =
            |loss_rate| Protection { mode: ProtectMode::Ordered, loss_rate, target: 1e-8, copies: 2 };
        let sender = "spine1/a".parse().ok();
        let request =
            Request { generation, protection: loss_rate.map(protection), sender, ..Request::default() };
        let state = DirectionState { request: Some(request), acknowledgement: None };
        Directions::from([("leaf1/a".parse().expect("a port"), state)])
    }

    /// A keeper with a program that writes down what it is told, and that fails while there is a file `broken`.
    fn keeper(folder: &Path, guard: GuardSettings) -> Keeper {
        let (hook, told, broken) = (folder.join("hook"), folder.join("told"), folder.join("broken"));
        let text = format!(
            "#!/bin/sh\necho $LINKMEND_ACTION $LINKMEND_PORTS $LINKMEND_FRAMES >> {}\ntest ! -e {}\n",
            told.display(),
            broken.display()
        );
        // Were this process to write it, a child of another test could still have it open (ETXTBSY).
        let mut writer = Command::new("sh");
        writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""]).arg(&hook).arg(text);
        assert!(writer.status().expect("there is a shell").success());
        let memory = folder.join("plan.json");
        let before = super::super::plan_memory::disabled_before(&memory).expect("as written");
        let setup = Setup {
            planner: planner(before.disabled.clone()),
            guard,
            hands: Hands::Hook(hook),
            memory,
            before,
            stop: Stop::default(),
            started: Instant::now(),
        };
        Keeper::new(setup, channel().0, Arc::default())
    }

    fn told(folder: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(folder.join("told")).unwrap_or_default();
        text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
    }

    fn status(keeper: &Keeper) -> PlanStatus {
        keeper.status.lock().expect("no panic").clone()
    }

    #[test]
    fn a_disabled_link_is_tried_disabled_again_and_enabled_when_it_is_healthy() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let now = Duration::ZERO;
        let guard = GuardSettings { confirmation: now, trial_after: now, ..GuardSettings::default() };
        let mut disabling = keeper(folder, guard);
        disabling.plan(&asked(1, Some(1e-2)));
        assert_eq!(told(folder), ["disable", "trial"]);
        let frames = std::fs::read_to_string(folder.join("told")).expect("it ran");
        assert!(frames.contains("leaf1/a spine1/a 1382"), "as many as would show the rate: {frames}");
        assert!(status(&disabling).disabled[0].on_trial);
        // After a restart it is on trial still. Nothing is known yet, and nothing happens.
        drop(disabling);
        let mut trying = keeper(folder, GuardSettings { trial_after: Duration::from_hours(1), ..guard });
        trying.plan(&asked(1, Some(1e-2)));
        assert_eq!(told(folder).len(), 2);
        // It is found corrupting once more.
        trying.plan(&asked(2, Some(1e-2)));
        assert_eq!(told(folder), ["disable", "trial", "disable"]);
        let disabled = status(&trying).disabled[0].clone();
        assert!(!disabled.on_trial && disabled.failed_trials == 1, "{disabled:?}");
        trying.plan(&asked(2, Some(1e-2)));
        assert_eq!(told(folder).len(), 3, "its next trial is two hours away");
        // It is healthy, and a hook that fails does not lose it.
        std::fs::write(folder.join("broken"), "").expect("written");
        trying.plan(&asked(3, None));
        assert_eq!((told(folder).len(), status(&trying).disabled.len()), (4, 1));
        assert!(status(&trying).trouble.is_some());
        std::fs::remove_file(folder.join("broken")).expect("it is there");
        trying.retry_s = None;
        trying.plan(&asked(3, None));
        assert_eq!(told(folder), ["disable", "trial", "disable", "enable", "enable"]);
        assert_eq!(status(&trying), PlanStatus::default());
    }

    #[test]
    fn a_link_whose_disabling_fails_says_so_and_is_not_tried() {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Duration::ZERO;
        let guard = GuardSettings { confirmation: now, trial_after: now, ..GuardSettings::default() };
        let mut failing = keeper(folder.path(), guard);
        std::fs::write(folder.path().join("broken"), "").expect("written");
        failing.plan(&asked(1, Some(1e-2)));
        failing.plan(&asked(2, Some(1e-2)));
        assert_eq!(told(folder.path()), ["disable"]);
        let shown = status(&failing).disabled[0].clone();
        assert_eq!((shown.failing, shown.on_trial, shown.failed_trials), (true, false, 0));
        std::fs::remove_file(folder.path().join("broken")).expect("it is there");
        failing.retry_s = None;
        failing.plan(&asked(2, Some(1e-2)));
        assert_eq!(told(folder.path()), ["disable", "disable", "trial"]);
        assert!(!status(&failing).disabled[0].failing);
    }

    #[test]
    fn what_waits_is_not_disabled_and_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut waiting = keeper(folder.path(), GuardSettings::default());
        waiting.plan(&asked(1, Some(1e-2)));
        assert_eq!(told(folder.path()).len(), 0);
        let held = status(&waiting).held;
        assert!(held[0].reason.contains("confirmation") && held[0].until_s.is_some(), "{held:?}");
        // Others were disabled within the hour, before a restart.
        let recent_s = vec![now_s(); 2];
        let memory =
            Memory::new(BTreeSet::new(), Vec::new(), GuardMemory { recent_s, ..GuardMemory::default() });
        memory::write(&folder.path().join("plan.json"), &memory).expect("written");
        let confirmed = GuardSettings { confirmation: Duration::ZERO, ..GuardSettings::default() };
        let mut limited = keeper(folder.path(), confirmed);
        limited.plan(&asked(1, Some(1e-2)));
        assert_eq!(told(folder.path()).len(), 0);
        let held = status(&limited).held;
        assert!(held[0].reason.contains("disables-per-hour"), "{held:?}");
    }
}
