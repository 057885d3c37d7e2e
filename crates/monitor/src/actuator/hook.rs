//! A command of the operator's, for everything that has no daemon of ours.

use super::{Actuator, End, Stop};
use crate::exchange::{Effect, Request};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The longest time that a command may take.
const TIME_MOST: Duration = Duration::from_secs(30);
/// How much longer it may take when the daemon stops.
const STOP_TIME_MOST: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// What is kept of what a command that failed has said: the end.
const SAID_BYTES_MOST: usize = 2_000;
/// How long its last words may take after it has ended. Programs that have left its process group may keep its output open.
const SAID_TIME_MOST: Duration = Duration::from_millis(200);

/// Runs a program with what is to be done in its environment: `LINKMEND_PORT`, `LINKMEND_ACTION` (`protect` or
/// `unprotect`), `LINKMEND_MODE`, `LINKMEND_LOSS_RATE`, `LINKMEND_TARGET`, `LINKMEND_COPIES`, `LINKMEND_DISABLE` (`yes` if
/// the link should be disabled), `LINKMEND_GENERATION`.
#[derive(Debug)]
pub struct Hook {
    program: PathBuf,
    stop: Stop,
}

impl Hook {
    /// Runs this program for each request.
    pub fn new(program: PathBuf, stop: Stop) -> Hook {
        Hook { program, stop }
    }

    fn command(&self, sender: &str, request: &Request) -> Command {
        let mut command = Command::new(&self.program);
        command.env("LINKMEND_PORT", sender);
        command.env("LINKMEND_GENERATION", request.generation.to_string());
        command.env("LINKMEND_DISABLE", if request.disable { "yes" } else { "no" });
        let action = if request.protection.is_some() { "protect" } else { "unprotect" };
        command.env("LINKMEND_ACTION", action);
        if let Some(protection) = request.protection {
            command.env("LINKMEND_MODE", protection.mode.to_string());
            command.env("LINKMEND_LOSS_RATE", format!("{:e}", protection.loss_rate));
            command.env("LINKMEND_TARGET", format!("{:e}", protection.target));
            command.env("LINKMEND_COPIES", protection.copies.to_string());
        }
        command
    }
}

impl Actuator for Hook {
    fn describe(&self) -> String {
        format!("the command {}", self.program.display())
    }

    fn apply(&mut self, sender: &str, _: End, request: &Request, again: bool) -> Result<Effect, String> {
        let done = if request.protection.is_some() { Effect::Active } else { Effect::Dormant };
        // A command cannot be asked how things are, and doing it twice may be wrong.
        if again {
            return Ok(done);
        }
        run(self.command(sender, request), &self.stop).map(|()| done)
    }

    fn observe(&mut self, _: &str) -> Result<Option<Effect>, String> {
        Ok(None)
    }
}

/// Why this program cannot be run, as far as that can be seen without running it. A name without a folder is looked for by the
/// system.
pub(crate) fn fault(program: &Path) -> Option<String> {
    if program.components().count() < 2 {
        return None;
    }
    match std::fs::metadata(program) {
        Err(error) => Some(error.to_string()),
        Ok(file) if !file.is_file() => Some("it is not a file".to_owned()),
        Ok(file) if file.permissions().mode() & 0o111 == 0 => Some("it is not executable".to_owned()),
        Ok(_) => None,
    }
}

/// Runs a command to its end, for at most 30 s, and for at most 5 s once `stop` is asked for. Whatever it has started and not
/// put into a process group of its own ends with it.
///
/// # Errors
/// What went wrong, for people.
pub(crate) fn run(mut command: Command, stop: &Stop) -> Result<(), String> {
    let program = command.get_program().display().to_string();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("cannot run {program}: {error}"))?;
    let said = child.stderr.take().map(listen);
    let ended = wait(&child, stop);
    // The number of the group is still its own: nobody has taken note of the end of its first process.
    if let Ok(group) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    let status = child.wait().map_err(|error| format!("{program}: {error}"))?;
    match ended.map_err(|error| format!("{program}: {error}"))? {
        Ended::Itself if status.success() => Ok(()),
        Ended::Itself => {
            let text = said.and_then(|said| said.recv_timeout(SAID_TIME_MOST).ok()).unwrap_or_default();
            Err(format!("{program} failed: {}", on_one_line(&text)))
        }
        Ended::Late => Err(format!("{program} took longer than {} s and was killed", TIME_MOST.as_secs())),
        Ended::Stopped => Err(format!(
            "{program} was killed because corruptd is stopping; it will be run again after the \
             next start"
        )),
    }
}

/// How a command came to its end.
enum Ended {
    Itself,
    Late,
    Stopped,
}

