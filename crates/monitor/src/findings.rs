//! What agents find out about their ports, and say again and again: nobody can know what a port does of which nobody speaks.
//!
//! Unlike what is [asked for](crate::exchange), findings are not remembered. They hold as long as their agent repeats them.

use crate::PortName;
use crate::optics::{Advice, OpticsFinding};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest that findings hold without being repeated: agents repeat them every few seconds.
const VALID_MOST_S: u64 = 60;
/// Agents whose findings are remembered.
const AGENTS_MOST: usize = 20_000;
/// Ports of one agent.
const PORTS_MOST: usize = 100_000;

/// What is found out about the link to a port. A port of which nothing is known is not judged, and is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// It has been up, and nothing spoke for corruption, for as long as the hold-down.
    Healthy,
    /// It has been down for as long as the hold-down, so that nothing arrives there.
    Down,
    /// Its counters show that it corrupts, and not yet that it has stopped.
    Corrupting,
}

/// What a port has counted in this run of its agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Counted {
    /// All frames, with those that were corrupted.
    pub frames: u64,
    pub corrupted: u64,
    /// Polls that have found corrupted frames: several such frames in one poll may be one event.
    pub corrupted_polls: u64,
}

impl Counted {
    /// What was counted since; `None` if there was less than then, because the agent was restarted.
    pub fn since(self, before: Counted) -> Option<Counted> {
        Some(Counted {
            frames: self.frames.checked_sub(before.frames)?,
            corrupted: self.corrupted.checked_sub(before.corrupted)?,
            corrupted_polls: self.corrupted_polls.checked_sub(before.corrupted_polls)?,
        })
    }
}

/// A finding and what belongs to it. Fields may be added: unknown ones are passed over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PortFinding {
    pub finding: Finding,
    /// The port that sends, as the agent knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<PortName>,
    /// Seconds since the port counted a corrupted frame, if it corrupts, or longer by up to a poll: counters do not say when in it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calm_s: u64,
    /// The share of frames that it corrupts at present, if it does. What was asked for may be of earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_rate: Option<f64>,
    /// What the port has counted, if its link corrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<Counted>,
    /// What is known of its optics, if something is abnormal about them or the link corrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optics: Option<Box<OpticsFinding>>,
    /// What to repair, if the link corrupts and its optics tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Box<Advice>>,
}

impl PortFinding {
    /// A finding without counts.
    pub fn new(finding: Finding, sender: Option<PortName>) -> PortFinding {
        PortFinding { finding, sender, calm_s: 0, loss_rate: None, counted: None, optics: None, advice: None }
    }
}

/// What an agent says of its ports. Fields may be added: unknown ones are passed over.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Findings {
    /// Increases each time. What does not increase comes from an agent that is gone, or from somebody who repeats it.
    pub beat: u64,
    /// How long they hold, in seconds.
    pub valid_s: u64,
    /// Seconds since the ports were polled.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub age_s: u64,
    /// By the names that the agent has for its ports.
    pub ports: BTreeMap<String, PortFinding>,
}

/// Findings of ports of many agents, at one moment.
pub type PortFindings = BTreeMap<PortName, PortFinding>;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Findings {
    /// Whether something else is found out in the other ones, and not only said again.
    pub fn differ_from(&self, other: &Findings) -> bool {
        let of = |findings: &Findings| -> Vec<(String, Finding, Option<PortName>)> {
            let ports = findings.ports.iter();
            ports.map(|(port, of)| (port.clone(), of.finding, of.sender.clone())).collect()
        };
        of(self) != of(other)
    }
}

/// The latest findings of all agents.
#[derive(Debug, Default)]
pub struct AllFindings {
    agents: BTreeMap<String, Latest>,
}

#[derive(Debug)]
struct Latest {
    findings: Findings,
    heard_at: Duration,
    holds: bool,
}

impl AllFindings {
    /// Takes what an agent says at `now`, on a clock that never goes back; whether that changes what is known.
    pub fn handle(&mut self, now: Duration, agent: &str, findings: Findings) -> bool {
        let known = self.agents.get(agent);
        let is_new = known.is_none_or(|known| findings.beat > known.findings.beat);
        let fits = known.is_some() || self.agents.len() < AGENTS_MOST;
        if !is_new || !fits || findings.ports.len() > PORTS_MOST {
            return false;
        }
        let changed = known.is_none_or(|known| !known.holds || known.findings.differ_from(&findings));
        self.agents.insert(agent.to_owned(), Latest { findings, heard_at: now, holds: true });
        changed
    }

