//! Agents over a bus that loses its connections, forgets, repeats and reorders, with agents and ports that restart. After
//! each such course everything works again, and then what is protected must be what corrupts.

use super::*;
use crate::exchange::Protection;
use linkmend_random::Random;

const SEEDS: u64 = 300;
const PORTS: usize = 6;
const SECOND: Duration = Duration::from_secs(1);

/// A port as it is: what it has counted, and whether it protects what it sends.
#[derive(Debug, Clone, Default)]
struct Port {
    reading: Reading,
    loss: f64,
    protected: Option<Protection>,
    activations: u32,
}

struct World {
    random: Random,
    now: Duration,
    agents: Vec<Agent>,
    connected: Vec<bool>,
    ports: BTreeMap<PortName, Port>,
    bus: BTreeMap<PortName, DirectionState>,
    /// Directions that changed, in the order in which agents hear of it.
    news: Vec<VecDeque<PortName>>,
    cabling: Cabling,
    trouble: bool,
}

fn name(agent: usize, port: usize) -> PortName {
    PortName::new(&format!("s{agent}"), &format!("p{port}")).expect("a name")
}

fn policy() -> Policy {
    let detection = Settings { hold_down: Duration::from_secs(20), ..Settings::default() };
    Policy { detection, ..Policy::default() }
}

impl World {
    /// Three switches in a triangle with `PORTS` ports each; half of them face each neighbour.
    fn new(seed: u64) -> World {
        let half = PORTS / 2;
        let cables = (0..3)
            .flat_map(|agent| (0..half).map(move |i| [name(agent, half + i), name((agent + 1) % 3, i)]));
        let cabling = Cabling::new(cables).expect("no contradiction");
        let ports = cabling.ports().map(|port| {
            let reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
            (port.clone(), Port { reading, ..Port::default() })
        });
        let mut world = World {
            random: Random::new(seed, "agents"),
            now: Duration::ZERO,
            ports: ports.collect(),
            agents: Vec::new(),
            connected: vec![false; 3],
            bus: BTreeMap::new(),
            news: vec![VecDeque::new(); 3],
            cabling,
            trouble: true,
        };
        world.agents = (0..3).map(|agent| world.agent(agent)).collect();
        world
    }

    fn agent(&self, agent: usize) -> Agent {
        Agent::new(&format!("s{agent}"), policy(), self.cabling.clone())
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.trouble && self.random.uniform() < probability
    }

    fn step(&mut self) {
        self.now += SECOND;
        for port in self.ports.values_mut() {
            port.reading.good_frames += 1_000_000;
            let corrupted = (port.loss * 1e6) as u64;
            port.reading.corrupted_frames = port.reading.corrupted_frames.map(|count| count + corrupted);
        }
        if self.chance(0.05) {
            // The server restarts with what it had a while ago, which may be nothing.
            let lost = self.random.next_u64() as usize % 3;
            let keys: Vec<PortName> = self.bus.keys().step_by(lost + 1).cloned().collect();
            keys.iter().for_each(|key| _ = self.bus.remove(key));
            self.connected.fill(false);
            self.agents.iter_mut().for_each(Agent::handle_disconnected);
        }
        for agent in 0..3 {
            self.run(agent);
        }
    }

    fn run(&mut self, agent: usize) {
        if self.chance(0.03) {
            self.agents[agent] = self.agent(agent);
            self.connected[agent] = false;
        }
        if self.connected[agent] && self.chance(0.1) {
            self.connected[agent] = false;
            self.agents[agent].handle_disconnected();
        }
        if !self.connected[agent] && !self.chance(0.6) {
            self.connect(agent);
        }
        if self.connected[agent] {
            self.hear(agent);
        }
        let own = format!("s{agent}");
        let ours = self.ports.iter().filter(|(port, _)| port.agent() == own);
        let readings: Vec<_> = ours.map(|(port, at)| (port.port().to_owned(), at.reading)).collect();
        if !self.chance(0.1) {
            self.agents[agent].handle_readings(self.now, readings);
        }
        self.agents[agent].handle_timeout(self.now);
        while let Some(action) = self.agents[agent].poll_action() {
            self.act(agent, action);
        }
    }

