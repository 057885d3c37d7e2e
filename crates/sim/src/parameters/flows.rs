//! Flows between hosts.

use super::link::in_terms_of_files;
use super::table::RunParameters;
use crate::host::{Extent, FlowSizes, Transport};
use crate::link::config::{ParameterError, check};
use crate::link::{ParallelConfig, Placement};
use crate::network::PfcLimits;
use crate::run::flows::{
    Demand, FlowsConfig, HandOffKind, PAUSE, PlacementKind, SchemeKind, Spreading, TrafficConfig,
    TrafficKind, host_bits_per_second,
};
use crate::time::Time;
use linkmend_topology::file::{TopologyFileOptions, read_topology};
use linkmend_topology::{Cable, Graph, LinkId, spec};
use linkmend_transport::Nanos;
use std::path::Path;

/// Light in fibre.
const NANOS_PER_METRE: u64 = 5;
/// Longest round trip that a connection is told of, a minute: longer cables are refused when links are built.
const RTT_MAX_NS: u64 = 60_000_000_000;
/// Most queues before one port.
const QUEUES_MAX: u32 = 4_096;
/// Longest delay of the other direction, and pause between two flows, a second.
const DELAY_MAX: Time = Time::from_nanos(1_000_000_000);

impl RunParameters {
    /// The run of flows that they describe. Relative paths start from `folder`.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn flows(&self, folder: &Path) -> Result<FlowsConfig, ParameterError> {
        self.flows_in(self.graph(folder)?, self.demand(folder)?, folder)
    }

    /// The run of these flows in this network; what the parameters say of either is ignored.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn flows_in(
        &self,
        graph: Graph,
        demand: Demand,
        folder: &Path,
    ) -> Result<FlowsConfig, ParameterError> {
        check(self.has_hosts(), "transport", "", "must be given, because hosts need a transport")?;
        let mut link = self.link(folder)?;
        let corrupting = self.corrupting_links.unwrap_or(1);
        if self.loss() != 0.0 {
            let otherwise = "could corrupt frames; set `loss` to 0, or use";
            check_links(&graph, "corrupting-links", (0, corrupting), otherwise)?;
        }
        // Neither of their receivers acknowledges frames.
        check(
            !matches!(self.scheme(), SchemeKind::Wharf | SchemeKind::Parity)
                || self.hand_off != Some(HandOffKind::Acknowledged),
            "hand-off",
            HandOffKind::Acknowledged.name(),
            "needs links that acknowledge frames: no `scheme` wharf or parity",
        )?;
        let mut hosts = self.hosts(host_bits_per_second(&graph))?;
        // What a handshake would have measured: a timer that is shorter than the way expires before anything can be answered.
        let way = Nanos((self.reversed_by() + round_trip_of_cables(&graph)).0 / 1_000);
        hosts.known_rtt = hosts.known_rtt.map(|known| known.max(way));
        if let (Demand::Training(_), Transport::Roce(_)) = (&demand, &hosts.transport) {
            // Ranks keep their connections from one message to the next.
            hosts.rdma.queue_pairs.get_or_insert(1);
        }
        link.corruption = self.corruption(folder, hosts.full_frame().1)?;
        link.corruption.validate().map_err(in_terms_of_files)?;
        let is_tcp = self.transport.is_none_or(|transport| transport.algorithm().is_some());
        let config = FlowsConfig {
            seed: self.seed.unwrap_or(1),
            failing: self.failing(&graph)?,
            second_link: self.beside()?,
            corrupting: self.chosen_links(&graph, corrupting),
            graph,
            balance: self.balance.unwrap_or_default(),
            spreading: self.spreading(link.queue.ecn_bytes)?,
            both_directions: self.both_directions.unwrap_or(false),
            recovery: self.recovery(&link)?,
            link,
            pfc: (!is_tcp).then(PfcLimits::default),
            traffic: vec![TrafficConfig::alone(hosts, demand)],
        };
        config.validate()?;
        Ok(config)
    }

    /// So many links between switches: those that corrupt, fail, or are out of service.
    pub(super) fn chosen_links(&self, graph: &Graph, count: u32) -> Vec<LinkId> {
        if self.spread_links != Some(true) {
            return FlowsConfig::middle_links(graph, count as usize);
        }
        let all = FlowsConfig::middle_links(graph, usize::MAX);
        let places = (0..count as usize).map(|place| (2 * place + 1) * all.len() / (2 * count as usize));
        places.filter_map(|place| all.get(place).copied()).collect()
    }

    /// The network, without the links that are out of service. A relative path starts from `folder`.
    ///
    /// # Errors
    /// If the description cannot be understood, there are no links of this speed, or hosts cannot reach each other.
    pub fn graph(&self, folder: &Path) -> Result<Graph, ParameterError> {
        let graph = self.whole_graph(folder)?;
        let Some(drained) = self.drained_links.filter(|drained| *drained > 0) else { return Ok(graph) };
        check_links(&graph, "drained-links", (0, drained), "could be taken out of service; use")?;
        let others = graph.without(&self.chosen_links(&graph, drained));
        others.map_err(|error| {
            let requirement = format!("must leave a way between all hosts: {error}");
            ParameterError::new("drained-links", drained, requirement)
        })
    }

    fn whole_graph(&self, folder: &Path) -> Result<Graph, ParameterError> {
        let speed = self.speed();
        let testbed = format!("line:switches=5,hosts=1,speed={speed},host-speed={speed}");
        let written = self.topology.as_deref().unwrap_or(&testbed);
        let wrong = |error: String| ParameterError::new("topology", written, error);
        if !spec::names_file(written) {
            return spec::graph_with_speed(written, speed).map_err(|error| wrong(error.to_string()));
        }
        let options = TopologyFileOptions { default_speed: Some(speed), ..TopologyFileOptions::default() };
        let loaded =
            read_topology(&folder.join(written), &options).map_err(|error| wrong(error.to_string()))?;
        loaded.graph(Cable { speed, ..Cable::DEFAULT }).map_err(|error| wrong(error.to_string()))
    }

    /// Which flows there are. A relative path starts from `folder`.
    ///
    /// # Errors
    /// What is missing, or contradicts what else is set.
    pub fn demand(&self, folder: &Path) -> Result<Demand, ParameterError> {
        if let Some(training) = self.training(folder)? {
            return Ok(Demand::Training(training));
        }
        let traffic = self.traffic.unwrap_or_default();
        if self.incast.is_some() {
            traffic.check_incast()?;
        }
        let size = || self.size.clone().ok_or_else(|| ParameterError::new("size", "", "must be given"));
        let only = || {
            let requirement = "must be one size for an incast or a ping-pong";
            let sizes = size()?;
            sizes.only().ok_or_else(|| ParameterError::new("size", sizes.name(), requirement))
        };
        let pause = self.pause()?;
        match (self.trials.map(|trials| trials.0), self.load, self.duration, self.incast) {
            (Some(rounds), None, None, Some(senders)) => {
                Ok(Demand::Incast { rounds, senders, bytes: only()? })
            }
            (Some(rounds), None, None, None) if traffic == TrafficKind::PingPong => {
                Ok(Demand::PingPong { rounds, bytes: only()? })
            }
            (Some(count), None, None, None) => Ok(Demand::Trials { count, sizes: size()?, pause }),
            (Some(flows), Some(load), None, None) => self.load(size()?, load.0, Extent::Flows(flows)),
            (None, Some(load), Some(duration), None) => {
                self.load(size()?, load.0, Extent::Duration(Time::from(duration)))
            }
            (None, None, Some(duration), None) => Ok(Demand::Endless { duration: Time::from(duration) }),
            _ => Err(ParameterError::new(
                "trials",
                self.text("trials"),
                "set one of these: `trials`, `trials` with `incast`, `trials` with `load`, `load` with \
                 `duration`, or `duration` alone for one endless flow",
            )),
        }
    }

    /// The pause between two flows, where one follows the other.
    fn pause(&self) -> Result<Time, ParameterError> {
        let Some(pause) = self.pause else { return Ok(PAUSE) };
        let follow_each_other = self.trials.is_some()
            && self.load.is_none()
            && self.incast.is_none()
            && self.traffic != Some(TrafficKind::PingPong);
        check(follow_each_other, "pause", pause, "needs `trials` without `load`, `incast` and ping-pong")?;
        check(Time::from(pause) <= DELAY_MAX, "pause", pause, "must be at most 1 s")?;
        Ok(Time::from(pause))
    }

    fn load(&self, sizes: FlowSizes, load: f64, extent: Extent) -> Result<Demand, ParameterError> {
        let between = self.traffic.unwrap_or_default().between()?;
        Ok(Demand::Load { sizes, load, between, extent })
    }

    fn reversed_by(&self) -> Time {
        self.reverse_delay.map_or(Time::ZERO, Time::from)
    }

    fn spreading(&self, ecn_bytes: u64) -> Result<Spreading, ParameterError> {
        let reverse_delay = self.reversed_by();
        check(
            reverse_delay <= DELAY_MAX,
            "reverse-delay",
            self.text("reverse-delay"),
            "must be at most 1 s",
        )?;
        let placement = match self.placement {
            None | Some(PlacementKind::Uniform) => Placement::Uniform,
            Some(PlacementKind::Hashed) => Placement::Hashed,
        };
        let Some(queues) = self.parallel_queues else {
            check(self.placement.is_none(), "placement", self.text("placement"), "needs `parallel-queues`")?;
            return Ok(Spreading { queues: None, reverse_delay });
        };
        check((1..=QUEUES_MAX).contains(&queues), "parallel-queues", queues, "must be 1 to 4096")?;
        Ok(Spreading { queues: Some(ParallelConfig { queues, placement, ecn_bytes }), reverse_delay })
    }
}

