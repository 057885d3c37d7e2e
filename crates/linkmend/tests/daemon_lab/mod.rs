//! Daemons between real interfaces, in two network namespaces of their own. Needs root and iproute2.

// Each test binary uses only a part of this module.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub const PATIENCE: Duration = Duration::from_secs(10);

/// Two namespaces joined by a cable `l0`, each with a host port on demand. Removed when dropped.
pub struct Lab {
    pub left: String,
    pub right: String,
    pub folder: tempfile::TempDir,
    /// Stands in for systemd.
    manager: UnixDatagram,
    pub managed: bool,
    /// A command under which `linkmend` runs.
    pub under: Vec<String>,
    pub daemons: Vec<Child>,
}

pub fn ip(arguments: &str) -> bool {
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    output.is_ok_and(|output| output.status.success())
}

impl Lab {
    /// `None`, with a message on standard error, if namespaces cannot be made.
    pub fn new(test: &str) -> Option<Lab> {
        let name = |side: &str| format!("lmtest-{}-{test}-{side}", std::process::id());
        let (left, right) = (name("a"), name("b"));
        if !ip(&format!("netns add {left}")) {
            // Written directly, because the test harness swallows what passing tests print.
            let _ = writeln!(
                std::io::stderr(),
                "\n######## SKIPPED: {test} needs root and iproute2: sudo -E make test ########\n"
            );
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let manager = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
        manager.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let lab =
            Lab { left, right, folder, manager, managed: false, under: Vec::new(), daemons: Vec::new() };
        assert!(ip(&format!("netns add {}", lab.right)));
        let (left, right) = (&lab.left, &lab.right);
        assert!(ip(&format!(
            "link add l0 mtu 1508 netns {left} type veth peer name l0 mtu 1508 netns {right}"
        )));
        for side in [left, right] {
            assert!(ip(&format!("-n {side} link set l0 up")));
        }
        Some(lab)
    }

    pub fn socket(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.sock"))
    }

    pub fn linkmend(&self, namespace: &str, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).args(&self.under).arg(env!("CARGO_BIN_EXE_linkmend"));
        command.args(arguments.split_whitespace()).env_remove("RUST_LOG");
        // Without a reader, a full socket would make the daemon wait.
        if self.managed {
            command.env("NOTIFY_SOCKET", self.folder.path().join("notify")).env("WATCHDOG_USEC", "300000");
        }
        command
    }

    /// The next message to systemd that is not `passed`.
    pub fn next_notification(&self, passed: &str) -> String {
        let mut bytes = [0; 256];
        loop {
            let length = self.manager.recv(&mut bytes).expect("a word");
            let word = String::from_utf8_lossy(&bytes[..length]).trim().to_owned();
            if word != passed {
                return word;
            }
        }
    }

    /// Starts a daemon with a host port `host` and waits until its control socket answers.
    pub fn start(&mut self, namespace: &str, name: &str, more: &str) -> usize {
        let log = fs::File::create(self.log(name)).expect("a log");
        self.start_with_log(namespace, name, more, log.into())
    }

    /// Like [`Lab::start`], with a log of its own.
    pub fn start_with_log(&mut self, namespace: &str, name: &str, more: &str, log: Stdio) -> usize {
        self.run(namespace, name, &format!("--inner create:host {more}"), log)
    }

    /// Like [`Lab::start`], between `l0` and an interface that exists.
    pub fn start_between(&mut self, namespace: &str, name: &str, inner: &str) -> usize {
        let log = fs::File::create(self.log(name)).expect("a log");
        self.run(namespace, name, &format!("--inner {inner}"), log.into())
    }

    /// Like [`Lab::start`], with the links of a configuration file.
    pub fn start_configured(&mut self, namespace: &str, name: &str, config: &str) -> usize {
        let path = self.folder.path().join(format!("{name}.toml"));
        fs::write(&path, config).expect("written");
        let log = fs::File::create(self.log(name)).expect("a log");
        self.spawn(namespace, name, &format!("--config {}", path.display()), log.into())
    }

    /// Starts a daemon with these arguments alone.
    pub fn start_alone(&mut self, namespace: &str, name: &str, arguments: &str) -> usize {
        let log = fs::File::create(self.log(name)).expect("a log");
        self.spawn(namespace, name, arguments, log.into())
    }

    fn run(&mut self, namespace: &str, name: &str, more: &str, log: Stdio) -> usize {
        self.spawn(namespace, name, &format!("--link l0 --name {name} {more}"), log)
    }

    fn spawn(&mut self, namespace: &str, name: &str, more: &str, log: Stdio) -> usize {
        let socket = self.socket(name);
        let arguments = format!("run --control {} {more}", socket.display());
        let child = self.linkmend(namespace, &arguments).stderr(log).stdout(Stdio::null()).spawn();
        self.daemons.push(child.expect("it starts"));
        let begun = Instant::now();
        while !socket.exists() {
            assert!(begun.elapsed() < PATIENCE, "{name} does not start: {}", self.read_log(name));
            std::thread::sleep(Duration::from_millis(20));
        }
        self.daemons.len() - 1
    }

    pub fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    pub fn read_log(&self, name: &str) -> String {
        fs::read_to_string(self.log(name)).unwrap_or_default()
    }

