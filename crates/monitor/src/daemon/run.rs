//! The loop.

use super::error::StartError;
use super::keeper::{Hands, Setup};
use super::knowledge::Knowledge;
use super::metrics;
use super::opening::{actuators, agent, bus, named};
use super::own_ends::OwnEnds;
use super::plan_memory::disabled_before;
use super::planner::PlanThread;
use super::status::{Question, StatusSocket};
use super::telling::Telling;
use crate::PortName;
use crate::actuator::{End, Outcome, SonicPorts, Stop, Worker, fault};
use crate::agent::{Action, Agent, AgentStatus, Decision, PlanStatus};
use crate::bus::{Bus, BusError, BusEvent};
use crate::config::{ActuatorChoice, DisabledBy, PlanChoice, Resolved, SourceChoice, network};
use crate::exchange::{DirectionState, Request};
use crate::planning::{Network, Planner, PlannerSettings, downstream_ports};
use crate::source::{GnmiSource, LinkmendSource, LinuxSource, PrometheusSource, SonicSources, Source};
use linkmend_control::metrics::MetricsServer;
use linkmend_diagnose::Diagnose;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often the bus, clients and whoever stops the daemon are heard between polls.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Findings are said for as long as this after their poll, or for three polls.
const READ_LEAST: Duration = Duration::from_secs(20);
/// How often the bus is tried again after it could not be reached.
const RECONNECT_INTERVAL: Duration = Duration::from_secs(1);

/// A running daemon.
pub struct Corruptd {
    agent: Agent,
    source: Box<dyn Source>,
    bus: Box<dyn Bus>,
    worker: Worker,
    /// What its own ports do about requests of this agent, if protection needs both ends of a link.
    own_ends: Option<OwnEnds>,
    outcomes: Receiver<Outcome>,
    telling: Telling,
    knowledge: Knowledge,
    planner: Option<PlanThread>,
    /// In which links are recognised that only pass on what others corrupt.
    topology: Option<Network>,
    socket: StatusSocket,
    /// What the metrics show, if anybody asked for them.
    shown: Option<(Arc<Mutex<AgentStatus>>, MetricsServer)>,
    /// What it was started with.
    config: Resolved,
    /// Where what is said about cables contradicts itself.
    contradictions: Vec<String>,
    started: Instant,
    poll: Duration,
    next_poll: Duration,
    /// When counters were read last.
    read_at: Option<Duration>,
    bus_from: Duration,
    /// What could not be reached the last time, so that each trouble is logged once.
    troubles: Troubles,
    stop: Stop,
}

impl Drop for Corruptd {
    /// Commands that run have a few seconds.
    fn drop(&mut self) {
        self.stop.ask();
    }
}

