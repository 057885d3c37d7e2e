//! What one machine's `corruptd` decides, without I/O and clock.
//!
//! An [`Agent`] has two parts to play. For the ports that it watches it asks for protection of the direction towards them,
//! and takes the request back; for the ports that it acts at it carries out what the agents at the other ends ask for.
//! Whoever drives it
//!
//! - brings it readings ([`handle_readings`](Agent::handle_readings)), what the bus says
//!   ([`handle_state`](Agent::handle_state), [`handle_recorded`](Agent::handle_recorded),
//!   [`handle_synchronised`](Agent::handle_synchronised), [`handle_disconnected`](Agent::handle_disconnected)), and what became of actions
//!   ([`handle_effect`](Agent::handle_effect));
//! - carries out [`poll_action`](Agent::poll_action) and writes down [`poll_decision`](Agent::poll_decision) until there
//!   are no more, after each of these and at [`next_timeout`](Agent::next_timeout).
//!
//! Nothing is asked for before the bus has said what was asked for earlier, so that a restart does not end protection.

mod aliases;
mod decision;
mod direction;
mod flapping;
mod module_flaps;
mod optics;
mod reconfigure;
mod recorded;
mod status;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod victims;
mod watched;

pub use decision::{Decision, DecisionKind, PlanVerdict};
pub use status::{AgentStatus, DisabledStatus, HeldStatus, PlanStatus, PortStatus};

use crate::counters::Reading;
use crate::detection::Settings;
use crate::exchange::{Acknowledgement, DirectionState, Effect, Request};
use crate::findings::PortFinding;
use crate::{Cabling, PortName};
use direction::{Carrying, Due};
use flapping::Flapping;
use linkmend_control::ProtectMode;
use linkmend_diagnose::excerpt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;
use watched::Watched;

/// Ports of one agent. The largest switches have some hundred.
pub const PORTS_MOST: usize = 100_000;

/// Ports that cannot be watched of which the log has the names.
const REFUSED_NAMED: u64 = 10;
/// Why a port cannot be watched.
const REFUSED_WHY: &str = "names must have 1 to 255 printable characters without spaces, and an agent can have at most 100,000 ports";

/// When and how an agent asks for protection.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    pub detection: Settings,
    pub mode: ProtectMode,
    /// Effective loss rate to stay below.
    pub target: f64,
    /// Whether links are protected that are going to lose frames, as forward error correction lets expect.
    pub arm: bool,
}

impl Default for Policy {
    /// Ordered mode and a target of 1e-8, as in the paper.
    fn default() -> Policy {
        Policy { detection: Settings::default(), mode: ProtectMode::Ordered, target: 1e-8, arm: false }
    }
}

/// Something to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Put this request on the bus, unless it has one of a later generation.
    Request { port: PortName, request: Request },
    /// Put this acknowledgement on the bus, unless it has one of a later generation.
    Acknowledge { port: PortName, acknowledgement: Acknowledgement },
    /// Carry out a request at a port of this agent, and say what became of it.
    Actuate {
        /// The port that sends, as this agent calls it.
        sender: String,
        /// The direction that the request is about.
        port: PortName,
        request: Request,
        /// Whether the request was carried out before, as far as the bus knows.
        again: bool,
    },
}

/// See the module's documentation.
#[derive(Debug)]
pub struct Agent {
    name: String,
    /// Which start of its machine this is, and behind a space which of itself, if that matters.
    boot: String,
    /// Whether nothing of what it decides is done.
    dry_run: bool,
    policy: Policy,
    cabling: Cabling,
    ports: BTreeMap<String, Watched>,
    flapping: Flapping,
    optics: optics::Optics,
    module_flaps: module_flaps::ModuleFlaps,
    /// What is known of directions to and from ports of this agent.
    directions: BTreeMap<PortName, DirectionState>,
    carrying: BTreeMap<PortName, Carrying>,
    /// Aliases of this agent's ports, by their names.
    own_aliases: BTreeMap<String, String>,
    /// Ports of neighbours by their aliases, as far as cables had these.
    aliases: BTreeMap<PortName, PortName>,
    /// Ports of others of which it was said that nothing can be done about them.
    strangers: BTreeSet<PortName>,
    /// Ports of this agent whose links only pass on what others corrupt, with the links that do.
    upstream: BTreeMap<PortName, String>,
    /// Directions of which the bus knows as much as we do, as far as it has said so since the connection began.
    in_step: BTreeSet<PortName>,
    /// Requests of others for ports of this agent to protect, which they have not confirmed since it was started.
    unconfirmed: BTreeMap<PortName, Request>,
    /// Ports of this agent of which only a record says what they need.
    unmeasured: BTreeSet<PortName>,
    told_of_records: bool,
    /// Of what it asks for anew.
    generation_least: u64,
    synchronised: bool,
    actions: VecDeque<Action>,
    decisions: VecDeque<Decision>,
    /// Of the latest poll.
    refused_ports: u64,
    refused_named: u64,
}

