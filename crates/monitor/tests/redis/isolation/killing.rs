//! The daemon with the plan is killed again and again, while it takes a link out of service, tries it and brings it back.

use super::super::switch::hash;
use crate::server::{Server, is_installed};
use linkmend_monitor::config::MonitorConfig;
use linkmend_monitor::daemon::{Corruptd, ask};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SWITCHES: [&str; 3] = ["leaf1", "sp0", "sp1"];
/// Each with its switch. The first two are the ends of the link that corrupts.
const PORTS: [(usize, &str); 4] = [(0, "Ethernet0"), (1, "Ethernet0"), (0, "Ethernet4"), (2, "Ethernet0")];
const NETWORK: &str = "default_speed: 100G\nswitches:\n  - {name: leaf1, layer: 0}\n  - {name: sp0, layer: 1}\n  \
    - {name: sp1, layer: 1}\nlinks:\n  - {from: leaf1, to: sp0, from_port: Ethernet0, to_port: Ethernet0}\n  \
    - {from: leaf1, to: sp1, from_port: Ethernet4, to_port: Ethernet0}\n";
const COUNT_INTERVAL: Duration = Duration::from_millis(250);
const FRAMES: u64 = 1_000_000;
const CORRUPTED: u64 = 10_000;
/// How long anything may take. It takes some ten seconds on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(120);
const CONFIG: &str = "LINKMEND_TEST_PLANNER";

/// The daemon of a switch; its links are tried after 2 s.
fn daemon(config: &Path) -> Corruptd {
    let mut config = MonitorConfig::read(config).expect("readable").resolve("host").expect("usable");
    if let Some(plan) = &mut config.plan {
        plan.guard.trial_after = Duration::from_secs(2);
        plan.guard.trial_longest = Duration::from_secs(4);
    }
    Corruptd::start(config).expect("it starts")
}

#[test]
#[ignore = "the process that the test below kills"]
fn planner_process() {
    if let Some(config) = std::env::var_os(CONFIG) {
        daemon(Path::new(&config)).run(|| false);
    }
}

struct World {
    databases: Vec<Server>,
    bus: Server,
    folder: TempDir,
    corrupts: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    planner: Option<Child>,
}