    fn connect(&mut self, agent: usize) {
        self.connected[agent] = true;
        self.news[agent].clear();
        for (port, state) in self.bus.clone() {
            self.agents[agent].handle_state(self.now, &port, state);
        }
        self.agents[agent].handle_synchronised(self.now);
    }

    fn hear(&mut self, agent: usize) {
        while let Some(port) = self.news[agent].pop_front() {
            let state = self.bus.get(&port).cloned().unwrap_or_default();
            self.agents[agent].handle_state(self.now, &port, state.clone());
            if self.chance(0.2) {
                self.agents[agent].handle_state(self.now, &port, state);
            }
        }
    }

    fn act(&mut self, agent: usize, action: Action) {
        let (port, written) = match action {
            Action::Actuate { sender, port, request, .. } => {
                let failed = self.chance(0.3);
                let sender =
                    self.ports.get_mut(&PortName::new(&format!("s{agent}"), &sender).expect("a name"));
                let sender = sender.expect("it is there");
                let effect = match request.protection {
                    _ if failed => Effect::Failed,
                    Some(protection) => {
                        sender.activations += u32::from(sender.protected.is_none());
                        sender.protected = Some(protection);
                        Effect::Active
                    }
                    None => {
                        sender.protected = None;
                        Effect::Dormant
                    }
                };
                self.agents[agent].handle_effect(self.now, &port, request.generation, effect, None);
                return;
            }
            Action::Request { port, request } => {
                (port, DirectionState { request: Some(request), acknowledgement: None })
            }
            Action::Acknowledge { port, acknowledgement } => {
                (port, DirectionState { request: None, acknowledgement: Some(acknowledgement) })
            }
        };
        if !self.connected[agent] || self.chance(0.05) {
            self.connected[agent] = false;
            self.agents[agent].handle_disconnected();
            return;
        }
        self.bus.entry(port.clone()).or_default().advance(written);
        for news in 0..3 {
            self.news[news].push_back(port.clone());
            if self.chance(0.3) {
                let at = self.random.next_u64() as usize % self.news[news].len();
                self.news[news].insert(at, port.clone());
            }
        }
    }

    fn sender(&self, port: &PortName) -> &Port {
        &self.ports[self.cabling.peer(port).expect("every port has a peer")]
    }
}

#[test]
fn after_any_trouble_exactly_what_corrupts_is_protected() {
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        let corrupting: Vec<PortName> =
            world.ports.keys().skip(seed as usize % 3).step_by(3).cloned().collect();
        for step in 0..60 {
            if step == 5 {
                corrupting.iter().for_each(|port| world.ports.get_mut(port).expect("there").loss = 1e-3);
            }
            world.step();
        }
        world.trouble = false;
        (0..70).for_each(|_| world.step());
        for port in world.ports.keys() {
            let protected = world.sender(port).protected.is_some();
            assert_eq!(protected, corrupting.contains(port), "seed {seed}: {port} {:?}", world.bus.get(port));
        }
        for port in &corrupting {
            let state = &world.bus[port];
            let generation = state.request.as_ref().map(|request| request.generation);
            let done = state.acknowledgement.as_ref().map(|done| (done.generation, done.effect));
            assert_eq!(
                done,
                generation.map(|generation| (generation, Effect::Active)),
                "seed {seed}: {port}"
            );
            assert_eq!(world.sender(port).activations, 1, "seed {seed}: {port} was activated once");
        }
        // Repaired, they are let go, and stay so.
        corrupting.iter().for_each(|port| world.ports.get_mut(port).expect("there").loss = 0.0);
        (0..120).for_each(|_| world.step());
        assert!(world.ports.values().all(|port| port.protected.is_none()), "seed {seed}");
    }
}

#[test]
fn a_direction_without_a_known_sender_is_asked_for_and_shown() {
    let mut agent = Agent::new("s0", policy(), Cabling::default());
    agent.handle_synchronised(Duration::ZERO);
    for second in 1..5 {
        let reading = Reading {
            good_frames: second * 1_000_000,
            corrupted_frames: Some(second * 1_000),
            ..Reading::default()
        };
        agent.handle_readings(SECOND * second as u32, [("p0".to_owned(), reading)]);
    }
    let actions: Vec<Action> = std::iter::from_fn(|| agent.poll_action()).collect();
    assert!(
        matches!(&actions[..], [Action::Request { request, .. }] if request.generation == 1),
        "{actions:?}"
    );
    let status = agent.status(SECOND * 5);
    assert!(status.ports[0].sender.is_none() && status.ports[0].request.is_some(), "{status:?}");
    let decisions: Vec<String> =
        std::iter::from_fn(|| agent.poll_decision()).map(|decision| decision.to_string()).collect();
    assert_eq!(decisions.len(), 3, "{decisions:?}");
    assert!(decisions[2].contains("requests protection, ordered, copies 2"), "{decisions:?}");
}

