//! One kind of traffic of a run: which hosts, what they are, and the flows between them.

use super::demand::Demand;
use crate::host::HostsConfig;
use crate::link::config::{ParameterError, check};
use linkmend_topology::{Graph, NodeId, NodeKind};
use std::collections::{BTreeMap, BTreeSet};

/// Most kinds of traffic of a run: the run asks each after every event whether it goes on.
const TRAFFIC_MAX: usize = 64;

/// Hosts that are alike, and the flows between them.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficConfig {
    /// What it is called in the report, if there are several.
    pub name: String,
    /// Which hosts take part. The first and the last one, and the halves, of `demand` are theirs.
    pub between: TrafficHosts,
    /// What these hosts are.
    pub hosts: HostsConfig,
    pub demand: Demand,
}

/// Which hosts of a network take part in a traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrafficHosts {
    /// All of them, in the order of the graph.
    All,
    /// These, in this order.
    Listed(Vec<NodeId>),
}

impl TrafficConfig {
    /// The only traffic of a run, between all of its hosts.
    pub fn alone(hosts: HostsConfig, demand: Demand) -> TrafficConfig {
        TrafficConfig { name: "all".to_owned(), between: TrafficHosts::All, hosts, demand }
    }

    /// The hosts that take part.
    pub(super) fn nodes(&self, graph: &Graph) -> Vec<NodeId> {
        match &self.between {
            TrafficHosts::All => graph.hosts().collect(),
            TrafficHosts::Listed(nodes) => nodes.clone(),
        }
    }
}

/// # Errors
/// The first parameter that cannot be used, or the first host that takes part twice.
pub(super) fn validate(traffic: &[TrafficConfig], graph: &Graph) -> Result<(), ParameterError> {
    let count = traffic.len();
    check((1..=TRAFFIC_MAX).contains(&count), "traffic", format!("{count} kinds"), "must be 1 to 64 kinds")?;
    let mut names = BTreeSet::new();
    let mut takes_part: BTreeMap<NodeId, &str> = BTreeMap::new();
    for kind in traffic {
        let name = kind.name.as_str();
        check(
            names.insert(name),
            "traffic",
            name,
            "is the name of two kinds of traffic; each needs its own name in the report",
        )?;
        let nodes = kind.nodes(graph);
        for node in &nodes {
            let is_host = |node: &NodeId| graph.node(*node).kind == NodeKind::Host;
            if !graph.nodes().nth(node.index()).as_ref().is_some_and(is_host) {
                let requirement = format!("must be a host of the topology to take part in `{name}`");
                return Err(ParameterError::new("hosts", format!("node {}", node.0), requirement));
            }
            if let Some(other) = takes_part.insert(*node, name) {
                let requirement =
                    format!("takes part in `{other}` and in `{name}`, but a host can take part only once");
                return Err(ParameterError::new("hosts", &graph.node(*node).name, requirement));
            }
        }
        let enough = format!("must be at least 2 to take part in `{name}`");
        check(nodes.len() >= 2, "hosts", nodes.len(), &enough)?;
        kind.demand.validate(nodes.len())?;
        kind.hosts.validate()?;
    }
    Ok(())
}
