//! Three switches in a triangle, whose ports count and protect as they are told, and the agents that watch them over Redis.

use linkmend_monitor::agent::{Action, Agent, Policy};
use linkmend_monitor::bus::{Bus, BusEvent, RedisBus};
use linkmend_monitor::counters::Reading;
use linkmend_monitor::detection::Settings;
use linkmend_monitor::exchange::{DirectionState, Effect};
use linkmend_monitor::{Cabling, PortName};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub const AGENTS: usize = 3;
/// Ports of each agent, half of which face each neighbour.
const PORTS: usize = 334;
const SECOND: Duration = Duration::from_secs(1);
pub const HOLD_DOWN: u32 = 20;

/// A port as it is: what it has counted, and whether it protects what it sends.
#[derive(Debug, Clone, Default)]
pub struct Port {
    reading: Reading,
    pub loss: f64,
    pub protected: bool,
    pub activations: u32,
}

pub struct World {
    now: Duration,
    agents: Vec<Agent>,
    pub buses: Vec<RedisBus>,
    pub ports: BTreeMap<PortName, Port>,
    cabling: Cabling,
    /// What agents have put, whether it has arrived or not.
    pub puts: u64,
    /// Polls and puts that have failed.
    pub failures: u64,
}

fn name(agent: usize, port: usize) -> PortName {
    PortName::new(&format!("s{agent}"), &format!("Ethernet{port}")).expect("a name")
}

impl World {
    pub fn new(buses: Vec<RedisBus>) -> World {
        let half = PORTS / 2;
        let next = |agent| (agent + 1) % AGENTS;
        let cables = (0..AGENTS)
            .flat_map(|agent| (0..half).map(move |i| [name(agent, half + i), name(next(agent), i)]));
        let cabling = Cabling::new(cables).expect("no contradiction");
        let reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
        let ports = cabling.ports().map(|port| (port.clone(), Port { reading, ..Port::default() })).collect();
        let mut world =
            World { now: SECOND, agents: Vec::new(), buses, ports, cabling, puts: 0, failures: 0 };
        world.agents = (0..AGENTS).map(|agent| world.agent(agent)).collect();
        world
    }

    fn agent(&self, agent: usize) -> Agent {
        let detection = Settings {
            hold_down: SECOND * HOLD_DOWN,
            activate: 1e-5,
            deactivate: 1e-6,
            flap_memory: SECOND,
            ..Settings::default()
        };
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        Agent::new(&format!("s{agent}"), Policy { detection, ..Policy::default() }, self.cabling.clone())
            .numbered_from(clock.as_micros() as u64)
    }

    /// An agent ends, and another one begins in its place, knowing nothing.
    pub fn replace(&mut self, agent: usize, bus: RedisBus) {
        self.agents[agent] = self.agent(agent);
        self.buses[agent] = bus;
    }

    /// Whether the port at the other end of a direction protects it.
    pub fn sender(&self, port: &PortName) -> &Port {
        &self.ports[self.cabling.peer(port).expect("every port has a peer")]
    }

    /// A second passes. `meanwhile` is called before everything that an agent puts.
    pub fn step(&mut self, mut meanwhile: impl FnMut(u64)) {
        self.now += SECOND;
        for port in self.ports.values_mut() {
            port.reading.good_frames += 1_000_000;
            let corrupted = (port.loss * 1e6) as u64;
            port.reading.corrupted_frames = port.reading.corrupted_frames.map(|count| count + corrupted);
        }
        for agent in 0..AGENTS {
            self.hear(agent);
            let own = format!("s{agent}");
            let ours = self.ports.iter().filter(|(port, _)| port.agent() == own);
            let readings: Vec<_> = ours.map(|(port, at)| (port.port().to_owned(), at.reading)).collect();
            self.agents[agent].handle_readings(self.now, readings);
            self.agents[agent].handle_timeout(self.now);
            while let Some(action) = self.agents[agent].poll_action() {
                self.act(agent, action, &mut meanwhile);
            }
        }
    }

    fn hear(&mut self, agent: usize) {
        let Ok(events) = self.buses[agent].poll() else {
            self.failures += 1;
            return self.agents[agent].handle_disconnected();
        };
        for event in events {
            match event {
                BusEvent::State(port, state) => self.agents[agent].handle_state(self.now, &port, state),
                BusEvent::Recorded(port, state) => {
                    self.agents[agent].handle_recorded(self.now, &port, state);
                }
                BusEvent::Rereading => self.agents[agent].handle_rereading(),
                BusEvent::Synchronised => self.agents[agent].handle_synchronised(self.now),
                BusEvent::Findings(..) => {}
            }
        }
    }

    fn act(&mut self, agent: usize, action: Action, meanwhile: &mut impl FnMut(u64)) {
        let (port, written) = match action {
            Action::Actuate { sender, port, request, .. } => {
                let sender = PortName::new(&format!("s{agent}"), &sender).expect("a name");
                let sender = self.ports.get_mut(&sender).expect("it is there");
                let protects = request.protection.is_some();
                sender.activations += u32::from(protects && !sender.protected);
                sender.protected = protects;
                let effect = if protects { Effect::Active } else { Effect::Dormant };
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
        self.puts += 1;
        meanwhile(self.puts);
        if self.buses[agent].put(&port, written).is_err() {
            self.failures += 1;
            self.agents[agent].handle_disconnected();
        }
    }
}
