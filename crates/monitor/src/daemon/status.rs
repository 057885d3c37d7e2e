//! Answers whoever connects to the daemon's socket: one question, a line of JSON, and one answer.

use crate::agent::AgentStatus;
use crate::exchange::Directions;
use crate::findings::PortFindings;
use linkmend_control::{ControlSocket, Reservation, SocketError};
use linkmend_diagnose::Diagnose;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// How long a client may take to ask and to read, and a daemon to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer that is accepted, and the longest question.
const ANSWER_BYTES_MOST: u64 = 256 << 20;
const QUESTION_BYTES_MOST: u64 = 64 << 10;
/// Clients at the same time. Whoever comes beyond that is turned away.
const CLIENTS_MOST: usize = 64;

/// What can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(super) enum Question {
    /// How things are: [`AgentStatus`].
    Status,
    /// Which directions corrupt, of all that the bus knows: [`Directions`].
    Directions,
    /// What agents find out about their ports, if this one plans: [`PortFindings`].
    Findings,
}

/// A question that waits for its answer, a JSON text.
pub(super) struct Asked {
    pub question: Question,
    answer: Sender<Vec<u8>>,
}

impl Asked {
    /// Answers. A client that has left meanwhile is no trouble.
    pub fn answer(self, answer: &impl Serialize) {
        match serde_json::to_vec(answer) {
            Ok(text) => drop(self.answer.send(text)),
            Err(error) => tracing::warn!("cannot serialise a reply: {error}"),
        }
    }
}

/// A socket at which questions are asked.
#[derive(Debug)]
pub(super) struct StatusSocket {
    socket: ControlSocket,
    asked: Receiver<Asked>,
    asking: Sender<Asked>,
    clients: Arc<()>,
    /// Whether there are too many, which is said once.
    is_crowded: Cell<bool>,
}

impl StatusSocket {
    pub(super) fn open(path: &Path) -> Result<StatusSocket, SocketError> {
        let socket = Reservation::take(path)?.listen()?;
        socket.listener().set_nonblocking(true).map_err(|source| SocketError::System {
            path: path.to_owned(),
            step: "setting it up",
            source,
        })?;
        let (asking, asked) = channel();
        Ok(StatusSocket { socket, asked, asking, clients: Arc::new(()), is_crowded: Cell::new(false) })
    }

    /// What was asked since the last call. Each client has a thread of its own, because it may be slow.
    pub(super) fn questions(&self) -> impl Iterator<Item = Asked> {
        while let Ok((stream, _)) = self.socket.listener().accept() {
            let here = Arc::clone(&self.clients);
            if Arc::strong_count(&self.clients) > CLIENTS_MOST + 1 {
                if !self.is_crowded.replace(true) {
                    tracing::warn!("refusing further status clients: {CLIENTS_MOST} are being served");
                }
                continue;
            }
            self.is_crowded.set(false);
            let asking = self.asking.clone();
            let serve = move || {
                let _here = here;
                if let Err(error) = serve(stream, &asking) {
                    tracing::debug!("a status client disconnected: {error}");
                }
            };
            if let Err(error) = std::thread::Builder::new().name("status".to_owned()).spawn(serve) {
                tracing::warn!("cannot send the status: {error}");
            }
        }
        self.asked.try_iter()
    }
}

fn serve(stream: UnixStream, asking: &Sender<Asked>) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new((&stream).take(QUESTION_BYTES_MOST)).read_line(&mut line)?;
    let text = match serde_json::from_str(&line) {
        Ok(question) => {
            let (answer, answered) = channel();
            asking.send(Asked { question, answer }).map_err(io::Error::other)?;
            answered.recv_timeout(PATIENCE).map_err(io::Error::other)?
        }
        Err(error) => serde_json::to_vec(&Refusal { error: format!("malformed request: {error}") })?,
    };
    (&stream).write_all(&text)?;
    (&stream).write_all(b"\n")
}

/// An answer that is none.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refusal {
    pub error: String,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// There is no socket, or nobody listens at it any more.
    #[error("no corruptd is responding at {}", path.display())]
    Connect { path: PathBuf, source: io::Error },
    /// Something else answers.
    #[error("{}: malformed reply", path.display())]
    Nonsense { path: PathBuf, source: serde_json::Error },
    /// The daemon has no such answer.
    #[error("corruptd at {}: {why}", path.display())]
    Refused { path: PathBuf, why: String },
}

impl Diagnose for StatusError {
    fn hint(&self) -> Option<String> {
        let StatusError::Connect { source, .. } = self else { return None };
        if source.kind() == io::ErrorKind::ConnectionReset {
            return Some(format!("it is running, but is serving {CLIENTS_MOST} other clients; try again"));
        }
        Some("start it with `linkmend corruptd`, or name its socket with --control".to_owned())
    }
}

/// Asks the daemon at a socket for its status.
///
/// # Errors
/// [`StatusError`].
pub fn ask(path: &Path) -> Result<AgentStatus, StatusError> {
    ask_for(path, &Question::Status)
}

/// Asks the daemon at a socket which directions corrupt, of all that its bus knows.
///
/// # Errors
/// [`StatusError`].
pub fn ask_directions(path: &Path) -> Result<Directions, StatusError> {
    ask_for(path, &Question::Directions)
}

/// Asks the daemon at a socket what agents find out about their ports; `None` if it keeps no plan, and so hears nothing of that.
///
/// # Errors
/// [`StatusError`].
pub fn ask_findings(path: &Path) -> Result<Option<PortFindings>, StatusError> {
    ask_for(path, &Question::Findings)
}

fn ask_for<T: DeserializeOwned>(path: &Path, question: &Question) -> Result<T, StatusError> {
    let failed = |source| StatusError::Connect { path: path.to_owned(), source };
    let nonsense = |source| StatusError::Nonsense { path: path.to_owned(), source };
    let mut stream = UnixStream::connect(path).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let mut line = serde_json::to_vec(question).map_err(nonsense)?;
    line.push(b'\n');
    stream.write_all(&line).map_err(failed)?;
    let mut text = Vec::new();
    stream.take(ANSWER_BYTES_MOST).read_to_end(&mut text).map_err(failed)?;
    if let Ok(Refusal { error }) = serde_json::from_slice(&text) {
        return Err(StatusError::Refused { path: path.to_owned(), why: error });
    }
    serde_json::from_slice(&text).map_err(nonsense)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a client is told that sends this.
    fn told(send: &[u8]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("status");
        let socket = StatusSocket::open(&path).expect("nobody else listens");
        let mut stream = UnixStream::connect(&path).expect("it listens");
        stream.write_all(send).expect("it reads");
        stream.shutdown(std::net::Shutdown::Write).expect("half");
        let client = std::thread::spawn(move || {
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        });
        while !client.is_finished() {
            for asked in socket.questions() {
                assert_eq!(asked.question, Question::Status);
                asked.answer(&AgentStatus { agent: "leaf1".to_owned(), ..AgentStatus::default() });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        client.join().expect("no panic").unwrap_or_default()
    }

    #[test]
    fn a_question_is_answered_and_nonsense_refused() {
        assert!(told(b"{\"ask\":\"status\"}\n").starts_with("{\"agent\":\"leaf1\""));
        for nonsense in [&b""[..], b"status\n", b"{\"ask\":\"everything\"}\n"] {
            assert!(told(nonsense).contains("malformed request"), "{nonsense:?}");
        }
        // Bytes that are no text end the conversation.
        assert_eq!(told(&[0xff, 0xfe, b'\n']), "");
    }
}
