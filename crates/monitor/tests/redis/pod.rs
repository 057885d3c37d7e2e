//! Four switches whose ports count in databases like SONiC's, a daemon for each in this process, and a planner at the first of them.

use super::server::Server;
use linkmend_monitor::agent::AgentStatus;
use linkmend_monitor::config::MonitorConfig;
use linkmend_monitor::daemon::{Corruptd, ask};
use linkmend_monitor::detection::State;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SWITCHES: [&str; 4] = ["leaf1", "leaf2", "sp0", "sp1"];
pub const SPINES: [&str; 2] = ["sp0", "sp1"];
/// Both ends of each link, sorted.
pub const LINKS: [[&str; 2]; 4] = [
    ["leaf1/Ethernet0", "sp0/Ethernet0"],
    ["leaf1/Ethernet4", "sp1/Ethernet0"],
    ["leaf2/Ethernet0", "sp0/Ethernet4"],
    ["leaf2/Ethernet4", "sp1/Ethernet4"],
];
const NETWORK: &str = "default_speed: 100G\nswitches:\n  - {name: leaf1, layer: 0}\n  - {name: leaf2, layer: 0}\n  \
    - {name: sp0, layer: 1}\n  - {name: sp1, layer: 1}\nlinks:\n";
const COUNT_INTERVAL: Duration = Duration::from_millis(250);
const FRAMES: u64 = 1_000_000;
/// So many frames of those are corrupted at ports that corrupt.
const CORRUPTED: u64 = 10_000;

pub struct Pod {
    pub bus: Server,
    folder: TempDir,
    corrupting: Arc<Mutex<BTreeSet<String>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    /// Those of the switches.
    _databases: Vec<Server>,
}

/// Writes a program. Were this process to write it, a child of another test could still have it open (ETXTBSY).
fn write_program(path: &Path, text: &str) {
    let mut writer = Command::new("sh");
    writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""]).arg(path).arg(text);
    assert!(writer.status().expect("there is a shell").success());
}

/// The links that are disabled by what the program was told, and all that ever were.
fn disabled_in(folder: &Path) -> [BTreeSet<String>; 2] {
    let (mut now, mut ever) = (BTreeSet::new(), BTreeSet::new());
    for line in std::fs::read_to_string(folder.join("told")).unwrap_or_default().lines() {
        let (action, ports) = line.split_once(' ').expect("an action");
        match action {
            "disable" => _ = (now.insert(ports.to_owned()), ever.insert(ports.to_owned())),
            _ => _ = now.remove(ports),
        }
    }
    [now, ever]
}

impl Pod {
    pub fn start(bus: Server, per_hour: u32, has_keys: bool) -> Pod {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        let links = LINKS.iter().fold(String::new(), |mut text, ends| {
            let [from, to] = ends.map(|end| end.split_once('/').expect("a port"));
            let ports = format!("from_port: {}, to_port: {}", from.1, to.1);
            writeln!(text, "  - {{from: {}, to: {}, {ports}}}", from.0, to.0).expect("a text");
            text
        });
        std::fs::write(path.join("network.yaml"), format!("{NETWORK}{links}")).expect("written");
        std::fs::write(path.join("keys"), format!("* {}\n", "5a".repeat(32))).expect("written");
        std::fs::set_permissions(path.join("keys"), PermissionsExt::from_mode(0o600)).expect("it is ours");
        write_program(&path.join("protect"), "#!/bin/sh\n");
        let told = path.join("told");
        let script = format!("#!/bin/sh\necho $LINKMEND_ACTION $LINKMEND_PORTS >> {}\n", told.display());
        write_program(&path.join("disable"), &script);
        let databases: Vec<Server> = SWITCHES.iter().map(|_| Server::start(&[])).collect();
        let (stop, corrupting) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let mut pod = Pod { bus, folder, corrupting, stop, threads: Vec::new(), _databases: Vec::new() };
        pod.count(&databases);
        for (switch, database) in SWITCHES.iter().zip(&databases) {
            pod.run(switch, database, per_hour, has_keys);
        }
        pod._databases = databases;
        pod
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&mut self, switch: &str, database: &Server, per_hour: u32, has_keys: bool) {
        let folder = self.folder.path().display();
        let mut text = format!(
            "agent = \"{switch}\"\nsource = \"sonic\"\npoll = \"250ms\"\ncables-from = \"{folder}/network.yaml\"\n\
             control = \"{folder}/socket-{switch}\"\n[counters]\nsonic = \"{}\"\n[protection]\nhook = \"{folder}/protect\"\n\
             [detection]\nhold-down = \"3s\"\nactivate = 1e-5\nlink-up-hold-off = \"1s\"\nflap-half-life = \"1s\"\n\
             flap-memory = \"0s\"\n[bus]\nredis = [\"{}\"]\n",
            database.url(),
            self.bus.url(),
        );
        if has_keys {
            writeln!(text, "redis-keys = \"{folder}/keys\"").expect("a text");
        }
        let plans = switch == SWITCHES[0];
        if plans {
            write!(
                text,
                "[plan]\ntopology = \"{folder}/network.yaml\"\nconstraint = \"0%\"\ndisable-hook = \"{folder}/disable\"\n\
                 disable-after = \"1s\"\ndisables-per-hour = {per_hour}\ndisables-per-switch = 10\nstate = \"{folder}/plan.json\"\n"
            )
            .expect("a text");
        }
        let file = self.path(&format!("config-{switch}"));
        std::fs::write(&file, text).expect("written");
        let mut config = MonitorConfig::read(&file).expect("readable").resolve("host").expect("usable");
        if let Some(plan) = &mut config.plan {
            plan.guard.trial_after = Duration::from_secs(2);
            plan.guard.trial_longest = Duration::from_secs(4);
        }
        let stop = self.stop.clone();
        self.threads.push(spawn(move || {
            Corruptd::start(config).expect("it starts").run(|| stop.load(Ordering::Relaxed));
        }));
    }