#[test]
fn names_that_are_none_are_refused_and_counted() {
    let mut agent = Agent::new("s0", policy(), Cabling::default());
    agent.handle_readings(SECOND, [("a b".to_owned(), Reading::default())]);
    assert_eq!((agent.refused_ports(), agent.status(SECOND).ports.len()), (1, 0));
}

/// An agent with one port that corrupts and whose sender is its own, protected.
fn protected() -> (Agent, Duration, Reading) {
    let cabling = Cabling::new([[name(0, 0), name(0, 1)]]).expect("no contradiction");
    let mut agent = Agent::new("s0", policy(), cabling);
    agent.handle_synchronised(Duration::ZERO);
    let mut reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
    let mut now = Duration::ZERO;
    for _ in 0..4 {
        now += SECOND;
        reading.good_frames += 1_000_000;
        reading.corrupted_frames = reading.corrupted_frames.map(|count| count + 1_000);
        agent.handle_readings(now, [("p0".to_owned(), reading)]);
    }
    let actuated = std::iter::from_fn(|| agent.poll_action())
        .filter(|action| matches!(action, Action::Actuate { .. }))
        .count();
    assert_eq!(actuated, 1);
    agent.handle_effect(now, &name(0, 0), 1, Effect::Active, None);
    (agent, now, reading)
}

/// Everything that the agent wants to do is to say again what is so.
fn assert_unchanged(agent: &mut Agent, after: &str) {
    while let Some(action) = agent.poll_action() {
        match action {
            Action::Request { request, .. } => assert_eq!(request.generation, 1, "after {after}"),
            Action::Acknowledge { acknowledgement, .. } => assert_eq!(acknowledgement.effect, Effect::Active),
            Action::Actuate { .. } => panic!("carries something out after {after}"),
        }
    }
}

#[test]
fn what_is_protected_stays_so_whatever_counters_and_clock_do() {
    let (mut agent, mut now, reading) = protected();
    let changed = |change: fn(&mut Reading)| {
        let mut reading = reading;
        change(&mut reading);
        reading
    };
    let courses: [(&str, Duration, Option<Reading>); 7] = [
        ("ten hours of sleep", SECOND * 36_000, Some(reading)),
        ("counters that went back", SECOND, Some(changed(|reading| reading.good_frames = 3))),
        ("counters that stand still", SECOND * 3_600, Some(changed(|reading| reading.good_frames = 3))),
        ("a counter that is gone", SECOND, Some(changed(|reading| reading.corrupted_frames = None))),
        ("more frames than there can be", SECOND, Some(changed(|reading| reading.good_frames = u64::MAX))),
        ("a reboot", SECOND * 60, Some(Reading { epoch: Some(2), ..Reading::default() })),
        ("a port that is gone", SECOND * 3_600, None),
    ];
    for (what, passed, reading) in courses {
        now += passed;
        agent.handle_readings(now, reading.map(|reading| ("p0".to_owned(), reading)));
        agent.handle_timeout(now);
        assert_unchanged(&mut agent, what);
    }
    // The same moment twice, and the bus away in between.
    agent.handle_disconnected();
    agent.handle_readings(now, [("p0".to_owned(), reading)]);
    agent.handle_readings(now, [("p0".to_owned(), reading)]);
    agent.handle_synchronised(now);
    assert_unchanged(&mut agent, "a bus that was away");
}

#[test]
fn directions_of_unknown_ports_are_none_of_its_business() {
    let (mut agent, now, _) = protected();
    let request = Request { generation: 9, reason: "somebody else".to_owned(), ..Request::default() };
    let state = DirectionState { request: Some(request), acknowledgement: None };
    for port in [name(1, 0), name(7, 7)] {
        agent.handle_state(now, &port, state.clone());
    }
    // A port of its own that no reading ever had is remembered, and nothing is done about it.
    agent.handle_state(now, &name(0, 99), state);
    assert_unchanged(&mut agent, "what others do");
    assert_eq!(agent.status(now).ports.len(), 1, "ports that are not here are not shown");
}

