//! Links over UDP between two daemons in network namespaces, over a path that delays, loses, reorders and duplicates, with a
//! NAT that forgets. Needs root and iproute2.

mod daemon_lab;
mod udp_path;

use daemon_lab::{Lab, PATIENCE, ip};
use linkmend_lab::Namespace;
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::Value;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};
use udp_path::{Path, Relay};

/// Where the right end waits.
const RIGHT: &str = "10.77.0.2:34997";

/// Two namespaces with a cable between them that carries IP, and hosts behind the two ends.
struct World {
    lab: Lab,
    relay: Relay,
}

impl World {
    /// The left end calls the right one through the path. `more` are options of the left and the right end.
    fn new(test: &str, path: Path, more: [&str; 2]) -> Option<World> {
        let world = World::new_unprotected(test, path, more)?;
        world.wait_for_protection();
        Some(world)
    }

    fn new_unprotected(test: &str, path: Path, more: [&str; 2]) -> Option<World> {
        let lab = Lab::new(test)?;
        for (namespace, addresses) in
            [(&lab.left, ["10.77.0.1/24", "10.77.0.3/24"]), (&lab.right, ["10.77.0.2/24", "10.77.0.4/24"])]
        {
            assert!(ip(&format!("-n {namespace} link set lo up")));
            for address in addresses {
                assert!(ip(&format!("-n {namespace} address add {address} dev l0")));
            }
        }
        let relay = Relay::start(&lab.left, RIGHT.parse().expect("an address"), path);
        let mut world = World { lab, relay };
        world.start("right", more[1]);
        world.start("left", more[0]);
        Some(world)
    }

    /// Starts an end, and gives its host an address. Its link is the path, unless `more` says otherwise.
    fn start(&mut self, end: &str, more: &str) -> usize {
        let (namespace, link, address) = match end {
            "left" => (self.lab.left.clone(), format!("udp:{}", self.relay.address), "10.99.0.1/24"),
            _ => (self.lab.right.clone(), "udp:listen".to_owned(), "10.99.0.2/24"),
        };
        let link = if more.contains("--link") { String::new() } else { format!("--link {link}") };
        let config = format!("--inner create:host --name {end} {link} {more}");
        let daemon = self.lab.start_alone(&namespace, end, &config);
        // A pair that the daemon before has left behind has its address.
        ip(&format!("-n {namespace} address add {address} dev host"));
        daemon
    }

    /// Waits until both directions are protected, and the hosts know each other's address.
    fn wait_for_protection(&self) {
        self.wait("both ends protect", |world| {
            ["left", "right"].iter().all(|end| {
                let report = world.report(end);
                report["transmit_state"] == "active" && report["receive_state"] == "active"
            })
        });
        let command = format!("netns exec {} ping -q -c 1 -W 10 10.99.0.2", self.lab.left);
        assert!(ip(&command), "the other host does not answer");
    }

    fn report(&self, end: &str) -> Value {
        let control = self.lab.socket(end);
        let (code, out, err) = self.lab.ask(&format!("status {end} --json --control {}", control.display()));
        assert_eq!(code, 0, "{err}");
        serde_json::from_str(&out).expect("JSON")
    }

