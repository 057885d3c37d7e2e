//! Processes that the lab started, identified by pid and start time, and ended within bounded time.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::sys;

/// How long a process may take to end after SIGTERM before it gets SIGKILL.
pub const TERMINATION_GRACE: Duration = Duration::from_secs(3);
/// How long the kernel may take to end a process after SIGKILL.
const KILL_GRACE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// A process the lab started inside one of its namespaces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrackedProcess {
    pub pid: u32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`); a reused pid has another one.
    pub start_ticks: u64,
    /// Program name, for messages.
    pub program: String,
}

impl TrackedProcess {
    /// Describes the running process `pid`; `None` if there is none.
    pub fn of(pid: u32, program: &str) -> Option<Self> {
        let stat = Stat::read(pid)?;
        Some(Self { pid, start_ticks: stat.start_ticks, program: program.to_owned() })
    }

    /// Whether this very process is still running. A zombie is not.
    pub fn is_running(&self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.start_ticks == self.start_ticks && !stat.ended)
    }
}

/// Processes whose main thread is in one of the network namespaces with these inode numbers, whoever started them,
/// except this process and its ancestors (such as a shell inside that takes its own laboratory down).
pub(crate) fn inside(namespaces: &[u64]) -> Vec<TrackedProcess> {
    let mut own = vec![std::process::id()];
    while let Some(stat) = own.last().and_then(|pid| Stat::read(*pid)).filter(|stat| stat.parent > 0) {
        own.push(stat.parent);
    }
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_inside = |pid: &u32| {
        let namespace = std::fs::metadata(format!("/proc/{pid}/ns/net")).map(|metadata| metadata.ino());
        namespace.is_ok_and(|inode| namespaces.contains(&inode))
    };
    pids.filter(|pid| !own.contains(pid))
        .filter(is_inside)
        .filter_map(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            TrackedProcess::of(pid, name.trim())
        })
        .filter(TrackedProcess::is_running)
        .collect()
}

/// A process that could not be ended.
#[derive(Debug)]
pub(crate) struct StillRunning {
    pub(crate) process: TrackedProcess,
    /// Why it could not be signalled; `None` if it was signalled without effect.
    pub(crate) source: Option<io::Error>,
}

/// Ends all of them together: with SIGTERM, then with SIGKILL those that still run after [`TERMINATION_GRACE`].
pub(crate) fn end_all(processes: &[TrackedProcess]) -> Result<(), StillRunning> {
    let mut running = Vec::new();
    for process in processes {
        // The handle is opened before the start time is compared, so the signal reaches the process that was compared.
        match sys::pidfd_open(process.pid) {
            Ok(handle) if process.is_running() => running.push((process, handle)),
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(StillRunning { process: process.clone(), source: Some(error) }),
        }
    }
    for (signal, grace) in [(libc::SIGTERM, TERMINATION_GRACE), (libc::SIGKILL, KILL_GRACE)] {
        for (process, handle) in &running {
            match sys::pidfd_signal(handle.as_fd(), signal) {
                Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
                    return Err(StillRunning { process: (*process).clone(), source: Some(error) });
                }
                _ => {}
            }
        }
        let end = Instant::now() + grace;
        while running.iter().any(|(process, _)| process.is_running()) && Instant::now() < end {
            std::thread::sleep(POLL);
        }
        running.retain(|(process, _)| process.is_running());
    }
    running
        .first()
        .map_or(Ok(()), |(process, _)| Err(StillRunning { process: (*process).clone(), source: None }))
}

struct Stat {
    parent: u32,
    start_ticks: u64,
    ended: bool,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The program name is in parentheses and may contain anything, including parentheses. The fields follow the last
    /// one.
    fn parse(text: &str) -> Option<Self> {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
        let parent = fields.get(1)?.parse().ok()?;
        let start_ticks = fields.get(19)?.parse().ok()?;
        Some(Self { parent, start_ticks, ended: matches!(*fields.first()?, "Z" | "X") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_hostile_program_name_does_not_confuse_the_fields() {
        let rest: Vec<String> = (4..30).map(|field| field.to_string()).collect();
        let stat = Stat::parse(&format!("7 (a) Z 1 (b)) S {}", rest.join(" "))).expect("it parses");
        assert_eq!((stat.parent, stat.start_ticks, stat.ended), (4, 22, false));
    }

    #[test]
    fn a_process_is_ended_and_one_with_another_start_time_is_not() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("sleep starts");
        let process = TrackedProcess::of(child.id(), "sleep").expect("it runs");
        let other = TrackedProcess { start_ticks: process.start_ticks + 1, ..process.clone() };
        assert!(!other.is_running());
        end_all(&[other]).expect("nothing to signal");
        assert!(process.is_running(), "a process with another start time was hit");
        end_all(std::slice::from_ref(&process)).expect("it may be signalled");
        assert!(!process.is_running());
        child.wait().expect("it is ours to wait for");
    }

    #[test]
    fn a_deaf_process_is_killed() {
        let deaf = "trap '' TERM; while :; do sleep 0.05; done";
        let mut child = Command::new("sh").args(["-c", deaf]).spawn().expect("sh starts");
        std::thread::sleep(Duration::from_millis(200));
        let process = TrackedProcess::of(child.id(), "sh").expect("it runs");
        end_all(&[process]).expect("it may be signalled");
        child.wait().expect("it is ours to wait for");
    }
}
