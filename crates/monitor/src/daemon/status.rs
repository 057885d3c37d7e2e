//! Tells whoever connects to a socket how things are.

use crate::agent::AgentStatus;
use linkmend_dataplane::control::{ControlSocket, Reservation, SocketError};
use linkmend_diagnose::Diagnose;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a client may take to read, and a daemon to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer that is accepted.
const ANSWER_BYTES_MOST: u64 = 256 << 20;

/// A socket at which a status is to be had.
#[derive(Debug)]
pub(super) struct StatusSocket(ControlSocket);

impl StatusSocket {
    pub(super) fn open(path: &Path) -> Result<StatusSocket, SocketError> {
        let socket = Reservation::take(path)?.listen()?;
        socket.listener().set_nonblocking(true).map_err(|source| SocketError::System {
            path: path.to_owned(),
            step: "setting it up",
            source,
        })?;
        Ok(StatusSocket(socket))
    }

    /// Answers everybody who has asked since the last call. Each answer is written by a thread of its own, because a
    /// client may be slow.
    pub(super) fn answer(&self, status: impl Fn() -> AgentStatus) {
        while let Ok((stream, _)) = self.0.listener().accept() {
            let status = status();
            let answer = move || {
                if let Err(error) = write(stream, &status) {
                    tracing::debug!("a client of the status left: {error}");
                }
            };
            if let Err(error) = std::thread::Builder::new().name("status".to_owned()).spawn(answer) {
                tracing::warn!("the status could not be answered: {error}");
            }
        }
    }
}

fn write(mut stream: UnixStream, status: &AgentStatus) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut text = serde_json::to_vec(status)?;
    text.push(b'\n');
    stream.write_all(&text)
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// There is no socket, or nobody listens at it any more.
    #[error("no corruptd answers at {}", path.display())]
    Connect { path: PathBuf, source: io::Error },
    /// Something else answers.
    #[error("{}: the answer makes no sense", path.display())]
    Nonsense { path: PathBuf, source: serde_json::Error },
}

impl Diagnose for StatusError {
    fn hint(&self) -> Option<String> {
        let StatusError::Connect { .. } = self else { return None };
        Some("start it with `linkmend corruptd`, or name its socket with --control".to_owned())
    }
}

/// Asks the daemon at a socket for its status.
///
/// # Errors
/// [`StatusError`].
pub fn ask(path: &Path) -> Result<AgentStatus, StatusError> {
    let failed = |source| StatusError::Connect { path: path.to_owned(), source };
    let stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut text = Vec::new();
    stream.take(ANSWER_BYTES_MOST).read_to_end(&mut text).map_err(failed)?;
    serde_json::from_slice(&text).map_err(|source| StatusError::Nonsense { path: path.to_owned(), source })
}
