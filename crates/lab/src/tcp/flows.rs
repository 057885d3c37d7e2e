//! Flow completion times.
//!
//! A flow is `bytes` bytes from client to server. Its completion time begins just before the first byte is given to the
//! kernel. It ends when the client has read the one byte with which the server's application answers the last one, so
//! it always includes one network round trip.
//!
//! The paper's completion times (section 4.3, Figures 10 and 11) come from packet traces. The smallest, 63 us for 17
//! packets at a round-trip time of 30 us, fits two rounds of slow start after a handshake that is not counted. This is
//! therefore the default here: [`Connections::FreshAfterHandshake`].

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use linkmend_diagnose::ParameterError;
use serde::{Deserialize, Serialize};

use super::info::TcpInfo;
use super::path::{IO_SLICE, TcpError, TrafficPath};
use super::pool::ConnectionPool;
use super::server::FlowServer;
use crate::stop::{RunControl, StopFlag};
use crate::summary::Summary;

/// The largest number of flows in one call, because their times are kept.
const FLOWS_MAX: u64 = 10_000_000;
/// After this many flows in a row have timed out, the path counts as dead.
const TIMEOUTS_IN_A_ROW_MAX: u64 = 5;

/// Which connections flows use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connections {
    /// A new connection for each flow, established before the clock starts: the flow begins in slow start with the
    /// initial window of 10 segments. A handshake that loses a packet costs a second; such connections are replaced,
    /// not used, and counted in [`FlowsReport::handshakes_held_up`].
    FreshAfterHandshake,
    /// A new connection for each flow, the handshake being part of the completion time. A lost SYN or SYN-ACK costs
    /// 1 s (the kernel's first timeout, which `rto_min` does not change) and will dominate the tail.
    FreshWithHandshake,
    /// One connection for all flows. Its window stays as large as it has grown, and a flow leaves in one burst, if
    /// `tcp_slow_start_after_idle` is 0 (the laboratory's default). Otherwise the window restarts after each pause of
    /// one retransmission timeout. [`FlowsReport::window_restarts_when_idle`] says which is the case.
    Persistent,
}

/// How many flows to make, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FlowOptions {
    /// Flows to measure. Default 5,000, as in the paper's artifact.
    pub count: u64,
    /// Flows that are made first and not counted. Default 50.
    pub warm_up: u64,
    /// Size of each flow in bytes. Default 24,387, the most frequent size in the paper's web-search workload.
    pub bytes: u64,
    /// Default [`Connections::FreshAfterHandshake`].
    pub connections: Connections,
    /// Congestion control of the client, `None` for the kernel's default.
    pub congestion_control: Option<String>,
    /// Pause between flows. Default 200 us, so that 5,000 flows take about two seconds and nothing of one flow is in
    /// transit when the next begins.
    pub gap: Duration,
    /// A flow that takes longer is given up. Default 5 s.
    pub timeout: Duration,
}

impl Default for FlowOptions {
    fn default() -> Self {
        Self {
            count: 5_000,
            warm_up: 50,
            bytes: 24_387,
            connections: Connections::FreshAfterHandshake,
            congestion_control: None,
            gap: Duration::from_micros(200),
            timeout: Duration::from_secs(5),
        }
    }
}

/// The results of the flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowsReport {
    /// The options of the run.
    pub options: FlowOptions,
    /// Completion times in nanoseconds; `None` when no flow finished. Flows that timed out are not in it.
    pub completion_ns: Option<Summary>,
    /// Every completion time in nanoseconds, in the order of the flows.
    pub samples_ns: Vec<u64>,
    /// How much of each completion time was its handshake, in nanoseconds: 0 except with
    /// [`Connections::FreshWithHandshake`].
    pub handshakes_ns: Vec<u64>,
    /// Segments that the client's kernel retransmitted during the measured flows (handshakes excluded), including those
    /// that timed out.
    pub retransmitted_segments: u64,
    /// Measured flows with at least one such segment.
    pub flows_with_retransmission: u64,
    /// Measured flows that were given up.
    pub timed_out: u64,
    /// Handshakes that were discarded because they lost a packet or took over 10 ms.
    pub handshakes_held_up: u64,
    /// `tcp_slow_start_after_idle` at the client; `None` if the kernel does not say.
    pub window_restarts_when_idle: Option<bool>,
    /// Whether the run ended before all flows were made, because it was stopped or several in a row timed out.
    pub ended_early: bool,
}

/// Makes flows one after another and measures how long each takes. Blocks until they are done; progress counts flows.
///
/// # Errors
/// [`TcpError::Unreachable`] if not even the first connection can be established; otherwise as the variants say.
pub fn flows(
    path: &TrafficPath,
    options: &FlowOptions,
    control: &RunControl,
) -> Result<FlowsReport, TcpError> {
    validate(options)?;
    let server = FlowServer::start(path, options.bytes)?;
    let mut report = FlowsReport {
        options: options.clone(),
        completion_ns: None,
        samples_ns: Vec::with_capacity(usize::try_from(options.count).unwrap_or(0)),
        handshakes_ns: Vec::new(),
        retransmitted_segments: 0,
        flows_with_retransmission: 0,
        timed_out: 0,
        handshakes_held_up: 0,
        window_restarts_when_idle: window_restarts(path)?,
        ended_early: false,
    };
    let mut client = Client {
        pool: ConnectionPool::new(path, server.address, options.congestion_control.as_deref()),
        options,
        stop: &control.stop,
        payload: vec![0x5a; usize::try_from(options.bytes.min(64 << 10)).unwrap_or(64 << 10)],
        persistent: None,
    };
    path.client.run(|| client.run(control, &mut report))??;
    report.ended_early = report.samples_ns.len() as u64 + report.timed_out < options.count;
    report.handshakes_held_up = client.pool.held_up;
    report.completion_ns = Summary::from_samples(&report.samples_ns);
    Ok(report)
}

