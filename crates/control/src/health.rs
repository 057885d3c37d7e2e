//! Parts of a daemon that may fail while its links keep running, and the processor time that the host takes away.

use crate::report::DaemonReport;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The period over which stolen time is averaged.
const STOLEN_WINDOW: Duration = Duration::from_secs(10);
/// Below this many ticks of work, a share of them is not meaningful.
const TICKS_MIN: u64 = 20;
/// The log warns above the first share of stolen time, and reports recovery below the second.
const STOLEN_WARN: f64 = 0.05;
const STOLEN_FINE: f64 = 0.02;

/// What to do when the backlog is full.
pub const BACKLOG_HINT: &str = "hint: sysctl -w net.core.netdev_max_backlog=10000";

/// The parts of a daemon that may be in trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Metrics are not served.
    Metrics,
    /// Protection set at run time is not kept for the next start.
    State,
}

/// The health of a daemon apart from its links, shared by all parts that report trouble.
#[derive(Debug)]
pub struct DaemonHealth {
    log_lines_lost: fn() -> u64,
    troubles: Mutex<BTreeMap<Part, String>>,
    host: Mutex<Host>,
    backlog: Mutex<Backlog>,
}

impl Default for DaemonHealth {
    fn default() -> Self {
        DaemonHealth::new(|| 0)
    }
}

impl DaemonHealth {
    /// `log_lines_lost` returns how many lines of the log could not be written.
    pub fn new(log_lines_lost: fn() -> u64) -> DaemonHealth {
        DaemonHealth {
            log_lines_lost,
            troubles: Mutex::default(),
            host: Mutex::default(),
            backlog: Mutex::default(),
        }
    }

    /// Sets the trouble of a part; `None` means it is over. Returns whether anything changed.
    pub fn set(&self, part: Part, trouble: Option<String>) -> bool {
        let mut troubles = lock(&self.troubles);
        let before = match &trouble {
            Some(text) => troubles.insert(part, text.clone()),
            None => troubles.remove(&part),
        };
        before != trouble
    }

    /// Checks how much time the host takes from this machine and what its backlog drops. Call it about twice a second.
    pub fn check(&self) {
        let dropped = std::fs::read_to_string("/proc/net/softnet_stat").ok().and_then(|text| dropped(&text));
        if dropped.is_some_and(|total| lock(&self.backlog).add(total)) {
            tracing::warn!(
                "the machine's receive backlog was full and frames of some interfaces were dropped; frames of a \
                 veth wait in this backlog ({BACKLOG_HINT})"
            );
        }
        let Ok(text) = std::fs::read_to_string("/proc/stat") else { return };
        let Some(ticks) = Ticks::parse(&text) else { return };
        match lock(&self.host).add(Instant::now(), ticks) {
            Some(Change::Starved(share)) => tracing::warn!(
                "the host withholds {:.0} % of the processor time that this machine needs (steal); frames are \
                 delayed, and peers may fall silent",
                share * 100.0
            ),
            Some(Change::Fine) => {
                tracing::info!("the host no longer withholds processor time from this machine")
            }
            None => {}
        }
    }