    fn counter(&self, end: &str, path: &str) -> u64 {
        let report = self.report(end);
        report.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path} in {report}"))
    }

    fn wait(&self, what: &str, holds: impl Fn(&World) -> bool) {
        let begun = Instant::now();
        while !holds(self) {
            if begun.elapsed() > 2 * PATIENCE {
                let logs = ["left", "right"].map(|end| self.lab.read_log(end)).join("\n---\n");
                panic!("{what}: not within {PATIENCE:?}\n{logs}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Sends numbered datagrams from the left host to the right one, evenly over `time`, and returns the numbers in the
    /// order in which they arrive. `meanwhile` is called in the middle.
    fn send(&self, count: u32, bytes: usize, time: Duration, meanwhile: impl FnOnce()) -> Vec<u32> {
        let open = |namespace: &str, address: &'static str| {
            let namespace = Namespace::open(namespace).expect("a namespace");
            namespace.run(|| UdpSocket::bind(address).expect("an address")).expect("the namespace")
        };
        let from = open(&self.lab.left, "10.99.0.1:0");
        let to = open(&self.lab.right, "10.99.0.2:0");
        // What waited behind a hole arrives at once, while the loop may hold the processor.
        setsockopt(&to, sockopt::RcvBufForce, &(8 << 20)).expect("root");
        to.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket");
        let target: SocketAddr = to.local_addr().expect("bound");
        let (begun, mut meanwhile) = (Instant::now(), Some(meanwhile));
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let (mut numbers, mut buffer) = (Vec::new(), [0; 9000]);
                while numbers.len() < count as usize
                    && let Ok(length) = to.recv(&mut buffer)
                {
                    assert_eq!(length, bytes);
                    numbers.push(u32::from_be_bytes(buffer[..4].try_into().expect("4 bytes")));
                }
                numbers
            });
            let mut datagram = vec![7; bytes];
            for number in 0..count {
                if number == count / 2
                    && let Some(meanwhile) = meanwhile.take()
                {
                    meanwhile();
                }
                let due = begun + time.mul_f64(f64::from(number) / f64::from(count));
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                datagram[..4].copy_from_slice(&number.to_be_bytes());
                from.send_to(&datagram, target).expect("sent");
            }
            receiver.join().expect("no panic")
        })
    }
}

fn assert_all_in_order(arrived: &[u32], count: u32, world: &World) {
    let expected: Vec<u32> = (0..count).collect();
    if arrived != expected {
        let first = arrived.iter().zip(&expected).position(|(a, b)| a != b);
        panic!(
            "{} of {count} arrived, the first difference at {first:?}\n{}\n{}",
            arrived.len(),
            world.report("left"),
            world.report("right")
        );
    }
}

#[test]
fn nothing_is_lost_and_everything_in_order_over_a_long_lossy_path() {
    for (loss, more) in [(0.01, ""), (0.1, ""), (0.25, ""), (0.1, "--congestion none")] {
        let path = Path { loss, reordered: 0.02, duplicated: 0.02, ..Path::LONG };
        let name = format!("loss{}{}", loss * 100.0, if more.is_empty() { "" } else { "n" });
        let Some(world) = World::new(&name, path, [more; 2]) else { return };
        let is_controlled = world.report("left").pointer("/link/udp/congestion").is_some();
        assert_eq!(is_controlled, more.is_empty(), "it is controlled by default");
        let arrived = world.send(5_000, 1000, Duration::from_secs(5), || ());
        assert_all_in_order(&arrived, 5_000, &world);
        let recovery = world.report("right")["recovery_latency_ns"].clone();
        let lost = world.counter("right", "/link/udp/lost_datagrams");
        eprintln!(
            "loss {loss}: {lost} datagrams lost, recovery p50 {} p99 {}",
            recovery["p50"], recovery["p99"]
        );
        assert!(lost > 0, "the path has lost some");
    }
}

#[test]
fn an_address_that_changes_and_a_nat_that_forgets_cost_nothing() {
    let path = Path { loss: 0.05, ..Path::LONG };
    let Some(world) = World::new("roams", path, [""; 2]) else { return };
    for from in ["0.0.0.0:0", "10.77.0.3:0"] {
        let arrived = world.send(2_000, 500, Duration::from_secs(2), || world.relay.forget(from));
        assert_all_in_order(&arrived, 2_000, &world);
    }
    let peer = world.report("right")["link"]["udp"]["peer"].clone();
    assert!(peer.as_str().is_some_and(|peer| peer.starts_with("10.77.0.3:")), "{peer}");
    assert!(world.counter("right", "/link/udp/address_changes") >= 2);
}

#[test]
fn an_outage_of_two_seconds_costs_nothing() {
    let Some(world) = World::new("outage", Path::LONG, [""; 2]) else { return };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(500));
            world.relay.set(Path { is_cut: true, ..Path::LONG });
            std::thread::sleep(Duration::from_secs(2));
            world.relay.set(Path::LONG);
        });
        let arrived = world.send(1_500, 500, Duration::from_secs(3), || ());
        assert_all_in_order(&arrived, 1_500, &world);
    });
    assert_eq!(world.counter("left", "/counters/sessions_opened"), 1, "the session goes on");
}