impl Agent {
    /// An agent of this name.
    pub fn new(name: &str, policy: Policy, cabling: Cabling) -> Agent {
        Agent {
            name: name.to_owned(),
            boot: String::new(),
            dry_run: false,
            policy,
            cabling,
            ports: BTreeMap::new(),
            flapping: Flapping::default(),
            optics: optics::Optics::default(),
            module_flaps: module_flaps::ModuleFlaps::default(),
            directions: BTreeMap::new(),
            carrying: BTreeMap::new(),
            own_aliases: BTreeMap::new(),
            aliases: BTreeMap::new(),
            strangers: BTreeSet::new(),
            upstream: BTreeMap::new(),
            in_step: BTreeSet::new(),
            unconfirmed: BTreeMap::new(),
            unmeasured: BTreeSet::new(),
            told_of_records: false,
            generation_least: 1,
            synchronised: false,
            actions: VecDeque::new(),
            decisions: VecDeque::new(),
            refused_ports: 0,
            refused_named: 0,
        }
    }

    /// The same agent on a machine that has started so: what commands had set up before another start is gone.
    #[must_use]
    pub fn since(mut self, boot: &str) -> Agent {
        boot.clone_into(&mut self.boot);
        self
    }

    /// The same agent in this run of its program: of what an earlier one said it had protected, the bus could be told again by others.
    #[must_use]
    pub fn in_run(mut self, run: &str) -> Agent {
        self.boot = format!("{} {run}", self.boot);
        self
    }

