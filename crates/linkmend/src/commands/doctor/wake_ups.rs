//! A trial of the timers: how late a thread with the daemon's priority runs after it should have been woken.

use super::Finding;
use super::Severity::Warning;
use serde::Serialize;
use std::thread;
use std::time::{Duration, Instant};

/// How long the trial takes.
const TRIAL: Duration = Duration::from_millis(500);
/// How long the thread sleeps between two wake-ups.
const STEP: Duration = Duration::from_micros(500);
/// Priority of the daemon's loops.
const PRIORITY: i32 = 1;
/// A recovery takes about a millisecond on busy processors, so a later wake-up is most of what a frame waits for.
const USUAL_MAX: Duration = Duration::from_millis(1);
/// The default time after which a silent link has failed (`--failure-detection`).
const WORST_MAX: Duration = Duration::from_millis(10);

/// What the trial showed.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct WakeUps {
    /// Whether the thread was a real-time one, as the daemon's loops are.
    pub(super) real_time: bool,
    /// How often it was woken.
    pub(super) count: usize,
    /// The 99th percentile of the delays.
    pub(super) late_p99_ns: u64,
    /// The longest delay.
    pub(super) late_max_ns: u64,
}

/// Runs the trial in a thread of its own; `None` if none can be started.
pub(super) fn observe() -> Option<WakeUps> {
    thread::Builder::new().spawn(trial).ok()?.join().ok()
}

fn trial() -> WakeUps {
    let real_time = linkmend_linux::thread::set_real_time(PRIORITY).is_ok();
    let begun = Instant::now();
    let mut delays = Vec::with_capacity((TRIAL.as_nanos() / STEP.as_nanos()) as usize);
    while begun.elapsed() < TRIAL {
        let due = Instant::now() + STEP;
        thread::sleep(STEP);
        delays.push(Instant::now().saturating_duration_since(due).as_nanos() as u64);
    }
    WakeUps::of(real_time, delays)
}

impl WakeUps {
    fn of(real_time: bool, mut delays: Vec<u64>) -> WakeUps {
        delays.sort_unstable();
        let rank = (delays.len() * 99).div_ceil(100).saturating_sub(1);
        WakeUps {
            real_time,
            count: delays.len(),
            late_p99_ns: delays.get(rank).copied().unwrap_or(0),
            late_max_ns: delays.last().copied().unwrap_or(0),
        }
    }

    /// What to change. A missing capability is another finding.
    pub(super) fn findings(&self, has_capability: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !self.real_time && has_capability {
            findings.push(Finding::of_machine(
                Warning,
                "threads cannot be made real-time ones, so other programs delay frames",
                "allow it where this machine or container is set up: sched_setscheduler, and RLIMIT_RTPRIO of at least 1",
            ));
        }
        let [usual, worst] = [self.late_p99_ns, self.late_max_ns].map(Duration::from_nanos);
        if usual > USUAL_MAX || worst > WORST_MAX {
            findings.push(Finding::of_machine(
                Warning,
                format!(
                    "threads are woken late, {usual:.1?} in one case of a hundred and {worst:.1?} at most, which delays frames"
                ),
                "end what keeps the processors busy; give a virtual machine processors of its own",
            ));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(wake_ups: WakeUps, has_capability: bool) -> Vec<String> {
        wake_ups.findings(has_capability).into_iter().map(|finding| finding.problem).collect()
    }

    #[test]
    fn the_percentile_is_a_delay_that_one_in_a_hundred_exceeds() {
        let wake_ups = WakeUps::of(true, (1..=200).rev().collect());
        assert_eq!((wake_ups.count, wake_ups.late_p99_ns, wake_ups.late_max_ns), (200, 198, 200));
        assert_eq!(WakeUps::of(true, Vec::new()).late_max_ns, 0);
    }

    #[test]
    fn late_wake_ups_are_a_problem_and_punctual_ones_are_not() {
        let delays = |usual_us: u64, worst_us: u64| {
            WakeUps::of(true, [vec![usual_us * 1000; 99], vec![worst_us * 1000]].concat())
        };
        assert!(problems(delays(900, 9_000), true).is_empty());
        assert_eq!(
            problems(delays(1_100, 9_000), true),
            ["threads are woken late, 1.1ms in one case of a hundred and 9.0ms at most, which delays frames"]
        );
        assert_eq!(problems(delays(50, 11_000), true).len(), 1);
    }

    #[test]
    fn without_real_time_threads_the_reason_is_named_once() {
        let wake_ups = WakeUps::of(false, vec![1000]);
        assert!(problems(wake_ups, true)[0].starts_with("threads cannot be made real-time ones"));
        assert!(problems(wake_ups, false).is_empty());
    }
}
