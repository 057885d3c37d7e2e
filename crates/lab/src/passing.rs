//! Errors of sockets that pass by themselves.

use std::io::{Error, ErrorKind};

/// Whether a device or a socket does not take frames at the moment.
pub(crate) fn is_full(error: &Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR))
}

/// Whether a call was only waiting, for as long as the socket's timeout allows.
pub(crate) fn is_timeout(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
