//! The socket's file: one daemon per path, and access only for its owner.

use linkmend_diagnose::Diagnose;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Folder of control sockets, unless configured; clients look for links here.
pub const CONTROL_FOLDER: &str = "/run/linkmend";
/// Only the owner may talk to the daemon, whose clients can change the link.
const SOCKET_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o755;

/// Why a control socket cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another daemon has it.
    #[error("control socket {}: another daemon is using it", path.display())]
    Taken { path: PathBuf },
    /// Something other than a socket is in its place.
    #[error("control socket {}: a file with this name exists and is not a socket", path.display())]
    NotASocket { path: PathBuf },
    /// The system refused.
    #[error("control socket {}: {step} failed", path.display())]
    System {
        path: PathBuf,
        /// What was tried.
        step: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

impl Diagnose for SocketError {
    fn hint(&self) -> Option<String> {
        match self {
            SocketError::Taken { .. } => {
                Some("stop it first, or give this daemon a different socket with --control".to_owned())
            }
            SocketError::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("run as root, or choose another directory with --control".to_owned())
            }
            _ => None,
        }
    }
}

/// The exclusive right to a socket path, acquired before anything else is touched. Dropping it removes its lock file.
#[derive(Debug)]
pub struct Reservation {
    path: PathBuf,
    lock_path: PathBuf,
    // Held for as long as the daemon lives; the kernel releases it with the process, however that ends.
    _lock: File,
}

impl Reservation {
    /// Acquires the path, unless another daemon has it.
    ///
    /// # Errors
    /// [`SocketError`].
    pub fn take(path: &Path) -> Result<Reservation, SocketError> {
        if let Some(folder) = path.parent() {
            let mut builder = fs::DirBuilder::new();
            builder
                .recursive(true)
                .mode(FOLDER_MODE)
                .create(folder)
                .map_err(failed(path, "creating its directory"))?;
        }
        let lock_path = beside(path, "lock");
        let lock = lock(path, &lock_path)?;
        let reservation = Reservation { path: path.to_owned(), lock_path, _lock: lock };
        // From here on no other daemon uses this path, so an existing socket is a leftover.
        match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.file_type().is_socket() => {
                Err(SocketError::NotASocket { path: path.to_owned() })
            }
            _ => Ok(reservation),
        }
    }

    /// Listens at the path. Replaces a socket that a dead daemon left.
    ///
    /// # Errors
    /// [`SocketError::System`].
    pub fn listen(self) -> Result<ControlSocket, SocketError> {
        // The socket is created under another name and moved, so that it is never visible with other permissions.
        let fresh = beside(&self.path, "new");
        let _ = fs::remove_file(&fresh);
        let listener = UnixListener::bind(&fresh).map_err(failed(&self.path, "creating it"))?;
        fs::set_permissions(&fresh, Permissions::from_mode(SOCKET_MODE))
            .map_err(failed(&self.path, "setting its permissions"))?;
        fs::rename(&fresh, &self.path).map_err(failed(&self.path, "putting it in place"))?;
        Ok(ControlSocket { listener, reservation: self })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// A listening socket. Dropping it removes its files.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    reservation: Reservation,
}

impl ControlSocket {
    /// Where clients connect.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Where the socket's file is.
    pub fn path(&self) -> &Path {
        &self.reservation.path
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.reservation.path);
    }
}

fn failed(path: &Path, step: &'static str) -> impl FnOnce(io::Error) -> SocketError + use<> {
    let path = path.to_owned();
    move |source| SocketError::System { path, step, source }
}

fn lock(path: &Path, lock_path: &Path) -> Result<File, SocketError> {
    let failed = |source| SocketError::System { path: path.to_owned(), step: "locking it", source };
    let taken = || SocketError::Taken { path: path.to_owned() };
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(SOCKET_MODE)
        .open(lock_path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(taken()),
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    // A daemon that was just stopping may have removed the file after we opened it and before we locked it.
    let same = fs::metadata(lock_path).is_ok_and(|there| {
        file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (there.dev(), there.ino()))
    });
    if same { Ok(file) } else { Err(taken()) }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}
