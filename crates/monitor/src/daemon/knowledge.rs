//! What the daemon knows of links anywhere, for whoever plans what to do about them.

use crate::PortName;
use crate::agent::{Decision, DecisionKind, PlanVerdict};
use crate::exchange::{DirectionState, Directions};
use crate::findings::{AllFindings, Findings, PortFinding};
use crate::optics::Advice;
use crate::planning::Known;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Directions of all machines that are remembered. More than that are not planned for; half of it is for those that corrupt.
const DIRECTIONS_MOST: usize = 200_000;
/// Plans are this far apart at least ...
const PLAN_INTERVAL: Duration = Duration::from_secs(2);
/// ... and at most, while a link is on trial or waits to be disabled.
const WAITING_INTERVAL: Duration = Duration::from_secs(5);
/// How often findings are repeated that have not changed.
const SAY_INTERVAL: Duration = Duration::from_secs(5);
/// Findings hold for as long as this without being repeated.
const VALID: Duration = Duration::from_secs(20);

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    /// Of all machines that share the bus: those that corrupt, and those that have.
    directions: Directions,
    findings: AllFindings,
    /// What was said last of this agent's ports, and when.
    said: Findings,
    said_at: Option<Duration>,
    /// Whether something has changed since the plan was made.
    unplanned: bool,
    planned_at: Option<Duration>,
    synchronised: bool,
}

impl Knowledge {
    /// Takes what the bus says of a direction.
    pub fn handle_state(&mut self, port: &PortName, state: &DirectionState) {
        let Some(request) = &state.request else { return };
        let most = if request.protection.is_some() { DIRECTIONS_MOST } else { DIRECTIONS_MOST / 2 };
        if self.directions.len() < most || self.directions.contains_key(port) {
            let before = self.directions.insert(port.clone(), state.clone());
            self.unplanned |= before.is_none_or(|before| before.request != state.request);
        }
    }

    /// The bus is going to name every direction that it knows. What was deleted there is not planned for any more.
    pub fn handle_rereading(&mut self) {
        self.directions.clear();
    }

    /// The bus has named every direction that it knows.
    pub fn handle_synchronised(&mut self) {
        (self.synchronised, self.unplanned) = (true, true);
    }

    /// Takes what an agent finds out about its ports.
    pub fn handle_findings(&mut self, now: Duration, agent: &str, findings: Findings) {
        self.unplanned |= self.findings.handle(now, agent, findings);
    }

    /// Whether it is time to say again what this agent finds out.
    pub fn is_due_to_say(&self, now: Duration) -> bool {
        self.said_at.is_none_or(|at| now.saturating_sub(at) >= SAY_INTERVAL)
    }

    /// Takes what this agent finds out about its ports, which were polled at `polled_at`. Returns what is to be said to others, if
    /// it is time for that or something has changed.
    pub fn handle_own_findings(
        &mut self,
        now: Duration,
        agent: &str,
        polled_at: Duration,
        ports: BTreeMap<String, PortFinding>,
    ) -> Option<Findings> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // A number that a restart does not set back.
        let beat = u64::try_from(clock.as_millis()).unwrap_or(u64::MAX).max(self.said.beat.saturating_add(1));
        let age_s = now.saturating_sub(polled_at).as_secs();
        let findings = Findings { beat, valid_s: VALID.as_secs(), age_s, ports };
        if !self.is_due_to_say(now) && !findings.differ_from(&self.said) {
            return None;
        }
        (self.said, self.said_at) = (findings.clone(), Some(now));
        self.handle_findings(now, agent, findings.clone());
        Some(findings)
    }

    /// Has a plan made again though nothing has changed.
    pub fn plan_anew(&mut self) {
        self.unplanned = true;
    }

    /// Whether a plan is to be made now. `is_waiting` says whether a link is on trial, or waits to be disabled.
    pub fn is_due(&mut self, now: Duration, is_waiting: bool) -> bool {
        self.unplanned |= self.findings.handle_timeout(now);
        let since = self.planned_at.map(|at| now.saturating_sub(at));
        let is_late = is_waiting && since.is_none_or(|since| since >= WAITING_INTERVAL);
        let due = self.synchronised
            && (self.unplanned || is_late)
            && since.is_none_or(|since| since >= PLAN_INTERVAL);
        if due {
            (self.unplanned, self.planned_at) = (false, Some(now));
        }
        due
    }

    /// Directions of all machines.
    pub fn directions(&self) -> &Directions {
        &self.directions
    }

    /// What was found out last about one port.
    pub fn finding(&self, port: &PortName) -> Option<&PortFinding> {
        self.findings.of(port)
    }

    /// What to repair about the link of a plan's decision, as the agent of one of its ports says.
    pub fn advice(&self, decision: &Decision) -> Option<Advice> {
        let DecisionKind::Plan { verdict, peer, .. } = &decision.kind else { return None };
        let of = |port| self.finding(port)?.advice.as_deref().cloned();
        (*verdict != PlanVerdict::Returned).then(|| of(&decision.port).or_else(|| of(peer)))?
    }

    /// What is known at `now`.
    pub fn at(&self, now: Duration) -> Known {
        let at_s = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let heard_at_s = at_s.saturating_sub(self.findings.age(now).as_secs());
        Known { at_s, heard_at_s, directions: self.directions.clone(), findings: self.findings.at(now) }
    }
}
