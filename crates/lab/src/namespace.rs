//! Network namespaces by name: run a closure or a program inside one.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;

use linkmend_diagnose::Diagnose;
use nix::sched::{CloneFlags, setns};

/// The folder in which `ip netns` keeps the names of network namespaces.
pub(crate) const NAMESPACE_FOLDER: &str = "/run/netns";

/// Why a namespace could not be opened or entered.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// There is no namespace of this name, or it may not be opened.
    #[error("cannot open network namespace `{name}`: {source}")]
    Open {
        /// Name of the namespace.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The kernel refused to move the thread into the namespace.
    #[error("cannot enter network namespace `{name}`: {source}")]
    Enter {
        /// Name of the namespace.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// No thread could be started, or the closure in it panicked.
    #[error("a thread for network namespace `{name}` did not finish: {reason}")]
    Thread {
        /// Name of the namespace.
        name: String,
        /// What happened to the thread.
        reason: String,
    },
}

impl Diagnose for NamespaceError {
    fn hint(&self) -> Option<String> {
        match self {
            NamespaceError::Open { .. } => Some("`linkmend lab up` creates the lab's".to_owned()),
            NamespaceError::Enter { .. } => Some("this requires CAP_SYS_ADMIN; run as root".to_owned()),
            NamespaceError::Thread { .. } => None,
        }
    }
}

/// An open network namespace. It exists at least as long as this handle, even without a name.
#[derive(Clone, Debug)]
pub struct Namespace {
    name: String,
    file: Arc<File>,
}

impl Namespace {
    /// Opens the namespace that `ip netns` knows as `name`.
    ///
    /// # Errors
    /// [`NamespaceError::Open`] if there is none.
    pub fn open(name: &str) -> Result<Self, NamespaceError> {
        let path = PathBuf::from(NAMESPACE_FOLDER).join(name);
        let failed = |source| NamespaceError::Open { name: name.to_owned(), source };
        Ok(Self { name: name.to_owned(), file: Arc::new(File::open(path).map_err(failed)?) })
    }

    /// The name it was opened by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace's inode number, which differs from that of any other that exists at the same time.
    ///
    /// # Errors
    /// [`NamespaceError::Open`] if the kernel does not say.
    pub fn inode(&self) -> Result<u64, NamespaceError> {
        let failed = |source| NamespaceError::Open { name: self.name.clone(), source };
        self.file.metadata().map(|metadata| metadata.ino()).map_err(failed)
    }

    /// Runs `work` on a separate thread inside the namespace and returns its result. Sockets that `work` opens stay in
    /// the namespace wherever they are used later, and programs that it starts stay there, too. While `work` runs,
    /// `/proc/sys/net` is that of the namespace; `/sys/class/net` is not, unlike under `ip netns exec`.
    ///
    /// A program is better started by `work` than by a child that enters the namespace just before it executes the
    /// program: that child is a copy of this process (`fork`), and while the kernel makes it, no other thread of this
    /// process, such as the loop of a link end, can allocate or touch a new page.
    ///
    /// # Errors
    /// [`NamespaceError::Enter`] without `CAP_SYS_ADMIN`, [`NamespaceError::Thread`] when `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let failed = |reason| NamespaceError::Thread { name: self.name.clone(), reason };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .name(format!("in {}", self.name))
                .spawn_scoped(scope, || self.enter().map(|()| work()))
                .map_err(|error| failed(error.to_string()))?;
            thread.join().map_err(|_| failed("it panicked".to_owned()))?
        })
    }

    fn enter(&self) -> Result<(), NamespaceError> {
        let failed =
            |error| NamespaceError::Enter { name: self.name.clone(), source: io::Error::from(error) };
        setns(&*self.file, CloneFlags::CLONE_NEWNET).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_namespace_is_named() {
        let error = Namespace::open("no-such-namespace-here").expect_err("it does not exist");
        assert!(error.to_string().contains("no-such-namespace-here"), "{error}");
    }
}