#[test]
fn replayed_cut_and_invented_datagrams_change_nothing() {
    let Some(world) = World::new("hostile", Path::LONG, [""; 2]) else { return };
    let stranger = Namespace::open(&world.lab.left).expect("a namespace");
    let stranger = stranger.run(|| UdpSocket::bind("10.77.0.3:0").expect("an address")).expect("it");
    let attack = || {
        // A probe that is led around the narrow part of the path would be believed: nothing is authenticated.
        let kept = world.relay.kept().into_iter().filter(|datagram| datagram[0] & 0xf == 0);
        let kept: Vec<Vec<u8>> = kept.collect();
        for datagram in &kept {
            let cut = datagram[..datagram.len() / 2].to_vec();
            let mut forged = datagram.clone();
            forged[3] ^= 1;
            world.relay.inject(&[datagram.clone(), cut, forged, Vec::new(), vec![0xff; 1400]]);
            stranger.send_to(datagram, RIGHT).expect("sent");
            stranger.send_to(&[0x10; 40], RIGHT).expect("sent");
        }
    };
    let arrived = world.send(3_000, 800, Duration::from_secs(3), attack);
    assert_all_in_order(&arrived, 3_000, &world);
    let [twice, strange, malformed] = ["duplicate", "strange", "malformed"]
        .map(|what| world.counter("right", &format!("/link/udp/{what}_datagrams")));
    assert!(twice >= 100 && strange >= 100 && malformed >= 100, "{twice} {strange} {malformed}");
    assert_eq!(world.counter("right", "/link/udp/peers_met"), 1);
    let peer = world.report("right")["link"]["udp"]["peer"].clone();
    assert!(
        peer.as_str().is_some_and(|peer| peer.starts_with("10.77.0.1:")),
        "the replay has moved it: {peer}"
    );
}

#[test]
fn ends_that_are_configured_differently_and_frames_longer_than_the_path_takes() {
    let path = Path { loss: 0.02, bytes_max: 1300, ..Path::LONG };
    let more = ["--mode non-blocking --rate 50M", "--pool 16384 --queue 4MiB"];
    let Some(world) = World::new("differ", path, more) else { return };
    world.wait("the path is known", |world| world.counter("left", "/link/udp/datagram_bytes") == 1252);
    let mut arrived = world.send(2_000, 1372, Duration::from_secs(2), || ());
    arrived.sort_unstable();
    assert_all_in_order(&arrived, 2_000, &world);
    assert!(world.counter("left", "/link/udp/split_frames") >= 2_000);
}

/// A file with a key, and the option that names it.
fn key(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("ours");
    format!("--key {}", path.display())
}

const KEY: &str = "8c5e1f0a9b7d3642c1e0f9a8b7d6c5e4";

#[test]
fn with_a_key_nothing_is_read_changed_or_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = key(&folder, "key", KEY);
    let path = Path { loss: 0.05, reordered: 0.02, duplicated: 0.02, ..Path::LONG };
    let Some(world) = World::new("key", path, [&*key; 2]) else { return };
    let attack = || {
        let kept = world.relay.kept();
        assert!(kept.iter().all(|datagram| !datagram.windows(16).any(|part| part == [7; 16])), "it is read");
        for (at, datagram) in kept.iter().enumerate() {
            let mut forged = datagram.clone();
            forged[at % datagram.len()] ^= 1;
            world.relay.inject(&[datagram.clone(), forged, datagram[..datagram.len() - 1].to_vec()]);
        }
    };
    let arrived = world.send(3_000, 800, Duration::from_secs(3), attack);
    assert_all_in_order(&arrived, 3_000, &world);
    assert!(world.counter("right", "/link/udp/forged_datagrams") >= 300);
    for what in ["strange", "malformed"] {
        assert_eq!(world.counter("right", &format!("/link/udp/{what}_datagrams")), 0, "{what}");
    }
    assert_eq!(world.counter("right", "/link/udp/datagram_bytes"), 1472 - 33);
}

#[test]
fn ends_with_different_keys_do_not_meet() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = [key(&folder, "a", KEY), key(&folder, "b", &KEY.replace('8', "9"))];
    let Some(world) = World::new_unprotected("keys", Path::LONG, [&keys[0], &keys[1]]) else { return };
    world.wait("forged datagrams", |world| world.counter("right", "/link/udp/forged_datagrams") >= 3);
    assert!(world.report("left")["link"]["udp"]["peer"].is_null());
}