    /// The same agent, which says what it would do.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Agent {
        self.dry_run = dry_run;
        self
    }

    /// Takes what all ports had counted at `now`, on a clock that never goes back. A port that is not among them keeps its
    /// state for half a minute, and for longer if it corrupts.
    pub fn handle_readings(&mut self, now: Duration, readings: impl IntoIterator<Item = (String, Reading)>) {
        self.refused_ports = 0;
        for watched in self.ports.values_mut() {
            watched.missing = true;
        }
        for (port, reading) in readings {
            if !self.ports.contains_key(&port) && !self.watch(now, &port) {
                continue;
            }
            let Some(watched) = self.ports.get_mut(&port) else { continue };
            let flaps = watched.detector.flaps();
            if let Some(change) = watched.handle_reading(&self.policy.detection, now, reading) {
                let decision = Decision::of_state(now, watched, change);
                self.decisions.push_back(decision);
            }
            let warning = &mut watched.early_warning;
            if let Some(expects) = warning.handle_reading(&self.policy.detection, now, &reading) {
                self.decisions.push_back(Decision::of_forecast(now, watched, expects));
            }
            if watched.detector.flaps() > flaps {
                self.flapping.handle_flap(now, &port);
            }
            self.ask(now, &port);
        }
        self.tell_flaps(now);
        let directions = &self.directions;
        self.ports.retain(|_, watched| {
            let request = directions.get(watched.name()).and_then(|state| state.request.as_ref());
            let is_asked_for = request.is_some_and(|request| request.protection.is_some());
            is_asked_for || !watched.is_gone(now)
        });
        for watched in self.ports.values_mut().filter(|watched| watched.missing) {
            if let Some(change) = watched.handle_absence(now) {
                self.decisions.push_back(Decision::of_state(now, watched, change));
            }
        }
    }

    /// Takes which ports count what was corrupted further up the path, by the links that do. Nothing is asked for there.
    pub fn handle_upstream(&mut self, now: Duration, upstream: BTreeMap<PortName, String>) {
        let before = std::mem::replace(&mut self.upstream, upstream);
        let ports: Vec<String> = self.ports.keys().cloned().collect();
        for port in ports {
            let name = self.ports[&port].name();
            if before.get(name) != self.upstream.get(name) {
                self.ask(now, &port);
            }
        }
    }

    /// Takes what the bus says of a direction, be it new, known or outdated.
    pub fn handle_state(&mut self, now: Duration, port: &PortName, state: DirectionState) {
        self.learn_alias(port, &state);
        let receives = port.agent() == self.name;
        let sends = self.sender(port).is_some();
        if !receives && !sends {
            return self.say_unknown(port, &state);
        }
        self.unconfirmed.remove(port);
        let known = self.directions.entry(port.clone()).or_default();
        // Either end gives a bus its memory back: the other one may have been restarted meanwhile.
        let behind = state.request_generation() < known.request_generation()
            || sends
                && state.acknowledgement != known.acknowledgement
                && state.acknowledgement_generation() <= known.acknowledgement_generation();
        // Two requests of one generation come from a bus that was set back to an earlier time. What it has counts: whoever
        // asks finds at the next poll whether that is enough, and whoever carries out begins anew.
        let conflicts =
            state.request_generation() == known.request_generation() && state.request != known.request;
        if conflicts && sends {
            self.carrying.remove(port);
        }
        if conflicts || state.request_generation() > known.request_generation() {
            known.request = state.request;
            if receives {
                self.resume(now, port);
            }
        }
        if let Some(acknowledgement) = state.acknowledgement {
            self.learn(port, acknowledgement, sends);
        }
        if behind {
            self.in_step.remove(port);
            self.repeat(port);
        } else {
            self.in_step.insert(port.clone());
        }
        if sends {
            self.carry_out(now, port);
        }
    }

    /// The bus has named every direction that it knows; from here on it names those that change.
    pub fn handle_synchronised(&mut self, now: Duration) {
        self.synchronised = true;
        self.tell_of_records();
        let forgotten: Vec<PortName> =
            self.directions.keys().filter(|port| !self.in_step.contains(*port)).cloned().collect();
        for port in forgotten {
            self.repeat(&port);
        }
        let ports: Vec<String> = self.ports.keys().cloned().collect();
        for port in ports {
            self.ask(now, &port);
        }
    }

    /// The bus is going to name every direction that it knows. What it does not name, it has forgotten.
    pub fn handle_rereading(&mut self) {
        self.in_step.clear();
        self.unconfirmed.clear();
    }

    /// The bus cannot be reached. Everything stays as it is, until it has been heard again.
    pub fn handle_disconnected(&mut self) {
        self.synchronised = false;
        self.in_step.clear();
        // What could not be put there is put there again when it is known what it has.
        self.actions.retain(|action| matches!(action, Action::Actuate { .. }));
    }

    /// Takes what became of a request that was to be carried out, or how its effect has changed since.
    pub fn handle_effect(
        &mut self,
        now: Duration,
        port: &PortName,
        generation: u64,
        effect: Effect,
        error: Option<String>,
    ) {
        let request = self.directions.get(port).and_then(|state| state.request.clone());
        let Some(request) = request.map(Request::to_carry_out) else { return };
        let carrying = self.carrying.entry(port.clone()).or_default();
        if generation < request.generation {
            // A newer request has come meanwhile, and is under way already.
            return;
        }
        let acknowledgement = Acknowledgement { generation, effect, error, boot: self.boot.clone() };
        carrying.settle(now, &request, &acknowledgement);
        let known = self.directions.entry(port.clone()).or_default();
        if known.acknowledgement.as_ref() != Some(&acknowledgement) {
            known.acknowledgement = Some(acknowledgement.clone());
            self.decisions.push_back(Decision::of_effect(now, port, &request, &acknowledgement));
            self.in_step.remove(port);
            self.acknowledge(port);
        }
    }

    /// What is certain about the links of watched ports at `now`, by the names of the ports.
    pub fn findings(&self, now: Duration) -> BTreeMap<String, PortFinding> {
        let finding = |(port, watched): (&String, &Watched)| {
            let sender = self.cabling.peer(watched.name());
            let finding = watched.finding(&self.policy.detection, now, sender)?;
            Some((port.clone(), self.with_optics(now, watched, finding)))
        };
        self.ports.iter().filter_map(finding).collect()
    }

    /// Starts what has waited long enough to be tried again.
    pub fn handle_timeout(&mut self, now: Duration) {
        let due: Vec<PortName> = self.carrying.keys().cloned().collect();
        for port in due {
            self.carry_out(now, &port);
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub fn next_timeout(&self) -> Option<Duration> {
        self.carrying.values().filter_map(Carrying::retry_at).min()
    }

    /// The next thing to do.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// The next decision to write down.
    pub fn poll_decision(&mut self) -> Option<Decision> {
        let decision = self.decisions.pop_front()?;
        let decision = Decision { dry_run: self.dry_run, ..decision };
        Some(self.with_advice(decision))
    }

    /// Ports beyond [`PORTS_MOST`], or with names that are none, that were not watched.
    pub fn refused_ports(&self) -> u64 {
        self.refused_ports
    }

    /// The port of this agent that sends in this direction.
    fn sender(&self, port: &PortName) -> Option<&PortName> {
        self.cabling.peer(port).filter(|peer| peer.agent() == self.name)
    }

    /// Begins to watch a port; whether it may be watched.
    fn watch(&mut self, now: Duration, port: &str) -> bool {
        let name = PortName::new(&self.name, port).ok().filter(|_| self.ports.len() < PORTS_MOST);
        let Some(name) = name else {
            // With the first few it is said which: the rest is counted.
            if self.refused_named < REFUSED_NAMED {
                self.refused_named += 1;
                tracing::warn!("cannot monitor port `{}`: {REFUSED_WHY}", excerpt(port, 80));
            }
            self.refused_ports += 1;
            return false;
        };
        self.ports.insert(port.to_owned(), Watched::new(name.clone()));
        self.resume(now, &name);
        true
    }

    /// What was found corrupting before a restart is watched for the end of it.
    fn resume(&mut self, now: Duration, port: &PortName) {
        let request = self.directions.get(port).and_then(|state| state.request.as_ref());
        let protection = request.filter(|request| !request.expected).and_then(|request| request.protection);
        if let (Some(protection), Some(watched)) = (protection, self.ports.get_mut(port.port())) {
            watched.resume(&self.policy.detection, now, protection.loss_rate);
        }
    }

    /// Asks for what a watched port needs, if it is not what was asked for last.
    fn ask(&mut self, now: Duration, port: &str) {
        let watched = self.ports.get(port).filter(|_| self.synchronised);
        let Some(name) = watched.map(|watched| watched.name().clone()) else { return };
        let alias = self.alias(&name);
        let Some(watched) = self.ports.get_mut(port) else { return };
        let known = self.directions.get(&name).and_then(|state| state.request.as_ref());
        let upstream = self.upstream.get(&name);
        let (peer, record) = (self.cabling.peer(&name), self.unmeasured.contains(&name));
        let Some(request) = watched.request(&self.policy, known, peer, upstream, record) else {
            return self.announce(&name);
        };
        let request = Request { generation: request.generation.max(self.generation_least), ..request };
        self.unmeasured.remove(&name);
        watched.found = false;
        let sender = self.cabling.peer(&name).cloned();
        let request = Request { sender, alias, ..request };
        self.decisions.push_back(Decision::of_request(now, watched, &request));
        self.directions.entry(name.clone()).or_default().request = Some(request.clone());
        self.actions.push_back(Action::Request { port: name.clone(), request });
        if self.sender(&name).is_some() {
            self.carry_out(now, &name);
        }
    }

    /// Puts on the bus what it should have from us.
    fn repeat(&mut self, port: &PortName) {
        let Some(state) = self.directions.get(port).filter(|_| self.synchronised) else { return };
        // What an agent puts there of its own, it says of its own knowledge.
        if let Some(request) = state.request.clone().filter(|_| !self.unmeasured.contains(port)) {
            self.actions.push_back(Action::Request { port: port.clone(), request });
        }
        self.acknowledge(port);
    }

    fn acknowledge(&mut self, port: &PortName) {
        let ours = self.sender(port).is_some() && self.synchronised;
        let acknowledgement = self.directions.get(port).and_then(|state| state.acknowledgement.clone());
        if let Some(acknowledgement) = acknowledgement.filter(|_| ours) {
            self.actions.push_back(Action::Acknowledge { port: port.clone(), acknowledgement });
        }
    }

    /// Takes an acknowledgement from the bus: another agent's, or our own from before a restart.
    fn learn(&mut self, port: &PortName, acknowledgement: Acknowledgement, sends: bool) {
        let Some(known) = self.directions.get_mut(port) else { return };
        if !sends || known.acknowledgement_generation() < Some(acknowledgement.generation) {
            known.acknowledgement = Some(acknowledgement);
        }
    }

    /// Carries out the latest request for a direction that starts at a port of this agent, unless that is under way, done,
    /// or to be tried again later.
    fn carry_out(&mut self, now: Duration, port: &PortName) {
        let Some(sender) = self.sender(port).map(|sender| sender.port().to_owned()) else {
            self.carrying.remove(port);
            return;
        };
        let Some(state) = self.directions.get(port) else { return };
        let Some(request) = state.request.clone().map(Request::to_carry_out) else { return };
        if request.generation == 0 {
            return;
        }
        let carrying = self.carrying.entry(port.clone()).or_default();
        if carrying.due(now, &request) == Due::Now {
            let again = state.acknowledgement.as_ref().is_some_and(|done| {
                let is_done = match done.effect {
                    Effect::Active | Effect::Starting => request.protection.is_some(),
                    Effect::Dormant => request.protection.is_none(),
                    Effect::Rehearsed | Effect::Failed => false,
                };
                // What was ended before a restart is not begun by it.
                let machine = |boot: &str| boot.split(' ').next().map(str::to_owned);
                let is_ours = match done.effect {
                    Effect::Dormant => machine(&done.boot) == machine(&self.boot),
                    _ => done.boot == self.boot,
                };
                is_done && done.generation == request.generation && is_ours
            });
            carrying.begin(request.generation);
            self.actions.push_back(Action::Actuate { sender, port: port.clone(), request, again });
        }
    }
}
