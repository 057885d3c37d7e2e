//! One TCP connection that sends as fast as it may, and its state over time: what `tcp_info` shows of a kernel's.
//!
//! ```text
//!   host --- fast --- switch === rate, delay, queue, losses === host
//! ```

use crate::corruption::Corruption;
use crate::host::clock::nanos;
use crate::host::{
    HostLatency, HostTraffic, HostsConfig, RdmaConfig, Schedule, Start, Transport, TransportHosts,
};
use crate::link::config::{ParameterError, RATE_REQUIREMENT, check};
use crate::link::scheme::Unprotected;
use crate::link::{PortConfig, QueueLimits};
use crate::network::{Balance, Network, NoObserver, Plan, PortId, Side};
use crate::run::flows::TransportKind;
use crate::time::{Rate, Time};
use linkmend_protocol::Mode;
use linkmend_quantity::{BitRate, ByteSize, Span};
use linkmend_topology::{LinkId, NodeId};
use linkmend_transport::tcp;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rate of the link between the sending host and the switch: enough for it never to be where frames wait.
const FAST: Rate = match Rate::from_bits_per_second(100_000_000_000) {
    Some(rate) => rate,
    None => panic!("a byte lasts 80 ps"),
};
/// Longest one-way delay, so that a run has some round trips.
const DELAY_MAX: Time = Time::from_nanos(2_000_000_000);
/// Smallest queue: some frames.
const QUEUE_BYTES_MIN: u64 = 15_180;
/// Most samples of a run.
const SAMPLES_MAX: u64 = 100_000;
/// From the switch's port to the decision where a frame goes: nothing, because the path's delay is all there is.
const INGRESS_LATENCY: Time = Time::ZERO;

/// What a host of the laboratory adds to the delay of a frame: half of the interval of a delay line, which sends what is due
/// ten thousand times a second.
const RECEIVE_LATENCY: Time = Time::from_nanos(50_000);
/// A tick of the timers of most distributions' kernels (CONFIG_HZ=250).
const JIFFY: Time = Time::from_nanos(4_000_000);

/// A connection, the path that it takes, and how long it sends.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferConfig {
    /// Both ends of the connection. It is open when the run begins, and knows the path's round-trip time.
    pub tcp: tcp::Config,
    /// What the hosts add to the delay, and how coarse their timers are.
    pub latency: HostLatency,
    pub path: TransferPath,
    /// How long it sends.
    pub duration: Time,
    /// Time between two samples.
    pub sample_interval: Time,
    /// Seed of everything random.
    pub seed: u64,
}

/// The state of the connection at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TransferSample {
    /// Time since the connection began to send.
    pub at_s: f64,
    /// Bytes that the receiving application has been given so far.
    pub delivered_bytes: u64,
    /// Congestion window, in segments.
    pub congestion_window_segments: u32,
    /// Segments retransmitted so far.
    pub retransmitted_segments: u64,
    /// Smoothed round-trip time; `None` before any was measured.
    pub rtt_s: Option<f64>,
}

/// What a transfer did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TransferReport {
    /// How long it lasted.
    pub seconds: f64,
    /// Bytes that the receiving application was given.
    pub delivered_bytes: u64,
    /// Segments retransmitted, each as often as it was.
    pub retransmitted_segments: u64,
    /// Of these, segments that had arrived, as the receiver reported (DSACK).
    pub needlessly_retransmitted_segments: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Frames of the sender that the bottleneck put on the wire, of those that it lost there, and of those that found no
    /// room in its queue.
    pub frames: u64,
    pub frames_lost: u64,
    pub queue_drops: u64,
    pub samples: Vec<TransferSample>,
}

/// A path between two hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferPath {
    /// Rate of the bottleneck in both directions.
    pub rate: Rate,
    /// One-way delay, in both directions.
    pub delay: Time,
    /// Bytes of frames that may wait in front of the bottleneck.
    pub queue_bytes: u64,
    /// Which frames of the sender the bottleneck loses, after its queue. All of them carry data.
    pub losses: Corruption,
}

impl TransferConfig {
    /// Linux hosts with this transport.
    ///
    /// # Errors
    /// If the transport is not TCP.
    pub fn linux(
        transport: TransportKind,
        path: TransferPath,
        duration: Time,
        seed: u64,
    ) -> Result<TransferConfig, ParameterError> {
        let algorithm = transport.algorithm();
        let algorithm = algorithm
            .ok_or_else(|| ParameterError::new("transport", transport.name(), "must be one of TCP"))?;
        Ok(TransferConfig {
            tcp: tcp::Config {
                algorithm,
                seed,
                timer_slack: tcp::Config::LINUX_TIMER_SLACK,
                ..tcp::Config::default()
            },
            latency: HostLatency { least: RECEIVE_LATENCY, timer_tick: JIFFY, ..HostLatency::NONE },
            path,
            duration,
            sample_interval: Time::from_nanos(10_000_000),
            seed,
        })
    }

