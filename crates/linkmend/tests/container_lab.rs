//! `examples/lossy.clab.yml` without containers: its nodes are network namespaces, in which the entry of the image
//! (`dist/container/entry`) runs as it would in a container. Needs root, iproute2 and ping.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const PINGS: u32 = 600;

#[derive(Deserialize)]
struct Document {
    topology: Topology,
}

#[derive(Deserialize)]
struct Topology {
    nodes: BTreeMap<String, Node>,
    links: Vec<Link>,
}

#[derive(Deserialize)]
struct Node {
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Link {
    endpoints: [String; 2],
    mtu: u32,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let program = words.next().expect("a program");
    Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
}

/// The containers of the file, and their logs. Removed when dropped.
struct Containers {
    prefix: String,
    folder: tempfile::TempDir,
    running: BTreeMap<String, Child>,
}

impl Containers {
    /// `None`, with a message on standard error, if namespaces cannot be made.
    fn new(nodes: &BTreeMap<String, Node>) -> Option<Containers> {
        let prefix = format!("lmclab-{}", std::process::id());
        let folder = tempfile::tempdir().expect("a folder");
        let containers = Containers { prefix, folder, running: BTreeMap::new() };
        for name in nodes.keys() {
            if !run(&format!("ip netns add {}", containers.namespace(name))) {
                let _ = writeln!(
                    std::io::stderr(),
                    "\n######## SKIPPED: the entry of the image needs root and iproute2: sudo -E make test ########\n"
                );
                return None;
            }
        }
        fs::create_dir_all("/run/linkmend").expect("where containers have their sockets");
        Some(containers)
    }

    fn namespace(&self, node: &str) -> String {
        format!("{}-{node}", self.prefix)
    }

    /// Starts the entry as an engine does, with a `/run/linkmend` of its own.
    fn start(&mut self, name: &str, node: &Node) {
        let log = fs::File::create(self.folder.path().join(name)).expect("a log");
        let program = Path::new(env!("CARGO_BIN_EXE_linkmend")).parent().expect("its folder");
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", program.display());
        let entry = root().join("dist/container/entry");
        let script = format!("mount -t tmpfs none /run/linkmend && exec {}", entry.display());
        let child = Command::new("ip")
            .args(["netns", "exec", &self.namespace(name), "sh", "-c", &script])
            .env_clear()
            .envs(&node.env)
            .env("PATH", path)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.running.insert(name.to_owned(), child.expect("it starts"));
    }

    /// Runs a command in a container, as `docker exec` does.
    fn exec(&self, name: &str, line: &str) -> String {
        let pid = self.running[name].id().to_string();
        let output = Command::new("nsenter")
            .args(["--target", &pid, "--mount", "--net", "--"])
            .args(line.replace("linkmend", env!("CARGO_BIN_EXE_linkmend")).split_whitespace())
            .output()
            .expect("nsenter");
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        text(&output.stdout) + &text(&output.stderr)
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn wait_for(&self, name: &str, line: &str, words: &str) {
        self.wait_until(name, words, || self.exec(name, line));
    }

    fn wait_for_log(&self, name: &str, words: &str) {
        self.wait_until(name, words, || self.log(name));
    }

    fn wait_until(&self, name: &str, words: &str, said: impl Fn() -> String) {
        let begun = Instant::now();
        while !said().contains(words) {
            assert!(
                begun.elapsed() < PATIENCE,
                "{name} does not say `{words}`: {}\n{}",
                said(),
                self.log(name)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// How many of the pings from the left host were not answered.
    fn lost(&self) -> u32 {
        let said = self.exec("left-host", &format!("ping -q -c {PINGS} -i 0.005 -W 2 10.9.0.2"));
        let received = said.split(", ").nth(1).and_then(|words| words.split(' ').next()?.parse::<u32>().ok());
        PINGS - received.unwrap_or_else(|| panic!("ping: {said}"))
    }
}

impl Drop for Containers {
    fn drop(&mut self) {
        for child in self.running.values_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let list = Command::new("ip").args(["netns", "list"]).output().map(|output| output.stdout);
        for line in String::from_utf8_lossy(&list.unwrap_or_default()).lines() {
            let name = line.split(' ').next().unwrap_or_default();
            if name.starts_with(&self.prefix) {
                run(&format!("ip netns del {name}"));
            }
        }
    }
}

#[test]
fn the_lossy_lab_of_containerlab_recovers_what_its_link_loses() {
    let text = fs::read_to_string(root().join("examples/lossy.clab.yml")).expect("readable");
    let file: Document = serde_saphyr::from_str(&text).expect("a topology");
    let Topology { nodes, links } = file.topology;
    let Some(mut containers) = Containers::new(&nodes) else { return };
    for (name, node) in &nodes {
        containers.start(name, node);
    }
    // Containers run before they have interfaces. Each link is a veth pair whose ends go to the two containers.
    for Link { endpoints, mtu } in &links {
        let [one, other] = endpoints.each_ref().map(|end| {
            let (node, interface) = end.split_once(':').expect("NODE:INTERFACE");
            format!("{interface} mtu {mtu} netns {}", containers.namespace(node))
        });
        assert!(run(&format!("ip link add name {one} type veth peer name {other}")), "{endpoints:?}");
    }
    for end in ["left", "right"] {
        containers.wait_for(end, "linkmend status", "active: ordered");
        containers.wait_for_log(end, "are dropped at a rate of 1e-2");
    }
    containers.wait_for("left-host", "ping -c 1 -W 1 10.9.0.2", " 0% packet loss");
    assert_eq!(containers.lost(), 0, "{}", containers.exec("left", "linkmend status"));
    for end in ["left", "right"] {
        containers.exec(end, "linkmend unprotect eth2");
        containers.wait_for(end, "linkmend status", "dormant");
    }
    assert!(containers.lost() > 0, "{}", containers.exec("left", "linkmend status"));
}
