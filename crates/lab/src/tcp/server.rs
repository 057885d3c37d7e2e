//! The server of the flows: counts bytes, and answers the last byte of each flow with one byte.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::thread::JoinHandle;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::Socket;

use super::path::{TcpError, TrafficPath, join, start};
use crate::stop::StopFlag;

/// The largest number of open connections; the oldest is closed when one more comes. This is more than the client ever
/// has open, so only those whose reset was lost are closed.
const CONNECTIONS_MAX: usize = 128;
const POLL_MS: u16 = 20;
const READ_BYTES: usize = 64 << 10;
/// The application's answer to a flow.
const REPLY: [u8; 1] = [1];

/// A server thread. It ends when dropped.
pub(super) struct FlowServer {
    /// Where it listens.
    pub(super) address: SocketAddr,
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
}

impl FlowServer {
    /// Starts a server for flows of `flow_bytes` bytes (at least 1).
    pub(super) fn start(path: &TrafficPath, flow_bytes: u64) -> Result<Self, TcpError> {
        let (listener, address) = path.listen()?;
        let stop = StopFlag::new();
        let server = Server { listener, connections: Vec::new(), flow_bytes, scratch: vec![0; READ_BYTES] };
        let seen = stop.clone();
        let thread = start("flow server", move || server.serve(&seen))?;
        Ok(Self { address, stop, thread: Some(thread) })
    }
}

impl Drop for FlowServer {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the server shows as flows that do not finish.
            let _ = join("flow server", thread);
        }
    }
}

struct Connection {
    stream: TcpStream,
    left_bytes: u64,
}

struct Server {
    listener: Socket,
    connections: Vec<Connection>,
    flow_bytes: u64,
    scratch: Vec<u8>,
}

impl Server {
    fn serve(mut self, stop: &StopFlag) {
        while !stop.is_stopped() {
            let mut waiting = vec![PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            let streams = self.connections.iter().map(|one| one.stream.as_fd());
            waiting.extend(streams.map(|stream| PollFd::new(stream, PollFlags::POLLIN)));
            if poll(&mut waiting, PollTimeout::from(POLL_MS)).unwrap_or(0) == 0 {
                continue;
            }
            let ready: Vec<bool> = waiting.iter().map(|one| one.any().unwrap_or(false)).collect();
            for place in (0..self.connections.len()).rev().filter(|place| ready[place + 1]) {
                let connection = &mut self.connections[place];
                if !connection.handle_readable(self.flow_bytes, &mut self.scratch) {
                    self.connections.remove(place);
                }
            }
            if ready[0] {
                self.accept();
            }
        }
    }

    fn accept(&mut self) {
        for _ in 0..CONNECTIONS_MAX {
            let Ok((socket, _)) = self.listener.accept() else { return };
            let prepared = socket.set_nonblocking(true).and_then(|()| socket.set_tcp_nodelay(true));
            if prepared.is_err() {
                continue;
            }
            if self.connections.len() >= CONNECTIONS_MAX {
                self.connections.remove(0);
            }
            self.connections.push(Connection { stream: socket.into(), left_bytes: self.flow_bytes });
        }
    }
}

impl Connection {
    /// Reads what has arrived, for at most one flow. Returns whether the connection is still open.
    fn handle_readable(&mut self, flow_bytes: u64, scratch: &mut [u8]) -> bool {
        loop {
            let wanted = usize::try_from(self.left_bytes).unwrap_or(usize::MAX).min(scratch.len());
            match self.stream.read(&mut scratch[..wanted]) {
                Ok(0) => return false,
                Ok(bytes) => self.left_bytes -= bytes as u64,
                Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
            }
            if self.left_bytes == 0 {
                self.left_bytes = flow_bytes;
                // One byte always fits, because the client waits for it before it sends the next flow.
                return self.stream.write(&REPLY).is_ok();
            }
        }
    }
}
