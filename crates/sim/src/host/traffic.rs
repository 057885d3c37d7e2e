//! One kind of traffic: hosts that are alike, and the flows between them.

use super::connections::Connections;
use super::interrupts::Interrupts;
use super::packets::Packets;
use super::repeat::Repeaters;
use super::setup::HostsConfig;
use super::steps::Steps;
use super::timeouts::TimeoutCounts;
use super::workload::{Start, Workload};
use super::{Card, Host, TransportHosts};
use crate::link::PortId;
use crate::node::NodeId;
use crate::random::Random;
use crate::time::Time;
use std::collections::{BinaryHeap, VecDeque};

/// Hosts that are alike, and the flows between them. A network may have several kinds of traffic at once; a host takes part in
/// one of them at most.
#[derive(Debug)]
pub struct HostTraffic {
    pub(super) config: HostsConfig,
    /// By the number of a host in this traffic: its number in the network.
    hosts: Vec<u32>,
    pub(super) workload: Box<dyn Workload>,
    /// Connections that flows share.
    pub(super) connections: Connections,
    pub(super) repeaters: Option<Repeaters>,
    pub(super) timeouts: TimeoutCounts,
    /// Flows that have begun.
    pub(super) begun: u64,
    pub(super) active_flows: usize,
    pub(super) ended_at: Time,
}

impl HostTraffic {
    /// The flows of a workload, which counts these hosts from 0 in this order. They are given by their numbers in the network.
    pub fn new(config: HostsConfig, hosts: Vec<u32>, workload: Box<dyn Workload>) -> HostTraffic {
        HostTraffic {
            connections: Connections::new(config.rdma.queue_pairs),
            repeaters: None,
            timeouts: TimeoutCounts::default(),
            begun: 0,
            active_flows: 0,
            ended_at: Time::ZERO,
            config,
            hosts,
            workload,
        }
    }

    /// The configuration of its hosts.
    pub fn config(&self) -> &HostsConfig {
        &self.config
    }

    /// Whether every flow of the workload has begun and ended.
    pub fn is_finished(&self) -> bool {
        self.active_flows == 0 && self.workload.is_finished()
    }

    /// Timeouts of RDMA by their cause.
    pub fn timeouts(&self) -> &TimeoutCounts {
        &self.timeouts
    }

    /// Flows in progress.
    pub fn active_flows(&self) -> usize {
        self.active_flows
    }

    /// What its workload has done, if that has steps.
    pub fn steps(&self) -> Option<&Steps> {
        self.workload.steps()
    }

    /// When its last flow ended so far.
    pub fn ended_at(&self) -> Time {
        self.ended_at
    }

    /// The flow that begins at `now`, between hosts as the network numbers them.
    pub(super) fn start(&mut self, now: Time) -> Option<Start> {
        let start = self.workload.start(now)?;
        let [source, destination] = [start.source, start.destination].map(|host| self.hosts[host as usize]);
        Some(Start { source, destination, ..start })
    }
}

impl TransportHosts {
    /// The hosts at these nodes, each with the port to its network, in a network with this many nodes and ports, and their
    /// traffic. A host that takes part in none sends nothing.
    pub fn new(
        mut traffic: Vec<HostTraffic>,
        hosts: &[(NodeId, PortId)],
        (nodes, ports): (usize, usize),
        seed: u64,
    ) -> TransportHosts {
        let mut host_of_node = vec![u32::MAX; nodes];
        let mut host_of_port = vec![u32::MAX; ports];
        for (number, (node, port)) in hosts.iter().enumerate() {
            host_of_node[node.index()] = number as u32;
            host_of_port[port.index()] = number as u32;
        }
        let mut hosts: Vec<Host> = hosts.iter().enumerate().map(|host| Host::new(host, seed)).collect();
        for (number, traffic) in traffic.iter_mut().enumerate() {
            for host in &traffic.hosts {
                hosts[*host as usize].join(number as u16, &traffic.config);
            }
            // A job has few connections, and each message waits for others: where they run decides how long steps take.
            if traffic.workload.steps().is_some() {
                traffic.connections.draw_paths(seed);
            }
            traffic.repeaters = Repeaters::new(traffic.config.rdma.mechanisms, nodes);
        }
        TransportHosts {
            repeats: traffic.iter().any(|traffic| traffic.repeaters.is_some()),
            traffic,
            hosts,
            bytes_sent: 0,
            host_of_node,
            host_of_port,
            endpoints: Vec::new(),
            active: Vec::new(),
            active_flows: 0,
            identities: Vec::new(),
            begun: 0,
            free: VecDeque::new(),
            packets: Packets::default(),
            records: Vec::new(),
            changed: Vec::new(),
            taking: Vec::new(),
        }
    }
}

impl Host {
    /// A host that sends nothing, with random numbers by its number in the network.
    fn new((number, &(node, port)): (usize, &(NodeId, PortId)), seed: u64) -> Host {
        Host {
            node,
            port,
            traffic: 0,
            card: Card::default(),
            received: Vec::new(),
            stack_at: Time::NEVER,
            interrupts: Interrupts::default(),
            timers: BinaryHeap::new(),
            tick_phase: Time::ZERO,
            random: Random::new(seed, &format!("host {number}")),
        }
    }

    /// Takes part in a traffic.
    fn join(&mut self, traffic: u16, config: &HostsConfig) {
        self.traffic = traffic;
        self.tick_phase = Time((config.latency.timer_tick.0 as f64 * self.random.uniform()) as u64);
    }
}
