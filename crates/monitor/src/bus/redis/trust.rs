//! Whom an agent believes: without keys everybody who may write to the server, and with keys only agents.

use super::seal::{self, Doubt, Keys, Kind, Sealed};
use super::stored::{Part, Parts};
use crate::PortName;
use crate::exchange::Request;
use std::collections::BTreeMap;
use std::time::Duration;

/// Directions and agents of which it is remembered what was sealed last. Of others, what is repeated later is believed.
const NUMBERS_MOST: usize = 500_000;
/// How old findings may be by the clock of this machine: a planner that has just been started could otherwise be told what
/// agents found yesterday.
const FINDINGS_AGE_MOST: Duration = Duration::from_mins(10);
/// Why something is passed over that an agent has sealed, but not last.
const REPEATED: &str = "it was replaced by its agent before";

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Trust {
    keys: Option<Keys>,
    agent: String,
    /// The highest number that was sealed at each key of the server.
    numbers: BTreeMap<(String, Kind), u64>,
    /// Texts that this agent may have to write, with their seals: another agent's can only be repeated as it was.
    seals: BTreeMap<(String, Kind), (String, String)>,
    refused: u64,
    first: Option<String>,
}

impl Trust {
    pub fn new(keys: Option<Keys>, agent: &str) -> Trust {
        Trust { keys, agent: agent.to_owned(), ..Trust::default() }
    }

    /// Whether seals are made and asked for.
    pub fn has_keys(&self) -> bool {
        self.keys.is_some()
    }

    /// What was not believed, for people.
    pub fn trouble(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let others =
            if self.refused > 1 { format!(", and {} more", self.refused - 1) } else { String::new() };
        Some(format!("somebody who is no agent writes to the Redis, which is ignored: {first}{others}"))
    }

    fn refuse(&mut self, place: &str, what: &str, why: &str) {
        self.refused += 1;
        if self.first.is_none() {
            tracing::error!(
                "{place} in Redis: its {what} is ignored, because {why}; somebody who is no agent may write there"
            );
            self.first = Some(format!("{place}, {why}"));
        }
    }

    /// The seal for a part of a direction that is written at `place`; empty without keys. `None` if it is another agent's and cannot
    /// be sealed by this one.
    pub fn seal(&mut self, place: &str, port: &PortName, kind: Kind, text: &str) -> Option<String> {
        let Some(keys) = &self.keys else { return Some(String::new()) };
        let at = (place.to_owned(), kind);
        if let Some((_, seal)) = self.seals.get(&at).filter(|(sealed, _)| sealed == text) {
            return Some(seal.clone());
        }
        if kind == Kind::Request && port.agent() != self.agent {
            return None;
        }
        let number = self.numbers.get(&at).map_or(0, |number| number + 1).max(seal::number());
        let seal = keys.seal(&self.agent, number, kind, place, text);
        self.remember(at, number, Some((text, &seal)));
        Some(seal)
    }

    fn remember(&mut self, at: (String, Kind), number: u64, sealed: Option<(&str, &str)>) {
        if self.numbers.len() < NUMBERS_MOST || self.numbers.contains_key(&at) {
            self.numbers.insert(at.clone(), number);
        }
        if let Some((text, seal)) = sealed {
            self.seals.insert(at, (text.to_owned(), seal.to_owned()));
        }
    }

    /// Whether what stands at `place` without making sense is no agent's. Without keys nobody can say.
    pub fn refuses(&mut self, place: &str, port: &PortName, parts: Option<&Parts>, why: &str) -> bool {
        let Some(keys) = &self.keys else { return false };
        let is_later = parts.is_some_and(|parts| {
            let (text, seal) = (parts.request.text.as_deref(), parts.request.seal.as_deref());
            let (text, seal) = (text.unwrap_or_default(), seal.unwrap_or_default());
            match keys.open_version(&parts.version, seal, Kind::Request, place, text) {
                Ok(Sealed { agent, .. }) | Err(Doubt::NoKey(agent)) => agent == port.agent(),
                Err(Doubt::Forged(_)) => false,
            }
        });
        if !is_later {
            self.refuse(place, "content", why);
        }
        !is_later
    }

