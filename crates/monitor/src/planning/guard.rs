//! What stands between a plan and a link that is disabled: a confirmation time and limits. And what comes after: trials, with
//! growing intervals, of whether a disabled link has been repaired.
//!
//! A [`Guard`] is told the time, in seconds since 1970 so that a restart evades nothing, and does no I/O. Its
//! [memory](Guard::memory) must outlive a restart.

use super::known::Known;
use super::planner::Verdict;
use crate::PortName;
use crate::exchange::{Directions, Request};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The time in which disabled links are counted.
const HOUR_S: u64 = 3_600;
/// Between two rounds further apart than this, nobody knows what happened: the machine or the program may have stood still.
const BREAK_S: u64 = 20;
/// What times in whole seconds may be wrong by.
const ROUNDING_S: u64 = 2;

/// How careful to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuardSettings {
    /// How long the plan must have wanted a link disabled, without a break, before it is.
    pub confirmation: Duration,
    /// Links that may be disabled in an hour, in the whole network.
    pub per_hour: u32,
    /// Links of one switch that may be disabled at the same time.
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

/// Why a link is not disabled yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// It may be over in a moment.
    Unconfirmed { left_s: u64 },
    /// What it has counted may have come from a link that has been repaired since.
    NoNewFrames,
    /// Somebody may find a link corrupting that could be the source, and has not said so yet.
    Unheard,
    /// So many were disabled within the last hour.
    PerHour { limit: u32, left_s: u64 },
    /// So many links of this switch are disabled.
    PerSwitch { limit: u32, switch: String },
}

impl Hold {
    /// After how many seconds that changes by itself, if it does.
    pub fn left_s(&self) -> Option<u64> {
        match self {
            Hold::Unconfirmed { left_s } | Hold::PerHour { left_s, .. } => Some(*left_s),
            Hold::NoNewFrames | Hold::Unheard | Hold::PerSwitch { .. } => None,
        }
    }

