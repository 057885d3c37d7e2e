//! Keeps the plan: disables what it disables, tries that later, and enables what is healthy.

mod hands;
#[cfg(test)]
mod tests;

pub(super) use hands::Hands;

use super::plan_memory::Memory;
use crate::PortName;
use crate::actuator::Stop;
use crate::agent::{Decision, DisabledStatus, HeldStatus, PlanStatus, PlanVerdict};
use crate::exchange::Directions;
use crate::memory;
use crate::planning::{BREAK_S, Guard, GuardSettings, Known, Planned, Planner, Verdict};
use hands::Action;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How long after a failure a command is tried again.
const RETRY_S: u64 = 60;

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

/// See the module's documentation.
pub(super) struct Keeper {
    planner: Planner,
    guard: Guard,
    hands: Hands,
    memory: PathBuf,
    /// Links whose command has begun and has not succeeded. They count as disabled, because it may have done so.
    disabling: Vec<Verdict>,
    /// Links whose trial has begun, and whose command has not ended yet. It is run again after a restart.
    trying: BTreeSet<[PortName; 2]>,
    /// Ports that are down because of what was done here.
    down: BTreeSet<PortName>,
    /// Links that must not be disabled, and why.
    refused: BTreeMap<[PortName; 2], String>,
    /// Links whose latest command has failed: when it is tried again, in seconds since 1970, and why it failed.
    failed: BTreeMap<[PortName; 2], (u64, String)>,
    stop: Stop,
    started: Instant,
    decisions: Sender<Decision>,
    status: Arc<Mutex<PlanStatus>>,
    /// What was said last, so that it is said once.
    said: BTreeSet<[PortName; 2]>,
    held: BTreeSet<[PortName; 2]>,
    unsure: BTreeSet<[PortName; 2]>,
    unplaced: BTreeSet<String>,
    unheard: BTreeSet<[PortName; 2]>,
    /// Why nothing can be confirmed, if plans take too long for that.
    stalled: Option<String>,
}

/// Seconds since 1970: limits must hold across restarts.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A reason, and what was done because of it.
fn with(reason: String, done: &str) -> String {
    if done.is_empty() { reason } else { format!("{reason} ({done})") }
}

impl Keeper {
    pub fn new(setup: Setup, decisions: Sender<Decision>, status: Arc<Mutex<PlanStatus>>) -> Keeper {
        let Setup { planner, guard, hands, memory, mut before, stop, started } = setup;
        // People may take a link out of the file.
        before.guard.links.retain(|link| before.disabled.contains(&link.verdict.ports));
        // The network file may say more of its ports than when they were disabled.
        for verdict in before.guard.links.iter_mut().map(|link| &mut link.verdict) {
            verdict.link = planner.name_of(&verdict.ports).unwrap_or_else(|| verdict.link.clone());
        }
        Keeper {
            planner,
            guard: Guard::new(guard, before.guard, now_s()),
            hands,
            memory,
            disabling: before.disabling,
            trying: before.trying,
            down: before.down,
            refused: BTreeMap::new(),
            failed: BTreeMap::new(),
            stop,
            started,
            decisions,
            status,
            said: BTreeSet::new(),
            held: BTreeSet::new(),
            unsure: BTreeSet::new(),
            unplaced: BTreeSet::new(),
            unheard: BTreeSet::new(),
            stalled: None,
        }
    }

