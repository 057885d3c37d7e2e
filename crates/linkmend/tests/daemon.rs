//! `linkmend run` between real interfaces, in network namespaces of its own. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::{Lab, ip, outcome};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const NOBODY: u32 = 65_534;

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
    for log in [lab.read_log("left"), lab.read_log("right")] {
        assert!(!log.contains("stalled") && log.contains("stopped; "), "a stop is not a stall: {log}");
    }
    assert!(
        lab.read_log("left").contains("this end stops, and the kernel forwards"),
        "{}",
        lab.read_log("left")
    );
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
    assert!(err.contains("another daemon is using it\nhint: "), "{err}");
    let other = lab.socket("other").display().to_string();
    let (code, _, err) = lab.ask(&format!("run --inner create:host --link l0 --name left --control {other}"));
    assert_eq!(code, 1);
    assert!(err.contains("already served by another Linkmend process\nhint: "), "{err}");
    let (code, _, err) =
        lab.ask(&format!("run --inner create:host --link l0 --name alien --control {other}"));
    assert_eq!(code, 1);
    assert!(err.contains("`host` exists and was not created by Linkmend for this link"), "{err}");
    assert!(ip(&format!("-n {left} addr add 10.99.0.1/24 dev host")));
    lab.stop(first, "-KILL");
    fs::remove_file(lab.socket("left")).expect("it was left behind");
    let again = lab.start(&left, "left", "");
    assert!(lab.read_log("left").contains("host port host reused"), "{}", lab.read_log("left"));
    assert_eq!(lab.stop(again, "-TERM"), Some(0));
}

#[test]
fn the_service_manager_is_notified_of_start_life_and_stop() {
    let Some(mut lab) = Lab::new("notify") else { return };
    lab.managed = true;
    let left = lab.left.clone();
    let daemon = lab.start(&left, "left", "");
    assert_eq!(lab.next_notification(""), "READY=1");
    assert_eq!(
        (lab.next_notification(""), lab.next_notification("")),
        ("WATCHDOG=1".to_owned(), "WATCHDOG=1".to_owned())
    );
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
    assert_eq!(lab.next_notification("WATCHDOG=1"), "STOPPING=1");
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
    assert!(err.contains("hint: choose one that `ip link` shows as link/ether: a TAP device"), "{err}");
}

#[test]
fn a_port_that_falls_back_to_packet_sockets_names_what_helps() {
    let Some(mut lab) = Lab::new("queues") else { return };
    let left = lab.left.clone();
    assert!(ip(&format!("-n {left} link add i0 numrxqueues 33 numtxqueues 33 type veth peer name i1")));
    for interface in ["i0", "i1"] {
        assert!(ip(&format!("-n {left} link set {interface} up")));
    }
    lab.start_between(&left, "left", "i0");
    lab.wait_for_log("left", "hint: reduce them with `ethtool -L i0 combined 32`");
}

#[test]
fn without_privileges_there_is_a_hint() {
    let Some(lab) = Lab::new("nobody") else { return };
    // The binary may be in a folder that no other user can read.
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
            && err.contains("hint: creating interfaces requires CAP_NET_ADMIN"),
        "{err}"
    );
    assert!(!control.exists(), "nothing is left behind");
}
