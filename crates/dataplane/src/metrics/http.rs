//! The part of HTTP/1.1 that a scrape needs: one GET and one answer on each connection.

use super::encode::encode;
use super::text_format::from_open_metrics;
use crate::command::Command;
use crate::control::Backend;
use crate::health::{DaemonHealth, Part};
use linkmend_diagnose::Diagnose;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// What [`super::encode`] writes, and what [`from_open_metrics`] makes of it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Longest request, headers included.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// The longest time that one client may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clients that are served at the same time. Whoever connects beyond that waits: those who say nothing leave their place after
/// two seconds.
const CLIENTS_MAX: usize = 32;

/// Interval between looks whether a place has become free.
const CROWDED_INTERVAL_MS: u16 = 50;
/// Interval between attempts to bind an address that another program has, or that no interface has yet.
const BIND_INTERVAL_MS: u16 = 3_000;

/// Writes a page in the OpenMetrics text format.
pub type Page = Box<dyn Fn() -> String + Send + Sync>;

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
                serve_all(&listener, &woken, &Arc::new(page));
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

fn serve_all(listener: &TcpListener, woken: &UnixStream, page: &Arc<Page>) {
    let clients = Arc::new(());
    loop {
        // Each client has a clone. Whoever has been silent for too long is gone soon.
        if Arc::strong_count(&clients) > CLIENTS_MAX {
            if is_woken(woken, CROWDED_INTERVAL_MS) {
                return;
            }
            continue;
        }
        let mut ready =
            [PollFd::new(listener.as_fd(), PollFlags::POLLIN), PollFd::new(woken.as_fd(), PollFlags::POLLIN)];
        if poll(&mut ready, PollTimeout::NONE).is_err_and(|errno| errno != nix::errno::Errno::EINTR) {
            return;
        }
        if ready[1].any().unwrap_or(true) {
            return;
        }
        match listener.accept() {
            Ok((mut stream, peer)) => {
                let (page, here) = (Arc::clone(page), Arc::clone(&clients));
                let serve = move || {
                    let _here = here;
                    if let Err(error) = serve(&mut stream, &page) {
                        tracing::debug!("metrics: {peer}: {error}");
                    }
                };
                if let Err(error) = std::thread::Builder::new().name("scrape".to_owned()).spawn(serve) {
                    tracing::warn!("metrics: {error}");
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => {
                tracing::warn!("metrics: {error}");
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn serve(stream: &mut TcpStream, page: &Page) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = read_head(stream)?;
    let mut words = head.lines().next().unwrap_or_default().split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let (status, content_type, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") if wants_open_metrics(&head) => ("200 OK", OPEN_METRICS, page()),
        ("GET" | "HEAD", "/metrics") => ("200 OK", TEXT_FORMAT, from_open_metrics(&page())),
        ("GET" | "HEAD", "/") => ("200 OK", "text/plain", "Linkmend: metrics are at /metrics\n".to_owned()),
        ("GET" | "HEAD", _) => ("404 Not Found", "text/plain", "not found\n".to_owned()),
        ("", _) => ("400 Bad Request", "text/plain", "not HTTP\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "only GET and HEAD\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let body = if method == "HEAD" { "" } else { body.as_str() };
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    stream.shutdown(Shutdown::Write)
}

/// Whether the request prefers OpenMetrics (RFC 9110, section 12.5.1). Clients without a preference get the older
/// format, which all of them can read.
fn wants_open_metrics(head: &str) -> bool {
    let (mut open_metrics, mut text) = (0.0f64, 0.0f64);
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    for (_, value) in headers.filter(|(name, _)| name.trim().eq_ignore_ascii_case("accept")) {
        for range in value.split(',') {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f64>().ok()).unwrap_or(1.0);
            match kind.as_str() {
                "application/openmetrics-text" => open_metrics = open_metrics.max(weight),
                "text/plain" | "text/*" => text = text.max(weight),
                _ => {}
            }
        }
    }
    open_metrics > 0.0 && open_metrics >= text
}

/// Reads everything up to the empty line.
fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|window| window == b"\r\n\r\n") {
        if head.len() >= REQUEST_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut chunk)? {
            0 => break,
            length => head.extend_from_slice(&chunk[..length]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The page of a daemon's links.
pub fn page_of_links(backend: &dyn Backend) -> String {
    let (mut reports, mut silent) = (Vec::new(), Vec::new());
    for link in backend.links() {
        match backend.command(&link, Command::Report) {
            Some(Ok(report)) if report.gone.is_none() => reports.push(*report),
            _ => silent.push(link),
        }
    }
    encode(reports, silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_the_one_the_scraper_prefers() {
        let wants = |accept: &str| {
            wants_open_metrics(&format!("GET /metrics HTTP/1.1\r\nHost: x\r\naccept: {accept}\r\n\r\n"))
        };
        // What Prometheus 2 and 3 send by default.
        assert!(wants(
            "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
             text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
        ));
        // A Prometheus told to use the older format, curl, and a browser.
        assert!(!wants("text/plain;version=0.0.4;q=0.5,*/*;q=0.1"));
        assert!(!wants("*/*"));
        assert!(!wants("text/html,application/xhtml+xml,*/*;q=0.8"));
        assert!(!wants("application/openmetrics-text;q=0.2,text/plain;q=0.9"));
        assert!(!wants_open_metrics("GET /metrics HTTP/1.1\r\n\r\n"));
    }
}
