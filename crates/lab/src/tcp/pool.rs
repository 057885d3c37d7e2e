//! Establishes connections beforehand, so that a lost handshake packet delays nothing.
//!
//! The first retransmission timeout of a SYN is 1 s, whatever `rto_min` says (RFC 6298, section 2.1, and Linux's
//! `TCP_TIMEOUT_INIT`). Rather than wait, the pool tries another connection after a few milliseconds. It discards the
//! delayed one when that is established, because its window and timeout are not those of a fresh connection.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Socket;

use super::info::TcpInfo;
use super::path::{TcpError, TrafficPath};
use crate::stop::StopFlag;

/// How long a handshake may take before another one is tried: a hundred round-trip times of the laboratory.
const PATIENCE: Duration = Duration::from_millis(10);
/// The largest number of simultaneous handshakes. At 10 % loss of each of two packets and one attempt per [`PATIENCE`],
/// fewer than 30 wait for their one-second timeout at any moment.
const PENDING_MAX: usize = 64;

/// Opens connections from the client to the server of a path, on a thread inside the client's namespace.
pub(super) struct ConnectionPool<'a> {
    path: &'a TrafficPath,
    server: SocketAddr,
    congestion_control: Option<&'a str>,
    pending: Vec<Socket>,
    /// Handshakes that took longer than [`PATIENCE`], or for which the kernel needed more than one attempt.
    pub(super) held_up: u64,
}

impl<'a> ConnectionPool<'a> {
    pub(super) fn new(
        path: &'a TrafficPath,
        server: SocketAddr,
        congestion_control: Option<&'a str>,
    ) -> Self {
        Self { path, server, congestion_control, pending: Vec::new(), held_up: 0 }
    }

    /// Returns a fresh connection: its handshake is complete, nothing was retransmitted, and nothing was sent.
    pub(super) fn fresh(&mut self, timeout: Duration, stop: &StopFlag) -> Result<TcpStream, TcpError> {
        let started = Instant::now();
        while started.elapsed() < timeout {
            if stop.is_stopped() {
                return Err(TcpError::Stopped);
            }
            if self.pending.len() < PENDING_MAX {
                let socket = self.begin()?;
                self.pending.push(socket);
            }
            if let Some(socket) = self.take_connected()? {
                return self.to_stream(socket);
            }
            self.held_up += 1;
        }
        let client = self.path.client.name().to_owned();
        Err(TcpError::Unreachable { client, server: self.server, waited: timeout })
    }

    /// Returns a connection and the start of its handshake; `None` if that takes longer than `timeout`.
    pub(super) fn inline(&self, timeout: Duration) -> Result<Option<(TcpStream, Instant)>, TcpError> {
        let socket = self.path.client_socket(self.congestion_control)?;
        let started = Instant::now();
        match socket.connect_timeout(&self.server.into(), timeout) {
            Ok(()) => Ok(Some((self.to_stream(socket)?, started))),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => Ok(None),
            Err(error) => Err(self.failed("connect", error)),
        }
    }

    fn begin(&self) -> Result<Socket, TcpError> {
        let socket = self.path.client_socket(self.congestion_control)?;
        socket.set_nonblocking(true).map_err(|source| self.failed("prepare", source))?;
        match socket.connect(&self.server.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                Err(self.failed("connect", error))
            }
            _ => Ok(socket),
        }
    }

    /// Waits up to [`PATIENCE`] for a handshake to succeed.
    fn take_connected(&mut self) -> Result<Option<Socket>, TcpError> {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left.as_millis() as i32 + 1).unwrap_or(PollTimeout::ZERO);
            let mut waiting: Vec<PollFd<'_>> =
                self.pending.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLOUT)).collect();
            match poll(&mut waiting, timeout) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(self.failed("poll", error.into())),
            }
            let ready: Vec<bool> = waiting.iter().map(|one| one.any().unwrap_or(false)).collect();
            // The loop runs from the back, so that earlier positions stay valid.
            for place in (0..ready.len()).rev().filter(|place| ready[*place]) {
                let socket = self.pending.swap_remove(place);
                let fine = matches!(socket.take_error(), Ok(None));
                let retransmitted = TcpInfo::read(&socket).map_or(1, |info| info.retransmitted_segments);
                if fine && retransmitted == 0 {
                    return Ok(Some(socket));
                }
            }
            if Instant::now() >= end {
                return Ok(None);
            }
        }
    }

    fn to_stream(&self, socket: Socket) -> Result<TcpStream, TcpError> {
        socket.set_nonblocking(false).map_err(|source| self.failed("prepare", source))?;
        Ok(socket.into())
    }

    pub(super) fn failed(&self, operation: &'static str, source: std::io::Error) -> TcpError {
        self.path.failed(operation, &self.path.client, source)
    }
}
