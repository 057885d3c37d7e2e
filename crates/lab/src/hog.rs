//! Occupies the processors, like a host that takes time from a virtual machine, or a real-time process that competes
//! with the loops.

use std::io;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

/// A priority above that of the loops, which is the lowest.
const PRIORITY: i32 = 10;
const THIS_THREAD: Pid = Pid::from_raw(0);

/// Gives the calling thread a priority above all others, including the loops, so that it runs as soon as it wakes, and
/// its timing is exact.
///
/// # Errors
/// Without CAP_SYS_NICE.
pub fn run_at_once() -> io::Result<()> {
    linkmend_linux::thread::set_first_in_first_out(PRIORITY)
}

/// Keeps every processor busy for `span`, so that nothing of a lower priority runs.
///
/// # Errors
/// Without CAP_SYS_NICE, or if a processor is not available.
pub fn occupy_all(span: Duration) -> io::Result<()> {
    let processors = std::thread::available_parallelism()?.get();
    // Otherwise the first thread would keep the one that starts the others from running.
    let all_ready = Barrier::new(processors);
    let all_ready = &all_ready;
    std::thread::scope(|scope| {
        let hogs: Vec<_> = (0..processors)
            .map(|processor| scope.spawn(move || occupy(processor, span, all_ready)))
            .collect();
        hogs.into_iter().try_for_each(|hog| hog.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    })
}

fn occupy(processor: usize, span: Duration, all_ready: &Barrier) -> io::Result<()> {
    let prepared = run_at_once_on(processor);
    all_ready.wait();
    prepared?;
    let began = Instant::now();
    while began.elapsed() < span {
        std::hint::spin_loop();
    }
    Ok(())
}

fn run_at_once_on(processor: usize) -> io::Result<()> {
    let mut here = CpuSet::new();
    here.set(processor)?;
    sched_setaffinity(THIS_THREAD, &here)?;
    run_at_once()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn nothing_else_runs_meanwhile() {
        if !crate::unprivileged::has_capabilities() {
            return;
        }
        let span = Duration::from_millis(50);
        let done = AtomicBool::new(false);
        let longest_gap = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
                while !done.load(Ordering::Relaxed) {
                    // The clock is read once, because the thread may be interrupted anywhere.
                    let now = Instant::now();
                    longest = longest.max(now - last);
                    last = now;
                }
                longest.max(last.elapsed())
            });
            std::thread::sleep(span / 2);
            let occupied = occupy_all(span);
            done.store(true, Ordering::Relaxed);
            occupied.expect("real-time priority");
            watcher.join().expect("it does not panic")
        });
        assert!(longest_gap >= span * 4 / 5, "the watcher ran after {longest_gap:?}");
    }
}
