//! What stands between a plan and a link that is disabled: a confirmation time and limits. And what comes after: trials, with
//! growing intervals, of whether a disabled link has been repaired.
//!
//! A [`Guard`] is told the time, in seconds since 1970 so that a restart evades nothing, and does no I/O. Its
//! [memory](Guard::memory) must outlive a restart.

mod confirmation;
mod hold;
#[cfg(test)]
mod tests;

pub use hold::Hold;

use super::known::Known;
use super::planner::Verdict;
use crate::PortName;
use crate::exchange::{Directions, Request};
use confirmation::{ROUNDING_S, Wanted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The time in which disabled links are counted.
const HOUR_S: u64 = 3_600;
/// Two rounds further apart than this prove nothing about the time between: the machine or the program may have stalled.
pub const BREAK_S: u64 = 20;

/// How careful to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardSettings {
    /// How long the plan must have wanted a link disabled, without a break, before it is.
    pub confirmation: Duration,
    /// Maximum number of links disabled per hour in the whole network.
    pub per_hour: u32,
    /// Maximum number of links of one switch that are disabled at the same time.
    pub per_switch: u32,
    /// How long after it was disabled a link is tried again; twice as long after each failed trial ...
    pub trial_after: Duration,
    /// ... up to this.
    pub trial_longest: Duration,
    /// How long a trial may take until the agents find the link healthy.
    pub trial_time: Duration,
}

impl Default for GuardSettings {
    /// Twice an hour and two links a switch: one bad moment cannot take a network apart before people see it. A trial can wait
    /// for the longest hold-down, 16 times ten minutes: it ends at once if the link still corrupts.
    fn default() -> GuardSettings {
        GuardSettings {
            confirmation: Duration::from_mins(5),
            per_hour: 2,
            per_switch: 2,
            trial_after: Duration::from_hours(1),
            trial_longest: Duration::from_hours(24),
            trial_time: Duration::from_hours(3),
        }
    }
}

/// A link that is disabled, or on trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisabledLink {
    pub verdict: Verdict,
    /// When it was disabled first, and the last time, in seconds since 1970.
    pub since_s: u64,
    pub latest_s: u64,
    /// Trials in which it still corrupted.
    pub failed_trials: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

/// A disabled link that is in operation to see whether it still corrupts frames.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    pub since_s: u64,
    /// Generations of what was asked for at its two ports. A link that is found corrupting anew is asked for anew.
    generations: [Option<u64>; 2],
}

/// What must outlive a restart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardMemory {
    /// Links that are disabled.
    pub links: Vec<DisabledLink>,
    /// When links were disabled within the last hour, whether or not they still are.
    pub recent_s: Vec<u64>,
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Guard {
    settings: GuardSettings,
    memory: GuardMemory,
    /// What the plan wants disabled.
    wanted: BTreeMap<[PortName; 2], Wanted>,
    /// When what the plan is made of was so, and the agent was heard that has been silent for longest.
    known_at_s: u64,
    heard_at_s: u64,
}

impl Guard {
    /// Goes on with what was remembered. Times that are still to come are those of a clock that was set back since.
    pub fn new(settings: GuardSettings, mut memory: GuardMemory, now_s: u64) -> Guard {
        memory.recent_s.iter_mut().for_each(|at| *at = now_s.min(*at));
        for link in &mut memory.links {
            (link.since_s, link.latest_s) = (now_s.min(link.since_s), now_s.min(link.latest_s));
            link.trial.iter_mut().for_each(|trial| trial.since_s = now_s.min(trial.since_s));
        }
        Guard { settings, memory, wanted: BTreeMap::new(), known_at_s: 0, heard_at_s: 0 }
    }

    /// What must outlive a restart.
    pub fn memory(&self) -> &GuardMemory {
        &self.memory
    }

    /// Takes what the plan wants disabled by what is `known`. What it has not wanted meanwhile is to be confirmed anew, and
    /// everything after a break.
    pub fn want(&mut self, now_s: u64, planned: &[Verdict], known: &Known) {
        if known.at_s.abs_diff(self.known_at_s) > BREAK_S {
            self.wanted.clear();
        }
        (self.known_at_s, self.heard_at_s) = (known.at_s, known.heard_at_s);
        self.wanted.retain(|ports, _| planned.iter().any(|verdict| verdict.ports == *ports));
        for Verdict { ports, loss_rate, .. } in planned {
            let wanted = self.wanted.entry(ports.clone()).or_insert_with(|| Wanted {
                since_s: known.at_s,
                corrupted_at_s: None,
                loss_rate: 0.0,
                counted: BTreeMap::new(),
            });
            wanted.loss_rate = *loss_rate;
            for port in ports {
                if let (Some(at_s), Some(counted)) = (known.corrupted_at_s(port), known.counted(port)) {
                    wanted.count(port, at_s, counted);
                }
            }
            wanted.corrupted_at_s = ports.iter().filter_map(|port| known.corrupted_at_s(port)).max();
        }
        self.memory.recent_s.retain(|at| now_s.saturating_sub(*at) < HOUR_S);
    }