    /// The state of health for `status` and the metrics.
    pub fn report(&self) -> DaemonReport {
        DaemonReport {
            log_lines_lost: (self.log_lines_lost)(),
            troubles: lock(&self.troubles).values().cloned().collect(),
            stolen_share: lock(&self.host).share(),
            backlog_drops: lock(&self.backlog).since_start(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data is consistent even if a thread panicked while holding the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frames dropped since boot by the backlogs of all cores, from `/proc/net/softnet_stat`. It has a line of hexadecimal
/// numbers for each core, the second of which counts drops.
fn dropped(text: &str) -> Option<u64> {
    text.lines().map(|line| u64::from_str_radix(line.split_ascii_whitespace().nth(1)?, 16).ok()).sum()
}

/// Frames dropped by the machine's backlogs, as last read.
#[derive(Debug, Default)]
struct Backlog {
    at_first: Option<u64>,
    last: u64,
}

impl Backlog {
    /// Returns whether these are the first drops since the daemon started.
    fn add(&mut self, total: u64) -> bool {
        let before = self.since_start();
        self.at_first.get_or_insert(total);
        self.last = total;
        before == 0 && self.since_start() > 0
    }

    fn since_start(&self) -> u64 {
        // A core that goes offline takes its counter with it.
        self.last.saturating_sub(self.at_first.unwrap_or(self.last))
    }
}

/// Processor time of all cores since boot, in ticks (proc_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    /// Time during which something ran on this machine.
    worked: u64,
    /// Time during which something would have run on this machine if the host had not been running another one.
    stolen: u64,
}

impl Ticks {
    fn parse(text: &str) -> Option<Ticks> {
        let mut words = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
        let fields: Vec<u64> = words.by_ref().map_while(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user time.
        let [user, nice, system, _idle, _iowait, irq, softirq, stolen] = *fields.first_chunk()?;
        Some(Ticks { worked: user + nice + system + irq + softirq, stolen })
    }
}

#[derive(Debug, PartialEq)]
enum Change {
    Starved(f64),
    Fine,
}

#[derive(Debug, Default)]
struct Host {
    past: VecDeque<(Instant, Ticks)>,
    starved: bool,
}

impl Host {
    fn add(&mut self, now: Instant, ticks: Ticks) -> Option<Change> {
        self.past.push_back((now, ticks));
        // The oldest sample kept is the youngest one beyond the window.
        while self.past.get(1).is_some_and(|(at, _)| now.saturating_duration_since(*at) >= STOLEN_WINDOW) {
            self.past.pop_front();
        }
        let share = self.share()?;
        if !self.starved && share >= STOLEN_WARN {
            self.starved = true;
            return Some(Change::Starved(share));
        }
        if self.starved && share <= STOLEN_FINE {
            self.starved = false;
            return Some(Change::Fine);
        }
        None
    }

    /// The share of the time with work to do on this machine that the host withheld.
    fn share(&self) -> Option<f64> {
        let ((_, first), (_, last)) = (self.past.front()?, self.past.back()?);
        let stolen = last.stolen.saturating_sub(first.stolen);
        let wanted = last.worked.saturating_sub(first.worked) + stolen;
        (wanted >= TICKS_MIN).then(|| stolen as f64 / wanted as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_as_the_kernel_writes_them() {
        let text = "cpu  87149 89115 28167 26625 1026 0 2171 206 7 7\ncpu0 1 2 3 4 5 6 7 8 0 0\n";
        assert_eq!(Ticks::parse(text), Some(Ticks { worked: 87_149 + 89_115 + 28_167 + 2_171, stolen: 206 }));
        assert_eq!((Ticks::parse("cpu  1 2 3\n"), Ticks::parse("")), (None, None));
    }

    #[test]
    fn a_host_that_starves_the_machine_is_told_once_and_when_it_is_over() {
        let start = Instant::now();
        let mut host = Host::default();
        let mut ticks = Ticks { worked: 1_000, stolen: 0 };
        let mut said = Vec::new();
        for second in 0..60 {
            ticks.worked += 50;
            ticks.stolen += if (20..30).contains(&second) { 10 } else { 0 };
            said.extend(host.add(start + Duration::from_secs(second), ticks));
        }
        assert!(matches!(said[..], [Change::Starved(share), Change::Fine] if share >= 0.05), "{said:?}");
        assert_eq!(host.share(), Some(0.0));
    }

    #[test]
    fn frames_that_the_backlog_dropped_are_counted_from_the_start_and_told_once() {
        let text = "152c9524 0000000a 00000117 0\n13ac1f5c 00000010 0000011f 0\n";
        assert_eq!((dropped(text), dropped("152c9524"), dropped("1 x")), (Some(26), None, None));
        let mut backlog = Backlog::default();
        let said: Vec<_> = [26, 26, 30, 31].map(|total| backlog.add(total)).into();
        assert_eq!((said, backlog.since_start()), (vec![false, false, true, false], 5));
    }

    #[test]
    fn troubles_come_and_go() {
        let health = DaemonHealth::new(|| 3);
        health.set(Part::State, Some("state: disk full".to_owned()));
        health.set(Part::Metrics, Some("metrics: taken".to_owned()));
        health.set(Part::Metrics, None);
        let report = health.report();
        assert_eq!((report.log_lines_lost, report.troubles), (3, vec!["state: disk full".to_owned()]));
    }
}
