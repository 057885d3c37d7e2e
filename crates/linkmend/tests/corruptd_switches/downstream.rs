//! A dirty link, and switches behind it that pass on what it corrupts.

use super::switches::{Process, free_port, is_installed, start_redis};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const COUNT_INTERVAL: Duration = Duration::from_millis(250);
const FRAMES: u64 = 1_000_000;

/// tor1 sends up through agg1, which is cut-through, to two switches.
const NETWORK: &str = "default_speed: 100G\nswitches:\n  - {name: tor1, layer: 0}\n  - {name: agg1, layer: 1}\n  \
    - {name: spine1, layer: 2}\n  - {name: spine2, layer: 2}\nlinks:\n  \
    - {from: tor1, to: agg1, from_port: Ethernet0, to_port: Ethernet0}\n  \
    - {from: agg1, to: spine1, from_port: Ethernet4, to_port: Ethernet0}\n  \
    - {from: agg1, to: spine2, from_port: Ethernet8, to_port: Ethernet0}\n";
const SWITCHES: [(&str, &[&str]); 4] = [
    ("tor1", &["Ethernet0"]),
    ("agg1", &["Ethernet0", "Ethernet4", "Ethernet8"]),
    ("spine1", &["Ethernet0"]),
    ("spine2", &["Ethernet0"]),
];

/// How many of a million frames arrive corrupted, by switch and port.
type Corrupting = Arc<Mutex<BTreeMap<(&'static str, &'static str), u64>>>;

struct Pod {
    folder: TempDir,
    corrupting: Corrupting,
    counted: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    counting: Option<JoinHandle<()>>,
    processes: Vec<Process>,
}