    /// Takes out of a direction, which stands at `place`, what is not its agents'. Returns what no agent has written, which
    /// would keep agents from writing.
    pub fn judge(&mut self, place: &str, port: &PortName, parts: &mut Parts) -> Vec<(Kind, String)> {
        let mut forged = Vec::new();
        let Some(keys) = self.keys.clone() else { return forged };
        let is_receiver = |agent: &str| agent == port.agent();
        self.judge_part(&keys, (place, Kind::Request), &mut parts.request, &mut forged, is_receiver);
        let request =
            parts.request.text.as_deref().and_then(|text| serde_json::from_str::<Request>(text).ok());
        let sender = request.and_then(|request| request.sender);
        let is_sender = |agent: &str| sender.as_ref().is_none_or(|sender| sender.agent() == agent);
        self.judge_part(
            &keys,
            (place, Kind::Acknowledgement),
            &mut parts.acknowledgement,
            &mut forged,
            is_sender,
        );
        forged
    }

    fn judge_part(
        &mut self,
        keys: &Keys,
        (place, kind): (&str, Kind),
        part: &mut Part,
        forged: &mut Vec<(Kind, String)>,
        may_seal: impl Fn(&str) -> bool,
    ) {
        let Some(text) = part.text.clone() else { return };
        let seal = part.seal.clone().unwrap_or_default();
        let sealed = keys.open(&seal, kind, place, &text);
        let doubt = match sealed {
            Ok(sealed) if !may_seal(&sealed.agent) => Doubt::Forged("another agent has sealed it"),
            Ok(Sealed { agent, number }) => {
                let at = (place.to_owned(), kind);
                if self.numbers.get(&at).is_none_or(|known| *known <= number) {
                    let request = serde_json::from_str::<Request>(&text).ok();
                    let sender = request.and_then(|request| request.sender);
                    let is_ours =
                        agent == self.agent || sender.is_some_and(|sender| sender.agent() == self.agent);
                    self.remember(at, number, is_ours.then_some((&text, &seal)));
                    return;
                }
                Doubt::Forged(REPEATED)
            }
            // Nobody can claim to be an agent without a key, and keep this one from writing with that.
            Err(Doubt::NoKey(agent)) if !may_seal(&agent) => Doubt::Forged("another agent has sealed it"),
            Err(doubt) => doubt,
        };
        *part = Part::default();
        match doubt {
            Doubt::NoKey(agent) => tracing::debug!("{place}: there is no key of {agent} here"),
            Doubt::Forged(why) => {
                self.refuse(place, kind.name(), why);
                forged.push((kind, text));
            }
        }
    }

    /// A text of findings as it is written at `place`.
    pub fn seal_findings(&self, place: &str, text: String) -> String {
        let Some(keys) = &self.keys else { return text };
        let seal = keys.seal(&self.agent, seal::number(), Kind::Findings, place, &text);
        format!("{seal}\n{text}")
    }

    /// The findings of an agent in what is written at `place`; `None` if they are not believed.
    pub fn open_findings<'a>(&mut self, place: &str, agent: &str, written: &'a str) -> Option<&'a str> {
        let (seal, text) = match written.split_once('\n') {
            Some((seal, text)) => (seal, text),
            None => ("", written),
        };
        let Some(keys) = &self.keys else { return Some(text) };
        let age = u64::try_from(FINDINGS_AGE_MOST.as_millis()).unwrap_or(u64::MAX);
        let why = match keys.open(seal, Kind::Findings, place, text) {
            Ok(sealed) if sealed.agent != agent => "another agent has sealed them",
            Ok(sealed) if sealed.number.saturating_add(age) < seal::number() => {
                "they are more than 10 minutes old by the clock of this machine"
            }
            Ok(_) => return Some(text),
            Err(Doubt::Forged(why)) => why,
            Err(Doubt::NoKey(_)) => return None,
        };
        self.refuse(place, Kind::Findings.name(), why);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that is not updated yet must not write over what a later one says.
    #[test]
    fn a_later_version_is_respected_if_the_agent_of_the_port_has_sealed_it() {
        let keys = |digit: &str| Keys::parse(&format!("* {}", digit.repeat(64))).expect("keys");
        let port: PortName = "leaf1/a".parse().expect("a port");
        let refused = |version: &str, by: &str, digit: &str| {
            let seal = keys(digit).seal_version("2", by, 7, Kind::Request, "place", "{}");
            let request = Part { text: Some("{}".to_owned()), seal: Some(seal), ..Part::default() };
            let parts = Parts { version: version.to_owned(), request, ..Parts::default() };
            let mut trust = Trust::new(Some(keys("5")), "spine1");
            trust.refuses("place", &port, Some(&parts), "its version is another")
        };
        assert!(!refused("2", "leaf1", "5"));
        assert!(refused("3", "leaf1", "5"), "it was sealed as another one");
        assert!(refused("2", "leaf2", "5"), "another agent has no say");
        assert!(refused("2", "leaf1", "6"), "a stranger has none");
    }
}