    pub fn stop(&mut self, daemon: usize, signal: &str) -> Option<i32> {
        let id = self.daemons[daemon].id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().is_ok_and(|status| status.success()));
        self.daemons[daemon].wait().expect("it ends").code()
    }

    pub fn ask(&self, arguments: &str) -> (i32, String, String) {
        outcome(self.linkmend(&self.left, arguments).output().expect("it starts"))
    }

    /// The exit code of a daemon that ends by itself.
    pub fn wait_for_end(&mut self, daemon: usize) -> Option<i32> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.daemons[daemon].try_wait().expect("it can be asked") {
                return status.code();
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// The status of a link of the left namespace, as text.
    pub fn status(&self, name: &str) -> String {
        let (code, out, err) = self.ask(&format!("status {name} --control {}", self.socket(name).display()));
        assert_eq!(code, 0, "{err}");
        out
    }

    /// Waits until the log of a daemon contains these words.
    pub fn wait_for_log(&self, name: &str, words: &str) {
        let begun = Instant::now();
        while !self.read_log(name).contains(words) {
            assert!(begun.elapsed() < PATIENCE, "`{words}` is not said: {}", self.read_log(name));
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Whether all of `count` pings are answered; if not, the output of `ping`.
    pub fn ping(&self, count: u32) -> Result<(), String> {
        self.ping_with(count, "")
    }

    /// Pings from the left host. ping itself waits for the last answers only for two of the longest round trips, which
    /// may be too short on a busy machine. What counts is whether all answers reach its namespace.
    pub fn ping_with(&self, count: u32, options: &str) -> Result<(), String> {
        let wanted = self.echo_replies() + u64::from(count);
        let said = ping(&self.left, count, options);
        if said.contains("duplicates") || !self.wait_for_replies(wanted) { Err(said) } else { Ok(()) }
    }

    /// Waits until so many answers to pings have reached the left host.
    pub fn wait_for_replies(&self, wanted: u64) -> bool {
        let until = Instant::now() + PATIENCE;
        while self.echo_replies() < wanted {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        true
    }

    /// Answers to pings that have reached the left host since its namespace was created.
    pub fn echo_replies(&self) -> u64 {
        let arguments = ["netns", "exec", &self.left, "cat", "/proc/net/snmp"];
        let output = Command::new("ip").args(arguments).output().expect("counters of the namespace");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let icmp: Vec<&str> = text.lines().filter(|line| line.starts_with("Icmp: ")).collect();
        let [names, values] = icmp[..] else { panic!("no counters of ICMP in {text}") };
        let at = names.split(' ').position(|name| name == "InEchoReps").expect("a counter of replies");
        values.split(' ').nth(at).and_then(|value| value.parse().ok()).expect("its value")
    }
}

/// What `ping` says that a host sends to the right one.
pub fn ping(namespace: &str, count: u32, options: &str) -> String {
    let ping = format!("netns exec {namespace} ping -q -i 0.002 -W 2 -c {count} {options} 10.99.0.2");
    let output = Command::new("ip").args(ping.split_whitespace()).output().expect("ping");
    [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat()
}

impl Drop for Lab {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        for namespace in [&self.left, &self.right] {
            ip(&format!("netns del {namespace}"));
        }
    }
}

/// A bridge in a namespace of its own, to which ports of the laboratory's namespaces lead. Removed when dropped.
pub struct Hub(String);

impl Hub {
    /// A bridge without ports.
    pub fn new(test: &str) -> Hub {
        let hub = Hub(format!("lmtest-{}-{test}-hub", std::process::id()));
        assert!(ip(&format!("netns add {}", hub.0)));
        assert!(ip(&format!("-n {} link add name bridge mtu 1508 type bridge mcast_snooping 0", hub.0)));
        assert!(ip(&format!("-n {} link set dev bridge up", hub.0)));
        hub
    }

    /// Another bridge beside it.
    pub fn add_bridge(&self, bridge: &str) {
        assert!(ip(&format!("-n {} link add name {bridge} mtu 1508 type bridge mcast_snooping 0", self.0)));
        assert!(ip(&format!("-n {} link set dev {bridge} up", self.0)));
    }

    /// Plugs the cable of an interface that is connected into one of the bridges.
    pub fn plug(&self, namespace: &str, interface: &str, bridge: &str) {
        assert!(ip(&format!("-n {} link set dev {} master {bridge}", self.0, at_hub(namespace, interface))));
    }

    /// Connects a new interface of a namespace.
    pub fn connect(&self, namespace: &str, interface: &str) {
        let (hub, at_hub) = (&self.0, at_hub(namespace, interface));
        let peer = format!("peer name {at_hub} mtu 1508 netns {hub}");
        assert!(ip(&format!("link add name {interface} mtu 1508 netns {namespace} type veth {peer}")));
        assert!(ip(&format!("-n {namespace} link set dev {interface} up")));
        assert!(ip(&format!("-n {hub} link set dev {at_hub} master bridge up")));
    }
}

/// The hub's end of a cable.
fn at_hub(namespace: &str, interface: &str) -> String {
    format!("{interface}-{}", &namespace[namespace.len() - 1..])
}

/// A network namespace, removed when dropped.
pub struct Namespace(pub String);

impl Namespace {
    pub fn new(name: &str) -> Namespace {
        let namespace = Namespace(format!("lmtest-{}-{name}", std::process::id()));
        assert!(ip(&format!("netns add {}", namespace.0)));
        namespace
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.0));
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        ip(&format!("netns del {}", self.0));
    }
}

pub fn outcome(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}
