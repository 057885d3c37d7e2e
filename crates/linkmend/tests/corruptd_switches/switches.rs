//! Switches whose ports count in databases like SONiC's, their daemons, and the Redis between them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const SWITCHES: usize = 3;
/// Ports of each switch, half of which face each neighbour.
pub const PORTS: usize = 334;

const PROGRAM: &str = "redis-server";
/// How often the switches count, and how many frames each port receives meanwhile.
const COUNT_INTERVAL: Duration = Duration::from_millis(500);
const FRAMES: u64 = 100_000;
/// One frame of so many is corrupted, at ports that corrupt.
const CORRUPTED: u64 = 1_000;

/// Whether a Redis can be started here; says so if not.
pub fn is_installed() -> bool {
    let version = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let installed = version.is_ok_and(|status| status.success());
    if !installed {
        // Written past the harness, which keeps what passing tests print to itself.
        let text = format!(
            "\n######## SKIPPED: corruptd of three switches needs {PROGRAM}, which scripts/require test fetches ########\n"
        );
        std::io::stderr().write_all(text.as_bytes()).expect("stderr");
    }
    installed
}

/// A process that ends with this.
pub struct Process(pub Child);

impl Process {
    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.0.id().to_string()]).status();
        assert!(status.expect("kill is there").success(), "{signal}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port()
}

/// Writes a program. Were this process to write it, a child of another test could still have it open (ETXTBSY).
pub fn write_program(path: &Path, text: &str) {
    let mut writer = Command::new("sh");
    writer.args(["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""]).arg(path).arg(text);
    assert!(writer.status().expect("there is a shell").success());
}

/// A Redis with its files in this folder.
pub fn start_redis(port: u16, folder: &Path, options: &[&str]) -> Process {
    let mut command = Command::new(PROGRAM);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]).args(options);
    command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let process = Process(command.spawn().expect("it starts"));
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "the Redis at {port} does not listen");
        std::thread::sleep(Duration::from_millis(10));
    }
    process
}

fn port_name(switch: usize, port: usize) -> String {
    format!("s{switch}/Ethernet{}", port * 4)
}

/// All of it.
pub struct Network {
    folder: TempDir,
    bus_port: u16,
    bus: Option<Process>,
    daemons: Vec<Process>,
    /// By the receiving port, the one that sends.
    senders: BTreeMap<String, String>,
    corrupting: Arc<Mutex<BTreeSet<String>>>,
    counting: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    databases: Vec<(u16, Process)>,
}

