//! How long threads wait for a processor although they have work: the loops, other threads of an experiment, and the
//! kernel threads that carry frames from one interface to the next.
//!
//! A watcher at a higher priority does not notice what delays the loops: a process at their priority, or one for which
//! only kernel threads and the hosts' applications must wait. For each thread, the scheduler accounts for how long it
//! has been runnable without running (`/proc/PID/task/TID/schedstat`, second field). It adds a wait when the thread
//! finally runs, so the growth between two readings is the longest single wait, plus at most the time between the
//! readings.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::stop::StopFlag;

/// Time between two readings.
const INTERVAL: Duration = Duration::from_millis(5);
/// Readings after which the list of threads is updated.
const LOOKS_PER_SEARCH: u32 = 4;
/// The largest number of threads of this process that are followed; a demo has thirty.
const THREADS_MAX: usize = 256;
/// The length of three decimal numbers of 64 bits.
const LINE_BYTES: usize = 64;
const OWN_THREADS: &str = "/proc/self/task";
/// Prefixes of the names of threads that belong to the link: the link ends' loops, and the delay lines.
const LOOP_NAMES: [&str; 2] = ["link-", "delay lines"];
/// Names of the threads that only measure.
const WATCH_NAME: &str = "watch";
/// The kernel threads that process frames when its interrupts leave too many of them.
const KERNEL_NAME: &str = "ksoftirqd/";

/// The longest waits in a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LongestDelays {
    /// Longest wait of a link end's loop or of the delay lines, ns.
    pub(crate) loops_ns: u64,
    /// Longest wait of another thread of this process, or of a kernel thread that carries frames, ns.
    pub(crate) others_ns: u64,
}

/// One thread that is followed.
#[derive(Debug)]
struct WatchedThread {
    file: File,
    is_loop: bool,
    waited_ns: u64,
    worst_ns: u64,
}

impl WatchedThread {
    fn open(folder: &Path) -> Option<WatchedThread> {
        let name = std::fs::read_to_string(folder.join("comm")).ok()?;
        if name.starts_with(WATCH_NAME) {
            return None;
        }
        let file = File::open(folder.join("schedstat")).ok()?;
        let waited_ns = waited_ns(&file)?;
        let is_loop = LOOP_NAMES.iter().any(|prefix| name.starts_with(prefix));
        Some(WatchedThread { file, is_loop, waited_ns, worst_ns: 0 })
    }

    /// Reads the account. Returns `false` if the thread has ended.
    fn update(&mut self) -> bool {
        let Some(waited_ns) = waited_ns(&self.file) else { return false };
        let before = std::mem::replace(&mut self.waited_ns, waited_ns);
        self.worst_ns = self.worst_ns.max(waited_ns.saturating_sub(before));
        true
    }
}

fn waited_ns(file: &File) -> Option<u64> {
    let mut line = [0; LINE_BYTES];
    let length = file.read_at(&mut line, 0).ok()?;
    parse(std::str::from_utf8(&line[..length]).ok()?)
}

/// The fields are: time on a processor, time waiting for one, number of times on one
/// (Documentation/scheduler/sched-stats.rst).
fn parse(line: &str) -> Option<u64> {
    line.split_whitespace().nth(1)?.parse().ok()
}

/// All threads that are followed, and the worst of those that have ended since the span began.
#[derive(Debug, Default)]
struct Threads {
    own: BTreeMap<u32, WatchedThread>,
    kernel: Vec<WatchedThread>,
    ended: LongestDelays,
}

impl Threads {
    /// Updates the list of this process's threads. `new` is whether threads that are seen for the first time began
    /// within the span.
    fn search(&mut self, new: bool) {
        let Ok(entries) = std::fs::read_dir(OWN_THREADS) else { return };
        for entry in entries.flatten().take(THREADS_MAX) {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            if !self.own.contains_key(&id)
                && let Some(mut thread) = WatchedThread::open(&entry.path())
            {
                thread.worst_ns = if new { thread.waited_ns } else { 0 };
                self.own.insert(id, thread);
            }
        }
    }

    fn update(&mut self) {
        let Threads { own, kernel, ended } = self;
        own.retain(|_, thread| {
            let lives = thread.update();
            if !lives {
                ended.add(thread);
            }
            lives
        });
        kernel.retain_mut(WatchedThread::update);
    }

    fn begin(&mut self) {
        self.search(false);
        self.update();
        self.ended = LongestDelays::default();
        self.own.values_mut().chain(&mut self.kernel).for_each(|thread| thread.worst_ns = 0);
    }

    fn end(&mut self) -> LongestDelays {
        self.update();
        let mut waits = self.ended;
        self.own.values().chain(&self.kernel).for_each(|thread| waits.add(thread));
        waits
    }
}

impl LongestDelays {
    fn add(&mut self, thread: &WatchedThread) {
        let worst = if thread.is_loop { &mut self.loops_ns } else { &mut self.others_ns };
        *worst = (*worst).max(thread.worst_ns);
    }
}

/// Reads the accounts of all threads until it is dropped.
#[derive(Debug)]
pub(crate) struct RunDelays {
    threads: Arc<Mutex<Threads>>,
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
}

