//! A private sysfs (fsopen(2), Linux 5.2): `/sys/class/net` shows the devices of the network namespace in which `/sys`
//! was mounted, which need not be that of the calling thread.

use std::ffi::{c_int, c_uint};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const FSCONFIG_CMD_CREATE: c_uint = 6;
const FSMOUNT_CLOEXEC: c_uint = 1;
const FSOPEN_CLOEXEC: c_uint = 1;

/// Opens the root of a sysfs that shows the devices of the calling thread's network namespace. It is mounted nowhere,
/// and disappears when the descriptor is closed.
///
/// # Errors
/// Mounting needs a privilege (CAP_SYS_ADMIN) that a port does not need.
pub fn of_this_namespace() -> io::Result<OwnedFd> {
    // SAFETY: the name is a C string; the call takes no other pointer.
    let context = descriptor(unsafe { libc::syscall(libc::SYS_fsopen, c"sysfs".as_ptr(), FSOPEN_CLOEXEC) })?;
    // SAFETY: this command takes neither key nor value, which are null.
    let created = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            FSCONFIG_CMD_CREATE,
            std::ptr::null::<libc::c_char>(),
            std::ptr::null::<libc::c_void>(),
            0 as c_int,
        )
    };
    if created < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: takes integers only.
    descriptor(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FSMOUNT_CLOEXEC, 0 as c_uint) })
}

fn descriptor(answer: libc::c_long) -> io::Result<OwnedFd> {
    match c_int::try_from(answer) {
        // SAFETY: the kernel has just opened it for us, and nobody else knows of it.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(io::Error::last_os_error()),
    }
}