impl Network {
    pub fn start() -> Network {
        let folder = tempfile::tempdir().expect("a folder");
        let half = PORTS / 2;
        let mut senders = BTreeMap::new();
        let mut cables = String::new();
        for (switch, port) in (0..SWITCHES).flat_map(|switch| (0..half).map(move |port| (switch, port))) {
            let (one, other) = (port_name(switch, half + port), port_name((switch + 1) % SWITCHES, port));
            write!(cables, "\"{one}={other}\",").expect("a text");
            senders.insert(one.clone(), other.clone());
            senders.insert(other, one);
        }
        let databases =
            (0..SWITCHES).map(|_| free_port()).map(|port| (port, start_redis(port, folder.path(), &[])));
        let mut network = Network {
            bus_port: free_port(),
            bus: None,
            daemons: Vec::new(),
            senders,
            corrupting: Arc::default(),
            counting: None,
            stop: Arc::default(),
            databases: databases.collect(),
            folder,
        };
        network.start_bus();
        network.count();
        for switch in 0..SWITCHES {
            network.configure(switch, &cables);
            let daemon = network.daemon(switch);
            network.daemons.push(daemon);
        }
        network
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The switches count from now on.
    fn count(&mut self) {
        let ports: Vec<u16> = self.databases.iter().map(|(port, _)| *port).collect();
        let (stop, corrupting) = (Arc::clone(&self.stop), Arc::clone(&self.corrupting));
        self.counting = Some(std::thread::spawn(move || {
            let mut connections: Vec<redis::Connection> = ports.iter().map(|port| connect(*port)).collect();
            while !stop.load(Ordering::Relaxed) {
                let corrupting = corrupting.lock().expect("nobody panics with it").clone();
                for (switch, connection) in connections.iter_mut().enumerate() {
                    let mut counters = redis::pipe();
                    for port in 0..PORTS {
                        let key = format!("COUNTERS:oid:0x{port:x}");
                        let bad = if corrupting.contains(&port_name(switch, port)) {
                            FRAMES / CORRUPTED
                        } else {
                            0
                        };
                        counters.hincr(&key, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", FRAMES - bad).ignore();
                        counters.hincr(&key, "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", bad).ignore();
                    }
                    counters.exec(connection).expect("the switch's database answers");
                }
                std::thread::sleep(COUNT_INTERVAL);
            }
        }));
    }

    fn configure(&self, switch: usize, cables: &str) {
        let hook = self.path(&format!("hook{switch}"));
        let told = self.path("told");
        let script = format!(
            "#!/bin/sh\necho \"s{switch}/$LINKMEND_PORT $LINKMEND_ACTION $LINKMEND_GENERATION\" >> {}\n",
            told.display()
        );
        std::fs::write(&hook, script).expect("written");
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("executable");
        let text = format!(
            "agent = \"s{switch}\"\nsource = \"sonic\"\npoll = \"500ms\"\ncable = [{cables}]\ncontrol = \"{}\"\n\
             audit = \"{}\"\n[counters]\nsonic = \"redis://127.0.0.1:{}\"\n[bus]\nredis = [\"redis://127.0.0.1:{}\"]\n\
             [detection]\nhold-down = \"5s\"\n[protection]\nhook = \"{}\"\n",
            self.path(&format!("socket{switch}")).display(),
            self.path(&format!("audit{switch}")).display(),
            self.databases[switch].0,
            self.bus_port,
            hook.display(),
        );
        std::fs::write(self.path(&format!("config{switch}")), text).expect("written");
    }

    fn daemon(&self, switch: usize) -> Process {
        let log =
            std::fs::OpenOptions::new().create(true).append(true).open(self.path(&format!("log{switch}")));
        let mut command = Command::new(env!("CARGO_BIN_EXE_linkmend"));
        command.arg("corruptd").arg("--config").arg(self.path(&format!("config{switch}")));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.expect("a log"));
        Process(command.spawn().expect("it starts"))
    }

    /// Ends a daemon at once, as a crash does, and starts it again.
    pub fn restart_daemon(&mut self, switch: usize) {
        self.daemons[switch].kill();
        self.daemons[switch] = self.daemon(switch);
    }

    pub fn start_bus(&mut self) {
        let folder = self.path("bus");
        std::fs::create_dir_all(&folder).expect("a folder");
        self.bus =
            Some(start_redis(self.bus_port, &folder, &["--appendonly", "yes", "--appendfsync", "always"]));
    }

    pub fn kill_bus(&mut self) {
        self.bus = None;
    }

    /// The server neither answers nor ends for this time.
    pub fn silence_bus(&self, time: Duration) {
        let bus = self.bus.as_ref().expect("it runs");
        bus.signal("-STOP");
        std::thread::sleep(time);
        bus.signal("-CONT");
    }

    /// That many more ports receive corrupted frames; their names.
    pub fn corrupt(&self, count: usize) -> BTreeSet<String> {
        let mut corrupting = self.corrupting.lock().expect("nobody panics with it");
        let more = self.senders.keys().step_by(7).filter(|port| !corrupting.contains(*port)).take(count);
        let more: BTreeSet<String> = more.cloned().collect();
        corrupting.extend(more.iter().cloned());
        more
    }

    pub fn repair(&self) {
        self.corrupting.lock().expect("nobody panics with it").clear();
    }

    /// What the hooks were told: port, action and generation.
    fn hooks(&self) -> Vec<(String, String, u64)> {
        let text = std::fs::read_to_string(self.path("told")).unwrap_or_default();
        let lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        lines
            .map(|words| (words[0].to_owned(), words[1].to_owned(), words[2].parse().expect("a generation")))
            .collect()
    }

    /// Ports that receive what is protected, by what the hooks of the sending ports were told last.
    pub fn protected(&self) -> BTreeSet<String> {
        let last: BTreeMap<String, String> =
            self.hooks().into_iter().map(|(sender, action, _)| (sender, action)).collect();
        let protecting = last.into_iter().filter(|(_, action)| action == "protect");
        // A port that sends to another is the one that this one sends to.
        protecting.map(|(sender, _)| self.senders[&sender].clone()).collect()
    }

    /// Which ports' hooks were told to do this, with which generations, sorted.
    pub fn told(&self, action: &str) -> Vec<(String, u64)> {
        let hooks = self.hooks().into_iter().filter(|(_, what, _)| what == action);
        let mut told: Vec<_> = hooks.map(|(port, _, generation)| (port, generation)).collect();
        told.sort();
        told
    }

    /// How many ports of its own a switch's daemon sees in a state; 0 if it does not answer.
    pub fn ports_in_state(&self, switch: usize, state: &str) -> usize {
        let Ok(status) = linkmend_monitor::daemon::ask(&self.path(&format!("socket{switch}"))) else {
            return 0;
        };
        status.ports.iter().filter(|port| port.state.is_some_and(|of| of.name() == state)).count()
    }

    /// What the daemons have logged.
    pub fn logs(&self) -> String {
        let log = |switch| std::fs::read_to_string(self.path(&format!("log{switch}"))).unwrap_or_default();
        (0..SWITCHES).map(|switch| format!("--- s{switch}\n{}", log(switch))).collect()
    }
}

fn connect(port: u16) -> redis::Connection {
    let client = redis::Client::open(format!("redis://127.0.0.1:{port}/2")).expect("an address");
    let mut connection = client.get_connection().expect("it listens");
    let mut names = redis::pipe();
    for port in 0..PORTS {
        names
            .hset("COUNTERS_PORT_NAME_MAP", format!("Ethernet{}", port * 4), format!("oid:0x{port:x}"))
            .ignore();
    }
    names.exec(&mut connection).expect("the switch's database answers");
    connection
}

impl Drop for Network {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(counting) = self.counting.take() {
            let _ = counting.join();
        }
    }
}
