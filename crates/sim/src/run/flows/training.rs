//! Training jobs: hosts that run a program of sends and computations, step by step.

use super::statistics::Summary;
use crate::host::{HostsConfig, Operations, ProgramRun, Steps};
use crate::link::WIRE_OVERHEAD_BYTES;
use crate::link::config::{ParameterError, check};
use crate::random::Random;
use crate::time::Time;
use linkmend_collective::ideal::{self, IdealLink};
use linkmend_collective::{Action, Algorithm, Collective, GenerateError, Groups, Operation, Program};
use linkmend_quantity::words;
use linkmend_topology::{Graph, NodeId};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest time that a step may take beside what its ranks compute, before the run ends without it.
const STEP_MAX: Time = Time::from_nanos(60_000_000_000);
/// Longest computation before a step, an hour.
const COMPUTE_MAX: Time = Time::from_nanos(3_600_000_000_000);
/// Most repetitions: how long each step took is kept.
const REPETITIONS_MAX: u64 = 1_000_000;

/// What the ranks of a training job do in each step.
#[derive(Debug, Clone, PartialEq)]
pub enum Job {
    /// A collective operation.
    Collective(CollectiveJob),
    /// A program for as many ranks as it says.
    Program(Arc<Program>),
}

/// A collective operation among ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectiveJob {
    pub kind: CollectiveKind,
    /// The size of each rank's data, at the beginning of a reduction or at the end of a gathering.
    pub bytes: u64,
    /// How many ranks take part; all hosts if it is not said.
    pub ranks: Option<u32>,
    /// Into how many groups of consecutive ranks they are divided, each of which performs it by itself.
    pub groups: u32,
    /// Into how many parts the data is divided that are processed independently.
    pub channels: u32,
}

/// A training job. Each rank has a host of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Training {
    pub job: Job,
    pub order: RankOrder,
    /// How often the job is done. It begins again when all ranks are done with it.
    pub steps: u64,
    /// How long all ranks compute before each time.
    pub compute: Time,
    /// What of the job's file is not simulated, in sentences for people.
    pub left_out: Vec<String>,
}

words! {
    /// On which hosts ranks are.
    #[derive(Default)]
    pub enum RankOrder {
        /// In the order of the topology: consecutive ranks share a switch.
        #[default]
        Linear = "linear",
        /// Consecutive ranks are at different switches, in turns.
        Across = "across",
        /// Drawn at random, by the seed.
        Random = "random",
    }
}

words! {
    /// Collective operations, and how they are performed.
    #[derive(Default)]
    pub enum CollectiveKind {
        #[default]
        AllReduceRing = "all-reduce-ring",
        AllReduceTree = "all-reduce-tree",
        AllReduceRecursiveDoubling = "all-reduce-recursive-doubling",
        AllReduceHalvingDoubling = "all-reduce-halving-doubling",
        ReduceScatter = "reduce-scatter",
        AllGather = "all-gather",
        AllToAll = "all-to-all",
    }
}

impl CollectiveKind {
    fn collective(self) -> Collective {
        match self {
            CollectiveKind::AllReduceRing => Collective::AllReduce(Algorithm::Ring),
            CollectiveKind::AllReduceTree => Collective::AllReduce(Algorithm::Tree),
            CollectiveKind::AllReduceRecursiveDoubling => Collective::AllReduce(Algorithm::RecursiveDoubling),
            CollectiveKind::AllReduceHalvingDoubling => Collective::AllReduce(Algorithm::HalvingDoubling),
            CollectiveKind::ReduceScatter => Collective::ReduceScatter,
            CollectiveKind::AllGather => Collective::AllGather,
            CollectiveKind::AllToAll => Collective::AllToAll { outstanding: 0 },
        }
    }
}

impl CollectiveJob {
    /// Members of each group, if so many hosts take part unless it is said.
    fn members(&self, hosts: u32) -> u32 {
        self.ranks.unwrap_or(hosts) / self.groups.max(1)
    }

