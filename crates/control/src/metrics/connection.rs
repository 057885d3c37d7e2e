//! The part of HTTP/1.1 that a scrape needs: one GET and one answer on each connection.

use super::text_format::from_open_metrics;
use nix::poll::{PollFd, PollFlags};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Writes a page in the OpenMetrics text format.
pub type Page = Box<dyn Fn() -> String + Send + Sync>;

/// What pages are written in, and what [`from_open_metrics`] makes of it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";
/// Longest request, headers included.
const REQUEST_BYTES_MAX: usize = 8 * 1024;
/// The longest time that one client may take, for its request and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// One client, which is never waited for.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    /// What is left of the answer; `None` until the request is complete.
    answer: Option<Vec<u8>>,
    begun: Instant,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        Ok(Connection { stream, request: Vec::new(), answer: None, begun: Instant::now() })
    }

    /// What to wait for before the next [`Connection::advance`].
    pub(super) fn poll(&self) -> PollFd<'_> {
        let interest = if self.answer.is_some() { PollFlags::POLLOUT } else { PollFlags::POLLIN };
        PollFd::new(self.stream.as_fd(), interest)
    }

    /// How much longer this client may take.
    pub(super) fn patience(&self) -> Duration {
        PATIENCE.saturating_sub(self.begun.elapsed())
    }

    /// Reads and writes as much as goes without waiting. `false` when there is nothing more to do.
    pub(super) fn advance(&mut self, page: &Page) -> bool {
        let result = match self.answer {
            None => self.read(page).and_then(|()| self.write()),
            Some(_) => self.write(),
        };
        match result {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => true,
            Err(error) => {
                tracing::debug!("metrics: a client disconnected: {error}");
                false
            }
        }
    }

    /// Reads everything up to the empty line, and composes the answer.
    fn read(&mut self, page: &Page) -> io::Result<()> {
        let mut chunk = [0; 1024];
        while !self.request.windows(4).any(|window| window == b"\r\n\r\n") {
            if self.request.len() >= REQUEST_BYTES_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the request is too long"));
            }
            match self.stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => self.request.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.answer = Some(answer(&String::from_utf8_lossy(&self.request), page));
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let answer = self.answer.get_or_insert_default();
        while !answer.is_empty() {
            match self.stream.write(answer) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => drop(answer.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.stream.shutdown(Shutdown::Write)
    }
}

fn answer(head: &str, page: &Page) -> Vec<u8> {
    let mut words = head.lines().next().unwrap_or_default().split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let (status, content_type, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") if wants_open_metrics(head) => ("200 OK", OPEN_METRICS, page()),
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
    [head.as_bytes(), body.as_bytes()].concat()
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
