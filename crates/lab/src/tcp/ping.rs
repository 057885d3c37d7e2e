//! Measures round-trip times, and whether there is a path at all.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::flows::{Connections, FlowOptions, flows};
use super::path::{TcpError, TrafficPath};
use super::pool::ConnectionPool;
use super::server::FlowServer;
use crate::stop::{RunControl, StopFlag};
use crate::summary::Summary;

/// How many round trips to make, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PingOptions {
    /// Round trips to measure. Default 1,000.
    pub count: u64,
    /// Round trips that are made first and not counted. Default 20.
    pub warm_up: u64,
    /// Bytes sent to the server; one byte comes back. Default 64.
    pub bytes: u64,
    /// Pause between round trips. Default 500 us.
    pub gap: Duration,
    /// A round trip that takes longer is given up. Default 3 s.
    pub timeout: Duration,
}

impl Default for PingOptions {
    fn default() -> Self {
        Self {
            count: 1_000,
            warm_up: 20,
            bytes: 64,
            gap: Duration::from_micros(500),
            timeout: Duration::from_secs(3),
        }
    }
}

/// The results of the round trips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PingReport {
    /// From application to application and back, in nanoseconds; `None` if no answer came.
    pub round_trip_ns: Option<Summary>,
    /// Every round-trip time in nanoseconds, in order.
    pub samples_ns: Vec<u64>,
    /// Segments the client's kernel retransmitted.
    pub retransmitted_segments: u64,
    /// Round trips that were given up.
    pub timed_out: u64,
    /// Whether it ended before all round trips were made.
    pub ended_early: bool,
}

/// Measures round-trip times over one connection, from application to application.
///
/// # Errors
/// As [`flows`].
pub fn ping(path: &TrafficPath, options: &PingOptions, control: &RunControl) -> Result<PingReport, TcpError> {
    let options = FlowOptions {
        count: options.count,
        warm_up: options.warm_up,
        bytes: options.bytes,
        connections: Connections::Persistent,
        congestion_control: None,
        gap: options.gap,
        timeout: options.timeout,
    };
    let report = flows(path, &options, control)?;
    Ok(PingReport {
        round_trip_ns: report.completion_ns,
        samples_ns: report.samples_ns,
        retransmitted_segments: report.retransmitted_segments,
        timed_out: report.timed_out,
        ended_early: report.ended_early,
    })
}

/// Waits until a connection can be established. Returns how long that took. Call it after link ends have started.
///
/// # Errors
/// [`TcpError::Unreachable`] after `timeout`, [`TcpError::Stopped`] if the flag is raised.
pub fn wait_until_reachable(
    path: &TrafficPath,
    timeout: Duration,
    stop: &StopFlag,
) -> Result<Duration, TcpError> {
    let server = FlowServer::start(path, 1)?;
    let started = Instant::now();
    path.client.run(|| ConnectionPool::new(path, server.address, None).fresh(timeout, stop))??;
    Ok(started.elapsed())
}