/// An agent of two ports of one machine, over a bus that has said everything, and what it is to do.
fn alone(cables: &[(&str, &str)]) -> Agent {
    let mut agent = Agent::new("leaf1", Policy::default(), cabling(cables)).since("first");
    agent.handle_synchronised(Duration::ZERO);
    agent
}

fn cabling(cables: &[(&str, &str)]) -> Cabling {
    let port = |name: &str| PortName::new("leaf1", name).expect("a name");
    Cabling::new(cables.iter().map(|(one, other)| [port(one), port(other)])).expect("cables")
}

/// Polls a port that corrupts one frame in a thousand until it is found.
fn corrupt(agent: &mut Agent, port: &str, from: u64) {
    for second in from..from + 3 {
        let reading = Reading {
            good_frames: second * 999_000,
            corrupted_frames: Some(second * 1_000),
            ..Reading::default()
        };
        agent.handle_readings(SECOND * second as u32, [(port.to_owned(), reading)]);
    }
}

/// What the agent is to carry out: the port that sends, whether it is to protect, and whether it was done before.
fn jobs(agent: &mut Agent) -> Vec<(String, bool, bool)> {
    std::iter::from_fn(|| agent.poll_action())
        .filter_map(|action| match action {
            Action::Actuate { sender, request, again, .. } => {
                Some((sender, request.protection.is_some(), again))
            }
            _ => None,
        })
        .collect()
}

#[test]
fn a_cable_that_is_named_later_or_moved_changes_who_protects() {
    let mut agent = alone(&[]);
    corrupt(&mut agent, "a", 1);
    assert_eq!(jobs(&mut agent), [], "nobody knows who sends");
    agent.reconfigure(SECOND * 5, Policy::default(), cabling(&[("a", "b")]));
    assert_eq!(jobs(&mut agent), [("b".to_owned(), true, false)]);
    agent.reconfigure(SECOND * 6, Policy::default(), cabling(&[("a", "c")]));
    assert_eq!(jobs(&mut agent), [("b".to_owned(), false, false), ("c".to_owned(), true, false)]);
    agent.reconfigure(SECOND * 7, Policy::default(), cabling(&[]));
    assert_eq!(jobs(&mut agent), [], "a neighbour may be forgotten because its link is down");
    // The planner is told who sends.
    agent.reconfigure(SECOND * 8, Policy::default(), cabling(&[("a", "c")]));
    corrupt(&mut agent, "a", 9);
    let name = PortName::new("leaf1", "a").expect("a name");
    let sender = agent.directions[&name].request.as_ref().and_then(|request| request.sender.clone());
    assert_eq!(sender, PortName::new("leaf1", "c").ok());
}

#[test]
fn what_was_rehearsed_or_done_before_the_machine_started_is_not_done() {
    let name = PortName::new("leaf1", "a").expect("a name");
    for (boot, effect, again) in [
        ("first", Effect::Active, true),
        ("first", Effect::Starting, true),
        ("first", Effect::Rehearsed, false),
        ("first", Effect::Failed, false),
        ("first", Effect::Dormant, false),
        ("another", Effect::Active, false),
    ] {
        let mut before = alone(&[("a", "b")]);
        corrupt(&mut before, "a", 1);
        let mut state = before.directions[&name].clone();
        let generation = state.request_generation().expect("it asks");
        state.acknowledgement =
            Some(Acknowledgement { generation, effect, boot: boot.to_owned(), ..Default::default() });
        let mut after = Agent::new("leaf1", Policy::default(), cabling(&[("a", "b")])).since("first");
        after.handle_state(SECOND, &name, state);
        assert_eq!(jobs(&mut after), [("b".to_owned(), true, again)], "{boot} {effect:?}");
    }
}

