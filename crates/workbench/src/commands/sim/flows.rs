//! `linkmend sim flows` and `linkmend sim throughput`: flows between hosts over a corrupting link.

use super::flow_network::{FailureArgs, HostArgs, SpreadingArgs, time};
use super::flow_table::table;
use super::pcap::PcapArgs;
use super::stress::usage;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use linkmend::commands::arguments::threads;
use linkmend::failure::{Context, Error, Hinted, Result, UsageError};
use linkmend::interrupt;
use linkmend::output;
use linkmend_quantity::{BitRate, Count, LossRate, Span};
use linkmend_sim::flows::{self, Demand, FlowSetup, FlowsConfig, RdmaMechanisms, RdmaSetup, TrafficKind};
use linkmend_sim::host::{Extent, FlowSizes};
use std::path::Path;

/// Width of the table when standard output is no terminal.
const TABLE_WIDTH: usize = 100;

/// Arguments of `linkmend sim flows`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim flows --transport dctcp --size 143B --trials 300k --scheme none
      One-packet flows over six links of 100G, of which the middle one loses one frame in a thousand:
      one flow in a thousand waits for its sender's timer, some milliseconds.

  linkmend sim flows --transport dctcp --size 143B --trials 300k --scheme ordered
      The same with LinkGuardian at that link (Figure 10).

  linkmend sim flows --transport rdma --size 24387B --trials 100k --scheme non-blocking --json
      17 packets of RDMA WRITE, as JSON (Figure 11).

  linkmend sim flows --topology fat-tree:k=4,hosts=2 --size web-search --load 0.5 --duration 10ms
      Many flows at once between all hosts of a fat tree, of the sizes of a web search.

  linkmend sim flows --transport rdma --host-recovery selective-repeat --scheme non-blocking --size 2MB
      Hosts that retransmit only what is missing, behind a link that delivers out of order.

  linkmend sim flows --topology line:switches=2,hosts=16 --incast 16 --trials 500 --scheme ordered
      Sixteen hosts send to one simultaneously, over a corrupting link.

  linkmend sim flows --transport rdma --topology fat-tree:k=4,hosts=2 --corrupting-links 32 --bit-errors
        --both-directions --queue-pairs 1 --window 1024 --timeout-exponent 14 --traffic point-to-point
        --size web-search --load 0.1 --trials 1k --rdma-mechanisms all
      All links between switches corrupt, and hosts and switches add dummies and replicas (JCST 2022, Figure 12).

  linkmend sim flows --trials 1k --scheme non-blocking --pcap flows.pcapng --pcap-port left0--switch0
      What the sending host sends and receives, for Wireshark.

Sizes, rates and times need a unit. The same seed gives the same results, on any number of threads.")]
pub struct FlowsArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// Size of each flow, or a published workload: web-search, facebook-hadoop, alibaba-storage, google-all-rpc,
    /// google-search-rpc, facebook-key-value, data-mining, mice-and-elephants; with the longest of its flows: web-search:100kB
    #[arg(long, value_name = "SIZE|WORKLOAD", default_value = "24387B")]
    size: FlowSizes,
    /// Flows, one after the other, from the first host to the last, or of the load; with --incast or a ping-pong, its rounds
    /// [default: 5k]
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    trials: Option<Count>,
    /// The first N hosts send to the last one simultaneously, in rounds
    #[arg(long, value_name = "N", conflicts_with_all = ["load", "duration"])]
    incast: Option<u32>,
    /// Which hosts send to which: full-mesh, point-to-point (from the first to the last one), across (from the first half
    /// to the second, with the load of one link) or ping-pong
    #[arg(long, value_name = "NAME", default_value = "full-mesh")]
    traffic: String,
    /// Start flows at random times instead of one after the other, so that they load the senders' links by this share, above
    /// 0 and below 1
    #[arg(long, value_name = "SHARE")]
    load: Option<f64>,
    /// With --load: for how long flows are started, instead of a number of flows
    #[arg(long, value_name = "TIME", requires = "load")]
    duration: Option<Span>,
    #[command(flatten)]
    rdma: RdmaArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    pcap: PcapArgs,
}

