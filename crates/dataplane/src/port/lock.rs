//! Ensures that only one process serves an interface.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, socket};

use super::PortError;

const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// Held for as long as a port is open. The kernel releases it with the process, however that ends.
#[derive(Debug)]
pub(crate) struct InterfaceLock(#[expect(dead_code, reason = "it is held, not used")] OwnedFd);

impl InterfaceLock {
    /// Takes the lock, or fails with [`PortError::InUse`].
    ///
    /// The lock is an abstract Unix socket: these belong to the network namespace, leave nothing behind in any file
    /// system, and need no privilege.
    pub(crate) fn acquire(interface: &str, index: u32) -> Result<Self, PortError> {
        let failed = |source| PortError::System {
            interface: interface.to_owned(),
            step: "locking the interface",
            source,
        };
        // Abstract names are already separate per namespace; the inode only helps whoever reads them.
        let namespace =
            std::fs::metadata("/proc/thread-self/ns/net").map(|metadata| metadata.st_ino()).unwrap_or(0);
        let name = format!("linkmend-port-{namespace}-{index}");
        let address = UnixAddr::new_abstract(name.as_bytes()).map_err(|e| failed(e.into()))?;
        let socket = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map_err(|e| failed(e.into()))?;
        for attempt in 0.. {
            match bind(socket.as_raw_fd(), &address) {
                Ok(()) => break,
                // A process that is just ending, or a child of it, may hold the lock a little longer.
                Err(Errno::EADDRINUSE) if attempt < ATTEMPTS => std::thread::sleep(PAUSE),
                Err(Errno::EADDRINUSE) => {
                    return Err(PortError::InUse { interface: interface.to_owned() });
                }
                Err(errno) => return Err(failed(io::Error::from(errno))),
            }
        }
        Ok(InterfaceLock(socket))
    }

    /// A lock that nobody else could want, of an interface that does not exist.
    pub(super) fn of_nothing(interface: &str) -> Result<Self, PortError> {
        socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map(InterfaceLock)
            .map_err(|errno| PortError::system(interface, "locking the interface")(errno.into()))
    }
}
