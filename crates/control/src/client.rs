//! The client's side of the socket, for the command line and the laboratory.

use crate::capture::CaptureOptions;
use crate::capture_stream::CaptureStream;
use crate::client_error::ClientError;
use crate::corruption_model::CorruptionModel;
use crate::message::{Request, Response};
use crate::protect::ProtectConfig;
use crate::report::{self, LinkReport};
use crate::socket::CONTROL_FOLDER;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The longest answer that is accepted: some thousand links.
const RESPONSE_BYTES_MAX: u64 = 64 << 20;

/// A connection to one daemon. It may be used for any number of requests, one after the other.
#[derive(Debug)]
pub struct Client {
    path: PathBuf,
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the socket at `path`.
    ///
    /// # Errors
    /// [`ClientError::Connect`].
    pub fn connect(path: &Path) -> Result<Client, ClientError> {
        let failed = |source| ClientError::Connect { path: path.to_owned(), source };
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
        stream.set_write_timeout(Some(TIMEOUT)).map_err(failed)?;
        Ok(Client { path: path.to_owned(), stream: BufReader::new(stream) })
    }

    /// Connects to whichever of the daemons at `paths` serves `link`.
    ///
    /// # Errors
    /// [`ClientError::UnknownLink`] if none does, [`ClientError::Connect`] if the only one does not answer.
    pub fn find(link: &str, paths: &[PathBuf]) -> Result<Client, ClientError> {
        let mut known = Vec::new();
        let mut failure = None;
        for path in paths {
            match Client::connect(path).and_then(|mut client| client.links().map(|links| (client, links))) {
                Ok((client, links)) if links.iter().any(|name| name == link) => return Ok(client),
                Ok((_, links)) => known.extend(links),
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            Some(error) if known.is_empty() => Err(error),
            _ => Err(ClientError::UnknownLink { link: link.to_owned(), known }),
        }
    }

    /// The socket of the daemon that answers.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends any request and returns the answer, even if it is a refusal.
    ///
    /// # Errors
    /// [`ClientError::Exchange`], [`ClientError::Nonsense`].
    pub fn request(&mut self, request: &Request) -> Result<Response, ClientError> {
        let mut line = serde_json::to_vec(request).map_err(|source| self.nonsense(source))?;
        line.push(b'\n');
        // A daemon that refuses a client at once has already closed its side, but its reason can still be read.
        let written = self.stream.get_mut().write_all(&line);
        let mut answer = Vec::new();
        let read = (&mut self.stream).take(RESPONSE_BYTES_MAX).read_until(b'\n', &mut answer);
        read.map_err(|source| self.broken(source))?;
        if answer.is_empty() {
            return Err(self.broken(written.err().unwrap_or(io::ErrorKind::UnexpectedEof.into())));
        }
        serde_json::from_slice(&answer).map_err(|source| self.nonsense(source))
    }

    /// Names of the daemon's links.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn links(&mut self) -> Result<Vec<String>, ClientError> {
        match self.request(&Request::Version {})? {
            Response::Version { links, .. } => Ok(links),
            other => Err(self.unexpected(other)),
        }
    }

    /// Reports of one link, or of all links of this daemon.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn status(&mut self, link: Option<&str>) -> Result<Vec<LinkReport>, ClientError> {
        self.reports(&Request::Status { link: link.map(str::to_owned) })
    }

    /// Protects the sending direction of a link.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn protect(&mut self, link: &str, protect: &ProtectConfig) -> Result<LinkReport, ClientError> {
        self.report(&Request::Protect { link: link.to_owned(), protect: protect.clone() })
    }

    /// Ends the protection of the sending direction of a link.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn unprotect(&mut self, link: &str) -> Result<LinkReport, ClientError> {
        self.report(&Request::Unprotect { link: link.to_owned() })
    }

    /// Drops frames that arrive on the link port, or on those of both links; `None` stops this.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn corrupt(
        &mut self,
        link: &str,
        corruption: Option<CorruptionModel>,
    ) -> Result<LinkReport, ClientError> {
        self.report(&Request::Corrupt { link: link.to_owned(), corruption, on: None })
    }

    /// The same on one of two links alone.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn corrupt_on(
        &mut self,
        link: &str,
        path: report::Path,
        corruption: Option<CorruptionModel>,
    ) -> Result<LinkReport, ClientError> {
        self.report(&Request::Corrupt { link: link.to_owned(), corruption, on: Some(path) })
    }

    /// Uses one of the two links of a link end while both are up.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn prefer(&mut self, link: &str, path: report::Path) -> Result<LinkReport, ClientError> {
        self.report(&Request::Prefer { link: link.to_owned(), path })
    }

    /// Resets the extremes of the buffers of one link, or of all links of this daemon.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn reset_extremes(&mut self, link: Option<&str>) -> Result<Vec<LinkReport>, ClientError> {
        self.reports(&Request::ResetExtremes { link: link.map(str::to_owned) })
    }

    /// Captures what passes through a link's ports from now on.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn capture(mut self, link: &str, options: &CaptureOptions) -> Result<CaptureStream, ClientError> {
        match self.request(&Request::Capture { link: link.to_owned(), options: options.clone() })? {
            Response::Capturing {} => Ok(CaptureStream::new(self.path, self.stream)),
            other => Err(self.unexpected(other)),
        }
    }

    fn reports(&mut self, request: &Request) -> Result<Vec<LinkReport>, ClientError> {
        match self.request(request)? {
            Response::Links { links } => Ok(links),
            other => Err(self.unexpected(other)),
        }
    }

    fn report(&mut self, request: &Request) -> Result<LinkReport, ClientError> {
        let mut reports = self.reports(request)?;
        match (reports.pop(), reports.is_empty()) {
            (Some(report), true) => Ok(report),
            _ => Err(ClientError::Unexpected { path: self.path.clone() }),
        }
    }

    fn unexpected(&self, response: Response) -> ClientError {
        match response {
            Response::Error(reply) => ClientError::Refused(reply),
            _ => ClientError::Unexpected { path: self.path.clone() },
        }
    }

    fn broken(&self, source: io::Error) -> ClientError {
        ClientError::Exchange { path: self.path.clone(), source }
    }

    fn nonsense(&self, source: serde_json::Error) -> ClientError {
        ClientError::Nonsense { path: self.path.clone(), source }
    }
}

/// The control sockets in their default folder, sorted by name.
pub fn sockets() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(CONTROL_FOLDER) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "sock"))
        .collect();
    paths.sort();
    paths
}