    /// Whether people should look, because it is not only a matter of minutes.
    pub fn is_limit(&self) -> bool {
        matches!(self, Hold::PerHour { .. } | Hold::PerSwitch { .. })
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hold::Unconfirmed { .. } => f.write_str("it waits for its confirmation (disable-after)"),
            Hold::NoNewFrames => f.write_str(
                "it has counted no corrupted frame since every other possible source was ruled out",
            ),
            Hold::Unheard => f.write_str("it waits until all agents have said once more what they find"),
            Hold::PerHour { limit, .. } => {
                write!(
                    f,
                    "{limit} links were disabled within an hour, and no more may be (disables-per-hour)"
                )
            }
            Hold::PerSwitch { limit, switch } => {
                write!(f, "{limit} links of {switch} are disabled, and no more may be (disables-per-switch)")
            }
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

/// A disabled link that is in operation to see whether it still corrupts.
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

/// A link that is to be disabled.
#[derive(Debug)]
struct Wanted {
    /// Since when, without a break. So long, no other link could explain what it counts.
    since_s: u64,
    /// When it counted the latest corrupted frame, as its own agents find.
    corrupted_at_s: Option<u64>,
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
        for Verdict { ports, .. } in planned {
            let new = Wanted { since_s: known.at_s, corrupted_at_s: None };
            let wanted = self.wanted.entry(ports.clone()).or_insert(new);
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
                // If disabling it never took the port down, nothing is asked for anew.
                let corrupts = known.corrupted_at_s(port).is_some_and(|at_s| at_s > trial.since_s);
                corrupts || request.is_some_and(is_asked_anew)
            });
            let is_late = now_s.saturating_sub(trial.since_s) >= self.settings.trial_time.as_secs();
            match (anew, is_late) {
                (true, _) => Some((link.verdict.clone(), "it still corrupts")),
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

#[cfg(test)]
mod tests {
    use super::super::links::tests::directions;
    use super::*;
    use crate::findings::{Finding, PortFinding};

    fn verdict(leaf: u8, spine: u8) -> Verdict {
        let ports = [format!("leaf{leaf}/eth{spine}"), format!("spine{spine}/eth{leaf}")];
        let ports = ports.map(|port| port.parse().expect("a port"));
        Verdict { link: format!("{leaf}--{spine}"), ports, loss_rate: 1e-2, why: "a test".to_owned() }
    }

    fn guard() -> Guard {
        Guard::new(GuardSettings::default(), GuardMemory::default(), 1_000)
    }

    /// The same after a restart.
    fn restarted(guard: Guard, now_s: u64) -> Guard {
        let text = serde_json::to_string(guard.memory()).expect("JSON");
        Guard::new(guard.settings, serde_json::from_str(&text).expect("as written"), now_s)
    }

    /// What is known at a time of links that counted their latest corrupted frame at another one.
    fn counted(at_s: u64, corrupted_at_s: u64, links: &[Verdict]) -> Known {
        let of = PortFinding {
            finding: Finding::Corrupting,
            sender: None,
            calm_s: at_s.saturating_sub(corrupted_at_s),
        };
        let findings = links.iter().map(|link| (link.ports[0].clone(), of.clone())).collect();
        Known { at_s, heard_at_s: at_s, findings, ..Known::default() }
    }

    /// Has links wanted, which corrupt all the time, in round after round.
    fn want(guard: &mut Guard, rounds: std::ops::RangeInclusive<u64>, links: &[Verdict]) {
        for at_s in rounds.clone().step_by(10).chain([*rounds.end()]) {
            guard.want(at_s, links, &counted(at_s, at_s, links));
        }
    }

    #[test]
    fn what_the_plan_wants_for_a_moment_is_not_disabled() {
        let (mut guard, link) = (guard(), [verdict(1, 1)]);
        let ports = &link[0].ports;
        want(&mut guard, 1_000..=1_000, &link);
        assert_eq!(guard.hold(1_000, ports), Some(Hold::Unconfirmed { left_s: 300 }));
        assert_eq!(guard.next_timeout(1_000), Some(1_300));
        want(&mut guard, 1_000..=1_298, &link);
        want(&mut guard, 1_299..=1_299, &[]);
        want(&mut guard, 1_300..=1_300, &link);
        assert_eq!(guard.hold(1_300, ports), Some(Hold::Unconfirmed { left_s: 300 }));
        want(&mut guard, 1_300..=1_600, &link);
        assert_eq!(guard.hold(1_600, ports), None);
    }

    /// Its source was repaired, and what it counted is found for much longer, because it carries hardly anything.
    #[test]
    fn only_frames_that_were_counted_without_another_source_speak_against_a_link() {
        let (mut guard, link) = (guard(), [verdict(1, 1)]);
        for at_s in (1_000..=2_000).step_by(10) {
            guard.want(at_s, &link, &counted(at_s, 990, &link));
        }
        assert_eq!(guard.hold(2_000, &link[0].ports), Some(Hold::NoNewFrames));
        assert_eq!(guard.next_timeout(2_000), None);
        // It corrupts by itself after all.
        guard.want(2_010, &link, &counted(2_010, 2_009, &link));
        assert_eq!(guard.hold(2_010, &link[0].ports), None);
    }

    /// The program or the machine stood still, and nobody knows what happened meanwhile.
    #[test]
    fn a_pause_confirms_nothing() {
        let (mut guard, link) = (guard(), [verdict(1, 1)]);
        let ports = &link[0].ports;
        want(&mut guard, 1_000..=1_290, &link);
        // What was known before it is not looked at as if it were of now.
        assert!(matches!(guard.hold(1_315, ports), Some(Hold::Unconfirmed { .. })));
        guard.want(1_315, &link, &counted(1_290, 1_290, &link));
        assert!(matches!(guard.hold(1_315, ports), Some(Hold::Unconfirmed { .. })));
        want(&mut guard, 1_315..=1_614, &link);
        assert_eq!(guard.hold(1_614, ports), Some(Hold::Unconfirmed { left_s: 1 }));
        want(&mut guard, 1_615..=1_615, &link);
        assert_eq!(guard.hold(1_615, ports), None);
    }

    /// Its agent has ended as its link began to corrupt, and said before that it is healthy.
    #[test]
    fn what_a_silent_agent_said_before_rules_no_source_out() {
        let (mut guard, link) = (guard(), [verdict(1, 1)]);
        guard.settings.confirmation = Duration::from_secs(5);
        for at_s in (1_000..=1_018).step_by(2) {
            guard.want(at_s, &link, &Known { heard_at_s: 999, ..counted(at_s, at_s, &link) });
        }
        assert_eq!(guard.hold(1_018, &link[0].ports), Some(Hold::Unheard));
        guard.want(1_020, &link, &counted(1_020, 1_020, &link));
        assert_eq!(guard.hold(1_020, &link[0].ports), None);
    }

    #[test]
    fn limits_hold_for_the_network_and_each_switch_and_a_restart_does_not_evade_them() {
        let mut guard = guard();
        let all = [verdict(1, 1), verdict(1, 2), verdict(1, 3), verdict(2, 3)];
        want(&mut guard, 1_000..=2_000, &all);
        for link in &all[..2] {
            assert_eq!(guard.hold(2_000, &link.ports), None);
            guard.disabled(2_000, link.clone());
        }
        for (restart, now) in [(false, 2_000), (true, 2_000), (true, 5_000)] {
            if restart {
                guard = restarted(guard, now);
                want(&mut guard, now - 1_000..=now, &all[2..]);
            }
            let of_switch = Hold::PerSwitch { limit: 2, switch: "leaf1".to_owned() };
            assert_eq!(guard.hold(now, &all[2].ports), Some(of_switch));
            let left_s = 5_600 - now;
            assert_eq!(guard.hold(now, &all[3].ports), Some(Hold::PerHour { limit: 2, left_s }));
        }
        // A link that has come back counts in its hour all the same.
        guard.returned(&all[0].ports);
        assert!(matches!(guard.hold(5_000, &all[3].ports), Some(Hold::PerHour { .. })));
        want(&mut guard, 5_000..=5_600, &all[2..]);
        assert_eq!((guard.hold(5_600, &all[3].ports), guard.hold(5_600, &all[2].ports)), (None, None));
        // A clock that was set back does not keep links disabled for longer.
        let guard = restarted(guard, 100);
        assert_eq!(guard.trial_at(&guard.memory().links[0]), Some(100 + 3_600));
    }

    fn known(directions: &Directions) -> Known {
        Known { directions: directions.clone(), ..Known::default() }
    }

    /// Its command did nothing, and the port was never down.
    #[test]
    fn a_trial_fails_while_its_link_corrupts_as_before() {
        let (mut guard, link) = (guard(), verdict(1, 1));
        let corrupting = directions(&[("leaf1/eth1", Some("spine1/eth1"), 1e-2)]);
        guard.disabled(10_000, link.clone());
        guard.begin_trial(13_600, &link.ports, &corrupting);
        let found = |at_s, calm_s| {
            let of = PortFinding { finding: Finding::Corrupting, sender: None, calm_s };
            let findings = BTreeMap::from([(link.ports[0].clone(), of)]);
            Known { at_s, heard_at_s: at_s, findings, directions: corrupting.clone() }
        };
        assert_eq!(guard.failed_trials(13_620, &found(13_620, 20)), [], "it has not corrupted since");
        assert_eq!(guard.failed_trials(13_620, &found(13_620, 19)), [(link.clone(), "it still corrupts")]);
    }

    #[test]
    fn a_disabled_link_is_tried_at_growing_intervals_until_it_is_healthy() {
        let (mut guard, link) = (guard(), verdict(1, 1));
        let corrupting = directions(&[("leaf1/eth1", Some("spine1/eth1"), 1e-2)]);
        guard.disabled(10_000, link.clone());
        let mut now = 10_000;
        for hours in [1, 2, 4, 8, 16, 24, 24] {
            assert_eq!(guard.due(now + hours * 3_600 - 1, &corrupting), []);
            now += hours * 3_600;
            guard = restarted(guard, now);
            assert_eq!(guard.due(now, &Directions::new()), [], "nobody would see what comes of it");
            assert_eq!(guard.due(now, &corrupting), std::slice::from_ref(&link));
            guard.begin_trial(now, &link.ports, &corrupting);
            assert_eq!(
                (guard.due(now, &corrupting), guard.failed_trials(now, &known(&corrupting))),
                (vec![], vec![])
            );
            // The first time it is found once more, and later on it is never found healthy.
            let mut anew = corrupting.clone();
            anew.values_mut()
                .for_each(|state| state.request.iter_mut().for_each(|request| request.generation += 1));
            assert_eq!(guard.failed_trials(now + 60, &known(&anew)), [(link.clone(), "it still corrupts")]);
            assert_eq!(guard.next_timeout(now), Some(now + 3 * 3_600));
            assert_eq!(guard.failed_trials(now + 3 * 3_600, &known(&corrupting)).len(), 1);
            guard.end_trial(now, &link.ports);
        }
        guard.returned(&link.ports);
        assert_eq!(guard.next_timeout(now), None);
    }
}