    /// # Errors
    /// The first parameter that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        check(
            self.path.delay <= DELAY_MAX,
            "delay",
            Span::from(self.path.delay),
            "must be at most 2 s each way",
        )?;
        let queue = ByteSize(self.path.queue_bytes);
        check(self.path.queue_bytes >= QUEUE_BYTES_MIN, "queue", queue, "must have room for ten frames")?;
        check(self.duration > Time::ZERO, "duration", Span::from(self.duration), "must be above 0")?;
        let interval = self.sample_interval;
        check(interval > Time::ZERO, "sample-interval", Span::from(interval), "must be above 0")?;
        let samples = self.duration.0 / interval.0;
        check(
            samples <= SAMPLES_MAX,
            "sample-interval",
            Span::from(interval),
            "must leave at most 100,000 samples",
        )?;
        self.path.losses.validate()?;
        self.tcp.check()
    }

    /// The rate as a [`Rate`].
    ///
    /// # Errors
    /// If a byte does not last a whole number of picoseconds.
    pub fn rate(rate: BitRate) -> Result<Rate, ParameterError> {
        Rate::from_bits_per_second(rate.0).ok_or_else(|| ParameterError::new("rate", rate, RATE_REQUIREMENT))
    }

    /// The network: the sending host, a switch, and the receiving host; and the port of the bottleneck.
    fn network(&self) -> Result<(TransferNetwork, PortId), ParameterError> {
        let mut plan = Plan::<Unprotected>::new();
        let [sender, switch, receiver] = [plan.host(), plan.switch(Balance::FlowHash), plan.host()];
        let clean = |rate, wire_latency, queue| PortConfig {
            rate,
            wire_latency,
            ingress_latency: INGRESS_LATENCY,
            corruption: Corruption::None,
            copy_corruption: None,
            pipeline_latency: Time::ZERO,
            frame_bytes: crate::link::FULL_FRAME_BYTES,
            scheme: (),
            queue,
        };
        let access = || clean(FAST, Time::ZERO, QueueLimits::UNLIMITED);
        let limits = QueueLimits { class_bytes: self.path.queue_bytes, ..QueueLimits::UNLIMITED };
        let slow = || clean(self.path.rate, self.path.delay, limits);
        let near: LinkId = plan.link([sender, switch], [access(), access()]);
        let bottleneck = PortConfig { corruption: self.path.losses.clone(), ..slow() };
        let far: LinkId = plan.link([switch, receiver], [bottleneck, slow()]);
        let ends: [(NodeId, PortId); 2] =
            [(sender, PortId::new(near, Side::A)), (receiver, PortId::new(far, Side::B))];
        let size = (3, plan.port_count());
        let start = Start { at: Time::ZERO, source: 0, destination: 1, bytes: Start::ENDLESS };
        let hosts = HostsConfig {
            transport: Transport::Tcp(Arc::new(self.tcp)),
            latency: self.latency,
            known_rtt: Some(nanos(self.path.delay) * 2),
            handshake: false,
            mode: Mode::Ordered,
            rdma: RdmaConfig::default(),
        };
        let workload = Box::new(Schedule::new(vec![start]));
        let traffic = HostTraffic::new(hosts, vec![0, 1], workload);
        let hosts = TransportHosts::new(vec![traffic], &ends, size, self.seed);
        let network = plan.build_with_hosts(self.seed, NoObserver, hosts)?;
        Ok((network, PortId::new(far, Side::A)))
    }
}

type TransferNetwork = Network<NoObserver, Unprotected, TransportHosts>;

/// Runs a transfer; `None` if `stop` ended it.
///
/// # Errors
/// [`ParameterError`] names the parameter that cannot be used.
pub fn run(config: &TransferConfig, stop: &AtomicBool) -> Result<Option<TransferReport>, ParameterError> {
    config.validate()?;
    let (mut network, bottleneck) = config.network()?;
    network.start_traffic();
    let wanted = &mut || !stop.load(Ordering::Relaxed);
    let mut samples = Vec::new();
    let mut at = Time::ZERO;
    while at < config.duration {
        at = (at + config.sample_interval).min(config.duration);
        if !network.run_while(at, |_| true, wanted) || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        samples.push(sample(&network, at));
    }
    let (delivered_bytes, retransmitted_segments, timeouts) = network.hosts.under_way(network.now(), 0);
    let info = network.hosts.tcp_info(network.now(), 0).unwrap_or_default();
    Ok(Some(TransferReport {
        seconds: config.duration.as_secs(),
        delivered_bytes,
        retransmitted_segments,
        needlessly_retransmitted_segments: info.dsack_dups,
        timeouts,
        frames: network.transmitted(bottleneck),
        frames_lost: network.corrupted_frames(bottleneck),
        queue_drops: network.normal_queue(bottleneck).0,
        samples,
    }))
}

fn sample(network: &TransferNetwork, at: Time) -> TransferSample {
    let info = network.hosts.tcp_info(network.now(), 0).unwrap_or_default();
    TransferSample {
        at_s: at.as_secs(),
        delivered_bytes: network.hosts.under_way(network.now(), 0).0,
        congestion_window_segments: info.snd_cwnd,
        retransmitted_segments: info.total_retrans,
        rtt_s: info.rtt.map(|rtt| rtt.0 as f64 / 1e9),
    }
}
