//! A virtual machine that runs one kernel.

use linkmend_kernel_guest::archive::Archive;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

const EMULATOR: &str = "qemu-system-x86_64";
/// An instruction takes a nanosecond of the machine's time, and idle time passes at once. The machine's clock and random
/// numbers do not come from this one, so that each of its runs is the same, however busy this one is.
const DETERMINISM: [&str; 6] =
    ["-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01T00:00:00,clock=vm", "-seed", "1"];
const HARDWARE: [&str; 11] = [
    "-machine",
    "pc",
    "-cpu",
    "qemu64",
    "-m",
    "256",
    "-nodefaults",
    "-no-reboot",
    "-nographic",
    "-serial",
    "stdio",
];
/// One processor; messages of the kernel only if something is wrong; a panic ends the machine.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 reboot=t nokaslr tsc=reliable no_timer_check";
/// Seconds after which a machine is ended: it takes 40 on a processor that is otherwise idle.
const SECONDS_MAX: &str = "1200";
/// The status of `timeout` after that, and if it does not find the emulator.
const TIMED_OUT: i32 = 124;
const NOT_FOUND: i32 = 127;

/// Runs the kernel of this folder with the guest as its first process. Returns what its console has said.
///
/// # Errors
/// If the emulator cannot be run, or a file cannot be read or written, or the machine does not come to an end.
pub fn run(folder: &Path, guest: &Path) -> io::Result<String> {
    let archive = folder.join("initramfs");
    fs::write(&archive, first_file_system(&folder.join("modules"), guest)?)?;
    // In the foreground, so that Ctrl-C ends the machine, too.
    let output = Command::new("timeout")
        .args(["--foreground", SECONDS_MAX, EMULATOR])
        .args(DETERMINISM)
        .args(HARDWARE)
        .arg("-kernel")
        .arg(folder.join("vmlinuz"))
        .arg("-initrd")
        .arg(&archive)
        .args(["-append", KERNEL_ARGUMENTS])
        .output()
        .map_err(|error| io::Error::other(format!("cannot run timeout: {error}")))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    let failure = match output.status.code() {
        Some(0) => return Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Some(NOT_FOUND) => {
            format!("{EMULATOR} is missing; install it (apt-get install qemu-system-x86)")
        }
        Some(TIMED_OUT) => format!("{}: did not finish within {SECONDS_MAX} s", folder.display()),
        _ => format!("{EMULATOR} failed ({}): {}", output.status, messages.trim()),
    };
    Err(io::Error::other(failure))
}

/// The guest, the devices that it opens, and the kernel's modules.
fn first_file_system(modules: &Path, guest: &Path) -> io::Result<Vec<u8>> {
    let read = |path: &Path| {
        fs::read(path).map_err(|error| io::Error::other(format!("cannot read {}: {error}", path.display())))
    };
    let mut archive = Archive::default();
    for path in ["dev", "dev/net", "proc", "modules"] {
        archive.folder(path);
    }
    archive.device("dev/console", (5, 1));
    archive.device("dev/net/tun", (10, 200));
    archive.file("init", &read(guest)?);
    let mut paths = fs::read_dir(modules)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            archive.file(&format!("modules/{name}"), &read(&path)?);
        }
    }
    Ok(archive.finish())
}