/// Refuses so many links between switches if the network has fewer. If it has none, the error says that none `could`.
pub(super) fn check_links(
    graph: &Graph,
    parameter: &'static str,
    (least, count): (usize, u32),
    could: &str,
) -> Result<(), ParameterError> {
    let most = FlowsConfig::middle_links(graph, usize::MAX).len();
    let range = if least == 0 { "at most".to_owned() } else { format!("{least} to") };
    let requirement = match most {
        0 => format!(
            "there is no link between switches that {could} a topology such as line:switches=2,hosts=4"
        ),
        _ => format!("must be {range} the {most} links between switches of the topology"),
    };
    check((least..=most).contains(&(count as usize)), parameter, count, &requirement)
}

/// What light takes there and back between the first host and the one that is farthest from it, if all cables were as long as
/// the longest.
fn round_trip_of_cables(graph: &Graph) -> Time {
    let Some(host) = graph.hosts().next() else { return Time::ZERO };
    let farthest = graph.distances_to(host).into_iter().flatten().max().unwrap_or(0);
    let longest = graph.links().map(|link| graph.link(link).cable.length.0).max().unwrap_or(0);
    Time::from_nanos(
        longest.saturating_mul(NANOS_PER_METRE).saturating_mul(2 * u64::from(farthest)).min(RTT_MAX_NS),
    )
}