    /// The switches count from now on. What is disabled is down.
    fn count(&mut self, databases: &[Server]) {
        let mut connections: Vec<redis::Connection> = databases.iter().map(Server::connect).collect();
        let (stop, corrupting, folder) =
            (self.stop.clone(), self.corrupting.clone(), self.folder.path().to_owned());
        self.threads.push(spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let [disabled, _] = disabled_in(&folder);
                let down: BTreeSet<&str> = disabled.iter().flat_map(|ports| ports.split(' ')).collect();
                let now = corrupting.lock().expect("no panic").clone();
                for (switch, connection) in SWITCHES.iter().zip(&mut connections) {
                    let mut counters = redis::pipe();
                    let ports = LINKS.iter().flatten().filter(|port| port.starts_with(&format!("{switch}/")));
                    for (number, port) in ports.enumerate() {
                        let (name, object) = (&port[switch.len() + 1..], format!("oid:0x{}", number + 1));
                        let key = format!("COUNTERS:{object}");
                        let is_down = down.contains(port);
                        let frames = if is_down { 0 } else { FRAMES };
                        let bad = if now.contains(*port) && !is_down { CORRUPTED } else { 0 };
                        counters.cmd("SELECT").arg(2).ignore();
                        counters.hset("COUNTERS_PORT_NAME_MAP", name, object).ignore();
                        counters.hincr(&key, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", frames - bad).ignore();
                        counters.hincr(&key, "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", bad).ignore();
                        counters.cmd("SELECT").arg(0).ignore();
                        let state = if is_down { "down" } else { "up" };
                        counters.hset(format!("PORT_TABLE:{name}"), "oper_status", state).ignore();
                    }
                    counters.exec(connection).expect("the switch's database answers");
                }
                sleep(COUNT_INTERVAL);
            }
        }));
    }

    pub fn corrupt(&self, ports: &[&str]) {
        *self.corrupting.lock().expect("no panic") = ports.iter().map(|port| (*port).to_owned()).collect();
    }

    /// Links that are disabled, by what the program was told last.
    pub fn disabled(&self) -> BTreeSet<String> {
        let [now, _] = disabled_in(self.folder.path());
        now
    }

    pub fn ever_disabled(&self) -> BTreeSet<String> {
        let [_, ever] = disabled_in(self.folder.path());
        ever
    }

    pub fn status(&self, switch: usize) -> Option<AgentStatus> {
        ask(&self.path(&format!("socket-{}", SWITCHES[switch]))).ok()
    }

    /// Whether all ports have been healthy for the hold-down.
    pub fn judged(&self) -> bool {
        let healthy = |switch| {
            let status = self.status(switch).unwrap_or_default();
            let own = status.ports.iter().filter(|port| port.state == Some(State::Healthy));
            own.count() == 2
        };
        (0..SWITCHES.len()).all(healthy)
    }

    pub fn wait_until(&self, patience: Duration, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            if begun.elapsed() > patience {
                let status: BTreeMap<&str, _> =
                    SWITCHES.iter().enumerate().map(|(at, name)| (*name, self.status(at))).collect();
                panic!(
                    "not so after {patience:?}: {what}\n{:?}\n{status:#?}",
                    disabled_in(self.folder.path())
                );
            }
            sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
