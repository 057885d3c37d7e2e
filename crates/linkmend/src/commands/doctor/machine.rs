//! What the kernel and the privileges of this process allow.

use super::Finding;
use super::Severity::{Note, Warning};
use super::wake_ups::{self, WakeUps};
use linkmend_dataplane::kernel_support;
use linkmend_linux::kernel_types::KernelTypes;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::thread;

/// The part of the processors' time whose loss delays frames noticeably.
const STEAL_MAX: f64 = 0.01;
/// Capabilities by their bits (`linux/capability.h`), and what each is for.
const CAPABILITIES: [(u8, &str, &str); 6] = [
    (12, "CAP_NET_ADMIN", "configuring interfaces and attaching programs"),
    (13, "CAP_NET_RAW", "AF_XDP and AF_PACKET sockets"),
    (39, "CAP_BPF", "loading the bypass"),
    (38, "CAP_PERFMON", "loading the bypass, and recognising it after a restart"),
    (14, "CAP_IPC_LOCK", "frame memory beyond the locked-memory limit"),
    (23, "CAP_SYS_NICE", "real-time priority"),
];

/// What was found out about the machine.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    pub(super) kernel: String,
    pub(super) architecture: &'static str,
    pub(super) processors: usize,
    pub(super) af_xdp: bool,
    /// Programs in traffic control (tcx).
    pub(super) traffic_control: bool,
    /// The kernel describes its types (BTF).
    pub(super) kernel_types: bool,
    /// TAP devices can be made.
    pub(super) tap: bool,
    pub(super) missing_capabilities: Vec<&'static str>,
    /// How late threads were woken; `None` if none could be started.
    pub(super) wake_ups: Option<WakeUps>,
    /// The part of the processors' time that the host took away meanwhile; `None` if the kernel does not say.
    pub(super) steal: Option<f64>,
}

/// Finds out, and what to change.
pub(super) fn examine(findings: &mut Vec<Finding>) -> Machine {
    let mut found = |severity, problem: String, remedy: &str| {
        findings.push(Finding::of_machine(severity, problem, remedy));
    };
    let missing = missing_capabilities();
    for (_, name, purpose) in CAPABILITIES.iter().filter(|(_, name, _)| missing.contains(name)) {
        found(Warning, format!("{name} is missing, for {purpose}"), "run as root, or with the systemd unit");
    }
    let af_xdp = kernel_support::af_xdp();
    if let Err(error) = &af_xdp {
        found(
            Warning,
            format!(
                "AF_XDP sockets cannot be opened ({error}), so ports are AF_PACKET: slower, and they do not fail open"
            ),
            "use a kernel with CONFIG_XDP_SOCKETS (Linux 5.4 or later)",
        );
    }
    let traffic_control = kernel_support::traffic_control();
    if let Err(error) = &traffic_control {
        found(
            Note,
            format!(
                "programs cannot be attached to traffic control ({error}): bursts on a dormant link may be lost, and `--offloads` cannot be used"
            ),
            "use Linux 6.6 or later",
        );
    }
    let kernel_types = KernelTypes::read().is_ok();
    if !kernel_types {
        found(
            Note,
            "the kernel does not describe its types: without CAP_SYS_ADMIN, the bypass is not recognised after a restart, and two links do not fail over while the daemon is dead".to_owned(),
            "use a kernel with CONFIG_DEBUG_INFO_BTF",
        );
    }
    let tap = fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun").is_ok();
    if !tap {
        found(
            Note,
            "/dev/net/tun cannot be opened, so `--offloads` cannot be used".to_owned(),
            "sudo modprobe tun",
        );
    }
    let before = processor_time();
    let wake_ups = wake_ups::observe();
    let steal = before.zip(processor_time()).and_then(|(before, after)| steal(before, after));
    if let Some(part) = steal.filter(|part| *part > STEAL_MAX) {
        found(
            Warning,
            format!("the host takes {:.0} % of the processors' time away, which delays frames", part * 100.0),
            "give the virtual machine processors of its own",
        );
    }
    let has_capability = !missing.contains(&"CAP_SYS_NICE");
    findings.extend(wake_ups.iter().flat_map(|wake_ups| wake_ups.findings(has_capability)));
    Machine {
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned()),
        architecture: std::env::consts::ARCH,
        processors: thread::available_parallelism().map_or(1, usize::from),
        af_xdp: af_xdp.is_ok(),
        traffic_control: traffic_control.is_ok(),
        kernel_types,
        tap,
        missing_capabilities: missing,
        wake_ups,
        steal,
    }
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn missing_capabilities() -> Vec<&'static str> {
    let status = read("/proc/thread-self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    CAPABILITIES.iter().filter(|(bit, ..)| effective & 1 << bit == 0).map(|(_, name, _)| *name).collect()
}

/// The part of the processors' time that was taken away between two readings.
fn steal(before: (u64, u64), after: (u64, u64)) -> Option<f64> {
    let all = after.0.saturating_sub(before.0);
    (all > 0).then(|| after.1.saturating_sub(before.1) as f64 / all as f64)
}

/// Ticks of all processors since the start, and those among them that the host took away (proc_stat(5)).
fn processor_time() -> Option<(u64, u64)> {
    let statistics = fs::read_to_string("/proc/stat").ok()?;
    parse_processor_time(statistics.lines().next()?)
}

fn parse_processor_time(line: &str) -> Option<(u64, u64)> {
    /// The last two of ten columns, guests' time, are part of others.
    const COLUMNS: usize = 8;
    let columns: Vec<u64> = line
        .strip_prefix("cpu ")?
        .split_whitespace()
        .take(COLUMNS)
        .filter_map(|text| text.parse().ok())
        .collect();
    (columns.len() == COLUMNS).then(|| (columns.iter().sum(), columns[COLUMNS - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_taken_away_is_the_eighth_column() {
        assert_eq!(parse_processor_time("cpu  1 2 3 4 5 6 7 80 9 10"), Some((108, 80)));
        assert_eq!(parse_processor_time("cpu  1 2 3 4 5 6 7"), None);
        assert_eq!(parse_processor_time("cpu0 1 2 3 4 5 6 7 8"), None);
    }
}
