//! A daemon under exactly what the systemd unit allows it: started, stopped, killed, and started again. Needs root,
//! iproute2 and setpriv.

mod daemon_lab;

use daemon_lab::{Lab, ip};
use std::fs;

/// What the unit lets its process do, as a command that runs another one so.
fn unit() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../dist/linkmend.service");
    let unit = fs::read_to_string(path).expect("the unit");
    let value = |key: &str| {
        let lines: Vec<&str> =
            unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect();
        let [value] = lines[..] else { panic!("{key} stands {} times in {path}", lines.len()) };
        value
    };
    let capabilities =
        value("CapabilityBoundingSet").split_whitespace().fold("-all".to_owned(), |set, name| {
            format!("{set},+{}", name.strip_prefix("CAP_").expect("a capability").to_lowercase())
        });
    assert!(!capabilities.contains("sys_admin"), "then this test shows nothing");
    assert!(
        !unit.contains("AmbientCapabilities") && !unit.contains("User="),
        "then this test is another one"
    );
    assert_eq!(value("NoNewPrivileges"), "yes");
    ["setpriv", "--bounding-set", &capabilities, "--inh-caps", &capabilities, "--no-new-privs"]
        .map(str::to_owned)
        .into()
}

/// A host beyond the port `i0`, and one beyond the link of the right end, which no daemon serves.
fn hosts(lab: &Lab) -> String {
    let (left, right) = (&lab.left, &lab.right);
    let host = format!("{left}-h");
    assert!(ip(&format!("netns add {host}")));
    assert!(ip(&format!("-n {left} link add i0 mtu 1500 type veth peer name i1 netns {host}")));
    for (namespace, interface) in [(left, "i0"), (&host, "i1")] {
        assert!(ip(&format!("-n {namespace} link set {interface} up")));
    }
    for (namespace, interface, address) in [(&host, "i1", "10.99.0.1"), (right, "l0", "10.99.0.2")] {
        assert!(ip(&format!("-n {namespace} addr add {address}/24 dev {interface}")));
    }
    host
}

fn reaches(host: &str) -> bool {
    ip(&format!("netns exec {host} ping -c 3 -i 0.2 -W 2 10.99.0.2"))
}

#[test]
fn the_unit_starts_again_after_a_stop_and_after_a_kill() {
    let Some(mut lab) = Lab::new("unit") else { return };
    let left = lab.left.clone();
    let host = hosts(&lab);
    lab.under = unit();
    for (start, signal) in ["-TERM", "-KILL", "-TERM", "-KILL"].into_iter().enumerate() {
        let daemon = lab.start_between(&left, "left", "i0");
        lab.wait_for_log("left", "ports are open");
        let log = lab.read_log("left");
        assert!(log.contains("AF_XDP") && !log.contains("WARN"), "start {start}: {log}");
        assert!(reaches(&host), "start {start}: {log}");
        lab.stop(daemon, signal);
        assert!(reaches(&host), "the kernel forwards after start {start}: {log}");
        fs::remove_file(lab.socket("left")).ok();
    }
    // Nothing has piled up: what the last run left is all that there is.
    let (code, said, error) = lab.ask("detach i0 l0");
    assert_eq!(code, 0, "{error}");
    assert_eq!(said.matches("removed the bypass (generic XDP)").count(), 2, "{said}");
    let (_, said, _) = lab.ask("detach i0 l0");
    assert_eq!(said.matches("there was no Linkmend bypass").count(), 2, "{said}");
    assert!(!reaches(&host), "nothing forwards any more");
    assert!(ip(&format!("netns del {host}")));
}
