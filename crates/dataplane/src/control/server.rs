//! The daemon's side of the socket: one thread accepts, and another serves each client.

use super::backend::{Backend, answer};
use super::streaming;
use linkmend_control::{
    ControlSocket, ErrorKind, ErrorReply, REQUEST_BYTES_MAX, Request, Reservation, Response, SocketError,
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The limit of simultaneous clients; more are refused with [`ErrorKind::Busy`].
const CLIENTS_MAX: usize = 64;
/// A client that is silent for longer is disconnected.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest wait for the rest of a request, and for a client to take its answer.
const PATIENCE: Duration = Duration::from_secs(5);
const READ_BYTES: usize = 4 * 1024;

/// A running control socket. Dropping it, like [`Server::stop`], ends it and removes the socket.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    wake: UnixStream,
    clients: Arc<Clients>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Clients {
    streams: Mutex<BTreeMap<u64, UnixStream>>,
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, UnixStream>> {
        // The map is consistent even if a thread panicked while holding the lock.
        self.streams.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Server {
    /// Listens at the reserved path and serves `backend` there.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn start(reservation: Reservation, backend: Arc<dyn Backend>) -> Result<Server, SocketError> {
        let socket = reservation.listen()?;
        let path = socket.path().to_owned();
        let failed = |step| {
            let path = path.clone();
            move |source| SocketError::System { path, step, source }
        };
        socket.listener().set_nonblocking(true).map_err(failed("setting it up"))?;
        let (wake, woken) = UnixStream::pair().map_err(failed("setting it up"))?;
        let clients = Arc::new(Clients::default());
        let accepting = Arc::clone(&clients);
        let thread = std::thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || accept_all(&socket, &woken, &accepting, &backend))
            .map_err(failed("starting its thread"))?;
        Ok(Server { path, wake, clients, thread: Some(thread) })
    }

    /// The path at which it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stops the server: clients are disconnected, and the socket is removed.
    pub fn stop(self) {}
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.wake.shutdown(Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for stream in self.clients.lock().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept_all(
    socket: &ControlSocket,
    woken: &UnixStream,
    clients: &Arc<Clients>,
    backend: &Arc<dyn Backend>,
) {
    let mut next_id = 0u64;
    loop {
        let mut ready = [
            PollFd::new(socket.listener().as_fd(), PollFlags::POLLIN),
            PollFd::new(woken.as_fd(), PollFlags::POLLIN),
        ];
        if poll(&mut ready, PollTimeout::NONE).is_err_and(|errno| errno != nix::errno::Errno::EINTR) {
            return;
        }
        if ready[1].any().unwrap_or(true) {
            return;
        }
        match socket.listener().accept() {
            Ok((stream, _)) => {
                next_id += 1;
                if let Err(error) = begin(next_id, stream, clients, backend) {
                    tracing::warn!(
                        "control socket {}: a client was refused: {error}",
                        socket.path().display()
                    );
                }
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => {
                // Most likely no descriptors are left; they become free as clients leave.
                tracing::warn!("control socket {}: {error}", socket.path().display());
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

fn begin(
    id: u64,
    mut stream: UnixStream,
    clients: &Arc<Clients>,
    backend: &Arc<dyn Backend>,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut known = clients.lock();
    if known.len() >= CLIENTS_MAX {
        drop(known);
        let busy = ErrorReply::new(ErrorKind::Busy, format!("{CLIENTS_MAX} clients are already connected"))
            .with_hint(format!(
                "end some of them (`ss -xp` names them), or wait: silent ones are disconnected after {} s",
                IDLE_TIMEOUT.as_secs()
            ));
        return Response::Error(busy).write(&mut stream);
    }
    known.insert(id, stream.try_clone()?);
    drop(known);
    let (ours, backend) = (Arc::clone(clients), Arc::clone(backend));
    let thread = std::thread::Builder::new().name("control-client".to_owned()).spawn(move || {
        // A client that leaves early does no harm here.
        let _ = serve(&mut stream, &*backend);
        ours.lock().remove(&id);
    });
    if thread.is_err() {
        clients.lock().remove(&id);
    }
    thread.map(drop)
}

/// Answers one client until it leaves.
fn serve(stream: &mut UnixStream, backend: &dyn Backend) -> io::Result<()> {
    let mut pending = Vec::new();
    let mut begun: Option<Instant> = None;
    let mut chunk = [0; READ_BYTES];
    loop {
        if let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let line = line.trim_ascii();
            if !line.is_empty() {
                if let Ok(Request::Capture { link, options }) = serde_json::from_slice(line) {
                    return streaming::serve(stream, backend, &link, options);
                }
                answer(backend, line).write(stream)?;
            }
            begun = (!pending.is_empty()).then(Instant::now);
            continue;
        }
        if pending.len() >= REQUEST_BYTES_MAX {
            let message = format!("a request can have at most {REQUEST_BYTES_MAX} bytes");
            return Response::Error(ErrorReply::new(ErrorKind::TooLong, message)).write(stream);
        }
        let patience = begun.map_or(IDLE_TIMEOUT, |begun| PATIENCE.saturating_sub(begun.elapsed()));
        if patience.is_zero() {
            return timed_out(stream);
        }
        stream.set_read_timeout(Some(patience))?;
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(()),
            Ok(length) => {
                pending.extend_from_slice(&chunk[..length]);
                begun.get_or_insert_with(Instant::now);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && begun.is_some() => {
                return timed_out(stream);
            }
            Err(error) => return Err(error),
        }
    }
}

fn timed_out(stream: &mut UnixStream) -> io::Result<()> {
    let message = format!("the request was not complete within {} s", PATIENCE.as_secs());
    Response::Error(ErrorReply::new(ErrorKind::TimedOut, message)).write(stream)
}
