//! Two machines at the ends of two cables, a host behind each of them, and a server that both reach over another network:
//! network namespaces with the interfaces that the how-tos name. Everything is removed when it is dropped.
//!
//! ```text
//!   left-host eth0 -- eth1 left eth2 ======== eth2 right eth1 -- eth0 right-host
//!                          left eth3 -------- eth3 right
//!                          left eth0 - server - eth0 right
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Places of the world. What runs in `CLONE` needs no network, and finds the examples of the repository.
pub const MACHINES: [&str; 5] = ["left", "right", "left-host", "right-host", "server"];
pub const CLONE: &str = "clone";

/// How long a daemon may take to answer, and an output to become what the page shows.
pub const PATIENCE: Duration = Duration::from_secs(90);
const INTERVAL: Duration = Duration::from_millis(200);
/// What the how-tos call without `sudo`, and with the permission to corrupt frames: the cables of this world are good.
const SUDO: &str = "#!/bin/sh\nexec \"$@\"\n";
const LINKMEND: &str = r#"#!/bin/sh
case "$*" in
    run*--check*) ;;
    "run --config "*) sed 's/^\[\[link\]\]/&\nallow-corruption = true/' "$3" > "$3.test" && set -- run --config "$3.test" ;;
    run*) set -- "$@" --allow-corruption ;;
esac
exec PROGRAM "$@"
"#;

/// A block of commands that run in one place, one after the other.
pub struct Script {
    text: String,
    /// What must answer before the next block runs.
    daemons: Vec<&'static str>,
}

