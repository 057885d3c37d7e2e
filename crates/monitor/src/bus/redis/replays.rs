//! Agents whose bus somebody writes to who has recorded all that ever stood there, and puts it back, whole or in part, while
//! one of them or both are restarted.

use super::holder::Holder;
use super::seal::{Keys, Kind, tests::later};
use super::stored::{self, Part, Parts};
use super::trust::{Standing, Trust};
use crate::agent::{Action, Agent, Policy};
use crate::counters::Reading;
use crate::detection::Settings;
use crate::exchange::{DirectionState, Effect};
use crate::{Cabling, PortName};
use linkmend_random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

const SEEDS: u64 = 60;
const SECOND: Duration = Duration::from_secs(1);
const GENERATION_MOST: u64 = 1 << 62;
/// The agent that asks, and the one that carries out.
const AGENTS: [&str; 2] = ["leaf1", "spine1"];

/// All that stands in the server.
#[derive(Clone, Default)]
struct Store {
    directions: BTreeMap<PortName, Parts>,
    claims: BTreeMap<String, String>,
}

struct Run {
    agent: Agent,
    trust: Trust,
    holder: Holder,
}

struct World {
    random: Random,
    now: Duration,
    store: Store,
    records: Vec<Store>,
    runs: [Run; 2],
    runs_begun: u64,
    cabling: Cabling,
    readings: BTreeMap<PortName, Reading>,
    losses: BTreeMap<PortName, f64>,
    protected: BTreeSet<PortName>,
    /// Whether records are taken for what stands, as they were before.
    is_credulous: bool,
}

fn port(name: &str) -> PortName {
    name.parse().expect("a port")
}

fn place(port: &PortName) -> String {
    format!("direction:{port}")
}

fn run(agent: &str, number: u64, cabling: &Cabling) -> Run {
    let detection = Settings {
        hold_down: SECOND * 20,
        activate: 1e-5,
        deactivate: 1e-6,
        flap_memory: SECOND,
        ..Settings::default()
    };
    let keys = Keys::parse(&format!("* {}", "5a".repeat(32))).expect("keys");
    let name = format!("run{number}");
    Run {
        agent: Agent::new(agent, Policy { detection, ..Policy::default() }, cabling.clone())
            .numbered_from(later(1)),
        trust: Trust::new(Some(keys), agent, &name),
        holder: Holder::this(&name),
    }
}

impl World {
    /// Ports `a` and `b` of a leaf face those of a spine.
    fn new(seed: u64) -> World {
        let cables = ["a", "b"].map(|name| AGENTS.map(|agent| port(&format!("{agent}/{name}"))));
        let cabling = Cabling::new(cables).expect("no contradiction");
        let reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
        World {
            random: Random::new(seed, "replays"),
            now: SECOND,
            store: Store::default(),
            records: Vec::new(),
            runs: [run(AGENTS[0], 0, &cabling), run(AGENTS[1], 1, &cabling)],
            runs_begun: 2,
            readings: cabling.ports().map(|port| (port.clone(), reading)).collect(),
            losses: BTreeMap::new(),
            cabling,
            protected: BTreeSet::new(),
            is_credulous: false,
        }
    }

    fn restart(&mut self, which: usize) {
        self.runs[which] = run(AGENTS[which], self.runs_begun, &self.cabling);
        self.runs_begun += 1;
    }

    fn step(&mut self) {
        self.now += SECOND;
        later(1_000);
        for (port, reading) in &mut self.readings {
            let corrupted = (self.losses.get(port).copied().unwrap_or(0.0) * 1e6) as u64;
            reading.good_frames += 1_000_000 - corrupted;
            reading.corrupted_frames = reading.corrupted_frames.map(|count| count + corrupted);
        }
        for (which, name) in AGENTS.iter().enumerate() {
            self.claim_and_confirm(which);
            self.hear(which);
            let ours = self.readings.iter().filter(|(port, _)| port.agent() == *name);
            let readings: Vec<_> = ours.map(|(port, reading)| (port.port().to_owned(), *reading)).collect();
            self.runs[which].agent.handle_readings(self.now, readings);
            self.runs[which].agent.handle_timeout(self.now);
            self.act(which);
        }
        self.records.push(self.store.clone());
    }