/// An error with the way out of it, on one line.
fn told(error: &(impl Diagnose + std::fmt::Display)) -> String {
    let text = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Starts the planner, which knows what it had disabled before.
fn plan_thread(
    plan: PlanChoice,
    config: &Resolved,
    stop: Stop,
    started: Instant,
) -> Result<PlanThread, StartError> {
    let network = plan.network()?;
    let before = disabled_before(&plan.memory)
        .map_err(|problem| StartError::PlanState { path: plan.memory.clone(), problem })?;
    let hands = match plan.by {
        DisabledBy::Hook(_) if config.dry_run => Hands::Rehearsal,
        DisabledBy::Hook(hook) => Hands::Hook(hook),
        DisabledBy::SonicPorts(settings) => Hands::Ports(Box::new(SonicPorts::new(&settings)?)),
        DisabledBy::Nobody => Hands::None,
    };
    if !before.down.is_empty() && !matches!(hands, Hands::Ports(_)) {
        let ports: Vec<String> = before.down.iter().map(ToString::to_string).collect();
        tracing::warn!("without disable-sonic, nobody brings up what was taken down: {}", ports.join(", "));
    }
    match &hands {
        Hands::Hook(hook) => tracing::info!("planning for {network}; {} disables links", hook.display()),
        Hands::Ports(ports) if !ports.is_dry_run() => {
            tracing::warn!("planning for {network}; links are disabled by {}", ports.describe());
        }
        _ => tracing::info!("planning for {network}, without disabling links"),
    }
    let settings = PlannerSettings { constraint: plan.constraint, target: config.policy.target };
    let planner = Planner::new(network, settings, before.disabled.clone());
    let setup = Setup { planner, guard: plan.guard, hands, memory: plan.memory, before, stop, started };
    PlanThread::start(setup).map_err(StartError::Thread)
}

/// What does not work at the moment.
#[derive(Debug, Default)]
struct Troubles {
    source: Option<String>,
    bus: Option<String>,
    memory: Option<String>,
}

impl Corruptd {
    /// Opens everything, and logs what was chosen.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(config: Resolved) -> Result<Corruptd, StartError> {
        let started_with = config.clone();
        let socket = StatusSocket::open(&config.control)?;
        let bus = bus(&config)?;
        let telling = Telling::open(&config, &named("uuid"))?;
        let source: Box<dyn Source> = match config.source {
            SourceChoice::Linkmend(paths) => Box::new(LinkmendSource::new(paths)),
            SourceChoice::Linux { patterns, drivers } => {
                Box::new(LinuxSource::open(&patterns, &drivers).map_err(StartError::Counters)?)
            }
            SourceChoice::Sonic(settings) => Box::new(SonicSources::new(&settings)?),
            SourceChoice::Prometheus(settings) => Box::new(PrometheusSource::new(&settings)?),
            SourceChoice::Gnmi(settings) => Box::new(GnmiSource::new(&settings)?),
        };
        let stop = Stop::default();
        let actuators = actuators(&config.actuator, &stop)?;
        let own_ends = actuators.iter().any(|actuator| actuator.acts_at_both_ends()).then(OwnEnds::default);
        tracing::info!("agent {}: monitoring {}", config.agent, source.describe());
        let by = actuators.first().map(|actuator| actuator.describe()).unwrap_or_default();
        tracing::info!("protection by {by}; state: {}", bus.describe());
        let started = Instant::now();
        let plan = config.plan.map(|plan| plan_thread(plan, &started_with, stop.clone(), started));
        let planner = plan.transpose()?;
        let agent = agent(&started_with);
        let (sender, outcomes) = channel();
        let worker = Worker::start(actuators, &sender, stop.clone()).map_err(StartError::Thread)?;
        Ok(Corruptd {
            agent,
            source,
            bus,
            worker,
            own_ends,
            outcomes,
            telling,
            knowledge: Knowledge::default(),
            planner,
            topology: config.topology.as_deref().map(network).transpose()?,
            socket,
            shown: config.metrics.map(metrics::serve).transpose()?,
            contradictions: config.contradictions,
            config: started_with,
            started,
            poll: config.poll,
            next_poll: Duration::ZERO,
            read_at: None,
            bus_from: Duration::ZERO,
            troubles: Troubles::default(),
            stop,
        })
    }

    /// Runs until `stop` says so, which is asked every few hundredths of a second.
    pub fn run(&mut self, mut stop: impl FnMut() -> bool) {
        while !stop() {
            self.step();
            let until_poll = self.next_poll.saturating_sub(self.now());
            match self.outcomes.recv_timeout(until_poll.min(LOOK_INTERVAL)) {
                Ok(outcome) => self.take(outcome),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(LOOK_INTERVAL),
            }
        }
    }

    /// Other settings, cables and intervals from now on. Where counters come from, what carries requests out, names and
    /// files stay as they are until a restart.
    pub fn reconfigure(&mut self, config: Resolved) {
        tracing::info!("configuration reloaded");
        for what in self.config.changes_for_a_restart(&config) {
            tracing::warn!("`{what}` has changed; restart corruptd to apply it");
        }
        self.poll = config.poll;
        self.next_poll = self.now();
        if config.agent == self.config.agent {
            self.agent.reconfigure(self.now(), config.policy, config.cabling);
            self.contradictions = config.contradictions;
            match config.topology.as_deref().map(network).transpose() {
                Ok(topology) => {
                    self.topology = topology;
                    self.knowledge.plan_anew();
                }
                Err(error) => tracing::warn!("keeping the previous network: {}", told(&error)),
            }
        } else {
            // Cables are named by agents: those of another agent are not ours.
            tracing::warn!(
                "keeping the previous settings and cables, because the new ones are for agent {}",
                config.agent
            );
        }
        self.telling.reopen();
    }

    /// The agent's status.
    pub fn status(&self) -> AgentStatus {
        let plan = self.planner.as_ref().map(PlanThread::status);
        let troubles = self.all_troubles(plan.as_ref());
        let knows_topology = self.topology.is_some();
        let webhook = self.telling.webhook();
        AgentStatus { troubles, plan, knows_topology, webhook, ..self.agent.status(self.now()) }
    }

    /// What does not work, for people.
    fn all_troubles(&self, plan: Option<&PlanStatus>) -> Vec<String> {
        let hook = match &self.config.actuator {
            ActuatorChoice::Hook(hook) => Some(hook),
            _ => None,
        };
        let disable_hook = self.config.plan.as_ref().and_then(|plan| match &plan.by {
            DisabledBy::Hook(hook) => Some(hook),
            DisabledBy::Nobody | DisabledBy::SonicPorts(_) => None,
        });
        let broken = hook.into_iter().chain(disable_hook).filter_map(|hook| {
            fault(hook).map(|why| format!("the hook {} cannot be run: {why}", hook.display()))
        });
        let failed = plan.and_then(|plan| plan.trouble.clone());
        let Troubles { source, bus, memory } = &self.troubles;
        let known = [
            source.as_ref().map(|text| format!("cannot read counters: {text}")),
            bus.as_ref().map(|text| format!("cannot use the bus: {text}")),
            memory.as_ref().map(|text| format!("cannot save state: {text}")),
            failed.map(|text| format!("a command of the plan failed: {text}")),
            plan.and_then(|plan| plan.stalled.clone()),
            self.telling.trouble(),
            self.bus.trouble(),
        ];
        let own_ends = self.own_ends.iter().flat_map(OwnEnds::troubles);
        known
            .into_iter()
            .flatten()
            .chain(broken)
            .chain(own_ends)
            .chain(
                self.source.troubles().into_iter().map(|text| format!("cannot read some counters: {text}")),
            )
            .chain(self.contradictions.iter().cloned())
            .collect()
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn step(&mut self) {
        self.hear();
        let now = self.now();
        if now >= self.next_poll {
            self.read(now);
            if let Some((shown, _)) = &self.shown {
                *shown.lock().unwrap_or_else(PoisonError::into_inner) = self.status();
            }
            // A poll that took too long is followed by one at the next full interval, and not by several at once.
            let polls = self.now().as_nanos() / self.poll.as_nanos() + 1;
            self.next_poll = self.poll.saturating_mul(u32::try_from(polls).unwrap_or(u32::MAX));
        }
        if self.knowledge.is_due_to_say(now) {
            self.say(now);
        }
        if self.agent.next_timeout().is_some_and(|at| at <= now) {
            self.agent.handle_timeout(now);
        }
        self.act();
        self.plan();
        for asked in self.socket.questions() {
            match asked.question {
                Question::Status => asked.answer(&self.status()),
                Question::Directions => asked.answer(self.knowledge.directions()),
                Question::Findings => {
                    let all = self.planner.is_some().then(|| self.knowledge.at(self.now()).findings);
                    asked.answer(&all);
                }
            }
        }
    }

    /// Hears the bus.
    fn hear(&mut self) {
        let now = self.now();
        if now < self.bus_from {
            return;
        }
        match self.bus.poll() {
            Ok(events) => {
                if self.troubles.bus.take().is_some() {
                    tracing::info!("the bus is responding again");
                }
                for event in events {
                    match event {
                        BusEvent::State(port, state) => {
                            self.knowledge.handle_state(&port, &state);
                            self.follow(now, &port, state.request.as_ref());
                            self.agent.handle_state(now, &port, state);
                        }
                        BusEvent::Recorded(port, state) => {
                            self.knowledge.handle_state(&port, &state);
                            self.agent.handle_recorded(now, &port, state);
                        }
                        BusEvent::Rereading => {
                            self.knowledge.handle_rereading();
                            self.agent.handle_rereading();
                        }
                        BusEvent::Synchronised => {
                            self.knowledge.handle_synchronised();
                            self.agent.handle_synchronised(now);
                        }
                        // Of its own ports, this agent knows more than any bus.
                        BusEvent::Findings(agent, findings) if agent != self.config.agent => {
                            self.knowledge.handle_findings(now, &agent, findings);
                        }
                        BusEvent::Findings(..) => {}
                    }
                }
            }
            Err(error) => self.bus_is_away(&error),
        }
    }

    /// Has a port of this machine do what its own agent asks for.
    fn follow(&mut self, now: Duration, port: &PortName, request: Option<&Request>) {
        if let Some((ends, request)) = self.own_ends.as_mut().zip(request)
            && port.agent() == self.config.agent
        {
            ends.handle_request(now, port, request);
        }
    }

    fn bus_is_away(&mut self, error: &BusError) {
        self.agent.handle_disconnected();
        self.bus_from = self.now() + RECONNECT_INTERVAL;
        let text = told(error);
        if self.troubles.bus.as_ref() != Some(&text) {
            tracing::warn!("cannot use the bus; protected links stay protected: {text}");
            self.troubles.bus = Some(text);
        }
    }

    /// Sees to it that a restart forgets nothing. A full disk keeps no link from being protected.
    fn flush(&mut self) {
        let text = self.bus.flush().err().map(|error| told(&error));
        match &text {
            Some(text) if self.troubles.memory.as_ref() != Some(text) => {
                tracing::warn!("cannot save state; requests made since then will be lost on restart: {text}");
            }
            None if self.troubles.memory.is_some() => tracing::info!("state is being saved again"),
            _ => {}
        }
        self.troubles.memory = text;
    }

    /// Has the plan made anew if links have begun to corrupt, got worse or come back, once the bus has said everything.
    fn plan(&mut self) {
        let now = self.started.elapsed();
        let is_waiting = self.planner.as_ref().is_some_and(PlanThread::is_waiting);
        let due = self.knowledge.is_due(now, is_waiting);
        if let Some(topology) = self.topology.as_ref().filter(|_| due) {
            let activate = self.config.policy.detection.activate;
            self.agent
                .handle_upstream(now, downstream_ports(topology, self.knowledge.directions(), activate));
        }
        let Some(planner) = &mut self.planner else { return };
        planner.hand_over();
        if due {
            planner.plan(self.knowledge.at(now));
        }
        for decision in planner.decisions() {
            let advice = self.knowledge.advice(&decision);
            self.telling.tell(&Decision { advice, ..decision });
        }
    }

    /// Reads the counters.
    fn read(&mut self, now: Duration) {
        match self.source.poll() {
            Ok(readings) => {
                if self.troubles.source.take().is_some() {
                    tracing::info!("counters can be read again");
                }
                self.agent.handle_aliases(self.source.take_aliases());
                self.agent.handle_readings(now, readings);
                self.agent.handle_optics(now, self.source.take_optics());
                let peers = self.agent.peers_to_know().into_iter();
                let known = peers.filter_map(|peer| {
                    Some((self.knowledge.finding(&peer)?.optics.as_deref()?.to_owned(), peer))
                });
                self.agent.handle_peers(now, known.map(|(optics, peer)| (peer, optics)).collect());
                self.read_at = Some(now);
                self.say(now);
            }
            Err(error) => {
                let text = told(&error);
                if self.troubles.source.as_ref() != Some(&text) {
                    tracing::warn!("cannot read counters; protected links stay protected: {text}");
                    self.troubles.source = Some(text);
                }
            }
        }
    }

    /// Says what is found out about the ports, again and again: others cannot know otherwise whether this agent is still there.
    fn say(&mut self, now: Duration) {
        // What was counted too long ago says nothing any more.
        let oldest = self.poll.saturating_mul(3).max(READ_LEAST);
        let Some(read_at) = self.read_at.filter(|at| now.saturating_sub(*at) <= oldest) else { return };
        let (name, findings) = (&self.config.agent, self.agent.findings(now));
        if let Some(findings) = self.knowledge.handle_own_findings(now, name, read_at, findings)
            && let Err(error) = self.bus.say(&findings)
        {
            self.bus_is_away(&error);
        }
    }

    /// Takes what became of a request, and of others meanwhile.
    fn take(&mut self, outcome: Outcome) {
        let now = self.now();
        let mut next = Some(outcome);
        while let Some(Outcome { port, end, generation, effect, error }) = next {
            match (end, &mut self.own_ends) {
                (End::Receives, Some(ends)) => ends.handle_effect(now, &port, generation, effect, error),
                _ => self.agent.handle_effect(now, &port, generation, effect, error),
            }
            next = self.outcomes.try_recv().ok();
        }
        self.act();
    }

    /// Does and writes down what the agent has decided.
    fn act(&mut self) {
        while let Some(decision) = self.agent.poll_decision() {
            self.telling.tell(&decision);
        }
        let mut jobs = Vec::new();
        while let Some(action) = self.agent.poll_action() {
            let (port, state) = match action {
                Action::Actuate { sender, port, request, again } => {
                    jobs.push(((sender, End::Sends), port, request, again));
                    continue;
                }
                Action::Request { port, request } => {
                    self.follow(self.now(), &port, Some(&request));
                    (port, DirectionState { request: Some(request), acknowledgement: None })
                }
                Action::Acknowledge { port, acknowledgement } => {
                    (port, DirectionState { request: None, acknowledgement: Some(acknowledgement) })
                }
            };
            if let Err(error) = self.bus.put(&port, state) {
                self.bus_is_away(&error);
            }
        }
        let now = self.now();
        while let Some((port, request)) = self.own_ends.as_mut().and_then(|ends| ends.poll(now)) {
            jobs.push(((port.port().to_owned(), End::Receives), port, request, false));
        }
        self.flush();
        // What is carried out is remembered first: a crash in between must not leave protection that nobody knows of.
        for (at, port, request, again) in jobs {
            self.worker.carry_out(at, port, request, again);
        }
    }
}
