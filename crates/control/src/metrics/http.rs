//! The metrics server: one thread that serves all clients at the same time, so that no client waits for another.

use super::connection::{Connection, Page};
use crate::health::{DaemonHealth, Part};
use linkmend_diagnose::Diagnose;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Clients that are served at the same time. Beyond that, the oldest gives its place to the newest, so that those who say
/// nothing keep nobody waiting.
const CLIENTS_MAX: usize = 256;
/// Clients that are accepted before those that are known are served again.
const ACCEPTED_AT_ONCE: usize = 64;
/// Interval between attempts to bind an address that another program has, or that no interface has yet.
const BIND_INTERVAL_MS: u16 = 3_000;

/// Why metrics cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve metrics at {address}")]
pub struct MetricsError {
    pub address: SocketAddr,
    /// What the kernel said.
    pub source: io::Error,
}

impl Diagnose for MetricsError {}

/// A running metrics server. Dropping it stops it.
#[derive(Debug)]
pub struct MetricsServer {
    address: SocketAddr,
    wake: UnixStream,
    thread: Option<JoinHandle<()>>,
}

impl MetricsServer {
    /// Serves what `page` writes, as OpenMetrics, at `address`. An address that is unavailable keeps nothing else from
    /// running: the server keeps trying, and reports it to `health`.
    ///
    /// # Errors
    /// [`MetricsError`] when no thread can be started.
    pub fn start(
        address: SocketAddr,
        page: Page,
        health: Arc<DaemonHealth>,
    ) -> Result<MetricsServer, MetricsError> {
        let failed = |source| MetricsError { address, source };
        let first = bind(address, &health);
        let bound = first.as_ref().and_then(|listener| listener.local_addr().ok()).unwrap_or(address);
        let (wake, woken) = UnixStream::pair().map_err(failed)?;
        let serve = move || {
            let mut listener = first;
            while listener.is_none() && !is_woken(&woken, BIND_INTERVAL_MS) {
                listener = bind(address, &health);
            }
            if let Some(listener) = listener {
                serve_all(&listener, &woken, &page);
            }
        };
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(serve).map_err(failed)?;
        Ok(MetricsServer { address: bound, wake, thread: Some(thread) })
    }

    /// The address, with the port that was chosen if it was left open, or else the address that the server waits for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        let _ = self.wake.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns `None` if the address is unavailable now; the log says so the first time.
fn bind(address: SocketAddr, health: &DaemonHealth) -> Option<TcpListener> {
    let listener =
        TcpListener::bind(address).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    match listener {
        Ok(listener) => {
            let bound = listener.local_addr().unwrap_or(address);
            tracing::info!("metrics at http://{bound}/metrics");
            health.set(Part::Metrics, None);
            Some(listener)
        }
        Err(error) => {
            let trouble = format!("metrics cannot be served at {address}: {error}");
            if health.set(Part::Metrics, Some(trouble.clone())) {
                tracing::warn!("{trouble}; trying again every {} s", BIND_INTERVAL_MS / 1_000);
            }
            None
        }
    }
}

fn is_woken(woken: &UnixStream, timeout_ms: u16) -> bool {
    let mut ready = [PollFd::new(woken.as_fd(), PollFlags::POLLIN)];
    poll(&mut ready, PollTimeout::from(timeout_ms)).is_ok_and(|count| count > 0)
}

fn serve_all(listener: &TcpListener, woken: &UnixStream, page: &Page) {
    let mut clients: VecDeque<Connection> = VecDeque::new();
    loop {
        let mut ready: Vec<PollFd<'_>> = [woken.as_fd(), listener.as_fd()]
            .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLIN))
            .into_iter()
            .chain(clients.iter().map(Connection::poll))
            .collect();
        // The first is the oldest, whose time is over first.
        let patience =
            clients.front().map(|oldest| oldest.patience().as_millis().min(u16::MAX.into()) as u16 + 1);
        let timeout = patience.map_or(PollTimeout::NONE, PollTimeout::from);
        if poll(&mut ready, timeout).is_err_and(|errno| errno != nix::errno::Errno::EINTR) {
            return;
        }
        let mut is_ready = ready.iter().map(|ready| ready.any().unwrap_or(true));
        let [wake, knock] = [(); 2].map(|()| is_ready.next().unwrap_or(true));
        if wake {
            return;
        }
        let is_ready: Vec<bool> = is_ready.collect();
        let mut is_ready = is_ready.into_iter();
        clients.retain_mut(|client| {
            let is_late = client.patience().is_zero();
            let stays = !(is_ready.next().unwrap_or(false) || is_late) || client.advance(page);
            stays && !is_late
        });
        if knock {
            accept(listener, &mut clients, page);
        }
    }
}

/// Takes those who wait at the listener. What most of them ask is there already.
fn accept(listener: &TcpListener, clients: &mut VecDeque<Connection>, page: &Page) {
    for _ in 0..ACCEPTED_AT_ONCE {
        match listener.accept() {
            Ok((stream, _)) => {
                let Ok(mut client) = Connection::new(stream) else { continue };
                if !client.advance(page) {
                    continue;
                }
                clients.push_back(client);
                if clients.len() > CLIENTS_MAX {
                    clients.pop_front();
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                // Most likely no descriptors are left: closing the oldest connection frees one.
                tracing::warn!("metrics: {error}");
                if clients.pop_front().is_none() {
                    std::thread::sleep(Duration::from_millis(100));
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::time::Instant;

    #[test]
    fn clients_that_say_nothing_do_not_delay_a_scrape() {
        let address = "127.0.0.1:0".parse().expect("an address");
        let page = Box::new(|| "# EOF\n".to_owned());
        let server = MetricsServer::start(address, page, Arc::default()).expect("it starts");
        let connect = || TcpStream::connect(server.address()).expect("it listens");
        let mut silent = Vec::new();
        for _ in 0..CLIENTS_MAX + 100 {
            let mut stream = connect();
            stream.write_all(b"GET /metrics").expect("it is buffered");
            silent.push(stream);
        }
        let asked = Instant::now();
        let mut stream = connect();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it is buffered");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    }
}