    /// Forgets what has not been repeated for too long; whether that changes what is known.
    pub fn handle_timeout(&mut self, now: Duration) -> bool {
        let mut changed = false;
        for latest in self.agents.values_mut().filter(|latest| latest.holds) {
            let valid = Duration::from_secs(latest.findings.valid_s.min(VALID_MOST_S));
            if now.saturating_sub(latest.heard_at) > valid {
                (latest.holds, changed) = (false, true);
            }
        }
        changed
    }

    /// How old the oldest is of what agents have said by what they had counted then, of those whose findings hold at `now`.
    pub fn age(&self, now: Duration) -> Duration {
        let holding = self.agents.values().filter(|latest| latest.holds);
        let age = |latest: &Latest| {
            let said = now.saturating_sub(latest.heard_at);
            said.saturating_add(Duration::from_secs(latest.findings.age_s))
        };
        holding.map(age).max().unwrap_or_default()
    }

    /// What an agent last said of one port, if that holds.
    pub fn of(&self, port: &PortName) -> Option<&PortFinding> {
        let latest = self.agents.get(port.agent()).filter(|latest| latest.holds)?;
        latest.findings.ports.get(port.port())
    }

    /// What holds at `now`.
    pub fn at(&self, now: Duration) -> PortFindings {
        let mut all = PortFindings::new();
        for (agent, latest) in self.agents.iter().filter(|(_, latest)| latest.holds) {
            let age_s = now.saturating_sub(latest.heard_at).as_secs();
            for (port, finding) in &latest.findings.ports {
                if let Ok(port) = PortName::new(agent, port) {
                    let calm_s = finding.calm_s.saturating_add(age_s);
                    all.insert(port, PortFinding { calm_s, ..finding.clone() });
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(beat: u64, finding: Finding) -> Findings {
        let port = PortFinding { calm_s: 3, ..PortFinding::new(finding, None) };
        Findings { beat, valid_s: 20, age_s: 0, ports: BTreeMap::from([("eth0".to_owned(), port)]) }
    }

    #[test]
    fn findings_hold_while_their_agent_repeats_them_and_nobody_else_can() {
        let (mut all, second) = (AllFindings::default(), Duration::from_secs(1));
        assert!(all.handle(second, "a", findings(7, Finding::Healthy)));
        assert!(!all.handle(15 * second, "a", findings(8, Finding::Healthy)), "the same once more");
        assert!(!all.handle_timeout(35 * second));
        // What was said before is repeated by somebody else.
        assert!(!all.handle(35 * second, "a", findings(8, Finding::Healthy)));
        assert!(all.handle_timeout(36 * second) && !all.handle_timeout(37 * second));
        assert_eq!(all.at(36 * second), PortFindings::new());
        assert!(all.handle(40 * second, "a", findings(9, Finding::Healthy)), "it is back");
        assert!(all.handle(41 * second, "a", findings(10, Finding::Corrupting)));
        let calm: Vec<u64> = all.at(45 * second).values().map(|finding| finding.calm_s).collect();
        assert_eq!(calm, [7]);
        assert!(all.handle(43 * second, "b", findings(1, Finding::Healthy)));
        assert_eq!(all.age(45 * second), 4 * second);
        // It repeats what it found with a poll of a while ago.
        let old = Findings { age_s: 30, ..findings(11, Finding::Corrupting) };
        assert!(!all.handle(45 * second, "a", old));
        assert_eq!(all.age(46 * second), 31 * second);
    }

    #[test]
    fn a_later_version_may_say_more() {
        let text =
            "{\"beat\":1,\"valid-s\":9,\"more\":1,\"ports\":{\"a\":{\"finding\":\"down\",\"more\":1}}}";
        let read: Findings = serde_json::from_str(text).expect("understood");
        assert_eq!(read.ports["a"].finding, Finding::Down);
    }
}
