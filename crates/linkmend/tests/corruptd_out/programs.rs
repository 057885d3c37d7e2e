//! corruptd with a link that corrupts frames, and a receiver of what it says.

use super::corruptd_source::Counting;
use super::program::PROGRAM;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// So much a machine may be delayed.
const PATIENCE: Duration = Duration::from_secs(90);

/// Waits until there is something.
pub fn wait<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waiting for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A folder with a key, in which everything is.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Place {
        let place = Place(tempfile::tempdir().expect("a folder"));
        std::fs::write(place.path("key"), format!("whsec_{}", "Zm9v".repeat(8))).expect("written");
        std::fs::set_permissions(place.path("key"), PermissionsExt::from_mode(0o600)).expect("ours");
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("UTF-8").to_owned()
    }

    /// The lines of a file that are complete.
    pub fn lines(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        let complete = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        complete.map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// Ends with this, by SIGKILL.
pub struct Program(pub Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Program {
    /// Asks it to stop, and says whether it ended well.
    pub fn stop(mut self) -> bool {
        let asked = Command::new("kill").arg(self.0.id().to_string()).status().expect("kill");
        assert!(asked.success());
        self.0.wait().expect("it ends").success()
    }
}

/// A corruptd that counts, with an audit file.
pub fn corruptd(place: &Place, counting: &Counting, more: &[&str]) -> Program {
    let mut command = Command::new(PROGRAM);
    command.args(["corruptd", "--agent", "leaf1", "--source", "prometheus", "--prometheus", &counting.url]);
    command.args(["--prometheus-queries", "linkmend", "--poll", "200ms", "--cable", "eth2=spine2/eth0"]);
    for (option, name) in [("--state", "state.json"), ("--control", "socket"), ("--audit", "audit")] {
        command.args([option, &place.text(name)]);
    }
    let log = std::fs::File::options().create(true).append(true).open(place.path("log")).expect("a file");
    let program = Program(command.args(more).stderr(log).spawn().expect("it starts"));
    wait("corruptd", || linkmend_monitor::daemon::ask(&place.path("socket")).ok());
    program
}

/// Starts the receiver, and gives its port. `port` may be 0.
pub fn receiver(place: &Place, port: u16, mode: &str) -> (Program, u16) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corruptd_out/receiver.py");
    set(place, mode);
    let mut command = Command::new("python3");
    command.arg("-B").arg(script).arg(port.to_string());
    command.args(["key", "mode", "record"].map(|name| place.path(name)));
    let mut child = command.stdout(Stdio::piped()).spawn().expect("python3");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it says its port");
    (Program(child), line.trim().parse().unwrap_or_else(|_| panic!("no port: {line}")))
}

/// How the receiver answers from now on.
pub fn set(place: &Place, mode: &str) {
    std::fs::write(place.path("new"), mode).expect("written");
    std::fs::rename(place.path("new"), place.path("mode")).expect("moved");
}
