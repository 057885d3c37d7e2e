//! Scheduling of the calling thread.

use std::io;

/// Sets the nice value of the calling thread only (Linux keeps it per thread, setpriority(2)).
pub(crate) fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: takes and returns integers; 0 names the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
