//! Scheduling of the calling thread.

use std::io;

/// Sets the nice value of the calling thread only (Linux keeps it per thread, setpriority(2)).
///
/// # Errors
/// Without the privilege for a lower value.
pub fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: takes and returns integers; 0 names the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the calling thread a real-time one (SCHED_RR, sched(7)), which runs as soon as it is woken. The threads that
/// it starts are ordinary ones.
///
/// # Errors
/// Without CAP_SYS_NICE and a limit that allows it.
pub fn set_real_time(priority: i32) -> io::Result<()> {
    set_scheduler(libc::SCHED_RR, priority)
}

/// Makes the calling thread a real-time one that no other thread of its priority interrupts (SCHED_FIFO, sched(7)).
///
/// # Errors
/// See [`set_real_time`].
pub fn set_first_in_first_out(priority: i32) -> io::Result<()> {
    set_scheduler(libc::SCHED_FIFO, priority)
}

/// The processor on which the calling thread runs; it may run on another one the next moment.
pub fn processor() -> Option<usize> {
    // SAFETY: takes nothing and returns an integer.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

fn set_scheduler(policy: libc::c_int, priority: i32) -> io::Result<()> {
    // What the kernel reads: musl's own function refuses to make this call.
    let parameters: libc::c_int = priority;
    // SAFETY: `parameters` outlives the call; 0 names the calling thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