    /// Plans whenever directions have changed or something is due, until nobody hands over any more.
    pub fn run(mut self, changed: &Receiver<Known>) {
        let Ok(mut latest) = changed.recv() else { return };
        loop {
            if let Some(newer) = changed.try_iter().last() {
                latest = newer;
            }
            self.plan(&latest);
            let now = now_s();
            let retries = self.failed.values().map(|(at, _)| *at);
            let due = self.guard.next_timeout(now).into_iter().chain(retries).min();
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
    fn plan(&mut self, known: &Known) {
        let directions = &known.directions;
        let begun = Instant::now();
        let Planned { disable, returned, unsure, unplaced } = self.planner.plan(known);
        self.note_time(begun.elapsed());
        self.name_what_is_not_planned_for(unplaced.iter().map(ToString::to_string), directions);
        for ports in returned {
            self.take_back(ports);
        }
        let named: BTreeSet<[PortName; 2]> = disable.iter().map(|verdict| verdict.ports.clone()).collect();
        self.said.retain(|ports| named.contains(ports));
        self.held.retain(|ports| named.contains(ports));
        let still = self.planner.all_disabled();
        self.disabling.retain(|verdict| still.contains(&verdict.ports));
        self.refused.retain(|ports, _| named.contains(ports));
        self.failed.retain(|ports, _| still.contains(ports));
        // What has failed is tried again first, when it is time: meanwhile it counts as disabled.
        let (waiting, due) =
            std::mem::take(&mut self.disabling).into_iter().partition(|verdict| self.waits(&verdict.ports));
        self.disabling = waiting;
        for verdict in due {
            self.disable(verdict);
        }
        self.resume_trials();
        for (verdict, why) in self.guard.failed_trials(now_s(), known) {
            self.end_trial(verdict, why);
        }
        self.guard.want(now_s(), &disable, known);
        for verdict in disable {
            self.consider(verdict);
        }
        for verdict in self.guard.due(now_s(), directions) {
            if !self.is_failing(&verdict.ports) {
                self.try_again(verdict, directions);
            }
        }
        self.name_what_is_unsure(&unsure);
        self.show(&named, unsure);
    }

    /// Says once that planning takes so long that nothing can be confirmed: what is known is too old by then.
    fn note_time(&mut self, took: Duration) {
        let stalled = (took.as_secs() >= BREAK_S && !matches!(self.hands, Hands::None)).then(|| {
            format!(
                "planning takes {} s here, and findings older than {BREAK_S} s are not used to disable links; \
                 plan for a smaller network, or on a faster machine",
                took.as_secs()
            )
        });
        match &stalled {
            Some(text) if self.stalled.is_none() => tracing::warn!("{text}"),
            None if self.stalled.is_some() => tracing::info!("planning is fast enough again"),
            _ => {}
        }
        self.stalled = stalled;
    }

    /// Says once of each link why nothing is done about it.
    fn name_what_is_unsure(&mut self, unsure: &[([PortName; 2], String)]) {
        self.unsure.retain(|known| unsure.iter().any(|(ports, _)| ports == known));
        for (ports, why) in unsure {
            if self.unsure.insert(ports.clone()) {
                let link = self.planner.name_of(ports).unwrap_or_default();
                self.tell(ports.clone(), PlanVerdict::Unsure, link, why.clone());
            }
        }
    }

    /// Whether the command that disables a link has failed, so that it may carry traffic as before.
    fn is_failing(&self, ports: &[PortName; 2]) -> bool {
        self.disabling.iter().any(|verdict| verdict.ports == *ports)
    }

    /// Whether a command for a link has failed a moment ago.
    fn waits(&self, ports: &[PortName; 2]) -> bool {
        self.failed.get(ports).is_some_and(|(at, _)| *at > now_s())
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
                    "the link between {one} and {other} was disabled, but no agent reports on it; if it has been \
                     repaired, stop corruptd and remove the link from {memory}"
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
            None => match self.hands.check(&verdict.ports) {
                Ok(()) => {
                    self.planner.disabled(verdict.ports.clone());
                    self.guard.disabled(now, verdict.clone());
                    self.disable(verdict);
                }
                Err(why) => {
                    self.refused.insert(verdict.ports.clone(), why.clone());
                    if self.held.insert(verdict.ports.clone()) {
                        self.tell(verdict.ports, PlanVerdict::Held, verdict.link, why);
                    }
                }
            },
        }
    }

    /// Has a link disabled. That it is about to be done is remembered first: a crash in between must not leave a link disabled
    /// that nobody knows of.
    fn disable(&mut self, verdict: Verdict) {
        self.disabling.push(verdict.clone());
        self.remember();
        match self.command(Action::Disable, &verdict) {
            Ok(done) => {
                self.disabling.retain(|other| other.ports != verdict.ports);
                self.remember();
                let reason = with(verdict.why, &done);
                self.tell(verdict.ports, PlanVerdict::Disabled, verdict.link, reason);
            }
            Err(error) => self.fail(verdict, error),
        }
    }

    /// Has a disabled link put into operation, to see whether it still corrupts frames. As before, that is remembered first: a
    /// crash in between must not have a trial end for a link that was down all the time.
    fn try_again(&mut self, verdict: Verdict, directions: &Directions) {
        self.guard.begin_trial(now_s(), &verdict.ports, directions);
        self.trying.insert(verdict.ports.clone());
        self.remember();
        self.put_on_trial(verdict);
    }

    fn put_on_trial(&mut self, verdict: Verdict) {
        match self.command(Action::Trial, &verdict) {
            Ok(done) => {
                self.trying.remove(&verdict.ports);
                self.remember();
                let reason = with(verdict.why, &done);
                self.tell(verdict.ports, PlanVerdict::Tried, verdict.link, reason);
            }
            Err(error) => self.end_trial(verdict, &error),
        }
    }

    /// Runs the commands again of trials that were being begun before a restart.
    fn resume_trials(&mut self) {
        let links = &self.guard.memory().links;
        let is_on_trial = |ports: &[PortName; 2]| {
            let of = links.iter().find(|link| link.verdict.ports == *ports && link.trial.is_some())?;
            Some(of.verdict.clone())
        };
        let begun: Vec<Verdict> = self.trying.iter().filter_map(is_on_trial).collect();
        self.trying.clear();
        for verdict in begun {
            self.put_on_trial(verdict);
        }
    }

    fn end_trial(&mut self, verdict: Verdict, why: &str) {
        self.guard.end_trial(now_s(), &verdict.ports);
        self.trying.remove(&verdict.ports);
        self.tell(verdict.ports.clone(), PlanVerdict::TrialFailed, verdict.link.clone(), why.to_owned());
        self.disable(verdict);
    }

    /// A link that was disabled does not corrupt any more, and carries traffic again.
    fn take_back(&mut self, ports: [PortName; 2]) {
        let known = self.guard.memory().links.iter().find(|link| link.verdict.ports == ports);
        let verdict = known.map(|link| link.verdict.clone());
        let waits = self.waits(&ports);
        let done = match &verdict {
            Some(_) if waits => Err(None),
            Some(verdict) => self.command(Action::Enable, verdict).map_err(Some),
            // A file of an earlier version, or a person, says no more of it.
            None => Ok(String::new()),
        };
        match (done, verdict) {
            (Err(error), Some(verdict)) => {
                // Until it is enabled, it carries nothing.
                self.planner.disabled(ports);
                if let Some(error) = error {
                    self.fail(verdict, error);
                }
            }
            (done, verdict) => {
                self.guard.returned(&ports);
                self.remember();
                let link = verdict.map(|verdict| verdict.link).unwrap_or_default();
                let reason = "neither direction corrupts frames any more".to_owned();
                let reason = with(reason, &done.unwrap_or_default());
                self.tell(ports, PlanVerdict::Returned, link, reason);
            }
        }
    }

    fn fail(&mut self, verdict: Verdict, error: String) {
        self.failed.insert(verdict.ports.clone(), (now_s() + RETRY_S, error.clone()));
        self.tell(verdict.ports, PlanVerdict::Failed, verdict.link, error);
    }

    /// What was done, for people.
    fn command(&mut self, action: Action, verdict: &Verdict) -> Result<String, String> {
        let done = self.hands.command(action, verdict, &mut self.down, &self.stop);
        if done.is_ok() {
            self.failed.remove(&verdict.ports);
        }
        done
    }

    fn tell(&self, ports: [PortName; 2], verdict: PlanVerdict, link: String, reason: String) {
        let mut decision = Decision::of_plan(self.started.elapsed(), ports, verdict, link, reason);
        decision.dry_run = self.hands.is_rehearsal();
        // Nobody listens any more when the daemon ends.
        let _ = self.decisions.send(decision);
    }

    fn remember(&self) {
        if self.hands.is_rehearsal() {
            return;
        }
        let memory = Memory {
            disabled: self.planner.all_disabled().clone(),
            disabling: self.disabling.clone(),
            trying: self.trying.clone(),
            down: self.down.clone(),
            guard: self.guard.memory().clone(),
            ..Memory::default()
        };
        if let Err(error) = memory::write(&self.memory, &memory) {
            let path = self.memory.display();
            tracing::warn!(
                "{path}: cannot save which links are disabled; a restart would forget them: {error}"
            );
        }
    }

    /// Lets the status show what is disabled and what waits.
    fn show(&self, wanted: &BTreeSet<[PortName; 2]>, unsure: Vec<([PortName; 2], String)>) {
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
            let refused = self.refused.get(ports).cloned();
            let reason = hold.map(|hold| hold.to_string()).or(refused);
            let reason = reason.unwrap_or_else(|| "no disable-hook is configured".to_owned());
            HeldStatus { ports: ports.clone(), reason, until_s, unsure: false }
        });
        let unsure = unsure.into_iter().map(|(ports, reason)| HeldStatus {
            ports,
            reason,
            until_s: None,
            unsure: true,
        });
        let trouble = self.failed.values().next().map(|(_, error)| error.clone());
        let (disabled, held) = (disabled.collect(), held.chain(unsure).collect());
        let status = PlanStatus { disabled, held, trouble, stalled: self.stalled.clone() };
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }
}