/// How applications use RDMA, and its cards.
#[derive(Debug, Args)]
struct RdmaArgs {
    /// RDMA connections between each two hosts, shared by their flows [default: one per flow]
    #[arg(long, value_name = "N", help_heading = "RDMA")]
    queue_pairs: Option<u32>,
    /// What hosts and switches add against timeouts (JCST 2022): none, nak, twice, dummy, repeat, all, all-optimized,
    /// testbed, or numbers: dummies/NAK replicas/packet replicas/tail replicas, such as 2/1/3
    #[arg(long, value_name = "NAME", default_value = "none", help_heading = "RDMA")]
    rdma_mechanisms: String,
    /// Send dummies after a flow only if the flow before it on the same connection was written longer ago than this [default: 0s]
    #[arg(long, value_name = "TIME", help_heading = "RDMA")]
    dummy_gap: Option<Span>,
    /// How flows are transferred: write, from the source; or read, by the destination, with dummies that are read, too
    #[arg(long, value_name = "VERB", default_value = "write", help_heading = "RDMA")]
    rdma_verb: String,
    /// Exponent t of the transport timer, 4.096 us x 2^t, 0 to 31 [default: 8, a millisecond]
    #[arg(long, value_name = "T", help_heading = "RDMA")]
    timeout_exponent: Option<u8>,
    /// Payload of full packets: 256, 512, 1024, 2048 or 4096 bytes [default: 1024]
    #[arg(long, value_name = "BYTES", help_heading = "RDMA")]
    mtu: Option<u16>,
    /// Maximum number of outstanding packets [default: 8388607, the limit of 24-bit sequence numbers]
    #[arg(long, value_name = "N", help_heading = "RDMA")]
    window: Option<u32>,
}

impl RdmaArgs {
    fn setup(&self) -> Result<RdmaSetup> {
        let mechanisms: RdmaMechanisms = self.rdma_mechanisms.parse().map_err(usage)?;
        Ok(RdmaSetup {
            queue_pairs: self.queue_pairs,
            mechanisms: mechanisms.0,
            dummy_gap: self.dummy_gap.map(time),
            verb: self.rdma_verb.parse().map_err(usage)?,
            timeout_exponent: self.timeout_exponent,
            path_mtu: self.mtu,
            window_packets: self.window,
        })
    }
}

/// Arguments of `linkmend sim throughput`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  linkmend sim throughput --transport cubic --speed 10G --loss 1e-3 --scheme none
      What corruption leaves of 10 Gbit/s to one flow (Table 3: 3.48 Gbit/s).

  linkmend sim throughput --transport cubic --speed 10G --loss 1e-3 --scheme ordered --duration 10s --json
      The same with LinkGuardian, as JSON (Table 3: 9.46 Gbit/s).")]
pub struct ThroughputArgs {
    #[command(flatten)]
    network: NetworkArgs,
    /// How long the flow sends
    #[arg(long, value_name = "TIME", default_value = "1s")]
    duration: Span,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    pcap: PcapArgs,
}

/// The network, its transport, and its corrupting link.
#[derive(Debug, Args)]
pub(super) struct NetworkArgs {
    /// Transport of the hosts: dctcp, cubic, bbr, reno, rdma or rdma-dcqcn
    #[arg(long, default_value = "dctcp", value_name = "NAME")]
    pub(super) transport: String,
    /// How hosts recover from losses: rack, rack-static, duplicate-acks or adaptive-duplicate-acks with TCP, go-back-n or
    /// selective-repeat with RDMA [default: rack; go-back-n]
    #[arg(long, value_name = "NAME")]
    host_recovery: Option<String>,
    /// How the corrupting links recover: none, ordered, non-blocking or wharf
    #[arg(long, default_value = "none", value_name = "NAME")]
    pub(super) scheme: String,
    /// Parameters of the link ends: tofino, as published, or daemon, as `linkmend run` derives them
    #[arg(long, default_value = "tofino", value_name = "NAME")]
    profile: String,
    /// Share of frames that each corrupting link corrupts
    #[arg(long, default_value = "1e-3", value_name = "RATE")]
    pub(super) loss: LossRate,
    /// Corrupting links: those in the middle, of the links between switches
    #[arg(long, default_value_t = 1, value_name = "N")]
    corrupting_links: u32,
    /// Interpret --loss as the loss rate of full-size packets, and apply independent bit errors
    #[arg(long)]
    bit_errors: bool,
    /// Lose frames in bursts of this many frames on average (Gilbert-Elliott)
    #[arg(long, value_name = "FRAMES", conflicts_with = "bit_errors")]
    mean_burst: Option<f64>,
    /// Corrupt both directions of these links, and protect both
    #[arg(long)]
    both_directions: bool,
    /// Speed of all links, unless the topology sets one
    #[arg(long, default_value = "100G", value_name = "RATE")]
    pub(super) speed: BitRate,
    /// The network with its hosts: a line such as fat-tree:k=4,hosts=2, or a file [default: five switches in a row with a
    /// host at either end, as in the paper]
    #[arg(long, value_name = "TOPOLOGY")]
    topology: Option<String>,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    failures: FailureArgs,
    #[command(flatten)]
    spreading: SpreadingArgs,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Threads that run trials in parallel; a single run uses one [default: one for each processor]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// How results are shown.
#[derive(Debug, Args)]
struct OutputArgs {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

impl NetworkArgs {
    pub(super) fn config(&self, demand: Demand) -> Result<FlowsConfig> {
        self.config_with(demand, RdmaSetup::default())
    }

