//! Numbered UDP datagrams from one host to the other at a steady rate: what an application without retransmissions of its own
//! notices of the path. Unlike the frames of [`crate::generator`], they pass through routers.

use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linkmend_diagnose::{Diagnose, ParameterError};
use nix::sys::socket::{setsockopt, sockopt};
use serde::{Deserialize, Serialize};
use socket2::{Domain, SockRef, Socket, Type};

use crate::generator::Tracker;
use crate::namespace::{Namespace, NamespaceError};
use crate::passing::is_timeout;
use crate::stop::RunControl;
use crate::tcp::TrafficPath;

/// The receive buffer that is requested: seconds of any usual rate.
const RECEIVE_BUFFER_BYTES: usize = 16 << 20;
/// How long a receive call waits before it looks whether the run is over.
const RECEIVE_SLICE: Duration = Duration::from_millis(20);
/// The shortest sleep of the sender. What becomes due meanwhile is sent at once.
const NAP: Duration = Duration::from_micros(100);
const NUMBER_BYTES: usize = 8;
/// Where the time of sending follows, if there is room.
const TIME_END: usize = 16;
/// The largest payload that every host's MTU has room for.
const PAYLOAD_BYTES_MAX: usize = 1_200;
const RATE_MAX: u32 = 100_000;

/// Which datagrams to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DatagramOptions {
    /// How long to send. Default 1 s.
    pub duration: Duration,
    /// Datagrams per second, 1 to 100,000. Default 10,000.
    pub per_second: u32,
    /// Payload of each in bytes, 8 to 1200. Default 200.
    pub payload_bytes: usize,
    /// How long after the last arrival a datagram counts as lost. Default 500 ms.
    pub drain: Duration,
    /// Their code point, over IPv4. Default 0.
    pub dscp: u8,
}

impl Default for DatagramOptions {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(1),
            per_second: 10_000,
            payload_bytes: 200,
            drain: Duration::from_millis(500),
            dscp: 0,
        }
    }
}

/// A time without any arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// When it ended, in ns since the run began.
    pub until_ns: u64,
    /// How long it lasted, in ns.
    pub lasted_ns: u64,
}

/// The counts of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatagramReport {
    /// The options of the run.
    pub options: DatagramOptions,
    /// Datagrams that the sender's kernel took or refused.
    pub sent: u64,
    /// Of these, those that the sender's kernel refused; they count as lost.
    pub refused: u64,
    /// Different ones that arrived.
    pub received: u64,
    /// `sent - received`. The receiver's socket has room for seconds.
    pub lost: u64,
    /// Datagrams that arrived again.
    pub duplicated: u64,
    /// Datagrams that arrived after a later one.
    pub reordered: u64,
    /// How long each took that arrived, in the order of their first arrivals, in ns; at most [`DELAYS_MAX`], and none if the
    /// payload is shorter than 16 bytes.
    pub delays_ns: Vec<u64>,
    /// The longest times without an arrival, at least [`SILENCE_MIN`] each, in their order.
    pub silences: Vec<Silence>,
}

/// The shortest time without an arrival that is noted.
pub const SILENCE_MIN: Duration = Duration::from_micros(200);
/// Delays that are noted.
pub const DELAYS_MAX: usize = 100_000;
/// Silences that are noted.
const SILENCES_MAX: usize = 100_000;

impl DatagramReport {
    /// The longest silence that ended between two moments of the run, in ns; 0 if there was none worth noting.
    pub fn longest_silence_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let within = self.silences.iter().filter(|one| (from_ns..to_ns).contains(&one.until_ns));
        within.map(|one| one.lasted_ns).max().unwrap_or(0)
    }
}

/// Why datagrams could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum DatagramError {
    /// An option is out of its range.
    #[error("{} = {} cannot be used: {}", .0.parameter, .0.value, .0.requirement)]
    Option(ParameterError),
    /// A socket call failed.
    #[error("cannot {operation} a UDP socket in `{namespace}`: {source}")]
    Socket { operation: &'static str, namespace: String, source: io::Error },
    /// A thread panicked.
    #[error("the {name} thread did not finish")]
    Thread { name: &'static str },
    /// See [`NamespaceError`].
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

impl Diagnose for DatagramError {
    fn hint(&self) -> Option<String> {
        match self {
            DatagramError::Namespace(error) => error.hint(),
            _ => None,
        }
    }
}

/// State shared by sender and receiver.
#[derive(Debug, Default)]
struct Shared {
    sent: AtomicU64,
    sender_done: AtomicBool,
}

/// Sends numbered datagrams from the client to the server of `path` and counts what arrives. Blocks until everything has
/// arrived, or the drain time is over.
///
/// # Errors
/// [`DatagramError`].
pub fn send(
    path: &TrafficPath,
    options: &DatagramOptions,
    control: &RunControl,
) -> Result<DatagramReport, DatagramError> {
    validate(options)?;
    let failed = |operation, namespace: &Namespace| {
        let namespace = namespace.name().to_owned();
        move |source| DatagramError::Socket { operation, namespace, source }
    };
    let receiver = path.server.run(|| receiving_socket(path))?.map_err(failed("open", &path.server))?;
    let address = receiver.local_addr().map_err(failed("open", &path.server))?;
    let connect = || {
        let socket = UdpSocket::bind(if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" })?;
        socket.connect(address)?;
        if options.dscp > 0 {
            SockRef::from(&socket).set_tos_v4(u32::from(options.dscp) << 2)?;
        }
        Ok(socket)
    };
    let sender = path.client.run(connect)?.map_err(failed("connect", &path.client))?;
    let shared = Shared::default();
    let began = Instant::now();
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, options, &shared, began));
        let sending = scope.spawn(|| {
            let result = emit(&sender, options, &shared, control, began);
            shared.sender_done.store(true, Ordering::Release);
            result
        });
        (sending.join(), receiving.join())
    });
    let refused = sent.map_err(|_| DatagramError::Thread { name: "sender" })?;
    let refused = refused.map_err(failed("send on", &path.client))?;
    let received = received.map_err(|_| DatagramError::Thread { name: "receiver" })?;
    let Received { tracker, silences, delays_ns } = received.map_err(failed("receive on", &path.server))?;
    let sent = shared.sent.load(Ordering::Relaxed);
    Ok(DatagramReport {
        options: options.clone(),
        sent,
        refused,
        received: tracker.received,
        lost: sent.saturating_sub(tracker.received),
        duplicated: tracker.duplicated,
        reordered: tracker.reordered,
        delays_ns,
        silences,
    })
}

