//! How the machine disturbs a measurement: time that a hypervisor gives to others, and threads that wake up late.

mod run_delay;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::stop::StopFlag;
use run_delay::RunDelays;

/// How often a watcher wakes up.
const INTERVAL: Duration = Duration::from_millis(1);
/// A priority above the link ends and the delay lines, so that what delays a watcher is the machine and not them. What
/// takes the processor from them but not from a watcher shows in how long they wait ([`RunDelays`]).
const PRIORITY: i32 = 3;
/// The largest number of processors that are watched: more than the threads of a demo occupy.
const WATCHERS_MAX: usize = 16;
/// The lateness that counts as being held up, which is above what the kernel's own work causes.
const HELD_UP: Duration = Duration::from_millis(1);
const THIS_THREAD: Pid = Pid::from_raw(0);

/// How the machine disturbed a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Stolen time as a share of all processors' time (`steal` in `/proc/stat`).
    pub stolen_share: f64,
    /// The share of time during which a processor kept a watcher waiting, for the worst processor.
    pub held_up_share: f64,
    /// The largest lateness with which a watcher woke up, ns.
    pub worst_wakeup_ns: u64,
    /// The longest time that a link end's loop or the delay lines waited for a processor, or a frame left a line late;
    /// ns.
    pub worst_loop_ns: u64,
    /// The longest time that another thread of this process, or a kernel thread that carries frames, waited for a
    /// processor, ns.
    pub worst_thread_ns: u64,
}

/// How much disturbance a measurement tolerates.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// See [`Disturbance::stolen_share`].
    pub stolen_share: f64,
    /// See [`Disturbance::held_up_share`].
    pub held_up_share: f64,
    /// See [`Disturbance::worst_wakeup_ns`] and [`Disturbance::worst_loop_ns`].
    pub worst_wakeup_ns: u64,
    /// See [`Disturbance::worst_thread_ns`].
    pub worst_thread_ns: u64,
}

impl Disturbance {
    /// Whether this disturbance is more than `tolerance` allows.
    pub fn exceeds(&self, tolerance: &Tolerance) -> bool {
        self.stolen_share > tolerance.stolen_share
            || self.held_up_share > tolerance.held_up_share
            || self.worst_wakeup_ns.max(self.worst_loop_ns) > tolerance.worst_wakeup_ns
            || self.worst_thread_ns > tolerance.worst_thread_ns
    }

    /// The worse of the two in each respect.
    pub fn worst(self, other: Self) -> Self {
        Self {
            stolen_share: self.stolen_share.max(other.stolen_share),
            held_up_share: self.held_up_share.max(other.held_up_share),
            worst_wakeup_ns: self.worst_wakeup_ns.max(other.worst_wakeup_ns),
            worst_loop_ns: self.worst_loop_ns.max(other.worst_loop_ns),
            worst_thread_ns: self.worst_thread_ns.max(other.worst_thread_ns),
        }
    }
}

/// Measures how the machine disturbs a span of time. [`NoiseWatch`] asks the machine; a test invents the answers.
pub trait Watch {
    /// Begins a span.
    fn begin(&mut self);
    /// Ends the span.
    fn end(&mut self) -> Disturbance;
}

/// The findings of one watcher in the current span.
#[derive(Debug, Default)]
struct Lateness {
    worst_ns: AtomicU64,
    held_up_ns: AtomicU64,
    /// When it should wake up, in ns since the watch was started. A watcher that has not woken by then is already late.
    due_ns: AtomicU64,
}

impl Lateness {
    fn begin(&self) {
        self.worst_ns.store(0, Ordering::Relaxed);
        self.held_up_ns.store(0, Ordering::Relaxed);
    }

    /// Its largest lateness, including the current one.
    fn worst_ns(&self, now_ns: u64) -> u64 {
        let so_far = now_ns.saturating_sub(self.due_ns.load(Ordering::Relaxed));
        self.worst_ns.load(Ordering::Relaxed).max(so_far)
    }
}

/// Watchers on every processor. Dropping this ends them.
#[derive(Debug)]
pub struct NoiseWatch {
    watchers: Vec<Arc<Lateness>>,
    threads: Vec<JoinHandle<bool>>,
    stop: StopFlag,
    began: Instant,
    at_begin: ProcessorTime,
    waits: RunDelays,
    started: Instant,
}

impl NoiseWatch {
    /// Starts the watchers, at real-time priority if that is allowed.
    pub fn start() -> Self {
        let (stop, started) = (StopFlag::new(), Instant::now());
        let (mut watchers, mut threads) = (Vec::new(), Vec::new());
        for processor in processors() {
            let lateness = Arc::new(Lateness::default());
            let (seen, found) = (stop.clone(), Arc::clone(&lateness));
            let thread = std::thread::Builder::new()
                .name(format!("watch {processor}"))
                .spawn(move || watch(processor, &found, started, &seen));
            // Without its watcher, less is known about this processor, which is acceptable.
            if let Ok(thread) = thread {
                watchers.push(lateness);
                threads.push(thread);
            }
        }
        let at_begin = ProcessorTime::read().unwrap_or_default();
        let waits = RunDelays::start(PRIORITY);
        Self { watchers, threads, stop, began: started, at_begin, waits, started }
    }
}

impl Watch for NoiseWatch {
    fn begin(&mut self) {
        self.waits.begin();
        self.watchers.iter().for_each(|lateness| lateness.begin());
        self.at_begin = ProcessorTime::read().unwrap_or_default();
        self.began = Instant::now();
    }

