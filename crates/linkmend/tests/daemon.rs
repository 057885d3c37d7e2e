//! `linkmend run` between real interfaces, in network namespaces of its own. Needs root and iproute2.

use std::fs;
use std::io::Write;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(10);
const NOBODY: u32 = 65_534;

/// Two namespaces joined by a cable `l0`, each with a host port on demand. Removed when dropped.
struct Lab {
    left: String,
    right: String,
    folder: tempfile::TempDir,
    /// What the daemons take for systemd.
    manager: UnixDatagram,
    managed: bool,
    daemons: Vec<Child>,
}

fn ip(arguments: &str) -> bool {
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    output.is_ok_and(|output| output.status.success())
}

impl Lab {
    /// `None`, and a loud word, where namespaces cannot be made.
    fn new(test: &str) -> Option<Lab> {
        let name = |side: &str| format!("lmtest-{}-{test}-{side}", std::process::id());
        let (left, right) = (name("a"), name("b"));
        if !ip(&format!("netns add {left}")) {
            // Past the test harness, which swallows what passing tests print.
            let _ = writeln!(
                std::io::stderr(),
                "\n######## SKIPPED: {test} needs root and iproute2: sudo -E make test ########\n"
            );
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let manager = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
        manager.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let lab = Lab { left, right, folder, manager, managed: false, daemons: Vec::new() };
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

    fn socket(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.sock"))
    }

    fn linkmend(&self, namespace: &str, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, env!("CARGO_BIN_EXE_linkmend")]);
        command.args(arguments.split_whitespace()).env_remove("RUST_LOG");
        // Not otherwise: nobody would read, and a full socket makes the daemon wait.
        if self.managed {
            command.env("NOTIFY_SOCKET", self.folder.path().join("notify")).env("WATCHDOG_USEC", "300000");
        }
        command
    }

    /// The next word to systemd, but for `passed`.
    fn told(&self, passed: &str) -> String {
        let mut bytes = [0; 256];
        loop {
            let length = self.manager.recv(&mut bytes).expect("a word");
            let word = String::from_utf8_lossy(&bytes[..length]).trim().to_owned();
            if word != passed {
                return word;
            }
        }
    }

    /// Starts a daemon with a host port `host` and waits until it can be asked.
    fn start(&mut self, namespace: &str, name: &str, more: &str) -> usize {
        let socket = self.socket(name);
        let arguments =
            format!("run --inner create:host --link l0 --name {name} --control {} {more}", socket.display());
        let log = fs::File::create(self.log(name)).expect("a log");
        let child = self.linkmend(namespace, &arguments).stderr(log).stdout(Stdio::null()).spawn();
        self.daemons.push(child.expect("it starts"));
        let begun = Instant::now();
        while !socket.exists() {
            assert!(begun.elapsed() < PATIENCE, "{name} does not start: {}", self.read_log(name));
            std::thread::sleep(Duration::from_millis(20));
        }
        self.daemons.len() - 1
    }

    fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    fn read_log(&self, name: &str) -> String {
        fs::read_to_string(self.log(name)).unwrap_or_default()
    }

    fn stop(&mut self, daemon: usize, signal: &str) -> Option<i32> {
        let id = self.daemons[daemon].id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().is_ok_and(|status| status.success()));
        self.daemons[daemon].wait().expect("it ends").code()
    }

    fn ask(&self, arguments: &str) -> (i32, String, String) {
        outcome(self.linkmend(&self.left, arguments).output().expect("it starts"))
    }

    /// Whether all of so many pings are answered; what `ping` said if not.
    fn ping(&self, count: u32) -> Result<(), String> {
        let mut command = Command::new("ip");
        let ping = format!("netns exec {} ping -q -i 0.002 -W 2 -c {count} 10.99.0.2", self.left);
        let output = command.args(ping.split_whitespace()).output().expect("ping");
        let said =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        if said.contains(" 0% packet loss") { Ok(()) } else { Err(said) }
    }
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

fn outcome(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

fn count(folder: &Path, extension: &str) -> usize {
    let entries = fs::read_dir(folder).expect("it exists").flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|found| found == extension)).count()
}