/// Waits until the command has ended, or has to be.
fn wait(child: &Child, stop: &Stop) -> nix::Result<Ended> {
    let process = Pid::from_raw(i32::try_from(child.id()).map_err(|_| nix::Error::ESRCH)?);
    let (started, mut stopping) = (Instant::now(), None);
    loop {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        if waitid(Id::Pid(process), flags)? != WaitStatus::StillAlive {
            return Ok(Ended::Itself);
        }
        if stop.is_asked_for() && stopping.get_or_insert_with(Instant::now).elapsed() > STOP_TIME_MOST {
            return Ok(Ended::Stopped);
        }
        if started.elapsed() > TIME_MOST {
            return Ok(Ended::Late);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Reads what a command writes to standard error, so that it never waits for a reader, and sends the end of it.
fn listen(mut output: ChildStderr) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    // Without a thread nobody hears what it says, and a command that says much is ended after its time.
    let _ = std::thread::Builder::new().name("hook".to_owned()).spawn(move || {
        let (mut kept, mut part) = (Vec::new(), [0; 4_096]);
        while let Ok(count @ 1..) = output.read(&mut part) {
            kept.extend_from_slice(&part[..count]);
            kept.drain(..kept.len().saturating_sub(SAID_BYTES_MOST));
        }
        let _ = sender.send(kept);
    });
    receiver
}

fn on_one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let text: Vec<&str> = text.split_whitespace().collect();
    if text.is_empty() { "it printed nothing".to_owned() } else { text.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Protection;
    use linkmend_control::ProtectMode;

    fn script(folder: &tempfile::TempDir, text: &str) -> Hook {
        let path = folder.path().join("hook.sh");
        // Were this process to write it, a child of another test could still have it open, and it could not be run (ETXTBSY).
        let mut writer = Command::new("sh");
        writer
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod +x \"$0\""])
            .arg(&path)
            .arg(text);
        assert!(writer.status().expect("there is a shell").success());
        Hook::new(path, Stop::default())
    }

    #[test]
    fn a_command_is_told_everything_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let text = format!(
            "echo $LINKMEND_ACTION $LINKMEND_PORT $LINKMEND_MODE $LINKMEND_COPIES $LINKMEND_LOSS_RATE >> {}",
            out.display()
        );
        let mut hook = script(&folder, &text);
        let protection =
            Protection { mode: ProtectMode::NonBlocking, loss_rate: 1e-3, target: 1e-8, copies: 2 };
        let request = Request { generation: 1, protection: Some(protection), ..Request::default() };
        assert_eq!(hook.apply("eth0", End::Sends, &request, false), Ok(Effect::Active));
        assert_eq!(hook.apply("eth0", End::Sends, &request, true), Ok(Effect::Active));
        let request = Request { generation: 2, ..Request::default() };
        assert_eq!(hook.apply("eth0", End::Sends, &request, false), Ok(Effect::Dormant));
        let said = std::fs::read_to_string(out).expect("it ran");
        assert_eq!(said, "protect eth0 non-blocking 2 1e-3\nunprotect eth0\n");
    }

    /// Whether a process is there, and not only its number until its parent takes note of its end.
    fn is_alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    }

    #[test]
    fn what_a_command_has_started_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let pids = folder.path().join("pids");
        let left = |end: &str| format!("sleep 60 & echo $! >> {}; {end}", pids.display());
        for (end, works) in [("exit 0", true), ("exit 3", false)] {
            let done = script(&folder, &left(end)).apply("eth0", End::Sends, &Request::default(), false);
            assert_eq!(done.is_ok(), works, "{done:?}");
        }
        // When the daemon stops, a command that does not end is ended with all that it has started.
        let mut hook = script(&folder, &left("sleep 60"));
        hook.stop.ask();
        let began = Instant::now();
        let error = hook.apply("eth0", End::Sends, &Request::default(), false).expect_err("it was ended");
        assert!(error.contains("because corruptd is stopping"), "{error}");
        assert!(began.elapsed() < TIME_MOST, "{:?}", began.elapsed());
        let pids = std::fs::read_to_string(pids).expect("they ran");
        assert_eq!(pids.lines().count(), 3);
        // A signal that was sent may still be on its way.
        let began = Instant::now();
        while pids.lines().any(is_alive) {
            assert!(began.elapsed() < Duration::from_secs(20), "{pids}");
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    #[test]
    fn a_command_that_cannot_be_run_is_known_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hook");
        assert!(fault(&path).is_some_and(|why| why.contains("No such file")));
        std::fs::write(&path, "#!/bin/sh\n").expect("written");
        assert_eq!(fault(&path).as_deref(), Some("it is not executable"));
        assert_eq!(fault(folder.path()).as_deref(), Some("it is not a file"));
        assert_eq!((fault(Path::new("/bin/sh")), fault(Path::new("sh"))), (None, None));
    }

    #[test]
    fn a_command_may_say_much() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut hook = script(&folder, "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 0");
        let began = Instant::now();
        assert_eq!(hook.apply("eth0", End::Sends, &Request::default(), false), Ok(Effect::Dormant));
        let mut hook = script(&folder, "head -c 300000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 3");
        let error = hook.apply("eth0", End::Sends, &Request::default(), false).expect_err("it failed");
        assert!(
            error.ends_with("xxx the end") || error.ends_with("xxxthe end"),
            "{}",
            &error[error.len() - 40..]
        );
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    }

    #[test]
    fn a_command_that_fails_says_why() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut hook = script(&folder, "echo no such port >&2; exit 3");
        let error = hook.apply("eth0", End::Sends, &Request::default(), false).expect_err("it failed");
        assert!(error.ends_with("hook.sh failed: no such port"), "{error}");
        let mut missing = Hook::new(folder.path().join("missing"), Stop::default());
        assert!(missing.apply("eth0", End::Sends, &Request::default(), false).is_err());
    }
}