    fn program(&self, hosts: u32) -> Result<Program, ParameterError> {
        let ranks = self.ranks.unwrap_or(hosts);
        let range = format!("must be 2 to the {hosts} hosts of the topology");
        check((2..=hosts).contains(&ranks), "ranks", ranks, &range)?;
        let requirement = format!("must divide the {ranks} ranks into groups of at least 2");
        check(
            self.groups > 0 && ranks.is_multiple_of(self.groups) && self.members(hosts) >= 2,
            "groups",
            self.groups,
            &requirement,
        )?;
        let training = linkmend_collective::Training {
            ranks,
            groups: Groups::Consecutive(self.members(hosts)),
            collective: self.kind.collective(),
            bytes: self.bytes,
            channels: self.channels,
            steps: 1,
            compute_nanos: 0,
        };
        training.program().map_err(|error| match error {
            GenerateError::Parameter(error) if error.parameter == "bytes" => {
                ParameterError { parameter: "size", ..error }
            }
            GenerateError::Parameter(error) if error.parameter == "members" => {
                let of_group = format!("{} {}", error.value, error.requirement);
                ParameterError::new(
                    "collective",
                    self.kind.name(),
                    format!("has groups of ranks, whose number {of_group}"),
                )
            }
            GenerateError::Parameter(error) => error,
            GenerateError::Program(error) => {
                ParameterError::new("collective", self.kind.name(), error.to_string())
            }
        })
    }

    /// How long it takes at least. Channels may do better than one after the other, and have no closed form.
    fn least_nanos(&self, hosts: u32, link: &IdealLink) -> u64 {
        if self.channels > 1
            && let Ok(program) = self.program(hosts)
        {
            return ideal::total_nanos(&program, link);
        }
        self.kind.collective().least_nanos(self.members(hosts), self.bytes, link)
    }

    /// Bytes for each rank, as benchmarks of collective operations count them (bus bandwidth).
    fn bus_bytes(&self, hosts: u32) -> f64 {
        let members = f64::from(self.members(hosts).max(1));
        let once = self.bytes as f64 * (members - 1.0) / members;
        if matches!(self.kind.collective(), Collective::AllReduce(_)) { 2.0 * once } else { once }
    }
}

impl Training {
    /// # Errors
    /// The first parameter that cannot be used between so many hosts.
    pub(super) fn validate(&self, hosts: usize) -> Result<(), ParameterError> {
        check((1..=REPETITIONS_MAX).contains(&self.steps), "steps", self.steps, "must be 1 to 1,000,000")?;
        check(self.compute <= COMPUTE_MAX, "compute", self.compute.as_secs(), "must be at most 1 h")?;
        let program = self.program(hosts as u32)?;
        let (ranks, is_file) = (program.ranks(), matches!(self.job, Job::Program(_)));
        check(!is_file || !program.is_empty(), "program", "no operations", "must have at least one")?;
        let requirement = format!("must have at most as many ranks as the topology has hosts, {hosts}");
        check(ranks as usize <= hosts, "program", format!("{ranks} ranks"), &requirement)
    }

    /// What the ranks do in a repetition, if so many hosts take part unless it is said.
    fn program(&self, hosts: u32) -> Result<Arc<Program>, ParameterError> {
        match &self.job {
            Job::Program(program) => Ok(Arc::clone(program)),
            Job::Collective(job) => job.program(hosts).map(Arc::new),
        }
    }

    /// Bytes that ranks send each other in all steps together.
    pub(crate) fn bytes(&self, hosts: u32) -> f64 {
        let of_step = match &self.job {
            Job::Collective(job) => {
                let members = job.members(hosts).max(1);
                job.kind.collective().sent_bytes(members, job.bytes) as f64 * f64::from(job.groups)
            }
            Job::Program(program) => {
                let bytes_of = |operation: &Operation| match operation.action {
                    Action::Send { bytes, .. } => bytes as f64,
                    Action::Compute { .. } => 0.0,
                };
                program.operations().iter().map(bytes_of).sum()
            }
        };
        of_step * self.steps as f64
    }

    /// How long the steps may take at most.
    pub(super) fn time_max(&self) -> Time {
        let (steps, computing) = match &self.job {
            Job::Collective(_) => (1, 0),
            Job::Program(program) => (u64::from(program.steps()), longest_computation(program)),
        };
        let of_repetition = STEP_MAX.0.saturating_mul(steps).saturating_add(computing);
        Time(of_repetition.saturating_add(self.compute.0).saturating_mul(self.steps))
    }

    /// Its flows between these hosts of a network.
    ///
    /// # Panics
    /// If there is no such program, which is checked before a run.
    pub(super) fn workload(&self, graph: &Graph, nodes: &[NodeId], random: Random) -> Operations {
        let program = match self.program(nodes.len() as u32) {
            Ok(program) => program,
            Err(error) => panic!("{error}"),
        };
        let hosts = self.order.hosts(graph, nodes, random);
        Operations::new(ProgramRun { program, hosts, repetitions: self.steps, compute: self.compute })
    }
}

