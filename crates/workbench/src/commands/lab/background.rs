//! Processes of a lab that go on after the command that starts them.

use linkmend::failure::{Context, Plain, Result};
use linkmend::written_file;
use linkmend_control::CONTROL_FOLDER;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time between two checks whether a process is ready.
const POLL: Duration = Duration::from_millis(20);

/// This program with other arguments, and its messages in a log.
///
/// # Errors
/// If the log cannot be written.
pub fn command(log: &Path) -> Result<Command> {
    std::fs::create_dir_all(CONTROL_FOLDER).with_context(|| format!("cannot create {CONTROL_FOLDER}"))?;
    let log = written_file::create_private(log)?;
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Ok(command)
}

/// Waits until `what` is ready.
///
/// # Errors
/// What it wrote to its log, if it ends or takes too long.
pub fn wait_for_start(
    mut child: Child,
    what: &str,
    log: &Path,
    timeout: Duration,
    is_ready: impl Fn() -> bool,
) -> Result<()> {
    let deadline = Instant::now() + timeout;
    while !is_ready() {
        let ended = child.try_wait().with_context(|| format!("cannot monitor {what}"))?.is_some();
        if ended || Instant::now() > deadline {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            return Err(Plain(format!("{what} did not start: {}", said.trim_end())).into());
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}
