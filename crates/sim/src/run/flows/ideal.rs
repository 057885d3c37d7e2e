//! How long a flow takes in an idle network, to which its completion time under load is compared.

use super::config::FlowsConfig;
use crate::host::{FlowRecord, HostsConfig};
use crate::time::Time;
use linkmend_topology::{Graph, NodeId};

/// The completion times of flows in a network that carries nothing else, and corrupts nothing.
#[derive(Debug)]
pub(crate) struct Ideals {
    /// What the hosts of each traffic are.
    hosts: Vec<HostsConfig>,
    /// Bits per second of each host's link, and links between each two hosts.
    speeds: Vec<f64>,
    distances: Vec<Vec<u32>>,
    /// What a frame waits for at each link, beside its own length.
    hop: Time,
}

impl Ideals {
    pub(crate) fn new(config: &FlowsConfig) -> Ideals {
        let graph = &config.graph;
        let nodes: Vec<NodeId> = graph.hosts().collect();
        let speed = |host: &NodeId| {
            graph.node(*host).links().first().map_or(0.0, |link| graph.link(*link).cable.speed.0 as f64)
        };
        let switch = &config.link.switch;
        Ideals {
            hosts: config.traffic.iter().map(|traffic| traffic.hosts.clone()).collect(),
            speeds: nodes.iter().map(speed).collect(),
            distances: nodes.iter().map(|to| distances(graph, &nodes, *to)).collect(),
            hop: Time::from_nanos(switch.egress_latency_ns + switch.ingress_latency_ns),
        }
    }

    /// The time of all its frames at the speed of the sender's link, of the way there and back, and of both hosts, at the
    /// median of their latency. Cables are short.
    pub(crate) fn completion_time(&self, flow: &FlowRecord) -> Time {
        let (source, destination) = (flow.source as usize, flow.destination as usize);
        let hosts = &self.hosts[usize::from(flow.traffic)];
        let bits = hosts.wire_bytes(flow.bytes) as f64 * 8.0;
        let frames = Time((bits / self.speeds[source].max(1.0) * 1e12) as u64);
        let hops = u64::from(self.distances[destination][source]);
        let latency = hosts.latency;
        frames + Time(self.hop.0 * 2 * hops) + Time((latency.least.0 + latency.median.0) * 2)
    }

    /// How many times as long as that a flow took.
    pub(crate) fn slowdown(&self, flow: &FlowRecord) -> f64 {
        flow.completion_time().0 as f64 / self.completion_time(flow).0.max(1) as f64
    }
}

/// Links from each of these hosts to one of them.
fn distances(graph: &Graph, hosts: &[NodeId], to: NodeId) -> Vec<u32> {
    let all = graph.distances_to(to);
    hosts.iter().map(|host| all[host.index()].unwrap_or(0)).collect()
}