impl World {
    fn start() -> World {
        let databases: Vec<Server> = SWITCHES.iter().map(|_| Server::start(&[])).collect();
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("network.yaml"), NETWORK).expect("written");
        let mut world = World {
            databases,
            bus: Server::start(&[]),
            folder,
            corrupts: Arc::default(),
            stop: Arc::default(),
            threads: Vec::new(),
            planner: None,
        };
        for (switch, port) in PORTS {
            set_up(&world.databases[switch], port);
        }
        world.count();
        let configs: Vec<PathBuf> = (0..SWITCHES.len()).map(|switch| world.config(switch)).collect();
        for config in configs.into_iter().skip(1) {
            let stop = world.stop.clone();
            world.threads.push(spawn(move || daemon(&config).run(|| stop.load(Ordering::Relaxed))));
        }
        world.start_planner();
        world
    }

    fn config(&self, switch: usize) -> PathBuf {
        let (folder, name) = (self.folder.path().display(), SWITCHES[switch]);
        let mut text = format!(
            "agent = \"{name}\"\nsource = \"sonic\"\npoll = \"250ms\"\ncables-from = \"{folder}/network.yaml\"\n\
             control = \"{folder}/socket-{name}\"\naudit = \"{folder}/audit-{name}\"\n[counters]\nsonic = \"{}\"\n\
             [protection]\nhook = \"/bin/true\"\n[detection]\nhold-down = \"2s\"\nactivate = 1e-5\n\
             link-up-hold-off = \"1s\"\nflap-half-life = \"1s\"\nflap-memory = \"0s\"\n[bus]\nredis = [\"{}\"]\n",
            self.databases[switch].url(),
            self.bus.url(),
        );
        if switch == 0 {
            let databases: Vec<String> = SWITCHES
                .iter()
                .zip(&self.databases)
                .map(|(name, database)| format!("\"{name}={}\"", database.url()))
                .collect();
            write!(
                text,
                "[plan]\ntopology = \"{folder}/network.yaml\"\nconstraint = \"0%\"\ndisable-sonic = [{}]\n\
                 disable-after = \"1s\"\ndisables-per-hour = 5\nstate = \"{folder}/plan.json\"\n",
                databases.join(", ")
            )
            .expect("a text");
        }
        let file = self.folder.path().join(format!("config-{name}"));
        std::fs::write(&file, text).expect("written");
        file
    }

    fn start_planner(&mut self) {
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a log");
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--exact", "--ignored", "isolation::killing::planner_process"]);
        command.env(CONFIG, self.folder.path().join("config-leaf1"));
        command.stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        self.planner = Some(command.spawn().expect("it starts"));
    }

    fn kill_planner(&mut self) {
        if let Some(mut planner) = self.planner.take() {
            planner.kill().expect("it runs");
            planner.wait().expect("it ends");
        }
    }

    /// The switches count from now on, and carry frames where both ends of a link are up.
    fn count(&mut self) {
        let mut connections: Vec<redis::Connection> = self.databases.iter().map(Server::connect).collect();
        let (stop, corrupts) = (self.stop.clone(), self.corrupts.clone());
        self.threads.push(spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let up = PORTS.map(|(switch, port)| {
                    let mut read = redis::pipe();
                    read.cmd("SELECT").arg(4).ignore();
                    read.cmd("HGET").arg(format!("PORT|{port}")).arg("admin_status");
                    let [status]: [String; 1] = read.query(&mut connections[switch]).expect("a status");
                    status == "up"
                });
                for (at, (switch, port)) in PORTS.into_iter().enumerate() {
                    let is_up = up[at] && up[at ^ 1];
                    // Only what arrives at the spine is corrupted.
                    let bad = if at == 1 && corrupts.load(Ordering::Relaxed) { CORRUPTED } else { 0 };
                    count(&mut connections[switch], port, is_up, bad);
                }
                sleep(COUNT_INTERVAL);
            }
        }));
    }

    fn status(&self, at: usize) -> String {
        let (switch, port) = PORTS[at];
        hash(&self.databases[switch], 4, &format!("PORT|{port}"))["admin_status"].clone()
    }

    /// Whether both ends of the link that corrupts are down. No other link may ever be.
    fn is_down(&self) -> bool {
        assert_eq!([self.status(2), self.status(3)], ["up", "up"], "of the healthy link");
        [self.status(0), self.status(1)] == ["down", "down"]
    }

    fn wait(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            let read =
                |name: &str| std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
            assert!(
                begun.elapsed() < PATIENCE,
                "not {what}\n{}\n{}\n{:#?}",
                read("plan.json"),
                read("audit-leaf1"),
                ask(&self.folder.path().join("socket-leaf1"))
            );
            sleep(Duration::from_millis(5));
        }
    }

    /// It is killed, and another one started in its place.
    fn kill_when(&mut self, what: &str, is_so: impl Fn(&World) -> bool) {
        self.wait(what, || is_so(self));
        self.kill_planner();
        self.start_planner();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(mut planner) = self.planner.take() {
            let _ = planner.kill();
            let _ = planner.wait();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn set_up(database: &Server, port: &str) {
    let mut pipe = redis::pipe();
    pipe.cmd("SELECT").arg(4).ignore();
    pipe.hset(format!("PORT|{port}"), "admin_status", "up").ignore();
    pipe.exec(&mut database.connect()).expect("written");
}

fn count(connection: &mut redis::Connection, port: &str, is_up: bool, bad: u64) {
    let object = format!("oid:0x{}", port.trim_start_matches("Ethernet"));
    let key = format!("COUNTERS:{object}");
    let (frames, bad) = if is_up { (FRAMES, bad) } else { (0, 0) };
    let mut counters = redis::pipe();
    counters.cmd("SELECT").arg(2).ignore();
    counters.hset("COUNTERS_PORT_NAME_MAP", port, object).ignore();
    counters.hincr(&key, "SAI_PORT_STAT_IF_IN_UCAST_PKTS", frames - bad).ignore();
    counters.hincr(&key, "SAI_PORT_STAT_ETHER_STATS_CRC_ALIGN_ERRORS", bad).ignore();
    counters.cmd("SELECT").arg(0).ignore();
    counters.hset(format!("PORT_TABLE:{port}"), "oper_status", if is_up { "up" } else { "down" }).ignore();
    counters.exec(connection).expect("the switch's database answers");
}

/// Kills come right after a port has changed, and at moments that are drawn.
#[test]
fn whenever_it_is_killed_only_the_dirty_link_is_down_and_it_is_up_after_its_repair() {
    if !is_installed("whenever_it_is_killed_only_the_dirty_link_is_down_and_it_is_up_after_its_repair") {
        return;
    }
    let mut world = World::start();
    world.corrupts.store(true, Ordering::Relaxed);
    world.kill_when("down", |world| world.status(0) == "down");
    world.wait("down at both ends", || world.is_down());
    world.kill_when("on trial", |world| world.status(0) == "up");
    world.wait("down once more", || world.is_down());
    // A generator of Knuth's draws when to kill it.
    let mut drawn: u64 = 38;
    for _ in 0..5 {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Instant::now() + Duration::from_millis((drawn >> 33) % 4_000);
        world.kill_when("a moment that was drawn", |world| {
            world.is_down();
            Instant::now() >= moment
        });
    }
    world.wait("down at last", || world.is_down());
    world.corrupts.store(false, Ordering::Relaxed);
    world.kill_when("on trial after the repair", |world| world.status(0) == "up");
    world.wait("in operation, and forgotten", || {
        let plan = std::fs::read_to_string(world.folder.path().join("plan.json")).unwrap_or_default();
        !world.is_down() && plan.contains("\"disabled\":[]")
    });
    for (at, database) in world.databases.iter().enumerate() {
        let kept = hash(database, 6, "LINKMEND_DOWN");
        assert!(!kept.keys().any(|name| name.starts_with("Ethernet")), "{at}: {kept:?}");
    }
    assert_eq!([0, 1, 2, 3].map(|at| world.status(at)), ["up"; 4]);
    let audit = std::fs::read_to_string(world.folder.path().join("audit-leaf1")).expect("an audit");
    assert!(audit.contains("sp0/Ethernet0 was set to admin_status down"), "{audit}");
    assert!(audit.contains("leaf1/Ethernet0 was set to admin_status up"), "{audit}");
}