    fn end(&mut self) -> Disturbance {
        let span_ns = self.began.elapsed().as_nanos().max(1) as f64;
        let now_ns = nanos(self.started.elapsed());
        let watchers = || self.watchers.iter();
        let held_up_ns = watchers().map(|one| one.held_up_ns.load(Ordering::Relaxed)).max().unwrap_or(0);
        let stolen_share = ProcessorTime::read().map_or(0.0, |now| now.stolen_share_since(self.at_begin));
        let waits = self.waits.end();
        Disturbance {
            stolen_share,
            held_up_share: held_up_ns as f64 / span_ns,
            worst_wakeup_ns: watchers().map(|one| one.worst_ns(now_ns)).max().unwrap_or(0),
            worst_loop_ns: waits.loops_ns,
            worst_thread_ns: waits.others_ns,
        }
    }
}

impl Drop for NoiseWatch {
    fn drop(&mut self) {
        self.stop.stop();
        for thread in self.threads.drain(..) {
            // A watcher that panicked has reported what it could.
            let _ = thread.join();
        }
    }
}

/// The processors that this process may use.
fn processors() -> Vec<usize> {
    let allowed = sched_getaffinity(THIS_THREAD).unwrap_or_default();
    (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).take(WATCHERS_MAX).collect()
}

/// Wakes up every [`INTERVAL`] on one processor and records how late. Returns whether it ran at real-time priority.
fn watch(processor: usize, lateness: &Lateness, started: Instant, stop: &StopFlag) -> bool {
    let mut here = CpuSet::new();
    if here.set(processor).is_ok() {
        // If that fails, the watcher still feels some processor.
        let _ = sched_setaffinity(THIS_THREAD, &here);
    }
    let real_time = linkmend_linux::thread::set_real_time(PRIORITY).is_ok();
    let _ = nix::sys::prctl::set_timerslack(1);
    while !stop.is_stopped() {
        let due = Instant::now() + INTERVAL;
        lateness.due_ns.store(nanos(due - started), Ordering::Relaxed);
        std::thread::sleep(INTERVAL);
        let late = due.elapsed();
        lateness.worst_ns.fetch_max(nanos(late), Ordering::Relaxed);
        if late > HELD_UP {
            lateness.held_up_ns.fetch_add(nanos(late), Ordering::Relaxed);
        }
    }
    real_time
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The first line of `/proc/stat`, in clock ticks of all processors together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ProcessorTime {
    stolen: u64,
    total: u64,
}

impl ProcessorTime {
    fn read() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// Fields by proc(5): user nice system idle iowait irq softirq steal; guest time is part of user time.
    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
        Some(Self { stolen: *ticks.get(7)?, total: ticks.iter().sum() })
    }

    fn stolen_share_since(self, before: Self) -> f64 {
        let total = self.total.saturating_sub(before.total);
        if total == 0 { 0.0 } else { self.stolen.saturating_sub(before.stolen) as f64 / total as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_the_eighth_field() {
        let before = ProcessorTime::parse("cpu  100 0 100 700 0 50 40 10 0 0\ncpu0 1\n").expect("fields");
        let after = ProcessorTime::parse("cpu  150 0 100 730 0 50 40 30 5 0\n").expect("fields");
        assert_eq!((before.stolen, before.total), (10, 1000));
        assert!((after.stolen_share_since(before) - 0.2).abs() < 1e-9);
        assert_eq!(before.stolen_share_since(before), 0.0);
        assert_eq!(ProcessorTime::parse("cpu  1 2 3\n"), None);
        assert_eq!(ProcessorTime::parse(""), None);
    }

    #[test]
    fn each_limit_counts_by_itself() {
        let tolerance = Tolerance {
            stolen_share: 0.02,
            held_up_share: 0.02,
            worst_wakeup_ns: 5_000_000,
            worst_thread_ns: 20_000_000,
        };
        let calm = Disturbance::default();
        assert!(!calm.exceeds(&tolerance));
        for disturbed in [
            Disturbance { stolen_share: 0.03, ..calm },
            Disturbance { held_up_share: 0.03, ..calm },
            Disturbance { worst_wakeup_ns: 5_000_001, ..calm },
            Disturbance { worst_loop_ns: 5_000_001, ..calm },
            Disturbance { worst_thread_ns: 20_000_001, ..calm },
        ] {
            assert!(disturbed.exceeds(&tolerance), "{disturbed:?}");
        }
    }

    #[test]
    fn a_watcher_that_has_not_woken_at_the_end_of_a_span_is_late_in_that_span() {
        let lateness = Lateness::default();
        lateness.due_ns.store(5_000_000, Ordering::Relaxed);
        lateness.begin();
        assert_eq!((lateness.worst_ns(4_000_000), lateness.worst_ns(151_000_000)), (0, 146_000_000));
    }

    #[test]
    fn a_watch_sees_late_wakeups_of_its_span_only() {
        let mut watch = NoiseWatch::start();
        assert!(!watch.watchers.is_empty());
        watch.watchers[0].worst_ns.store(u64::MAX, Ordering::Relaxed);
        watch.begin();
        std::thread::sleep(Duration::from_millis(30));
        let found = watch.end();
        assert!(found.worst_wakeup_ns > 0 && found.worst_wakeup_ns < 60_000_000_000, "{found:?}");
        assert!((0.0..=1.0).contains(&found.stolen_share), "{found:?}");
    }
}