impl Script {
    /// Commands that stay in the foreground are started in the background.
    pub fn new(block: &str) -> Script {
        let (mut text, mut daemons) = (String::new(), Vec::new());
        for line in block.replace("\\\n", " ").lines() {
            let command = line.split(" #").next().unwrap_or_default().trim();
            let words: Vec<&str> = command.trim_start_matches("sudo ").split_whitespace().collect();
            let has = |word: &str| words.contains(&word);
            let daemon = match words[..] {
                ["linkmend", "run", ..] if !has("--check") => Some("linkmend status"),
                ["linkmend", "corruptd", second, ..] if second.starts_with("--") => {
                    (!has("--check") && !has("--replay")).then_some("linkmend corruptd status")
                }
                _ => None,
            };
            text += &match daemon {
                Some(_) => format!("{command} >>daemons.log 2>&1 &\n"),
                None => format!("{line}\n"),
            };
            daemons.extend(daemon);
        }
        Script { text, daemons }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The last command alone, which can be repeated.
    pub fn last(&self) -> Script {
        let line = self.text.lines().last().unwrap_or_default().to_owned();
        Script { text: line, daemons: Vec::new() }
    }
}

pub struct World {
    prefix: String,
    folder: tempfile::TempDir,
    /// Processes that keep the mount namespaces of machines.
    holders: Vec<(&'static str, Child)>,
}

fn run(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a program");
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

fn write_program(path: &Path, text: &str) {
    fs::write(path, text).expect("written");
    assert!(run(&format!("chmod +x {}", path.display())));
}

impl World {
    /// `None` if namespaces cannot be made here.
    pub fn new(page: &str) -> Option<World> {
        let prefix = format!("lmh{}-{}", std::process::id(), &page[..3]);
        let folder = tempfile::tempdir().expect("a folder");
        let mut world = World { prefix, folder, holders: Vec::new() };
        for machine in MACHINES {
            if !run(&format!("ip netns add {}", world.namespace(machine))) {
                return None;
            }
        }
        world.programs();
        world.cables();
        for machine in MACHINES {
            fs::create_dir(world.folder.path().join(machine)).expect("a folder");
            world.hold(machine);
        }
        Some(world)
    }

    fn namespace(&self, machine: &str) -> String {
        format!("{}-{machine}", self.prefix)
    }

    fn programs(&self) {
        let bin = self.folder.path().join("bin");
        fs::create_dir(&bin).expect("a folder");
        let program = Path::new(env!("CARGO_BIN_EXE_linkmend-workbench")).with_file_name("linkmend");
        assert!(program.is_file(), "`cargo build -p linkmend` builds {}", program.display());
        write_program(&bin.join("sudo"), SUDO);
        write_program(&bin.join("linkmend"), &LINKMEND.replace("PROGRAM", &program.display().to_string()));
        write_program(&bin.join("sonic-switch"), include_str!("sonic-switch"));
        let clone = self.folder.path().join(CLONE);
        fs::create_dir(&clone).expect("a folder");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root");
        for name in ["examples", "experiments", "docs", "dist"] {
            std::os::unix::fs::symlink(root.join(name), clone.join(name)).expect("a link");
        }
    }

    fn cable(&self, one: (&str, &str), other: (&str, &str)) {
        let (here, there) = (self.namespace(one.0), self.namespace(other.0));
        let line = format!("ip -n {here} link add {} type veth peer name {} netns {there}", one.1, other.1);
        assert!(run(&line), "{line}");
        for (namespace, interface) in [(here, one.1), (there, other.1)] {
            assert!(run(&format!("ip -n {namespace} link set {interface} up")));
        }
    }

    fn cables(&self) {
        for (host, machine) in [("left-host", "left"), ("right-host", "right")] {
            self.cable((host, "eth0"), (machine, "eth1"));
            // As behind a physical port.
            let namespace = self.namespace(host);
            let offloads = "tx off sg off tso off gso off txvlan off";
            assert!(run(&format!("ip netns exec {namespace} ethtool -K eth0 {offloads}")));
        }
        self.cable(("left", "eth2"), ("right", "eth2"));
        self.cable(("left", "eth3"), ("right", "eth3"));
        let server = self.namespace("server");
        assert!(run(&format!("ip -n {server} link add lan type bridge")), "the kernel has bridges");
        for (machine, port) in [("left", "port1"), ("right", "port2")] {
            self.cable((machine, "eth0"), ("server", port));
            assert!(run(&format!("ip -n {server} link set {port} master lan")));
        }
        assert!(run(&format!("ip -n {server} link set lan up")));
        let addresses = [
            ("left-host", "10.1.0.1/24", "eth0"),
            ("right-host", "10.1.0.2/24", "eth0"),
            ("left", "10.0.0.1/24", "eth0"),
            ("right", "10.0.0.2/24", "eth0"),
            ("server", "10.0.0.9/24", "lan"),
        ];
        for (machine, address, interface) in addresses {
            let namespace = self.namespace(machine);
            assert!(run(&format!("ip -n {namespace} address add {address} dev {interface}")));
            assert!(run(&format!("ip -n {namespace} link set lo up")));
        }
    }

    /// Gives a machine its own `/run` and `/var/lib`.
    fn hold(&mut self, machine: &'static str) {
        let ready = self.folder.path().join(machine).join("ready");
        let script = format!(
            "mount -t tmpfs none /run && mkdir /run/linkmend && mount -t tmpfs none /var/lib && touch {} && exec sleep 3600",
            ready.display()
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(machine), "sh", "-c", &script]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        self.holders.push((machine, command.spawn().expect("ip starts")));
        self.wait_for(&format!("the machine {machine}"), || ready.exists());
    }

    /// Where a machine's commands run.
    pub fn home(&self, place: &str) -> PathBuf {
        self.folder.path().join(place)
    }

    fn command(&self, place: &str, text: &str) -> Command {
        let home = self.home(place);
        let text = format!("cd {} && {text}", home.display());
        let mut command = match self.holders.iter().find(|(machine, _)| *machine == place) {
            Some((_, holder)) => {
                let mut command = Command::new("nsenter");
                command.args(["--target", &holder.id().to_string(), "--mount", "--net", "--", "sh"]);
                command
            }
            None => Command::new("sh"),
        };
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(["-e", "-c", &text]).stdin(Stdio::null()).env_remove("RUST_LOG");
        command.env("PATH", format!("{}:{path}", self.home("bin").display()));
        command.env("NO_COLOR", "1").env("COLUMNS", "100");
        command
    }

    /// Runs a script, and waits for its daemons. Returns the output and whether it succeeded.
    pub fn run(&self, place: &str, script: &Script) -> (bool, String) {
        let Output { status, stdout, stderr } = self.command(place, &script.text).output().expect("a shell");
        let output = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        for daemon in &script.daemons {
            let what = format!("{place}: `{daemon}` after\n{}\n{}", script.text, self.log(place));
            self.wait_for(&what, || self.command(place, daemon).output().expect("a shell").status.success());
        }
        (status.success(), output)
    }

    /// What the daemons of a machine have logged.
    pub fn log(&self, place: &str) -> String {
        fs::read_to_string(self.home(place).join("daemons.log")).unwrap_or_default()
    }

    /// Waits until something holds.
    pub fn wait_for(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(INTERVAL);
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for machine in MACHINES {
            let namespace = self.namespace(machine);
            if let Ok(pids) = Command::new("ip").args(["netns", "pids", &namespace]).output() {
                let pids =
                    String::from_utf8_lossy(&pids.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
                if !pids.is_empty() {
                    run(&format!("kill -9 {pids}"));
                }
            }
            run(&format!("ip netns del {namespace}"));
        }
        for (_, holder) in &mut self.holders {
            let _ = holder.wait();
        }
    }
}
