//! The goodput of one long connection, measured at both ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linkmend_diagnose::ParameterError;
use serde::{Deserialize, Serialize};
use socket2::Socket;

use super::info::TcpInfo;
use super::path::{IO_SLICE, TcpError, TrafficPath, join, start};
use super::pool::ConnectionPool;
use crate::passing::is_timeout;
use crate::stop::{RunControl, StopFlag};

const CHUNK_BYTES: usize = 128 << 10;
const ACCEPT_POLL: Duration = Duration::from_millis(1);
const SAMPLES_MAX: u128 = 100_000;
const SAMPLE_INTERVAL_MIN: Duration = Duration::from_millis(1);

/// How long to transfer, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BulkOptions {
    /// How long to measure, after the warm-up. Default 10 s.
    pub duration: Duration,
    /// How long to send before measuring. Default 1 s. The paper omits 5 s at either end of 70.
    pub warm_up: Duration,
    /// Time between samples, at least 1 ms. Default 100 ms.
    pub sample_interval: Duration,
    /// Congestion control of the sender. Default `cubic`.
    pub congestion_control: String,
    /// How long to try to connect. Default 5 s.
    pub connect_timeout: Duration,
}

impl Default for BulkOptions {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(10),
            warm_up: Duration::from_secs(1),
            sample_interval: Duration::from_millis(100),
            congestion_control: "cubic".to_owned(),
            connect_timeout: Duration::from_secs(5),
        }
    }
}

/// One interval of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BulkSample {
    /// End of the interval in nanoseconds since the transfer began, warm-up included.
    pub at_ns: u64,
    /// Payload bytes that the receiving application read in the interval.
    pub received_bytes: u64,
    /// The same as a rate in bit/s.
    pub goodput_bits_per_second: f64,
    /// The sender's connection at the end of the interval.
    pub sender: TcpInfo,
}

/// The result of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BulkReport {
    /// The options of the run.
    pub options: BulkOptions,
    /// Length of the measured part in nanoseconds.
    pub measured_ns: u64,
    /// Payload bytes received in the measured part.
    pub received_bytes: u64,
    /// Payload bits received per second of the measured part.
    pub goodput_bits_per_second: f64,
    /// Segments retransmitted in the measured part.
    pub retransmitted_segments: u64,
    /// Payload bytes retransmitted in the measured part.
    pub retransmitted_bytes: u64,
    /// Segments of the measured part that arrived twice, as the receiver reported (DSACK, RFC 2883): retransmissions
    /// without a loss. With an `rto_min` of 1 ms, a busy machine's scheduler causes some.
    pub needlessly_retransmitted_segments: u64,
    /// The whole transfer, warm-up included.
    pub samples: Vec<BulkSample>,
    /// Whether it ended early, because it was stopped or the connection broke.
    pub ended_early: bool,
}

/// Sends as fast as TCP allows from the client to the server of `path`. Blocks for the warm-up and the duration, and at
/// most `connect_timeout` and a fraction of a second longer, even if the path dies. Progress counts milliseconds.
///
/// # Errors
/// [`TcpError::Unreachable`] if no connection can be established; [`TcpError::CongestionControl`].
pub fn bulk(path: &TrafficPath, options: &BulkOptions, control: &RunControl) -> Result<BulkReport, TcpError> {
    validate(options)?;
    let (listener, address) = path.listen()?;
    let (done, received) = (StopFlag::new(), Arc::new(AtomicU64::new(0)));
    let receiver = {
        let (done, received) = (done.clone(), Arc::clone(&received));
        start("bulk receiver", move || receive(&listener, &received, &done))?
    };
    let name = Some(options.congestion_control.as_str());
    let connect = || ConnectionPool::new(path, address, name).fresh(options.connect_timeout, &control.stop);
    let connected = path.client.run(connect).map_err(TcpError::from).flatten();
    let outcome = connected.and_then(|stream| {
        let watched = stream.try_clone().map_err(|source| path.failed("share", &path.client, source))?;
        let sender = {
            let done = done.clone();
            start("bulk sender", move || send(stream, &done))?
        };
        let report = sample(&watched, &received, options, control, || sender.is_finished());
        done.stop();
        join("bulk sender", sender)?;
        Ok(report)
    });
    done.stop();
    join("bulk receiver", receiver)?;
    outcome
}

