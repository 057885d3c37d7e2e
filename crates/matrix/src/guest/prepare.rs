//! Prepares the machine: file systems, modules, settings. Measures its processor.

use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::termios::{self, SetArg};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Folders that the first file system must have, with what is mounted there.
pub const MOUNTS: [(&str, &str); 5] =
    [("proc", "proc"), ("sys", "sysfs"), ("dev", "devtmpfs"), ("run", "tmpfs"), ("tmp", "tmpfs")];
/// Folder with the kernel's modules.
pub const MODULES: &str = "modules";
/// What the kernel says by itself would be frames of nobody's.
const SETTINGS: [(&str, &str); 2] =
    [("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"), ("/proc/sys/net/core/bpf_jit_enable", "1")];

/// Mounts, loads and sets everything. Returns what the machine has to do without.
pub fn machine() -> io::Result<Vec<String>> {
    for (folder, kind) in MOUNTS {
        mount(Some(kind), &*format!("/{folder}"), Some(kind), MsFlags::empty(), None::<&Path>)?;
    }
    let mut problems = Vec::new();
    let mut paths = fs::read_dir(format!("/{MODULES}"))?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if let Err(error) = finit_module(File::open(&path)?, c"", ModuleInitFlags::empty()) {
            problems.push(format!("{}: {error}", path.display()));
        }
    }
    for (name, value) in SETTINGS {
        if let Err(error) = fs::write(name, value) {
            problems.push(format!("{name}: {error}"));
        }
    }
    Ok(problems)
}

/// Passes every byte of the serial port as it is.
pub fn make_raw(port: &File) -> io::Result<()> {
    let mut settings = termios::tcgetattr(port)?;
    termios::cfmakeraw(&mut settings);
    Ok(termios::tcsetattr(port, SetArg::TCSANOW, &settings)?)
}

/// How long the processor has not been idle.
pub fn busy_ns() -> io::Result<u64> {
    /// user, nice, system, idle, iowait; then interrupts, which are busy, too.
    const IDLE: [usize; 2] = [3, 4];
    const NS_A_TICK: u64 = 10_000_000;
    let text = fs::read_to_string("/proc/stat")?;
    let fields = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks = fields.enumerate().filter(|(place, _)| !IDLE.contains(place));
    Ok(ticks.filter_map(|(_, ticks)| ticks.parse::<u64>().ok()).sum::<u64>() * NS_A_TICK)
}

/// Ends the machine.
pub fn power_off() -> ! {
    let Err(error) = reboot(RebootMode::RB_AUTOBOOT);
    panic!("cannot restart: {error}");
}
