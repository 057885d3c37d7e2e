//! The record of what a lab created, kept in `/run/linkmend/lab/PREFIX.json`.
//!
//! It is written *before* each thing is created, so that whatever a crash leaves behind is on record. Nothing that it
//! does not name is ever deleted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linkmend_diagnose::Diagnose;
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use super::options::LabOptions;
use crate::process::TrackedProcess;

/// The folder in which labs leave their records.
pub const MARKER_FOLDER: &str = "/run/linkmend/lab";
/// How long `up` and `down` wait for another `up` or `down` to finish.
const LOCK_WAIT: Duration = Duration::from_secs(60);
const LOCK_POLL: Duration = Duration::from_millis(20);
/// The largest number of processes that one lab keeps track of.
pub(crate) const PROCESSES_MAX: usize = 256;

/// Why the record of a lab could not be used.
#[derive(Debug, thiserror::Error)]
pub enum MarkerError {
    /// The file or its folder cannot be read or written.
    #[error("cannot {action} `{path}`: {source}")]
    Access {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file is not a record of ours.
    #[error("`{path}` is not a lab record: {source}")]
    Contents {
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Another `up` or `down` has been running for too long.
    #[error("another lab has been going up or down for {LOCK_WAIT:?}")]
    Locked,
}

impl Diagnose for MarkerError {
    fn hint(&self) -> Option<String> {
        match self {
            MarkerError::Access { .. } => {
                Some("the lab requires root, or an unprivileged namespace".to_owned())
            }
            MarkerError::Contents { .. } => Some("inspect it, then remove it by hand".to_owned()),
            MarkerError::Locked => Some("is a `linkmend lab` stuck?".to_owned()),
        }
    }
}

/// A network namespace that the lab created, or was about to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MarkedNamespace {
    pub(crate) name: String,
    /// `None` between the decision to create it and the kernel's answer.
    pub(crate) inode: Option<u64>,
}

/// The progress of `up`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    Creating,
    Up,
}

/// The record itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) owner: TrackedProcess,
    pub(crate) stage: Stage,
    pub(crate) options: LabOptions,
    pub(crate) namespaces: Vec<MarkedNamespace>,
    pub(crate) processes: Vec<TrackedProcess>,
}

impl Marker {
    pub(crate) fn new(options: &LabOptions) -> Self {
        let pid = std::process::id();
        let unknown = TrackedProcess { pid, start_ticks: 0, program: "linkmend".to_owned() };
        Self {
            owner: TrackedProcess::of(pid, "linkmend").unwrap_or(unknown),
            stage: Stage::Creating,
            options: options.clone(),
            namespaces: Vec::new(),
            processes: Vec::new(),
        }
    }

    pub(crate) fn path(prefix: &str) -> PathBuf {
        Path::new(MARKER_FOLDER).join(format!("{prefix}.json"))
    }

    /// Reads the record of `prefix`; `None` if there is none.
    pub(crate) fn load(prefix: &str) -> Result<Option<Self>, MarkerError> {
        let path = Self::path(prefix);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(MarkerError::Access { action: "read", path, source }),
        };
        serde_json::from_str(&text).map(Some).map_err(|source| MarkerError::Contents { path, source })
    }

    /// Replaces the record atomically, so that a crash leaves either the old one or the new one.
    pub(crate) fn save(&self) -> Result<(), MarkerError> {
        let path = Self::path(&self.options.prefix);
        let draft = path.with_extension("draft");
        let text = serde_json::to_vec_pretty(self)
            .map_err(|source| MarkerError::Contents { path: path.clone(), source })?;
        let write = || {
            let mut file = File::create(&draft)?;
            file.write_all(&text)?;
            fs::rename(&draft, &path)
        };
        write().map_err(|source| MarkerError::Access { action: "write", path: path.clone(), source })
    }

    pub(crate) fn remove(prefix: &str) -> Result<(), MarkerError> {
        let path = Self::path(prefix);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(MarkerError::Access { action: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    /// Records a process, forgetting those that have ended.
    pub(crate) fn track(&mut self, process: TrackedProcess) {
        self.processes.retain(TrackedProcess::is_running);
        if self.processes.len() < PROCESSES_MAX {
            self.processes.push(process);
        }
    }
}

/// Excludes every other `up`, `down` and `spawn` on this machine.
pub(crate) struct FolderLock(#[allow(dead_code, reason = "held for its drop")] Flock<File>);

impl FolderLock {
    pub(crate) fn take() -> Result<Self, MarkerError> {
        let path = PathBuf::from(MARKER_FOLDER);
        let failed = |action| {
            let path = path.clone();
            move |source| MarkerError::Access { action, path, source }
        };
        fs::create_dir_all(&path).map_err(failed("create"))?;
        let mut folder = File::open(&path).map_err(failed("open"))?;
        let end = Instant::now() + LOCK_WAIT;
        loop {
            match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => return Ok(Self(lock)),
                Err((back, Errno::EWOULDBLOCK)) if Instant::now() < end => folder = back,
                Err((_, Errno::EWOULDBLOCK)) => return Err(MarkerError::Locked),
                Err((_, error)) => return Err(failed("lock")(error.into())),
            }
            std::thread::sleep(LOCK_POLL);
        }
    }
}