/// The longest chain of computations that wait for each other, in ps: what a program takes if sending takes no time.
fn longest_computation(program: &Program) -> u64 {
    let without_network = IdealLink { bits_per_second: u64::MAX, latency_nanos: 0 };
    ideal::total_nanos(program, &without_network).saturating_mul(1_000)
}

impl RankOrder {
    /// The places of ranks among these hosts.
    fn hosts(self, graph: &Graph, nodes: &[NodeId], mut random: Random) -> Vec<u32> {
        let mut hosts: Vec<u32> = (0..nodes.len() as u32).collect();
        match self {
            RankOrder::Linear => {}
            RankOrder::Across => {
                let mut behind: BTreeMap<NodeId, u32> = BTreeMap::new();
                let mut turns: Vec<u32> = Vec::new();
                for node in nodes {
                    let switch = graph.neighbours(*node).next().map_or(*node, |(_, port)| port.node);
                    let turn = behind.entry(switch).or_default();
                    turns.push(*turn);
                    *turn += 1;
                }
                hosts.sort_by_key(|host| turns[*host as usize]);
            }
            RankOrder::Random => {
                for place in (1..hosts.len()).rev() {
                    let other = ((random.next_u64() >> 32) * (place as u64 + 1)) >> 32;
                    hosts.swap(place, other as usize);
                }
            }
        }
        hosts
    }
}

/// What the steps of a training job took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrainingReport {
    pub ranks: u32,
    /// Groups of ranks that performed a collective operation, each by itself.
    pub groups: u32,
    /// How long steps took, in microseconds, from the end of the one before; none if none ended.
    pub step_us: Option<Summary>,
    /// The mean of what they would take if links of hosts had their rate, with headers, and nothing else took time.
    pub ideal_step_us: f64,
    /// How many times as long steps took on average.
    pub step_ratio: Option<f64>,
    /// What ranks sent while they did not compute, in Gbit/s, as benchmarks of collective operations count it (bus bandwidth):
    /// an all-reduce of S bytes among n ranks counts as 2 (n - 1) / n x S for each of them.
    pub bus_gbps: Option<f64>,
    /// Steps and operations that were not completed when the run ended.
    pub unfinished_steps: u64,
    pub unfinished_operations: u64,
    /// What of the job's file was not simulated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

impl Training {
    /// What the steps of this job took, on so many hosts with links of this rate.
    pub(super) fn report(
        &self,
        (hosts, rate): (u32, u64),
        config: &HostsConfig,
        done: &Steps,
    ) -> TrainingReport {
        let (payload, frame) = config.full_frame();
        let share = f64::from(payload) / f64::from(frame + WIRE_OVERHEAD_BYTES as u32);
        let link = IdealLink { bits_per_second: (rate as f64 * share) as u64, latency_nanos: 0 };
        let us = |ps: u64| ps as f64 / 1e6;
        let (ranks, groups, steps, ideal_us, computing_us, bus_bytes) = match &self.job {
            Job::Collective(job) => {
                let least = job.least_nanos(hosts, &link);
                let ranks = job.ranks.unwrap_or(hosts);
                (ranks, job.groups, 1.0, least as f64 / 1e3, 0.0, job.bus_bytes(hosts))
            }
            Job::Program(program) => {
                let bytes = self.bytes(hosts) / self.steps as f64 / f64::from(program.ranks());
                let ideal_us = ideal::total_nanos(program, &link) as f64 / 1e3;
                let steps = f64::from(program.steps().max(1));
                (program.ranks(), 1, steps, ideal_us, us(longest_computation(program)), bytes)
            }
        };
        let ideal_step_us = (ideal_us + us(self.compute.0)) / steps;
        let step_us = Summary::from_values(done.lasted.iter().map(|step| us(step.0)).collect());
        let sending = |mean: f64| mean - (computing_us + us(self.compute.0)) / steps;
        let gbps = step_us.map(|step| bus_bytes / steps * 8.0 / 1e3 / sending(step.mean));
        TrainingReport {
            ranks,
            groups,
            step_us,
            ideal_step_us,
            step_ratio: step_us.map(|step| step.mean / ideal_step_us),
            bus_gbps: gbps.filter(|gbps| gbps.is_finite() && *gbps > 0.0),
            unfinished_steps: done.steps_left,
            unfinished_operations: done.operations_left,
            left_out: self.left_out.clone(),
        }
    }
}