    fn config_with(&self, demand: Demand, rdma: RdmaSetup) -> Result<FlowsConfig> {
        let host_recovery = self.host_recovery.as_deref().map(str::parse).transpose().map_err(usage)?;
        let setup = FlowSetup {
            seed: self.seed,
            transport: self.transport.parse().map_err(usage)?,
            host_recovery,
            scheme: self.scheme.parse().map_err(usage)?,
            profile: self.profile.parse().map_err(usage)?,
            loss: self.loss.0,
            bit_errors: self.bit_errors,
            mean_burst: self.mean_burst,
            corrupting_links: self.corrupting_links,
            both_directions: self.both_directions,
            rdma,
            hosts: self.hosts.setup(),
            failures: self.failures.setup()?,
            spreading: self.spreading.setup()?,
            speed: self.speed,
            ..FlowSetup::default()
        };
        let graph = setup.graph(self.topology.as_deref(), Path::new("")).map_err(usage)?;
        setup.config(graph, demand).map_err(usage)
    }

    pub(super) fn threads(&self, parts: usize) -> usize {
        if let Some(asked) = self.threads.filter(|asked| *asked > parts) {
            tracing::warn!(
                "--threads {asked}: there is work for {parts} only; threads share out many trials, and a single run cannot be divided"
            );
        }
        threads(self.threads)
    }
}

/// Flows if nobody says how many.
const TRIALS: Count = Count(5_000);

impl FlowsArgs {
    fn trials(&self) -> Count {
        self.trials.unwrap_or(TRIALS)
    }
}

/// Executes `linkmend sim flows`.
pub fn execute(arguments: &FlowsArgs) -> Result<()> {
    let traffic: TrafficKind = arguments.traffic.parse().map_err(usage)?;
    if arguments.incast.is_some() {
        traffic.check_incast().map_err(usage)?;
    }
    let demand = match arguments.load {
        Some(load) => {
            let extent = match arguments.duration {
                Some(duration) => Extent::Duration(time(duration)),
                None => Extent::Flows(arguments.trials().0),
            };
            let between = traffic.between().map_err(usage)?;
            Demand::Load { sizes: arguments.size.clone(), load, between, extent }
        }
        None => {
            let only = || {
                arguments.size.only().ok_or_else(|| {
                    let name = arguments.size.name();
                    UsageError::new(format!("--size {name}: an incast or a ping-pong has one size"))
                })
            };
            let count = arguments.trials().0;
            match arguments.incast {
                Some(senders) => Demand::Incast { rounds: count, senders, bytes: only()? },
                None if traffic == TrafficKind::PingPong => {
                    Demand::PingPong { rounds: count, bytes: only()? }
                }
                None => Demand::Trials { count, sizes: arguments.size.clone() },
            }
        }
    };
    let config = arguments.network.config_with(demand, arguments.rdma.setup()?)?;
    let title = format!(
        "flows of {}, {}, {} at the corrupting link, loss {}, seed {}",
        arguments.size.name(),
        arguments.network.transport,
        arguments.network.scheme,
        arguments.network.loss,
        arguments.network.seed
    );
    run_and_show(&config, &arguments.network, &arguments.output, &arguments.pcap, &title)
}

/// Executes `linkmend sim throughput`.
pub fn throughput(arguments: &ThroughputArgs) -> Result<()> {
    let config = arguments.network.config(Demand::Endless { duration: time(arguments.duration) })?;
    let title = format!(
        "one {} flow at {}, {} at the corrupting link, loss {}, seed {}",
        arguments.network.transport,
        arguments.network.speed,
        arguments.network.scheme,
        arguments.network.loss,
        arguments.network.seed
    );
    run_and_show(&config, &arguments.network, &arguments.output, &arguments.pcap, &title)
}

fn run_and_show(
    config: &FlowsConfig,
    network: &NetworkArgs,
    output: &OutputArgs,
    pcap: &PcapArgs,
    title: &str,
) -> Result<()> {
    let capturing = pcap.begin(config)?;
    let stop = interrupt::flag()?;
    let bar = ProgressBar::new(config.parts() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} %  [{eta} left]") {
        bar.set_style(style);
    }
    let done = &|| bar.inc(1);
    let threads = network.threads(config.parts());
    let report = match capturing {
        None => flows::run(config, threads, &stop, done).map_err(usage),
        Some(capturing) => {
            let (capture, ending) = capturing.begun();
            flows::run_captured(config, threads, &stop, done, capture).map_err(usage).and_then(
                |(report, capture)| {
                    capture.map_or(Ok(()), |capture| ending.finish(capture))?;
                    Ok(report)
                },
            )
        }
    };
    bar.finish_and_clear();
    let report = report?.ok_or_else(|| -> Error {
        let hint = "fewer --trials or a shorter --duration take less time".to_owned();
        Hinted { message: "interrupted before the run had ended".to_owned(), hint }.into()
    })?;
    if output.json {
        return Ok(output::print(&serde_json::to_string_pretty(&report).context("the report is no JSON")?)?);
    }
    let (width, colour) = output::terminal(TABLE_WIDTH);
    Ok(output::print(&table(title, &report).to_text(width, colour))?)
}
