//! A run with flows as it is asked for: by names and numbers.

use super::config::{FlowsConfig, host_bits_per_second};
use super::demand::Demand;
use super::failures::{FailureSetup, HandOffKind};
use super::host_recovery::HostRecovery;
use super::hosts::HostSetup;
use super::parameters::TransportKind;
use super::rdma::RdmaSetup;
use super::schemes::SchemeKind;
use super::spreading::SpreadingSetup;
use super::traffic::TrafficConfig;
use crate::corruption::Corruption;
use crate::host::{HostsConfig, Transport};
use crate::link::config::{ParameterError, ProfileName, RATE_REQUIREMENT, check};
use crate::network::PfcLimits;
use crate::time::{Rate, Time};
use linkmend_protocol::daemon_profile::Overrides;
use linkmend_quantity::BitRate;
use linkmend_topology::file::{TopologyFileOptions, read_topology};
use linkmend_topology::{Cable, Graph, spec};
use linkmend_transport::{Nanos, roce};
use std::path::Path;
use std::sync::Arc;

/// Hosts of the paper's testbed, with links of which some corrupt frames.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowSetup {
    pub seed: u64,
    pub transport: TransportKind,
    /// How hosts recover losses, if it is not what [`TransportKind::hosts`] has.
    pub host_recovery: Option<HostRecovery>,
    /// How hosts differ otherwise.
    pub hosts: HostSetup,
    /// Links that fail.
    pub failures: FailureSetup,
    /// Switches that may reorder.
    pub spreading: SpreadingSetup,
    /// How the corrupting links recover.
    pub scheme: SchemeKind,
    /// Whose parameters their link ends have, if they are protected.
    pub profile: ProfileName,
    /// Share of frames that they corrupt.
    pub loss: f64,
    /// Whether it is that of full packets and each bit is corrupted independently, so that shorter frames lose less.
    pub bit_errors: bool,
    /// Mean length of the bursts in which frames are lost, in frames; `None` if each is lost independently.
    pub mean_burst: Option<f64>,
    /// Links that corrupt, of those between switches.
    pub corrupting_links: u32,
    /// Whether they corrupt in both directions.
    pub both_directions: bool,
    /// How applications use RDMA, if the transport is one, and how its cards differ from those of the paper.
    pub rdma: RdmaSetup,
    /// Copies of the dummy that reveals a lost tail, if they are not as many as the loss rate demands.
    pub dummy_copies: Option<u8>,
    /// Speed of the links, where the network does not say another.
    pub speed: BitRate,
}

impl Default for FlowSetup {
    /// DCTCP over a link of 100G that corrupts nothing.
    fn default() -> FlowSetup {
        FlowSetup {
            seed: 1,
            transport: TransportKind::Dctcp,
            host_recovery: None,
            hosts: HostSetup::default(),
            failures: FailureSetup::default(),
            spreading: SpreadingSetup::default(),
            scheme: SchemeKind::None,
            profile: ProfileName::Tofino,
            loss: 0.0,
            bit_errors: false,
            mean_burst: None,
            corrupting_links: 1,
            both_directions: false,
            rdma: RdmaSetup::default(),
            dummy_copies: None,
            speed: BitRate(100_000_000_000),
        }
    }
}

/// Light in fibre.
const NANOS_PER_METRE: u64 = 5;
/// Longest round trip that a connection is told of, a minute: longer cables are refused when links are built.
const RTT_MAX_NS: u64 = 60_000_000_000;

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

impl FlowSetup {
    /// The network of the paper's testbed: five switches in a row, with a host at either end.
    ///
    /// # Errors
    /// If there are no links of this speed.
    pub fn testbed(&self) -> Result<Graph, ParameterError> {
        self.rate()?;
        let spec = format!("line:switches=5,hosts=1,speed={0},host-speed={0}", self.speed);
        spec::graph(&spec).map_err(|error| ParameterError::new("topology", spec, error.to_string()))
    }

    /// The network that `written` describes: a line such as `fat-tree:k=4,hosts=2`, or a file, of which a relative path
    /// starts from `folder`. `None` is the testbed.
    ///
    /// # Errors
    /// If the description cannot be understood.
    pub fn graph(&self, written: Option<&str>, folder: &Path) -> Result<Graph, ParameterError> {
        let Some(written) = written else { return self.testbed() };
        let wrong = |error: String| ParameterError::new("topology", written, error);
        if !spec::names_file(written) {
            return spec::graph_with_speed(written, self.speed).map_err(|error| wrong(error.to_string()));
        }
        let options =
            TopologyFileOptions { default_speed: Some(self.speed), ..TopologyFileOptions::default() };
        let loaded =
            read_topology(&folder.join(written), &options).map_err(|error| wrong(error.to_string()))?;
        let default = Cable { speed: self.speed, ..Cable::DEFAULT };
        loaded.graph(default).map_err(|error| wrong(error.to_string()))
    }

