//! Whom an agent believes: without keys everybody who may write to the server, and with keys only agents.
//!
//! That an agent has sealed something does not say that it still means it: anyone who may write to the server can put an old record
//! back. Numbers that increase tell which of two is newer to those that remember the newer one, and an agent that has just been
//! started remembers nothing. Each run of an agent therefore has a name that nobody can foresee, and an agent seals what it asks for
//! once more for each new run of its neighbour. What was sealed for no run that is running now is [recorded](Standing::Recorded).

use super::holder::Holder;
use super::seal::{self, Doubt, Keys, Kind, NOBODY, Sealed};
use super::stored::{Part, Parts};
use crate::PortName;
use crate::exchange::Request;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Directions and agents of which it is remembered what was sealed last. Of others, what is repeated later is believed.
const NUMBERS_MOST: usize = 500_000;
/// How old findings may be by the clock of this machine: a planner that has just been started could otherwise be told what
/// agents found yesterday.
const FINDINGS_AGE_MOST: Duration = Duration::from_mins(10);
/// How old a claim of another process to this agent's name may be by the clock of this machine: a process repeats it every few
/// seconds, and what was recorded of one that is gone would otherwise keep this one from the bus for ever.
const CLAIM_AGE_MOST: Duration = Duration::from_mins(10);
/// Why something is passed over that an agent has sealed, but not last.
const REPEATED: &str = "its agent has since replaced it";

/// Whether the agent that asks for something is known to mean it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It was sealed for this run of this agent, or by it; or there are no keys, so that nobody can say.
    Live,
    /// It was sealed by its agent some time ago.
    Recorded,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Trust {
    keys: Option<Keys>,
    agent: String,
    /// The name of this run of the agent.
    run: String,
    /// Whether nothing is done about what is read, so that what is recorded is as good as what is live.
    rehearses: bool,
    /// The highest number that was sealed at each key of the server.
    numbers: BTreeMap<(String, Kind), u64>,
    /// Texts that this agent may have to write, with their seals: another agent's can only be repeated as it was.
    seals: BTreeMap<(String, Kind), Remembered>,
    /// Runs of the agents that send where ports of this one receive, each with the number with which it was claimed.
    runs: BTreeMap<String, (u64, String)>,
    refused: u64,
    first: Option<String>,
}

/// A text and its seal.
#[derive(Debug)]
struct Remembered {
    text: String,
    seal: String,
    /// If this run of this agent asks for it.
    ours: Option<Ours>,
}

#[derive(Debug)]
struct Ours {
    port: PortName,
    /// The agent that is to carry it out, if it is known and another one.
    reader: Option<String>,
    /// The run of that for which it was sealed.
    run: String,
}

impl Trust {
    pub fn new(keys: Option<Keys>, agent: &str, run: &str) -> Trust {
        Trust { keys, agent: agent.to_owned(), run: run.to_owned(), ..Trust::default() }
    }

    /// What is recorded is as good as what is live from now on.
    pub fn rehearse(&mut self) {
        self.rehearses = true;
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
        Some(format!("ignoring records in Redis that no agent has written: {first}{others}"))
    }

    fn refuse(&mut self, place: &str, what: &str, why: &str) {
        self.refused += 1;
        if self.first.is_none() {
            tracing::error!(
                "{place} in Redis: ignoring its {what}, because {why}; somebody other than an agent can write there"
            );
            self.first = Some(format!("{place}, {why}"));
        }
    }

    /// The seal for a part of a direction that is written at `place`; empty without keys. `None` if it is another agent's and cannot
    /// be sealed by this one. A request of this agent is sealed for the latest run of the agent that is to carry it out.
    pub fn seal(&mut self, place: &str, port: &PortName, kind: Kind, text: &str) -> Option<String> {
        let Some(keys) = &self.keys else { return Some(String::new()) };
        let at = (place.to_owned(), kind);
        let ours = (kind == Kind::Request && port.agent() == self.agent).then(|| {
            let reader = self.reader(text);
            let run = reader.as_ref().and_then(|reader| self.runs.get(reader));
            let run = run.map_or_else(|| NOBODY.to_owned(), |(_, run)| run.clone());
            Ours { port: port.clone(), reader, run }
        });
        if let Some(known) = self.seals.get(&at).filter(|known| known.text == text) {
            let run = |ours: &Option<Ours>| ours.as_ref().map(|ours| ours.run.clone());
            if run(&known.ours) == run(&ours) {
                return Some(known.seal.clone());
            }
        }
        if kind == Kind::Request && ours.is_none() {
            return None;
        }
        let number = self.numbers.get(&at).map_or(0, |number| number + 1).max(seal::number());
        let reader = ours.as_ref().map_or_else(|| NOBODY.to_owned(), |ours| ours.run.clone());
        let seal = keys.seal(&Sealed { agent: self.agent.clone(), number, reader }, kind, place, text);
        self.remember(at, number, Some(Remembered { text: text.to_owned(), seal: seal.clone(), ours }));
        Some(seal)
    }

