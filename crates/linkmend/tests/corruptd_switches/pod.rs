//! Switches of a small network whose ports count in databases like SONiC's, and a daemon for each.

use super::switches::{Process, free_port, start_redis, write_program};
use linkmend_monitor::agent::AgentStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);
const COUNT_INTERVAL: Duration = Duration::from_millis(250);
const FRAMES: u64 = 1_000_000;

/// How many of a million frames arrive corrupted, by switch and port.
type Corrupting = Arc<Mutex<BTreeMap<(&'static str, &'static str), u64>>>;
type Ports = Arc<Mutex<BTreeSet<(&'static str, &'static str)>>>;

/// Switches with their ports, and what else the configuration of each has.
pub struct Layout {
    pub network: &'static str,
    pub switches: &'static [(&'static str, &'static [&'static str])],
    pub more: fn(&Path, &str) -> String,
}

pub struct Pod {
    layout: Layout,
    folder: TempDir,
    corrupting: Corrupting,
    flapping: Ports,
    pub counted: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    counting: Option<JoinHandle<()>>,
    processes: Vec<Process>,
}

impl Pod {
    pub fn start(layout: Layout) -> Pod {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("network.yaml"), layout.network).expect("written");
        let bus = free_port();
        let mut pod = Pod {
            processes: vec![start_redis(bus, folder.path(), &[])],
            layout,
            folder,
            corrupting: Arc::default(),
            flapping: Arc::default(),
            counted: Arc::default(),
            stop: Arc::default(),
            counting: None,
        };
        let databases: Vec<u16> = pod.layout.switches.iter().map(|_| free_port()).collect();
        for &database in &databases {
            pod.processes.push(start_redis(database, pod.folder.path(), &[]));
        }
        pod.count(databases.clone());
        for (&(switch, _), database) in pod.layout.switches.iter().zip(databases) {
            let daemon = pod.daemon(switch, database, bus);
            pod.processes.push(daemon);
        }
        pod
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn count(&mut self, databases: Vec<u16>) {
        let (corrupting, counted, stop) = (self.corrupting.clone(), self.counted.clone(), self.stop.clone());
        let (flapping, switches) = (self.flapping.clone(), self.layout.switches);
        self.counting = Some(spawn(move || {
            let connect =
                |port| redis::Client::open(format!("redis://127.0.0.1:{port}/2")).expect("an address");
            let mut connections: Vec<redis::Connection> = databases
                .into_iter()
                .map(|port| connect(port).get_connection().expect("it listens"))
                .collect();
            while !stop.load(Ordering::Relaxed) {
                let now = corrupting.lock().expect("nobody panics with it").clone();
                let flapping = flapping.lock().expect("nobody panics with it").clone();
                let round = counted.load(Ordering::Relaxed);
                for (&(switch, ports), connection) in switches.iter().zip(&mut connections) {
                    let mut counters = redis::pipe();
                    for (number, &port) in ports.iter().enumerate() {
                        let object = format!("oid:0x{}", number + 1);
                        let bad = now.get(&(switch, port)).copied().unwrap_or_default();
                        let key = format!("COUNTERS:{object}");
                        counters.hset("COUNTERS_PORT_NAME_MAP", port, object).ignore();
                        counters.hincr(&key, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", FRAMES - bad).ignore();
                        counters.hincr(&key, "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", bad).ignore();
                    }
                    counters.cmd("SELECT").arg(0).ignore();
                    for &port in ports {
                        // Two seconds up and one down.
                        let is_down = flapping.contains(&(switch, port)) && round % 12 < 4;
                        let state = if is_down { "down" } else { "up" };
                        counters.hset(format!("PORT_TABLE:{port}"), "oper_status", state).ignore();
                    }
                    counters.cmd("SELECT").arg(2).ignore();
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
        write_program(&hook, &script);
        let mut text = format!("agent = \"{switch}\"\nsource = \"sonic\"\npoll = \"250ms\"\n");
        writeln!(text, "cables-from = \"{}\"", self.path("network.yaml").display()).expect("a text");
        writeln!(text, "control = \"{}\"", self.path(&format!("socket-{switch}")).display()).expect("a text");
        write!(text, "[counters]\nsonic = \"redis://127.0.0.1:{database}\"\n").expect("a text");
        text += &(self.layout.more)(self.folder.path(), switch);
        write!(text, "[bus]\nredis = [\"redis://127.0.0.1:{bus}\"]\n").expect("a text");
        write!(text, "[detection]\nhold-down = \"3s\"\nlink-up-hold-off = \"3s\"\nflap-half-life = \"2s\"\n[protection]\nhook = \"{}\"\n", hook.display())
            .expect("a text");
        let config = self.path(&format!("config-{switch}"));
        std::fs::write(&config, text).expect("written");
        let log = std::fs::File::create(self.path(&format!("log-{switch}"))).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
        command.arg("corruptd").arg("--config").arg(config);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Process(command.spawn().expect("it starts"))
    }

    pub fn corrupt(&self, ports: &[((&'static str, &'static str), u64)]) {
        *self.corrupting.lock().expect("nobody panics with it") = ports.iter().copied().collect();
    }

    pub fn flap(&self, ports: &[(&'static str, &'static str)]) {
        *self.flapping.lock().expect("nobody panics with it") = ports.iter().copied().collect();
    }

    pub fn status(&self, switch: &str) -> Option<AgentStatus> {
        linkmend_monitor::daemon::ask(&self.path(&format!("socket-{switch}"))).ok()
    }

    /// What a switch's daemon says its first port is downstream of.
    pub fn downstream_of(&self, switch: &str) -> Option<String> {
        let own = self.status(switch)?.ports.into_iter().find(|port| port.port.agent() == switch)?;
        own.request?.downstream_of
    }

    /// Ports that protect what they send, by what their hooks were told last.
    pub fn protecting(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path("told")).unwrap_or_default();
        let last: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.rsplit_once(' ')).collect();
        last.into_iter().filter(|(_, action)| *action == "protect").map(|(port, _)| port.to_owned()).collect()
    }

    pub fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            let log = |switch: &str| std::fs::read_to_string(self.path(&format!("log-{switch}")));
            let switches = self.layout.switches.iter();
            let logs = || switches.map(|(switch, _)| log(switch).unwrap_or_default()).collect::<Vec<_>>();
            assert!(begun.elapsed() < PATIENCE, "{what} took too long\n{}", logs().join("---\n"));
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
