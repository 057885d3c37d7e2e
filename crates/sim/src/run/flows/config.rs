//! What a run with flows is.

use super::schemes::{Recovery, SchemeKind};
use crate::host::{FlowSizes, HostsConfig};
use crate::link::LinkConfig;
use crate::link::config::{ParameterError, check};
use crate::network::{Balance, LinkId};
use crate::time::Time;
use linkmend_topology::{Graph, NodeKind};

/// Trials in one network, after each other; further ones are in another network with random numbers of its own. It bounds
/// how long a thread works alone, and does not depend on the number of threads.
pub(super) const TRIALS_AT_ONCE: u64 = 10_000;
/// Most trials of a run.
const TRIALS_MAX: u64 = 100_000_000;

/// Which flows there are.
#[derive(Debug, Clone, PartialEq)]
pub enum Demand {
    /// One flow after the other from the first host to the last one.
    Trials { count: u64, bytes: u64 },
    /// Flows between hosts drawn at random, which begin as in a Poisson process: each host's links are loaded by this
    /// share, above 0 and below 1, on average.
    Load { sizes: FlowSizes, load: f64, duration: Time },
    /// One flow without an end, from the first host to the last one.
    Endless { duration: Time },
}

/// A network with hosts, a link in it that corrupts, and the flows between the hosts.
#[derive(Debug, Clone)]
pub struct FlowsConfig {
    /// Seed of everything random.
    pub seed: u64,
    /// The network; hosts have one link each.
    pub graph: Graph,
    /// How its switches choose among equal paths.
    pub balance: Balance,
    /// The links that corrupt, and are protected if that is described.
    pub corrupting: Vec<LinkId>,
    /// What recovers on these links, if it is not what their description says.
    pub recovery: Recovery,
    /// The description of these links; the speed and length of a cable are those of the graph.
    pub link: LinkConfig,
    pub hosts: HostsConfig,
    pub demand: Demand,
}

impl FlowsConfig {
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let hosts = self.graph.hosts().count();
        check(hosts >= 2, "topology", format!("{hosts} hosts"), "must have at least 2 hosts")?;
        for link in &self.corrupting {
            check(
                (link.0 as usize) < self.graph.links().len(),
                "corrupting link",
                link.0,
                "must be a link of the topology",
            )?;
        }
        match &self.demand {
            Demand::Trials { count, bytes } => {
                check((1..=TRIALS_MAX).contains(count), "trials", count, "must be 1 to 100,000,000")?;
                check(*bytes > 0, "size", bytes, "must be above 0")?;
            }
            Demand::Load { load, duration, .. } => {
                check(*load > 0.0 && *load < 1.0, "load", load, "must be above 0 and below 1")?;
                check(*duration > Time::ZERO, "duration", duration.as_secs(), "must be above 0 s")?;
            }
            Demand::Endless { duration } => {
                check(*duration > Time::ZERO, "duration", duration.as_secs(), "must be above 0 s")?;
            }
        }
        self.hosts.validate()?;
        self.link.validate()
    }

    /// The same run with frames of the class that the scheme protects.
    #[must_use]
    pub fn in_class_of(mut self, scheme: SchemeKind) -> FlowsConfig {
        self.hosts.mode = scheme.mode();
        self
    }

    /// The link in the middle of a path through the network: the one that corrupts unless another is named. The path's
    /// switches are in a row, so their middle link is that between the two in the middle.
    pub fn middle_link(graph: &Graph) -> Option<LinkId> {
        let between_switches: Vec<LinkId> = graph
            .links()
            .filter(|link| {
                graph.link(*link).ends.iter().all(|end| graph.node(end.node).kind == NodeKind::Switch)
            })
            .collect();
        between_switches.get(between_switches.len() / 2).copied()
    }
}