    /// The agent that is to carry out a request, if it is known and another one.
    fn reader(&self, request: &str) -> Option<String> {
        reader_of(request).filter(|agent| *agent != self.agent)
    }

    /// The agents for whose runs this one seals what it asks for.
    pub fn readers(&self) -> BTreeSet<String> {
        let ours = self.seals.values().filter_map(|known| known.ours.as_ref());
        ours.filter_map(|ours| ours.reader.clone()).collect()
    }

    /// The agent that is to carry this out, if no run of it is known.
    pub fn unknown_reader(&self, port: &PortName, request: Option<&Request>) -> Option<String> {
        let sender = request.filter(|_| self.has_keys() && port.agent() == self.agent)?.sender.as_ref()?;
        let reader = sender.agent();
        (reader != self.agent && !self.runs.contains_key(reader)).then(|| reader.to_owned())
    }

    /// Takes what is written at `place` of the process that has another agent's name; whether it is another run than before.
    pub fn hear_claim(&mut self, place: &str, agent: &str, written: &str) -> bool {
        let Some((number, text)) = self.open_claim(place, agent, written) else { return false };
        let Some(run) = Holder::run_in(text) else { return false };
        let known = self.runs.get(agent);
        if known.is_some_and(|(known, _)| *known >= number) {
            return false;
        }
        let is_new = known.is_none_or(|(_, known)| known != run);
        self.runs.insert(agent.to_owned(), (number, run.to_owned()));
        is_new
    }

    /// What this run asks for that is to be sealed for the latest run of another agent.
    pub fn to_seal_for(&self, agent: &str) -> Vec<(PortName, Request)> {
        let Some((_, run)) = self.runs.get(agent) else { return Vec::new() };
        let stale = |known: &&Remembered| {
            known.ours.as_ref().is_some_and(|ours| ours.reader.as_deref() == Some(agent) && ours.run != *run)
        };
        let request = |known: &Remembered| {
            Some((known.ours.as_ref()?.port.clone(), serde_json::from_str(&known.text).ok()?))
        };
        self.seals.values().filter(stale).filter_map(request).collect()
    }

    /// What says at `place` that a process has the name of this agent.
    pub fn seal_claim(&self, place: &str, holder: &Holder) -> String {
        let text = holder.written();
        let Some(keys) = &self.keys else { return text };
        format!("{}\n{text}", keys.seal(&self.stamp(), Kind::Claim, place, &text))
    }

    /// What another process has written at `place`, which is the name of this agent; `None` if no other process is certain to hold it.
    pub fn other_holder(&mut self, place: &str, holder: &Holder, written: &str) -> Option<String> {
        let agent = self.agent.clone();
        let text = if self.has_keys() {
            let opened = self.open_claim(place, &agent, written);
            let Some((number, text)) = opened else {
                self.refuse(place, Kind::Claim.name(), "no process with the agent's key has written it");
                return None;
            };
            if is_older(number, CLAIM_AGE_MOST) {
                return None;
            }
            text
        } else {
            written
        };
        let is_free = text == holder.written() || holder.knows_to_be_gone(text);
        (!is_free).then(|| text.to_owned())
    }

