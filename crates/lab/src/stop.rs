//! How a running measurement is followed and stopped from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The longest time that a tool sleeps before it checks its [`StopFlag`] again.
const STOP_SLICE: Duration = Duration::from_millis(20);

/// A flag that everything running at the same time shares: a Ctrl-C handler raises it, and every loop of this crate
/// checks it.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Wraps a flag that already exists, such as the one a signal handler sets.
    pub fn from_shared(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }

    /// Asks everything that holds this flag to end soon. Safe to call from a signal handler.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`StopFlag::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sleeps for `duration` or until the flag is raised. Returns whether it slept to the end.
    pub fn sleep(&self, duration: Duration) -> bool {
        let end = Instant::now() + duration;
        loop {
            if self.is_stopped() {
                return false;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(STOP_SLICE));
        }
    }
}

/// How far a measurement has come, for a progress bar. Units are those of the tool: frames, flows or milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<ProgressCounters>);

#[derive(Debug, Default)]
struct ProgressCounters {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Units done so far.
    pub fn done(&self) -> u64 {
        self.0.done.load(Ordering::Relaxed)
    }

    /// Units to do in all; 0 until the tool has started.
    pub fn total(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    pub(crate) fn begin(&self, total: u64) {
        self.0.done.store(0, Ordering::Relaxed);
        self.0.total.store(total, Ordering::Relaxed);
    }

    pub(crate) fn set_done(&self, done: u64) {
        self.0.done.store(done, Ordering::Relaxed);
    }
}

/// What every traffic tool takes in addition to its options.
#[derive(Clone, Debug, Default)]
pub struct RunControl {
    /// Raised to end the run early; the tool then reports what it has.
    pub stop: StopFlag,
    /// Written by the tool, read by whoever draws the progress bar.
    pub progress: Progress,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_ends_a_long_sleep() {
        let flag = StopFlag::new();
        let other = flag.clone();
        let started = Instant::now();
        let sleeper = std::thread::spawn(move || other.sleep(Duration::from_secs(60)));
        flag.stop();
        assert!(!sleeper.join().expect("the sleeper does not panic"));
        assert!(started.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn an_undisturbed_sleep_lasts() {
        let started = Instant::now();
        assert!(StopFlag::new().sleep(Duration::from_millis(30)));
        assert!(started.elapsed() >= Duration::from_millis(30));
    }
}