#[test]
fn two_ends_hide_the_loss_and_leave_nothing_behind() {
    let Some(mut lab) = Lab::new("ends") else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    let a = lab.start(&left, "left", "--allow-corruption");
    let b = lab.start(&right, "right", "--allow-corruption");
    assert!(ip(&format!("-n {left} addr add 10.99.0.1/24 dev host")));
    assert!(ip(&format!("-n {right} addr add 10.99.0.2/24 dev host")));
    for name in ["left", "right"] {
        // Frames that the link corrupts before it is protected are lost.
        let waited = std::time::Instant::now();
        while !lab.read_log(name).contains("protection is active") && waited.elapsed().as_secs() < 5 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    for name in ["left", "right"] {
        let (code, out, err) =
            lab.ask(&format!("corrupt {name} 5% --control {}", lab.socket(name).display()));
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
    }
    lab.ping(500).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
    let (_, status, _) = lab.ask(&format!("status left --control {}", lab.socket("left").display()));
    assert!(status.contains("loss after   none of"), "{status}");
    assert_eq!((lab.stop(a, "-TERM"), lab.stop(b, "-INT")), (Some(0), Some(0)), "{}", lab.read_log("left"));
    assert!(!ip(&format!("-n {left} link show host")), "the host port is removed");
    let folder = lab.folder.path();
    assert_eq!((count(folder, "sock"), count(folder, "lock")), (0, 0), "so are the sockets");
}

#[test]
fn a_second_daemon_is_refused_and_a_crash_is_recovered_from() {
    let Some(mut lab) = Lab::new("second") else { return };
    let left = lab.left.clone();
    let first = lab.start(&left, "left", "");
    let control = lab.socket("left").display().to_string();
    let (code, _, err) =
        lab.ask(&format!("run --inner create:host --link l0 --name left --control {control}"));
    assert_eq!(code, 1);
    assert!(err.contains("another daemon is running there\nhint: "), "{err}");
    let other = lab.socket("other").display().to_string();
    let (code, _, err) = lab.ask(&format!("run --inner create:host --link l0 --name left --control {other}"));
    assert_eq!(code, 1);
    assert!(err.contains("already served by another Linkmend process\nhint: "), "{err}");
    let (code, _, err) =
        lab.ask(&format!("run --inner create:host --link l0 --name alien --control {other}"));
    assert_eq!(code, 1);
    assert!(err.contains("`host` exists and was not made by Linkmend for this link"), "{err}");
    assert!(ip(&format!("-n {left} addr add 10.99.0.1/24 dev host")));
    lab.stop(first, "-KILL");
    fs::remove_file(lab.socket("left")).expect("it was left behind");
    let again = lab.start(&left, "left", "");
    assert!(lab.read_log("left").contains("host port host found again"), "{}", lab.read_log("left"));
    assert_eq!(lab.stop(again, "-TERM"), Some(0));
}

#[test]
fn the_service_manager_is_told() {
    let Some(mut lab) = Lab::new("notify") else { return };
    lab.managed = true;
    let left = lab.left.clone();
    let daemon = lab.start(&left, "left", "");
    assert_eq!(lab.told(""), "READY=1");
    assert_eq!((lab.told(""), lab.told("")), ("WATCHDOG=1".to_owned(), "WATCHDOG=1".to_owned()));
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
    assert_eq!(lab.told("WATCHDOG=1"), "STOPPING=1");
}

#[test]
fn wrong_interfaces_are_refused_with_the_command_that_helps() {
    let Some(lab) = Lab::new("wrong") else { return };
    let left = &lab.left;
    assert!(ip(&format!("-n {left} link add i0 mtu 1508 type veth peer name i1")));
    let control = lab.socket("left").display().to_string();
    let run = || lab.ask(&format!("run --inner i0 --link l0 --control {control}"));
    let (code, _, err) = run();
    assert_eq!(code, 1);
    assert!(err.contains("`i0` is down\nhint: bring it up with `ip link set dev i0 up`"), "{err}");
    assert!(ip(&format!("-n {left} link set i0 up")));
    let (_, _, err) = run();
    assert!(err.contains("`l0` has MTU 1508, but frames of `i0` (MTU 1508) need 1516"), "{err}");
    assert!(err.contains("hint: `ip link set dev l0 mtu 1516`"), "{err}");
    let (_, _, err) = lab.ask(&format!("run --inner lo --link l0 --control {control}"));
    assert!(err.contains("`lo` is not an Ethernet interface"), "{err}");
}

#[test]
fn without_privileges_there_is_a_hint() {
    let Some(lab) = Lab::new("nobody") else { return };
    // The binary may stand where nobody else can read it.
    let folder = tempfile::tempdir_in("/tmp").expect("a folder");
    let binary = folder.path().join("linkmend");
    fs::copy(env!("CARGO_BIN_EXE_linkmend"), &binary).expect("a copy");
    let open = std::os::unix::fs::PermissionsExt::from_mode;
    fs::set_permissions(folder.path(), open(0o777)).expect("ours");
    let control = folder.path().join("c.sock");
    let arguments = format!("--inner create:host --link l0 --control {}", control.display());
    let line = format!(
        "exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups {} run {arguments}",
        binary.display()
    );
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &lab.left, "sh", "-c", &line]).process_group(0);
    let (code, _, err) = outcome(command.output().expect("it starts"));
    assert_eq!(code, 1, "{err}");
    assert!(
        err.contains("Operation not permitted")
            && err.contains("hint: making interfaces needs CAP_NET_ADMIN"),
        "{err}"
    );
    assert!(!control.exists(), "nothing is left behind");
}