fn validate(options: &BulkOptions) -> Result<(), TcpError> {
    let bad = |option, value: Duration, requirement| {
        Err(TcpError::Option(ParameterError::new(option, format!("{value:?}"), requirement)))
    };
    if options.duration.is_zero() {
        return bad("duration", options.duration, "must be above 0");
    }
    if options.sample_interval < SAMPLE_INTERVAL_MIN {
        return bad("sample_interval", options.sample_interval, "at least 1 ms");
    }
    let samples = (options.duration + options.warm_up).as_nanos() / options.sample_interval.as_nanos();
    if samples > SAMPLES_MAX {
        return bad(
            "sample_interval",
            options.sample_interval,
            "must leave at most 100,000 samples in a transfer",
        );
    }
    Ok(())
}

/// Samples the transfer until its time is up.
fn sample(
    sender: &TcpStream,
    received: &AtomicU64,
    options: &BulkOptions,
    control: &RunControl,
    broken: impl Fn() -> bool,
) -> BulkReport {
    let began = Instant::now();
    let total = options.warm_up + options.duration;
    control.progress.begin(millis(total));
    let look =
        || (began.elapsed(), received.load(Ordering::Relaxed), TcpInfo::read(sender).unwrap_or_default());
    let first = look();
    let (mut last, mut measured_from) = (first, options.warm_up.is_zero().then_some(first));
    let mut samples = Vec::new();
    let mut ended_early = false;
    // The measured part lasts its full time even if the warm-up ended late.
    let mut end = total;
    while last.0 < end && !ended_early {
        let mut next = last.0 + options.sample_interval;
        if measured_from.is_none() {
            next = next.min(options.warm_up);
        }
        ended_early = !control.stop.sleep(next.min(end).saturating_sub(began.elapsed())) || broken();
        let now = look();
        let bytes = now.1 - last.1;
        samples.push(BulkSample {
            at_ns: nanos(now.0),
            received_bytes: bytes,
            goodput_bits_per_second: per_second(bytes, now.0 - last.0),
            sender: now.2,
        });
        last = now;
        control.progress.set_done(millis(now.0));
        if measured_from.is_none() && now.0 >= options.warm_up {
            measured_from = Some(now);
            end = now.0 + options.duration;
        }
    }
    let from = measured_from.unwrap_or(last);
    let bytes = last.1 - from.1;
    let retransmitted = last.2.retransmitted_segments.saturating_sub(from.2.retransmitted_segments);
    let needless = last.2.duplicate_segments.saturating_sub(from.2.duplicate_segments);
    BulkReport {
        options: options.clone(),
        measured_ns: nanos(last.0 - from.0),
        received_bytes: bytes,
        goodput_bits_per_second: per_second(bytes, last.0 - from.0),
        retransmitted_segments: u64::from(retransmitted),
        needlessly_retransmitted_segments: u64::from(needless),
        retransmitted_bytes: last.2.retransmitted_bytes.saturating_sub(from.2.retransmitted_bytes),
        samples,
        ended_early,
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn per_second(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { bytes as f64 * 8.0 / time.as_secs_f64() }
}

fn send(mut stream: TcpStream, done: &StopFlag) {
    let chunk = vec![0x5a; CHUNK_BYTES];
    if stream.set_write_timeout(Some(IO_SLICE)).is_err() {
        return;
    }
    while !done.is_stopped() {
        match stream.write(&chunk) {
            Err(error) if !is_timeout(&error) => return,
            _ => {}
        }
    }
}

/// Reads every connection that comes, one after another, because the first may be one whose handshake was given up.
fn receive(listener: &Socket, received: &AtomicU64, done: &StopFlag) {
    let mut scratch = vec![0; CHUNK_BYTES];
    let mut streams: Vec<TcpStream> = Vec::new();
    while !done.is_stopped() {
        if let Ok((socket, _)) = listener.accept() {
            let stream = TcpStream::from(socket);
            if stream.set_nonblocking(false).is_ok() && stream.set_read_timeout(Some(IO_SLICE)).is_ok() {
                streams.push(stream);
            }
        }
        if streams.is_empty() {
            std::thread::sleep(ACCEPT_POLL);
        }
        streams.retain_mut(|stream| read_while_it_flows(stream, &mut scratch, received, done));
    }
}

/// Reads until a pause. Returns whether the connection is still open.
fn read_while_it_flows(
    stream: &mut TcpStream,
    scratch: &mut [u8],
    received: &AtomicU64,
    done: &StopFlag,
) -> bool {
    while !done.is_stopped() {
        match stream.read(scratch) {
            Ok(0) => return false,
            Ok(bytes) => received.fetch_add(bytes as u64, Ordering::Relaxed),
            Err(error) => return is_timeout(&error),
        };
    }
    true
}