    /// The run of these flows in this network.
    ///
    /// # Errors
    /// The first parameter that cannot be used.
    pub fn config(&self, graph: Graph, demand: Demand) -> Result<FlowsConfig, ParameterError> {
        let mut link = self.scheme.link(self.rate()?, self.loss);
        if self.profile == ProfileName::Daemon {
            check(link.protection.is_some(), "profile", "daemon", "needs `scheme` ordered or non-blocking")?;
            link =
                link.between_daemons(Overrides { dummy_copies: self.dummy_copies, ..Overrides::default() });
        }
        if let Some(copies) = self.dummy_copies {
            let Some(protection) = &mut link.protection else {
                return Err(ParameterError::new("dummy-copies", copies, "needs a scheme with LinkGuardian"));
            };
            protection.dummy_copies = copies;
        }
        let between_switches = FlowsConfig::middle_links(&graph, usize::MAX).len();
        check(
            self.corrupting_links as usize <= between_switches || self.loss == 0.0,
            "corrupting-links",
            self.corrupting_links,
            &match between_switches {
                0 => "there is no link between switches that could corrupt; take `loss` 0, or a topology such as \
                      line:switches=2,hosts=4"
                    .to_owned(),
                _ => format!("must be at most the {between_switches} links between switches of the topology"),
            },
        )?;
        // Wharf's receiver hands blocks over as wholes, and acknowledges no frame.
        check(
            self.scheme != SchemeKind::Wharf || self.failures.hand_off != Some(HandOffKind::Acknowledged),
            "hand-off",
            HandOffKind::Acknowledged.name(),
            "needs links that acknowledge frames: no `scheme` wharf",
        )?;
        let corrupting = FlowsConfig::middle_links(&graph, self.corrupting_links as usize);
        let hosts = self.hosts_in(&graph)?;
        let mut config = FlowsConfig {
            seed: self.seed,
            failing: self.failures.failing(&graph)?,
            second_link: None,
            graph,
            balance: self.spreading.balance,
            spreading: self.spreading.spreading(link.queue.ecn_bytes)?,
            corrupting,
            both_directions: self.both_directions,
            recovery: self.scheme.recovery(self.loss),
            link,
            pfc: self.transport.algorithm().is_none().then(PfcLimits::default),
            traffic: vec![TrafficConfig::alone(hosts, demand)],
        };
        self.set_corruption(&mut config)?;
        let config = config.in_class_of(self.scheme);
        config.validate()?;
        Ok(config)
    }

    /// What the hosts of this network are.
    fn hosts_in(&self, graph: &Graph) -> Result<HostsConfig, ParameterError> {
        let hosts = self.transport.hosts();
        let mut hosts = self.host_recovery.map_or(Ok(hosts.clone()), |recovery| recovery.of(hosts))?;
        if let (TransportKind::RdmaDcqcn, Transport::Roce(card)) = (self.transport, &mut hosts.transport) {
            Arc::make_mut(card).dcqcn = Some(roce::Dcqcn::of_paper(host_bits_per_second(graph)));
        }
        self.rdma.apply(&mut hosts)?;
        self.hosts.apply(&mut hosts)?;
        // What a handshake would have measured: a timer that is shorter than the way expires before anything can be answered.
        let way = Nanos((self.spreading.reverse_delay + round_trip_of_cables(graph)).0 / 1_000);
        hosts.known_rtt = hosts.known_rtt.map(|known| known.max(way));
        Ok(hosts)
    }

    /// How the corrupting links corrupt, if it is not frames one at a time.
    fn set_corruption(&self, config: &mut FlowsConfig) -> Result<(), ParameterError> {
        if let Some(mean_burst_frames) = self.mean_burst {
            check(!self.bit_errors, "mean-burst", mean_burst_frames, "bursts are of frames, not of bits")?;
            config.link.corruption = Corruption::GilbertElliott { loss: self.loss, mean_burst_frames };
            config.link.corruption.validate().map_err(|error| match error.parameter {
                "mean_burst_frames" => ParameterError { parameter: "mean-burst", ..error },
                _ => error,
            })?;
        }
        if self.bit_errors && self.loss > 0.0 {
            let frames = config.traffic.iter().map(|traffic| traffic.hosts.full_frame().1);
            let bits = 8.0 * f64::from(frames.max().unwrap_or(0));
            let bit_error_rate = -libm::expm1(libm::log1p(-self.loss) / bits);
            config.link.corruption = Corruption::PerBit { bit_error_rate };
        }
        Ok(())
    }

    fn rate(&self) -> Result<Rate, ParameterError> {
        Rate::from_bits_per_second(self.speed.0)
            .ok_or_else(|| ParameterError::new("speed", self.speed, RATE_REQUIREMENT))
    }
}