    fn claim_and_confirm(&mut self, which: usize) {
        let claim = |agent: &str| format!("agent:{agent}");
        let Run { trust, holder, .. } = &mut self.runs[which];
        let sealed = trust.seal_claim(&claim(AGENTS[which]), holder);
        self.store.claims.insert(AGENTS[which].to_owned(), sealed);
        for reader in trust.readers() {
            let written = self.store.claims.get(&reader).cloned().unwrap_or_default();
            self.runs[which].trust.hear_claim(&claim(&reader), &reader, &written);
            for (port, request) in self.runs[which].trust.to_seal_for(&reader) {
                let state = DirectionState { request: Some(request), acknowledgement: None };
                self.put(which, &port, state);
            }
        }
    }

    fn hear(&mut self, which: usize) {
        let Run { agent, trust, .. } = &mut self.runs[which];
        agent.handle_rereading();
        for (port, stored) in &mut self.store.directions {
            let mut parts = stored.clone();
            let (forged, standing) = trust.judge(&place(port), port, &mut parts);
            for (kind, _) in forged {
                match kind {
                    Kind::Request => stored.request = Part::default(),
                    _ => stored.acknowledgement = Part::default(),
                }
            }
            let state = parts.state(GENERATION_MOST).expect("agents have written it");
            match standing {
                Standing::Recorded if !self.is_credulous => agent.handle_recorded(self.now, port, state),
                _ => agent.handle_state(self.now, port, state),
            }
        }
        agent.handle_synchronised(self.now);
    }

    fn act(&mut self, which: usize) {
        while let Some(action) = self.runs[which].agent.poll_action() {
            let (port, state) = match action {
                Action::Actuate { sender, port, request, .. } => {
                    let sender = PortName::new(AGENTS[which], &sender).expect("a name");
                    let effect = match request.protection {
                        Some(_) => {
                            self.protected.insert(sender);
                            Effect::Active
                        }
                        None => {
                            self.protected.remove(&sender);
                            Effect::Dormant
                        }
                    };
                    self.runs[which].agent.handle_effect(self.now, &port, request.generation, effect, None);
                    continue;
                }
                Action::Request { port, request } => {
                    (port, DirectionState { request: Some(request), acknowledgement: None })
                }
                Action::Acknowledge { port, acknowledgement } => {
                    (port, DirectionState { request: None, acknowledgement: Some(acknowledgement) })
                }
            };
            self.put(which, &port, state);
        }
    }

    /// What the script in the server does.
    fn put(&mut self, which: usize, port: &PortName, state: DirectionState) {
        let trust = &mut self.runs[which].trust;
        let request = stored::written("request", state.request_generation(), state.request.as_ref());
        let done = state.acknowledgement_generation();
        let done = stored::written("acknowledgement", done, state.acknowledgement.as_ref());
        let stored = self.store.directions.entry(port.clone()).or_default();
        "1".clone_into(&mut stored.version);
        for (kind, written) in [(Kind::Request, request), (Kind::Acknowledgement, done)] {
            let [generation, text] = written.expect("short");
            let part = match kind {
                Kind::Request => &mut stored.request,
                _ => &mut stored.acknowledgement,
            };
            let number = |text: &str| text.parse::<u64>().expect("a number");
            let is_older = |known: &String| number(&generation) < number(known);
            if text.is_empty() || part.generation.as_ref().is_some_and(is_older) {
                continue;
            }
            let Some(seal) = trust.seal(&place(port), port, kind, &text) else { continue };
            let numbered = |seal: &str| number(seal.split(' ').nth(1).expect("sealed"));
            let is_same = part.text.as_deref() == Some(&text);
            if !is_same || part.seal.as_deref().is_none_or(|known| numbered(known) < numbered(&seal)) {
                *part = Part { text: Some(text), generation: Some(generation), seal: Some(seal) };
            }
        }
    }