impl RunDelays {
    /// Starts reading, at `priority` if real-time priorities are allowed. If the kernel does not keep this account,
    /// every wait is 0.
    pub(crate) fn start(priority: i32) -> RunDelays {
        let threads = Threads { kernel: kernel_threads(), ..Threads::default() };
        let threads = Arc::new(Mutex::new(threads));
        let stop = StopFlag::new();
        let (seen, shared) = (stop.clone(), Arc::clone(&threads));
        let thread = std::thread::Builder::new().name(format!("{WATCH_NAME} waits")).spawn(move || {
            // Ordinary users may not do this; readings are late then, and waits seem that much longer.
            let _ = linkmend_linux::thread::set_real_time(priority);
            let mut looks = 0;
            while seen.sleep(INTERVAL) {
                let mut threads = lock(&shared);
                threads.update();
                looks = (looks + 1) % LOOKS_PER_SEARCH;
                if looks == 0 {
                    threads.search(true);
                }
            }
        });
        // Without the thread, the end of a span finds only the sum of its waits, so more slots count as disturbed.
        RunDelays { threads, stop, thread: thread.ok() }
    }

    /// A span begins.
    pub(crate) fn begin(&self) {
        lock(&self.threads).begin();
    }

    /// The span ends.
    pub(crate) fn end(&self) -> LongestDelays {
        lock(&self.threads).end()
    }
}

impl Drop for RunDelays {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of that thread loses only what it would have found.
            let _ = thread.join();
        }
    }
}

fn lock(threads: &Mutex<Threads>) -> MutexGuard<'_, Threads> {
    // After a panic, the data is still an account of waits.
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel threads that this process can see; inside a container there are none.
fn kernel_threads() -> Vec<WatchedThread> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let is_one = |folder: &PathBuf| {
        std::fs::read_to_string(folder.join("comm")).is_ok_and(|name| name.starts_with(KERNEL_NAME))
    };
    let folders = entries.flatten().map(|entry| entry.path()).filter(is_one);
    folders.filter_map(|folder| WatchedThread::open(&folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sched::{CpuSet, sched_setaffinity};
    use nix::unistd::Pid;
    use std::time::Instant;

    #[test]
    fn the_wait_is_the_second_field() {
        assert_eq!(parse("27707942943 128403376425 212448\n"), Some(128_403_376_425));
        assert_eq!((parse(""), parse("1"), parse("1 x 3")), (None, None, None));
    }

    fn on_one_processor() {
        let mut here = CpuSet::new();
        here.set(0).expect("within the set");
        sched_setaffinity(Pid::from_raw(0), &here).expect("the first processor is allowed");
    }

    /// How long a thread of this name waits while another one of the same priority does not leave the processor.
    fn waits_beside_a_hog(name: &str, hog: Duration) -> LongestDelays {
        const LOOP_PRIORITY: i32 = 1;
        let delays = RunDelays::start(LOOP_PRIORITY + 2);
        let stop = StopFlag::new();
        std::thread::scope(|scope| {
            let seen = &stop;
            let one = std::thread::Builder::new().name(name.to_owned());
            let looping = move || {
                on_one_processor();
                linkmend_linux::thread::set_first_in_first_out(LOOP_PRIORITY).expect("allowed");
                while seen.sleep(Duration::from_millis(1)) {}
            };
            one.spawn_scoped(scope, looping).expect("a thread");
            std::thread::sleep(Duration::from_millis(30));
            delays.begin();
            let hogging = move || {
                on_one_processor();
                linkmend_linux::thread::set_first_in_first_out(LOOP_PRIORITY).expect("allowed");
                let began = Instant::now();
                while began.elapsed() < hog {
                    std::hint::spin_loop();
                }
            };
            let hog = std::thread::Builder::new().name("watch-me-not".to_owned());
            hog.spawn_scoped(scope, hogging).expect("a thread").join().expect("no panic");
            std::thread::sleep(Duration::from_millis(10));
            let waits = delays.end();
            stop.stop();
            waits
        })
    }

    #[test]
    fn a_loop_that_a_process_of_its_own_priority_keeps_waiting_is_found_late() {
        if !crate::unprivileged::has_capabilities() {
            return;
        }
        let hog = Duration::from_millis(40);
        let waits = waits_beside_a_hog("link-g1", hog);
        assert!(u128::from(waits.loops_ns) >= hog.as_nanos() * 8 / 10, "{waits:?}");
        let waits = waits_beside_a_hog("application", hog);
        assert!(u128::from(waits.others_ns) >= hog.as_nanos() * 8 / 10, "{waits:?}");
    }

    #[test]
    fn a_span_knows_its_own_waits_only() {
        let mut threads = Threads::default();
        threads.begin();
        let most = threads.own.values_mut().map(|thread| thread.worst_ns = u64::MAX).count();
        assert!(most >= 1, "this test is a thread");
        assert_eq!(threads.end().others_ns, u64::MAX);
        threads.begin();
        assert!(threads.end().others_ns < u64::MAX);
    }
}
