//! The laboratory in the real kernel: what it builds, and especially what it leaves alone.

mod common;

use std::process::Command;
use std::time::Duration;

use linkmend_lab::Impairments;
use linkmend_lab::offload;
use linkmend_lab::topology::MARKER_FOLDER;
use linkmend_lab::topology::{BadOption, DownOutcome, Lab, LabError, LabOptions, Role};

fn run(line: &str) -> String {
    let mut words = line.split_whitespace();
    let output = Command::new(words.next().expect("a program")).args(words).output().expect("it starts");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn namespaces() -> String {
    run("ip netns list")
}

#[test]
fn ports_are_wire_like_and_settings_are_made() {
    let Some(lab) = common::bridged("ports_are_wire_like_and_settings_are_made", "wire") else { return };
    for role in Role::ALL {
        for interface in role.interfaces() {
            let features = offload::active(lab.namespace(role), interface).expect("enters").expect("reads");
            let is_host = role.ipv4().is_some();
            for (name, on) in &features {
                let must_be_off = name.contains("segmentation")
                    || name.contains("checksum")
                    || name.contains("vlan-hw")
                    || name.starts_with("tx-scatter");
                assert!(!(must_be_off && *on), "{name} is on at {role:?} {interface}");
            }
            assert_eq!(features.get("rx-gro"), Some(&is_host), "{role:?} {interface}");
        }
    }
    let end = lab.options().namespace_name(Role::End1);
    let addresses = run(&format!("ip -n {end} -brief address show dev link"));
    assert!(!addresses.contains("fe80") && !addresses.contains('.'), "{addresses}");
    assert!(run(&format!("ip -n {end} link show dev inner")).contains("mtu 1508"));
    let host = lab.options().namespace_name(Role::Host1);
    assert!(run(&format!("ip -n {host} route")).contains("rto_min"), "no rto_min on the route");
    assert!(run(&format!("ip -n {host} -6 route")).contains("rto_min"), "no rto_min on the IPv6 route");
    let reached = lab
        .namespace(Role::Host1)
        .run(|| std::fs::read_to_string("/proc/sys/net/ipv4/tcp_no_metrics_save"))
        .expect("enters");
    assert_eq!(reached.expect("reads").trim(), "1");
}

/// What hosts report of themselves, such as their multicast groups, is sent while the lab is built: another processor that
/// sends it would take frames of a measurement along, which then arrive out of order.
#[test]
fn hosts_are_silent_once_the_lab_is_up() {
    let Some(lab) = common::bridged("hosts_are_silent_once_the_lab_is_up", "still") else { return };
    // A scheduler's delay, for what is due after a millisecond.
    std::thread::sleep(Duration::from_millis(100));
    let sent = || {
        [Role::Host1, Role::Host2].map(|role| {
            let counters = run(&format!("ip -n {} -s link show dev eth0", lab.namespace(role).name()));
            // `ip` may add a warning, when another test removes the namespaces that it looks through.
            let values = counters.lines().skip_while(|line| !line.trim_start().starts_with("TX:")).nth(1);
            let packets = values.and_then(|values| values.split_whitespace().nth(1)?.parse::<u64>().ok());
            packets.unwrap_or_else(|| panic!("no packets sent in:\n{counters}"))
        })
    };
    let before = sent();
    std::thread::sleep(Duration::from_millis(1_500));
    assert_eq!(sent(), before, "hosts have sent frames of their own");
}

#[test]
fn up_and_down_are_idempotent_and_leave_nothing() {
    if !common::privileged("up_and_down_are_idempotent_and_leave_nothing") {
        return;
    }
    let options = common::options("idem");
    let prefix = options.prefix.clone();
    let lab = Lab::up(options.clone()).expect("up");
    let inode = lab.namespace(Role::Host1).inode().expect("inode");
    let again = Lab::up(LabOptions { remove_on_drop: false, ..options.clone() }).expect("up again");
    assert_eq!(again.namespace(Role::Host1).inode().expect("inode"), inode, "it was rebuilt for nothing");
    let larger = LabOptions { host_mtu: 9000, remove_on_drop: false, ..options };
    let rebuilt = Lab::up(larger).expect("up with another MTU");
    assert_eq!(rebuilt.options().host_mtu, 9000);
    assert!(run(&format!("ip -n {prefix}-g1 link show dev link")).contains("mtu 9016"));
    assert_eq!(Lab::down(&prefix).expect("down"), DownOutcome::Removed { ended: Vec::new() });
    assert_eq!(Lab::down(&prefix).expect("down again"), DownOutcome::NothingThere);
    assert!(!namespaces().contains(&prefix));
    assert!(!std::path::Path::new(MARKER_FOLDER).join(format!("{prefix}.json")).exists());
}

#[test]
fn a_namespace_of_someone_else_is_neither_used_nor_deleted() {
    if !common::privileged("a_namespace_of_someone_else_is_neither_used_nor_deleted") {
        return;
    }
    let options = common::options("foreign");
    let name = options.namespace_name(Role::End2);
    run(&format!("ip netns add {name}"));
    let up = Lab::up(options.clone());
    let attach = Lab::attach(&options.prefix);
    let down = Lab::down(&options.prefix);
    let still_there = namespaces().contains(&name);
    run(&format!("ip netns del {name}"));
    assert!(matches!(up, Err(LabError::Foreign { name: n }) if n == name));
    assert!(matches!(attach, Err(LabError::NotUp { .. })));
    assert!(matches!(down, Err(LabError::Foreign { name: n }) if n == name));
    assert!(still_there);
    assert!(!namespaces().contains(&options.prefix), "the refused lab left something");
}

#[test]
fn a_namespace_that_someone_put_in_place_of_ours_survives_down() {
    if !common::privileged("a_namespace_that_someone_put_in_place_of_ours_survives_down") {
        return;
    }
    let lab = Lab::up(common::options("swap")).expect("up");
    let name = lab.options().namespace_name(Role::Host2);
    run(&format!("ip netns del {name}"));
    run(&format!("ip netns add {name}"));
    let down = Lab::down(&lab.options().prefix);
    let left = namespaces();
    run(&format!("ip netns del {name}"));
    assert!(matches!(down, Err(LabError::Foreign { name: n }) if n == name));
    assert!(left.contains(&name) && !left.contains(&lab.options().namespace_name(Role::Host1)), "{left}");
}

#[test]
fn what_a_crash_left_is_removed() {
    if !common::privileged("what_a_crash_left_is_removed") {
        return;
    }
    let options = common::options("crash");
    let prefix = options.prefix.clone();
    let lab = Lab::up(options.clone()).expect("up");
    // The record is as if `up` had been killed between deciding to create the last namespace and creating it.
    let path = std::path::Path::new(MARKER_FOLDER).join(format!("{prefix}.json"));
    let text = std::fs::read_to_string(&path).expect("the record");
    let inode = lab.namespace(Role::Host2).inode().expect("inode").to_string();
    assert!(text.contains(&inode));
    let text = text.replace(&inode, "null").replace("\"Up\"", "\"Creating\"");
    std::fs::write(&path, text).expect("written");
    drop(lab);
    assert!(!namespaces().contains(&prefix));
    assert!(!path.exists());
}

#[test]
fn processes_are_tracked_and_ended() {
    if !common::privileged("processes_are_tracked_and_ended") {
        return;
    }
    let lab = Lab::up(common::options("proc")).expect("up");
    let mut sleep = Command::new("sleep");
    sleep.arg("600");
    let mut child = lab.spawn(Role::End1, sleep).expect("it starts");
    let inside = std::fs::metadata(format!("/proc/{}/ns/net", child.id())).expect("it runs");
    let inode = std::os::unix::fs::MetadataExt::ino(&inside);
    assert_eq!(inode, lab.namespace(Role::End1).inode().expect("inode"));
    let other = LabOptions { host_mtu: 2000, remove_on_drop: false, ..lab.options().clone() };
    assert!(matches!(Lab::up(other), Err(LabError::InUse { .. })));
    let attached = Lab::attach(&lab.options().prefix).expect("it is up");
    assert_eq!(Lab::down(&lab.options().prefix).expect("down"), DownOutcome::Removed { ended: Vec::new() });
    let late = attached.spawn(Role::End1, Command::new("sleep"));
    assert!(matches!(late, Err(LabError::NotUp { .. })), "{late:?}");
    assert!(!child.wait().expect("it is ours").success());
}

#[test]
fn a_failing_build_removes_its_beginnings() {
    if !common::privileged("a_failing_build_removes_its_beginnings") {
        return;
    }
    // No kernel accepts a socket buffer of this size, so the build fails after the first namespace exists.
    let mut options = common::options("fail");
    options.tcp_buffer_max_bytes = u32::MAX;
    let prefix = options.prefix.clone();
    let result = Lab::up(options);
    assert!(result.is_err());
    assert!(!namespaces().contains(&prefix));
}

#[test]
fn impairments_add_a_namespace_that_goes_with_the_others() {
    if !common::privileged("impairments_add_a_namespace_that_goes_with_the_others") {
        return;
    }
    let impairments = Impairments { delay: Duration::from_millis(1), ..Impairments::default() };
    let options = LabOptions { impairments, ..common::options("imp") };
    let prefix = options.prefix.clone();
    let lab = Lab::up(options.clone()).expect("up");
    let inode = lab.wires().expect("there are impairments").inode().expect("inode");
    assert!(namespaces().contains(&format!("{prefix}-w")));
    let again = Lab::up(LabOptions { remove_on_drop: false, ..options.clone() }).expect("up again");
    assert_eq!(again.wires().expect("still").inode().expect("inode"), inode, "it was rebuilt for nothing");
    // The link itself has no line: its ends are joined directly.
    let interfaces = run(&format!("ip -n {prefix}-w -brief link show"));
    assert!(interfaces.contains("host1") && interfaces.contains("end1"), "{interfaces}");
    assert!(!interfaces.contains("link1"), "{interfaces}");
    let without = LabOptions { impairments: Impairments::default(), remove_on_drop: false, ..options };
    assert!(Lab::up(without).expect("up without").wires().is_none());
    assert!(!namespaces().contains(&format!("{prefix}-w")), "the fifth namespace stayed");
    assert_eq!(Lab::down(&prefix).expect("down"), DownOutcome::Removed { ended: Vec::new() });
    let bad = Impairments { delay: Duration::from_secs(3), ..Impairments::default() };
    let refused = Lab::up(LabOptions { impairments: bad, ..common::options("imp") });
    assert!(matches!(refused, Err(LabError::Option(BadOption::Impairment(_)))), "{refused:?}");
}

/// A generator that somebody started with `ip netns exec` must end with the laboratory, instead of running on in a
/// namespace without a name.
#[test]
fn what_others_started_inside_ends_with_the_lab() {
    if !common::privileged("what_others_started_inside_ends_with_the_lab") {
        return;
    }
    let lab = Lab::up(LabOptions { remove_on_drop: false, ..common::options("inside") }).expect("up");
    let name = lab.options().namespace_name(Role::Host1);
    let inside = |program: &[&str]| {
        std::process::Command::new("ip")
            .args(["netns", "exec", &name])
            .args(program)
            .spawn()
            .expect("ip starts")
    };
    let mut sleeper = inside(&["sleep", "600"]);
    let mut deaf = inside(&["sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let down = Lab::down(&lab.options().prefix).expect("down");
    for child in [&mut sleeper, &mut deaf] {
        let ended = child.try_wait().expect("it can be asked");
        let _ = child.kill();
        let _ = child.wait();
        assert!(ended.is_some(), "it still runs");
    }
    let DownOutcome::Removed { ended } = down else { panic!("{down:?}") };
    assert!(
        ended.contains(&(sleeper.id(), "sleep".to_owned())) && ended.iter().any(|(pid, _)| *pid == deaf.id())
    );
    assert!(!namespaces().contains(&lab.options().prefix));
}