    /// Somebody puts back what stood there: everything of some moment, or one direction, or who had a name.
    fn replay(&mut self) {
        let of = self.random.next_u64() as usize % self.records.len();
        let record = self.records[of].clone();
        match self.random.next_u64() % 4 {
            0 | 1 => self.store = record,
            2 if !record.directions.is_empty() => {
                let ports: Vec<PortName> = record.directions.keys().cloned().collect();
                let port = ports[self.random.next_u64() as usize % ports.len()].clone();
                self.store.directions.insert(port.clone(), record.directions[&port].clone());
            }
            _ => self.store.claims = record.claims,
        }
    }

    fn trouble(&mut self) {
        match self.random.next_u64() % 12 {
            0 => self.restart(0),
            1 => self.restart(1),
            2 => (0..2).for_each(|which| self.restart(which)),
            3 => self.store = Store::default(),
            _ => {}
        }
        if self.random.uniform() < 0.6 {
            self.replay();
        }
    }

    fn run_for(&mut self, seconds: usize) {
        (0..seconds).for_each(|_| self.step());
    }

    /// Until both links have been protected and repaired, and `b` corrupts again and is protected.
    fn history(seed: u64) -> World {
        let mut world = World::new(seed);
        world.run_for(5);
        for name in ["leaf1/a", "leaf1/b"] {
            world.losses.insert(port(name), 1e-3);
        }
        world.run_for(10);
        assert_eq!(world.protected.len(), 2, "seed {seed}");
        world.losses.clear();
        world.run_for(80);
        assert_eq!(world.protected.len(), 0, "seed {seed}");
        world.losses.insert(port("leaf1/b"), 1e-4);
        world.run_for(10);
        assert_eq!(world.protected, [port("spine1/b")].into(), "seed {seed}");
        world
    }
}

/// What stood on the bus once is carried out by nobody, at whatever moment of whose restart it comes back; and when
/// nobody puts anything back any more, all works as before.
#[test]
fn records_of_any_moment_neither_end_nor_begin_protection() {
    for seed in 0..SEEDS {
        let mut world = World::history(seed);
        for step in 0..100 {
            world.trouble();
            world.step();
            assert_eq!(world.protected, [port("spine1/b")].into(), "seed {seed}, step {step}");
        }
        let refused: Vec<_> = world.runs.iter().filter_map(|run| run.trust.trouble()).collect();
        // If all was deleted as both were restarted, nobody knows what is protected until it is found once more.
        world.run_for(10);
        world.losses = [(port("leaf1/a"), 1e-3)].into();
        world.run_for(90);
        assert_eq!(world.protected, [port("spine1/a")].into(), "seed {seed}: {refused:?}");
    }
}

/// Agents that take records for what stands end protection that is needed. The test above could not see it otherwise.
#[test]
fn agents_that_believe_records_end_protection_that_is_needed() {
    let is_ended = |seed: &u64| {
        let mut world = World::history(*seed);
        world.is_credulous = true;
        (0..100).any(|_| {
            world.trouble();
            world.step();
            !world.protected.contains(&port("spine1/b"))
        })
    };
    assert!((0..20).filter(is_ended).count() > 10);
}

/// The sending end alone is restarted, or the receiving one, or both, one after the other: at each moment in between, somebody
/// puts back all that stood there at one of some earlier moments.
#[test]
fn the_whole_store_of_each_moment_comes_back_at_each_phase_of_a_restart() {
    for (order, gap) in [&[1][..], &[0], &[0, 1], &[1, 0]].iter().flat_map(|order| [(order, 0), (order, 2)]) {
        let mut world = World::history(0);
        for moment in (6..100).step_by(17) {
            let record = world.records[moment].clone();
            for phase in 0..6 {
                for step in 0..8 {
                    if step % (gap + 1) == 0
                        && let Some(which) = order.get(step / (gap + 1))
                    {
                        world.restart(*which);
                    }
                    if step == phase {
                        world.store = record.clone();
                    }
                    world.step();
                    let told =
                        || format!("{order:?}, gap {gap}, moment {moment}, phase {phase}, step {step}");
                    assert_eq!(world.protected, [port("spine1/b")].into(), "{}", told());
                }
            }
        }
    }
}