fn validate(options: &FlowOptions) -> Result<(), TcpError> {
    let bad = |option, value: u64, requirement| {
        Err(TcpError::Option(ParameterError::new(option, value, requirement)))
    };
    match options {
        FlowOptions { bytes: 0, .. } => bad("bytes", 0, "a flow has at least one byte"),
        FlowOptions { count, .. } if !(1..=FLOWS_MAX).contains(count) => {
            bad("count", *count, "1 to 10,000,000 flows are measured")
        }
        FlowOptions { warm_up, .. } if *warm_up > FLOWS_MAX => {
            bad("warm_up", *warm_up, "at most 10,000,000 flows")
        }
        FlowOptions { timeout, .. } if timeout.is_zero() => bad("timeout", 0, "must be above 0"),
        _ => Ok(()),
    }
}

fn window_restarts(path: &TrafficPath) -> Result<Option<bool>, TcpError> {
    let key = "/proc/sys/net/ipv4/tcp_slow_start_after_idle";
    let text = path.client.run(|| std::fs::read_to_string(key))?;
    Ok(text.ok().map(|text| text.trim() != "0"))
}

struct Flow {
    completion: Option<Duration>,
    /// The handshake's part of the completion time.
    handshake: Duration,
    retransmitted: u32,
}

impl Flow {
    fn given_up() -> Flow {
        Flow { completion: None, handshake: Duration::ZERO, retransmitted: 0 }
    }
}

impl FlowsReport {
    fn add(&mut self, flow: &Flow) {
        match flow.completion {
            Some(time) => {
                self.samples_ns.push(nanos(time));
                self.handshakes_ns.push(nanos(flow.handshake));
            }
            None => self.timed_out += 1,
        }
        self.retransmitted_segments += u64::from(flow.retransmitted);
        self.flows_with_retransmission += u64::from(flow.retransmitted > 0);
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

struct Client<'a> {
    pool: ConnectionPool<'a>,
    options: &'a FlowOptions,
    stop: &'a StopFlag,
    payload: Vec<u8>,
    persistent: Option<TcpStream>,
}

impl Client<'_> {
    fn run(&mut self, control: &RunControl, report: &mut FlowsReport) -> Result<(), TcpError> {
        let total = self.options.warm_up + self.options.count;
        control.progress.begin(total);
        let mut in_a_row = 0;
        for number in 0..total {
            let flow = match self.flow() {
                Ok(flow) => flow,
                Err(TcpError::Stopped) => break,
                Err(TcpError::Unreachable { .. }) if number > 0 => Flow::given_up(),
                Err(error) => return Err(error),
            };
            if control.stop.is_stopped() {
                break;
            }
            in_a_row = if flow.completion.is_some() { 0 } else { in_a_row + 1 };
            if number >= self.options.warm_up {
                report.add(&flow);
            }
            control.progress.set_done(number + 1);
            if in_a_row >= TIMEOUTS_IN_A_ROW_MAX || !control.stop.sleep(self.options.gap) {
                break;
            }
        }
        Ok(())
    }

    fn flow(&mut self) -> Result<Flow, TcpError> {
        let kept = self.persistent.take();
        let (mut stream, started) = match (self.options.connections, kept) {
            (Connections::Persistent, Some(stream)) => (stream, None),
            (Connections::FreshWithHandshake, _) => match self.pool.inline(self.options.timeout)? {
                Some((stream, started)) => (stream, Some(started)),
                None => return Ok(Flow::given_up()),
            },
            _ => (self.pool.fresh(self.options.timeout, self.stop)?, None),
        };
        let slices = stream.set_read_timeout(Some(IO_SLICE)).and(stream.set_write_timeout(Some(IO_SLICE)));
        slices.map_err(|source| self.pool.failed("prepare", source))?;
        let before = TcpInfo::read(&stream).unwrap_or_default().retransmitted_segments;
        let handshake = started.map_or(Duration::ZERO, |began| began.elapsed());
        let started = started.unwrap_or_else(Instant::now);
        let done = self.transfer(&mut stream, started + self.options.timeout);
        let completion = done.then(|| started.elapsed());
        let after = TcpInfo::read(&stream).unwrap_or_default().retransmitted_segments;
        if done && self.options.connections == Connections::Persistent {
            self.persistent = Some(stream);
        }
        Ok(Flow { completion, handshake, retransmitted: after.saturating_sub(before) })
    }

    /// Sends one flow and waits for the answer. Returns whether it came before `deadline`.
    fn transfer(&self, stream: &mut TcpStream, deadline: Instant) -> bool {
        let mut left = self.options.bytes;
        let mut reply = [0];
        loop {
            let result = if left > 0 {
                let part = usize::try_from(left).unwrap_or(usize::MAX).min(self.payload.len());
                stream.write(&self.payload[..part])
            } else {
                stream.read(&mut reply)
            };
            match result {
                Ok(0) => return false,
                Ok(_) if left == 0 => return true,
                Ok(bytes) => left -= bytes as u64,
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
                    ) => {}
                Err(_) => return false,
            }
            if self.stop.is_stopped() || Instant::now() >= deadline {
                return false;
            }
        }
    }
}