    /// Why a link that is wanted disabled is not disabled now; `None` if it may be.
    pub fn hold(&self, now_s: u64, ports: &[PortName; 2]) -> Option<Hold> {
        let GuardSettings { confirmation, per_hour, per_switch, .. } = self.settings;
        let wanted = self.wanted.get(ports).filter(|_| now_s.saturating_sub(self.known_at_s) <= BREAK_S);
        let Some(wanted) = wanted else { return Some(Hold::Unconfirmed { left_s: confirmation.as_secs() }) };
        // What was known then says nothing of the time since.
        let left_s = (wanted.since_s + confirmation.as_secs()).saturating_sub(self.known_at_s);
        if left_s > 0 {
            return Some(Hold::Unconfirmed { left_s });
        }
        let is_later = |at_s: u64| at_s > wanted.since_s + ROUNDING_S;
        if !wanted.corrupted_at_s.is_some_and(is_later) {
            return Some(Hold::NoNewFrames);
        }
        if let Some(counted) = wanted.unconfirmed() {
            return Some(Hold::TooFew(counted));
        }
        if !is_later(self.heard_at_s) {
            return Some(Hold::Unheard);
        }
        let of = |switch: &str| {
            let links = self.memory.links.iter();
            links.filter(|link| link.verdict.ports.iter().any(|port| port.agent() == switch)).count()
        };
        let full = ports.iter().find(|port| of(port.agent()) >= per_switch as usize);
        if let Some(port) = full {
            return Some(Hold::PerSwitch { limit: per_switch, switch: port.agent().to_owned() });
        }
        let recent = &self.memory.recent_s;
        let first = recent.len().checked_sub(per_hour as usize).and_then(|index| recent.get(index));
        first.map(|at| Hold::PerHour { limit: per_hour, left_s: (at + HOUR_S).saturating_sub(now_s) })
    }

    /// A link is disabled from now on.
    pub fn disabled(&mut self, now_s: u64, verdict: Verdict) {
        self.wanted.remove(&verdict.ports);
        self.memory.recent_s.push(now_s);
        self.memory.links.push(DisabledLink {
            verdict,
            since_s: now_s,
            latest_s: now_s,
            failed_trials: 0,
            trial: None,
        });
    }

    /// A link is in operation again.
    pub fn returned(&mut self, ports: &[PortName; 2]) {
        self.memory.links.retain(|link| link.verdict.ports != *ports);
    }

    /// Links that are to be tried now: those of which agents say something, so that somebody sees what comes of it.
    pub fn due(&self, now_s: u64, directions: &Directions) -> Vec<Verdict> {
        let heard =
            |link: &&DisabledLink| link.verdict.ports.iter().any(|port| directions.contains_key(port));
        let due = |link: &&DisabledLink| self.trial_at(link).is_some_and(|at| at <= now_s);
        self.memory.links.iter().filter(due).filter(heard).map(|link| link.verdict.clone()).collect()
    }

    /// A trial begins.
    pub fn begin_trial(&mut self, now_s: u64, ports: &[PortName; 2], directions: &Directions) {
        let generations =
            ports.each_ref().map(|port| directions.get(port).and_then(|state| state.request_generation()));
        if let Some(link) = self.link(ports) {
            link.trial = Some(Trial { since_s: now_s, generations });
        }
    }

    /// Trials that have failed, and why: the link was found corrupting once more, corrupts as before, or was not found healthy in
    /// time.
    pub fn failed_trials(&self, now_s: u64, known: &Known) -> Vec<(Verdict, &'static str)> {
        let failed = |link: &DisabledLink| {
            let trial = link.trial.as_ref()?;
            let anew = link.verdict.ports.iter().zip(trial.generations).any(|(port, before)| {
                let request = known.directions.get(port).and_then(|state| state.request.as_ref());
                let is_asked_anew =
                    |request: &Request| request.protection.is_some() && Some(request.generation) > before;
                // If disabling it never took the port down, no protection is needed anew.
                let corrupts = known.corrupted_at_s(port).is_some_and(|at_s| at_s > trial.since_s);
                corrupts || request.is_some_and(is_asked_anew)
            });
            let is_late = now_s.saturating_sub(trial.since_s) >= self.settings.trial_time.as_secs();
            match (anew, is_late) {
                (true, _) => Some((link.verdict.clone(), "it still corrupts frames")),
                (false, true) => Some((link.verdict.clone(), "it was not found healthy in time")),
                (false, false) => None,
            }
        };
        self.memory.links.iter().filter_map(failed).collect()
    }

    /// A trial is over, and the link is disabled once more.
    pub fn end_trial(&mut self, now_s: u64, ports: &[PortName; 2]) {
        if let Some(link) = self.link(ports) {
            link.trial = None;
            link.latest_s = now_s;
            link.failed_trials = link.failed_trials.saturating_add(1);
        }
    }

    /// When a disabled link is tried; `None` while it is.
    pub fn trial_at(&self, link: &DisabledLink) -> Option<u64> {
        let GuardSettings { trial_after, trial_longest, .. } = self.settings;
        let wait = trial_after.saturating_mul(1 << link.failed_trials.min(16)).min(trial_longest);
        link.trial.is_none().then(|| link.latest_s.saturating_add(wait.as_secs()))
    }

    /// When there is something to do without news of links, in seconds since 1970.
    pub fn next_timeout(&self, now_s: u64) -> Option<u64> {
        let holds = self.wanted.keys().filter_map(|ports| self.hold(now_s, ports)?.left_s());
        let holds = holds.map(|left_s| now_s + left_s);
        let trials = self.memory.links.iter().filter_map(|link| {
            let ends = link.trial.as_ref().map(|trial| trial.since_s + self.settings.trial_time.as_secs());
            ends.or_else(|| self.trial_at(link))
        });
        holds.chain(trials).min()
    }

    fn link(&mut self, ports: &[PortName; 2]) -> Option<&mut DisabledLink> {
        self.memory.links.iter_mut().find(|link| link.verdict.ports == *ports)
    }
}
