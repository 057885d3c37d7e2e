//! A `corruptd` that knows of corrupting links from before, and a network with them.

use super::program::PROGRAM;
use serde_json::Value;
use std::path::Path;

/// A `corruptd` that remembers these corrupting directions, and reads no counters; it ends with this.
pub struct Remembering {
    daemon: std::process::Child,
    pub socket: String,
}

impl Remembering {
    /// Nobody listens at port 1, so that it counts nothing.
    pub fn start(folder: &Path, directions: &Value, more: &[&str]) -> Remembering {
        Remembering::counting(folder, directions, "http://127.0.0.1:1", more)
    }

    pub fn counting(folder: &Path, directions: &Value, source: &str, more: &[&str]) -> Remembering {
        let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
        let (state, socket) = (path("state.json"), path("socket"));
        let memory = serde_json::json!({ "version": 1, "directions": directions });
        std::fs::write(&state, memory.to_string()).expect("written");
        let mut command = std::process::Command::new(PROGRAM);
        command.args(["corruptd", "--agent", "leaf1", "--state", &state, "--control", &socket]);
        command.args(["--source", "prometheus", "--prometheus", source, "--poll", "200ms"]).args(more);
        command.args(["--prometheus-queries", "linkmend", "--hold-down", "1s"]);
        let daemon = command.stderr(std::process::Stdio::null()).spawn().expect("it starts");
        let begun = std::time::Instant::now();
        while linkmend_monitor::daemon::ask(Path::new(&socket)).is_err() {
            assert!(begun.elapsed().as_secs() < 20, "it does not answer");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Remembering { daemon, socket }
    }
}

impl Drop for Remembering {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// A leaf with four spines, in a file.
pub fn network(folder: &Path) -> String {
    let path = folder.join("network.yaml");
    let spines: String = (1..=4).map(|spine| format!("  - {{name: spine{spine}, layer: 1}}\n")).collect();
    let links: String =
        (1..=4).map(|spine| format!("  - {{from: leaf1, to: spine{spine}, speed: 100G}}\n")).collect();
    let text = format!("switches:\n  - {{name: leaf1, layer: 0}}\n{spines}links:\n{links}");
    std::fs::write(&path, text).expect("written");
    path.to_str().expect("UTF-8").to_owned()
}

/// What the receiving end of a corrupting direction has asked for.
pub fn request(sender: &str, loss_rate: f64) -> Value {
    let protection =
        serde_json::json!({ "mode": "ordered", "loss-rate": loss_rate, "target": 1e-8, "copies": 2 });
    serde_json::json!({ "request": {
        "generation": 1, "protection": protection, "sender": sender, "disable": false, "reason": "a test"
    } })
}