/// What was said before a restart could have been put back by somebody since: an old "active" left a link without protection.
#[test]
fn an_agent_that_could_be_told_what_is_old_protects_anew_after_a_restart_and_says_so() {
    let name = PortName::new("leaf1", "a").expect("a name");
    let of_run =
        |run: &str| Agent::new("leaf1", Policy::default(), cabling(&[("a", "b")])).since("boot").in_run(run);
    let mut before = of_run("first");
    before.handle_synchronised(Duration::ZERO);
    corrupt(&mut before, "a", 1);
    let generation = before.directions[&name].request_generation().expect("it asks");
    before.handle_effect(SECOND * 4, &name, generation, Effect::Active, None);
    let old = before.directions[&name].clone();
    let mut same = of_run("first");
    same.handle_state(SECOND, &name, old.clone());
    assert_eq!(jobs(&mut same), [("b".to_owned(), true, true)]);
    let mut after = of_run("second");
    after.handle_state(SECOND, &name, old);
    after.handle_synchronised(SECOND);
    assert_eq!(jobs(&mut after), [("b".to_owned(), true, false)]);
    // The bus is told, though it has an acknowledgement of this request that says the same.
    after.handle_effect(SECOND * 2, &name, generation, Effect::Active, None);
    let said = std::iter::from_fn(|| after.poll_action());
    assert_eq!(said.filter(|action| matches!(action, Action::Acknowledge { .. })).count(), 1);
    // Whether nothing is protected, a command need not be asked again at every start.
    let request = Request { generation: 9, reason: "a test".to_owned(), ..Request::default() };
    let done = Acknowledgement { generation: 9, boot: "boot first".to_owned(), ..Default::default() };
    let mut ended = of_run("second");
    ended.handle_state(SECOND, &name, DirectionState { request: Some(request), acknowledgement: Some(done) });
    assert_eq!(jobs(&mut ended), [("b".to_owned(), false, true)]);
}

#[test]
fn a_bus_that_was_emptied_gets_everything_back() {
    let mut agent = alone(&[("a", "b")]);
    corrupt(&mut agent, "a", 1);
    let name = PortName::new("leaf1", "a").expect("a name");
    while agent.poll_action().is_some() {}
    let state = agent.directions[&name].clone();
    agent.handle_state(SECOND * 5, &name, state);
    agent.handle_synchronised(SECOND * 5);
    assert!(agent.poll_action().is_none(), "the bus knows it");
    agent.handle_rereading();
    agent.handle_synchronised(SECOND * 6);
    assert!(matches!(agent.poll_action(), Some(Action::Request { .. })), "the bus has forgotten it");
}

#[test]
fn a_bus_that_was_set_back_is_followed_and_asked_again() {
    let mut agent = alone(&[("a", "b")]);
    corrupt(&mut agent, "a", 1);
    while agent.poll_action().is_some() {}
    let name = PortName::new("leaf1", "a").expect("a name");
    let generation = agent.directions[&name].request_generation().expect("it asks");
    let request = Request { generation, reason: "another's".to_owned(), ..Request::default() };
    agent.handle_state(SECOND * 5, &name, DirectionState { request: Some(request), acknowledgement: None });
    assert_eq!(jobs(&mut agent), [("b".to_owned(), false, false)], "what the bus has counts");
    corrupt(&mut agent, "a", 6);
    assert_eq!(agent.directions[&name].request_generation(), Some(generation + 1));
    assert_eq!(jobs(&mut agent), [("b".to_owned(), true, false)]);
}

#[test]
fn a_port_that_is_away_is_unknown_then_forgotten_and_one_that_corrupts_is_not() {
    let mut agent = alone(&[]);
    let reading =
        |count: u64| Reading { good_frames: count * 1_000, corrupted_frames: Some(0), ..Reading::default() };
    corrupt(&mut agent, "bad", 1);
    for second in 4..7 {
        agent.handle_readings(SECOND * second, [("good".to_owned(), reading(second.into()))]);
    }
    let state = |agent: &Agent, port: &str| agent.ports.get(port).map(|watched| watched.detector.state());
    assert_eq!(state(&agent, "good"), Some(crate::detection::State::Healthy));
    agent.handle_readings(SECOND * 40, []);
    assert_eq!(state(&agent, "good"), Some(crate::detection::State::Unknown));
    assert!(state(&agent, "bad").is_some_and(crate::detection::State::corrupts));
    agent.handle_readings(SECOND * 4_000, []);
    assert_eq!(state(&agent, "good"), None);
    assert!(state(&agent, "bad").is_some_and(crate::detection::State::corrupts));
}