impl Pod {
    fn start() -> Pod {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("network.yaml"), NETWORK).expect("written");
        let bus = free_port();
        let mut pod = Pod {
            processes: vec![start_redis(bus, folder.path(), &[])],
            folder,
            corrupting: Arc::default(),
            counted: Arc::default(),
            stop: Arc::default(),
            counting: None,
        };
        let databases: Vec<u16> = SWITCHES.iter().map(|_| free_port()).collect();
        for &database in &databases {
            pod.processes.push(start_redis(database, pod.folder.path(), &[]));
        }
        pod.count(databases.clone());
        for ((switch, _), database) in SWITCHES.iter().zip(databases) {
            let daemon = pod.daemon(switch, database, bus);
            pod.processes.push(daemon);
        }
        pod
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn count(&mut self, databases: Vec<u16>) {
        let (corrupting, counted, stop) = (self.corrupting.clone(), self.counted.clone(), self.stop.clone());
        self.counting = Some(spawn(move || {
            let connect =
                |port| redis::Client::open(format!("redis://127.0.0.1:{port}/2")).expect("an address");
            let mut connections: Vec<redis::Connection> = databases
                .into_iter()
                .map(|port| connect(port).get_connection().expect("it listens"))
                .collect();
            while !stop.load(Ordering::Relaxed) {
                let now = corrupting.lock().expect("nobody panics with it").clone();
                for ((switch, ports), connection) in SWITCHES.into_iter().zip(&mut connections) {
                    let mut counters = redis::pipe();
                    for (number, &port) in ports.iter().enumerate() {
                        let object = format!("oid:0x{}", number + 1);
                        let bad = now.get(&(switch, port)).copied().unwrap_or_default();
                        let key = format!("COUNTERS:{object}");
                        counters.hset("COUNTERS_PORT_NAME_MAP", port, object).ignore();
                        counters.hincr(&key, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", FRAMES - bad).ignore();
                        counters.hincr(&key, "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", bad).ignore();
                    }
                    counters.exec(connection).expect("the switch's database answers");
                }
                counted.fetch_add(1, Ordering::Relaxed);
                sleep(COUNT_INTERVAL);
            }
        }));
    }

    fn daemon(&self, switch: &str, database: u16, bus: u16) -> Process {
        let (hook, told) = (self.path(&format!("hook-{switch}")), self.path("told"));
        let script =
            format!("#!/bin/sh\necho {switch} $LINKMEND_PORT $LINKMEND_ACTION >> {}\n", told.display());
        std::fs::write(&hook, script).expect("written");
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).expect("executable");
        let mut text = format!("agent = \"{switch}\"\nsource = \"sonic\"\npoll = \"250ms\"\n");
        writeln!(text, "cables-from = \"{}\"", self.path("network.yaml").display()).expect("a text");
        writeln!(text, "control = \"{}\"", self.path(&format!("socket-{switch}")).display()).expect("a text");
        write!(text, "[counters]\nsonic = \"redis://127.0.0.1:{database}\"\n").expect("a text");
        write!(text, "[bus]\nredis = [\"redis://127.0.0.1:{bus}\"]\n").expect("a text");
        write!(text, "[detection]\nhold-down = \"3s\"\n[protection]\nhook = \"{}\"\n", hook.display())
            .expect("a text");
        let config = self.path(&format!("config-{switch}"));
        std::fs::write(&config, text).expect("written");
        let log = std::fs::File::create(self.path(&format!("log-{switch}"))).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
        command.arg("corruptd").arg("--config").arg(config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Process(command.spawn().expect("it starts"))
    }

    fn corrupt(&self, ports: &[((&'static str, &'static str), u64)]) {
        *self.corrupting.lock().expect("nobody panics with it") = ports.iter().copied().collect();
    }

    /// What a switch's daemon says its first port is downstream of.
    fn downstream_of(&self, switch: &str) -> Option<String> {
        let status = linkmend_monitor::daemon::ask(&self.path(&format!("socket-{switch}"))).ok()?;
        let own = status.ports.into_iter().find(|port| port.port.agent() == switch)?;
        own.request?.downstream_of
    }

    /// Ports that protect what they send, by what their hooks were told last.
    fn protecting(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("told")).unwrap_or_default();
        let last: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.rsplit_once(' ')).collect();
        last.into_iter().filter(|(_, action)| *action == "protect").map(|(port, _)| port.to_owned()).collect()
    }

    fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            let log = |switch: &str| std::fs::read_to_string(self.path(&format!("log-{switch}")));
            let logs = || SWITCHES.map(|(switch, _)| log(switch).unwrap_or_default()).join("---\n");
            assert!(begun.elapsed() < PATIENCE, "{what} took too long\n{}", logs());
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(counting) = self.counting.take() {
            let _ = counting.join();
        }
    }
}

#[test]
fn daemons_protect_the_source_and_not_what_is_downstream_of_it() {
    if !is_installed() {
        return;
    }
    let pod = Pod::start();
    let dirty =
        [(("agg1", "Ethernet0"), 1_000), (("spine1", "Ethernet0"), 520), (("spine2", "Ethernet0"), 480)];
    pod.corrupt(&dirty);
    let victims = ["spine1", "spine2"];
    pod.wait_until("telling victims from the source", || {
        let source = |victim: &&str| pod.downstream_of(victim).is_some_and(|of| of.starts_with("tor1"));
        victims.iter().all(source) && pod.protecting() == ["tor1 Ethernet0"]
    });
    // It stays so while everything is counted on and on.
    let counted = pod.counted.load(Ordering::Relaxed);
    pod.wait_until("counting", || pod.counted.load(Ordering::Relaxed) > counted + 12);
    assert_eq!(pod.protecting(), ["tor1 Ethernet0"]);
    assert_eq!(pod.downstream_of("agg1"), None);

    // The link is repaired, and one behind it turns out to corrupt as well.
    pod.corrupt(&dirty[1..2]);
    pod.wait_until("protecting the other one", || {
        pod.downstream_of("spine1").is_none() && pod.protecting() == ["agg1 Ethernet4"]
    });
}