#[test]
fn an_end_that_is_restarted_is_found_again() {
    let folder = tempfile::tempdir().expect("a folder");
    for (test, more) in [("restarts", String::new()), ("restartk", key(&folder, "key", KEY))] {
        restart_each_end(test, &more);
    }
}

fn restart_each_end(test: &str, more: &str) {
    let Some(mut world) = World::new(test, Path::LONG, [more; 2]) else { return };
    for (end, daemon) in [("left", 1), ("right", 0)] {
        world.lab.stop(daemon, "-KILL");
        let sessions =
            world.counter(if end == "left" { "right" } else { "left" }, "/counters/sessions_opened");
        let _ = std::fs::remove_file(world.lab.socket(end));
        world.start(end, more);
        let other = if end == "left" { "right" } else { "left" };
        world.wait("a new session", |world| world.counter(other, "/counters/sessions_opened") > sessions);
        world.wait_for_protection();
        let arrived = world.send(500, 500, Duration::from_secs(1), || ());
        assert_all_in_order(&arrived, 500, &world);
    }
}

/// A cable with a path beside it that loses 2 %, and what was reported after the cable was cut under traffic. All arrives in order.
fn cut_the_cable(name: &str, how: &str) -> Option<World> {
    let path = Path { loss: 0.02, ..Path::LONG };
    let mut world = World::new_unprotected(name, path, [""; 2])?;
    for daemon in [0, 1] {
        world.lab.stop(daemon, "-TERM");
    }
    let (left, right) = (world.lab.left.clone(), world.lab.right.clone());
    assert!(ip(&format!("link add c0 mtu 1508 netns {left} type veth peer name c0 mtu 1508 netns {right}")));
    for namespace in [&left, &right] {
        assert!(ip(&format!("-n {namespace} link set c0 up")));
    }
    world.start("right", &format!("--link c0 --backup udp:listen {how}"));
    world.start("left", &format!("--link c0 --backup udp:{} {how}", world.relay.address));
    world.wait_for_protection();
    world.wait("the path is ready", |world| world.report("left")["failover"]["heard"][1] == true);
    world.wait("the path is ready", |world| world.report("right")["failover"]["heard"][1] == true);
    let cut = || assert!(ip(&format!("-n {left} link set c0 down")));
    let arrived = world.send(2_000, 500, Duration::from_secs(2), cut);
    assert_all_in_order(&arrived, 2_000, &world);
    assert_eq!(world.report("left")["failover"]["active"], "backup");
    Some(world)
}

#[test]
fn a_path_takes_over_from_a_cable_and_loses_nothing() {
    cut_the_cable("cable", "");
}

#[test]
fn a_path_carries_what_the_cable_carries_and_goes_on_alone() {
    let Some(world) = cut_the_cable("both", "--use duplicate") else { return };
    let [left, right] = ["left", "right"].map(|end| world.report(end)["failover"].clone());
    assert_eq!((&left["peer_duplicates"], &right["peer_duplicates"]), (&true.into(), &true.into()));
    let first = &right["duplicate"]["first_copies"];
    assert!(first[0].as_u64() > Some(100) && first[1].as_u64() > Some(100), "{right:#}");
    assert!(right["duplicate"]["later_copies"][1].as_u64() > Some(100), "{right:#}");
    // What was in flight when the cable was cut is on the path.
    assert_eq!(left["resent_frames"], 0, "{left:#}");
}

#[test]
fn a_peer_that_falls_silent_is_looked_up_again() {
    let Some(mut world) = World::new_unprotected("names", Path::LONG, [""; 2]) else { return };
    world.lab.stop(1, "-TERM");
    // What `ip netns exec` shows its programs as /etc/hosts.
    let folder = std::path::Path::new("/etc/netns").join(&world.lab.left);
    std::fs::create_dir_all(&folder).expect("root");
    let hosts = folder.join("hosts");
    std::fs::write(&hosts, "10.77.0.9 gate.test\n").expect("written");
    world.start("left", "--link udp:gate.test");
    world.wait("nobody is there", |world| world.report("left")["link"]["udp"]["is_silent"] == true);
    std::fs::write(&hosts, "10.77.0.2 gate.test\n").expect("written");
    world.wait_for_protection();
    let _ = std::fs::remove_dir_all(&folder);
}