fn validate(options: &DatagramOptions) -> Result<(), DatagramError> {
    let bad = |option, value: u64, requirement: &str| {
        Err(DatagramError::Option(ParameterError::new(option, value, requirement)))
    };
    match options {
        DatagramOptions { per_second, .. } if !(1..=RATE_MAX).contains(per_second) => {
            bad("per_second", u64::from(*per_second), "1 to 100,000 datagrams per second")
        }
        DatagramOptions { payload_bytes, .. }
            if !(NUMBER_BYTES..=PAYLOAD_BYTES_MAX).contains(payload_bytes) =>
        {
            bad("payload_bytes", *payload_bytes as u64, "8 to 1200 bytes")
        }
        _ => Ok(()),
    }
}

fn receiving_socket(path: &TrafficPath) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address((path.address, 0).into()), Type::DGRAM, None)?;
    if setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER_BYTES).is_err() {
        socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    }
    socket.set_read_timeout(Some(RECEIVE_SLICE))?;
    socket.bind(&std::net::SocketAddr::new(path.address, 0).into())?;
    Ok(socket.into())
}

/// Sends what is due until the time is up. Returns how many datagrams the kernel refused.
fn emit(
    socket: &UdpSocket,
    options: &DatagramOptions,
    shared: &Shared,
    control: &RunControl,
    began: Instant,
) -> io::Result<u64> {
    let mut payload = vec![0x5a; options.payload_bytes];
    let (mut number, mut refused) = (0u64, 0);
    while began.elapsed() < options.duration && !control.stop.is_stopped() {
        let due = began.elapsed().as_nanos() * u128::from(options.per_second) / 1_000_000_000;
        while u128::from(number) < due {
            payload[..NUMBER_BYTES].copy_from_slice(&number.to_be_bytes());
            if let Some(time) = payload.get_mut(NUMBER_BYTES..TIME_END) {
                time.copy_from_slice(&nanos(began.elapsed()).to_be_bytes());
            }
            match socket.send(&payload) {
                Ok(_) => {}
                Err(error) if is_refusal(&error) => refused += 1,
                Err(error) => return Err(error),
            }
            number += 1;
            shared.sent.store(number, Ordering::Release);
        }
        std::thread::sleep(NAP);
    }
    Ok(refused)
}

/// Whether the network refused a datagram for the time being: there is no route, or a router said so (RFC 1122, section
/// 4.1.3.3), or a queue is full.
fn is_refusal(error: &io::Error) -> bool {
    let passing = [
        libc::ENETUNREACH,
        libc::EHOSTUNREACH,
        libc::ECONNREFUSED,
        libc::ENETDOWN,
        libc::ENOBUFS,
        libc::EAGAIN,
    ];
    error.raw_os_error().is_some_and(|code| passing.contains(&code))
}

/// What the receiver noted.
struct Received {
    tracker: Tracker,
    silences: Vec<Silence>,
    delays_ns: Vec<u64>,
}

/// Receives until the sender is done and everything has arrived, or until nothing has arrived for the drain time.
fn receive(
    socket: &UdpSocket,
    options: &DatagramOptions,
    shared: &Shared,
    began: Instant,
) -> io::Result<Received> {
    let mut buffer = [0; PAYLOAD_BYTES_MAX + 1];
    let (mut tracker, mut silences, mut delays_ns) = (Tracker::new(), Vec::new(), Vec::new());
    let mut last = began.elapsed();
    loop {
        match socket.recv(&mut buffer) {
            Ok(bytes) if bytes == options.payload_bytes => {
                let now = began.elapsed();
                let lasted = now - last;
                // The first one tells how long the sender took to begin.
                if lasted >= SILENCE_MIN && tracker.received > 0 && silences.len() < SILENCES_MAX {
                    silences.push(Silence { until_ns: nanos(now), lasted_ns: nanos(lasted) });
                }
                last = now;
                let number = buffer.first_chunk().map_or(0, |number| u64::from_be_bytes(*number));
                let received = tracker.received;
                tracker.handle(number);
                let is_first = tracker.received > received;
                let sent = buffer[NUMBER_BYTES..].first_chunk().filter(|_| is_first && bytes >= TIME_END);
                if let Some(sent) = sent.filter(|_| delays_ns.len() < DELAYS_MAX) {
                    delays_ns.push(nanos(now).saturating_sub(u64::from_be_bytes(*sent)));
                }
            }
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(error),
        }
        if shared.sender_done.load(Ordering::Acquire) {
            let all = tracker.received >= shared.sent.load(Ordering::Acquire);
            if all || began.elapsed() - last >= options.drain {
                return Ok(Received { tracker, silences, delays_ns });
            }
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