    /// The number and the text of what an agent has sealed at `place`, which is its name.
    fn open_claim<'a>(&self, place: &str, agent: &str, written: &'a str) -> Option<(u64, &'a str)> {
        let (seal, text) = written.split_once('\n')?;
        let sealed = self.keys.as_ref()?.open(seal, Kind::Claim, place, text).ok()?;
        (sealed.agent == agent).then_some((sealed.number, text))
    }

    fn stamp(&self) -> Sealed {
        Sealed { agent: self.agent.clone(), number: seal::number(), reader: NOBODY.to_owned() }
    }

    fn remember(&mut self, at: (String, Kind), number: u64, sealed: Option<Remembered>) {
        if self.numbers.len() < NUMBERS_MOST || self.numbers.contains_key(&at) {
            self.numbers.insert(at.clone(), number);
        }
        if let Some(sealed) = sealed {
            self.seals.insert(at, sealed);
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
    /// would keep agents from writing, and whether what is asked for is meant now.
    pub fn judge(
        &mut self,
        place: &str,
        port: &PortName,
        parts: &mut Parts,
    ) -> (Vec<(Kind, String)>, Standing) {
        let mut forged = Vec::new();
        let Some(keys) = self.keys.clone() else { return (forged, Standing::Live) };
        let is_receiver = |agent: &str| agent == port.agent();
        let standing =
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
        (forged, standing)
    }

    fn judge_part(
        &mut self,
        keys: &Keys,
        (place, kind): (&str, Kind),
        part: &mut Part,
        forged: &mut Vec<(Kind, String)>,
        may_seal: impl Fn(&str) -> bool,
    ) -> Standing {
        let Some(text) = part.text.clone() else { return Standing::Live };
        let seal = part.seal.clone().unwrap_or_default();
        let sealed = keys.open(&seal, kind, place, &text);
        let doubt = match sealed {
            Ok(sealed) if !may_seal(&sealed.agent) => Doubt::Forged("another agent has sealed it"),
            Ok(Sealed { agent, number, reader }) => {
                let at = (place.to_owned(), kind);
                if self.numbers.get(&at).is_none_or(|known| *known <= number) {
                    let ours = self.seals.get(&at).filter(|known| known.seal == seal && known.ours.is_some());
                    if self.rehearses || ours.is_some() {
                        return Standing::Live;
                    }
                    let is_for_us =
                        agent == self.agent || reader_of(&text).is_some_and(|to| to == self.agent);
                    let sealed = Remembered { text, seal, ours: None };
                    self.remember(at, number, is_for_us.then_some(sealed));
                    return if reader == self.run { Standing::Live } else { Standing::Recorded };
                }
                Doubt::Forged(REPEATED)
            }
            // Nobody can claim to be an agent without a key, and keep this one from writing with that.
            Err(Doubt::NoKey(agent)) if !may_seal(&agent) => Doubt::Forged("another agent has sealed it"),
            Err(doubt) => doubt,
        };
        *part = Part::default();
        match doubt {
            Doubt::NoKey(agent) => tracing::debug!("{place}: there is no key for {agent} here"),
            Doubt::Forged(why) => {
                self.refuse(place, kind.name(), why);
                forged.push((kind, text));
            }
        }
        Standing::Live
    }

    /// A text of findings as it is written at `place`.
    pub fn seal_findings(&self, place: &str, text: String) -> String {
        let Some(keys) = &self.keys else { return text };
        format!("{}\n{text}", keys.seal(&self.stamp(), Kind::Findings, place, &text))
    }

    /// The findings of an agent in what is written at `place`; `None` if they are not believed.
    pub fn open_findings<'a>(&mut self, place: &str, agent: &str, written: &'a str) -> Option<&'a str> {
        let (seal, text) = match written.split_once('\n') {
            Some((seal, text)) => (seal, text),
            None => ("", written),
        };
        let Some(keys) = &self.keys else { return Some(text) };
        let why = match keys.open(seal, Kind::Findings, place, text) {
            Ok(sealed) if sealed.agent != agent => "another agent has sealed them",
            Ok(sealed) if is_older(sealed.number, FINDINGS_AGE_MOST) => {
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

/// The agent of the port that sends, in a request.
fn reader_of(request: &str) -> Option<String> {
    let sender = serde_json::from_str::<Request>(request).ok()?.sender?;
    Some(sender.agent().to_owned())
}

/// Whether something was sealed longer ago, by the clock of this machine.
fn is_older(number: u64, age: Duration) -> bool {
    let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    number.saturating_add(age) < seal::number()
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
            let by = Sealed { agent: by.to_owned(), number: 7, reader: NOBODY.to_owned() };
            let seal = keys(digit).seal_version("2", &by, Kind::Request, "place", "{}");
            let request = Part { text: Some("{}".to_owned()), seal: Some(seal), ..Part::default() };
            let parts = Parts { version: version.to_owned(), request, ..Parts::default() };
            let mut trust = Trust::new(Some(keys("5")), "spine1", "run");
            trust.refuses("place", &port, Some(&parts), "its version differs")
        };
        assert!(!refused("2", "leaf1", "5"));
        assert!(refused("3", "leaf1", "5"), "it was sealed as another one");
        assert!(refused("2", "leaf2", "5"), "another agent has no say");
        assert!(refused("2", "leaf1", "6"), "a stranger has none");
    }

    /// A process of another machine that has the name, or that had it.
    #[test]
    fn another_process_holds_a_name_while_it_says_so_with_the_agents_key() {
        let keys = || Keys::parse(&format!("* {}", "5".repeat(64))).expect("keys");
        let mut trust = Trust::new(Some(keys()), "leaf1", "run");
        let this = Holder::this("run");
        let text = "tor7 1 elsewhere 0";
        let sealed = |agent: &str, place: &str, age_ms: u64| {
            let by = Sealed {
                agent: agent.to_owned(),
                number: seal::number() - age_ms,
                reader: NOBODY.to_owned(),
            };
            format!("{}\n{text}", keys().seal(&by, Kind::Claim, place, text))
        };
        let mut holder = |written: &str| trust.other_holder("name", &this, written);
        assert_eq!(holder(&sealed("leaf1", "name", 0)).as_deref(), Some(text));
        assert_eq!(holder(&sealed("leaf1", "name", 500_000)).as_deref(), Some(text));
        assert_eq!(holder(&sealed("leaf1", "name", 700_000)), None, "it was recorded");
        assert_eq!(holder(&sealed("leaf2", "name", 0)), None, "another agent has no say");
        assert_eq!(holder(&sealed("leaf1", "another name", 0)), None);
        assert_eq!(holder(text), None);
        let mut without = Trust::new(None, "leaf1", "run");
        assert_eq!(without.other_holder("name", &this, text).as_deref(), Some(text));
    }
}
