//! A daemon whose log cannot be written keeps running. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::{Hub, Lab};
use linkmend_control::Client;
use std::fs::OpenOptions;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A log on a full disk must not end the daemon; printing macros would, because they panic.
#[test]
fn a_full_disk_under_the_log_does_not_end_the_daemon() {
    let Some(mut lab) = Lab::new("full") else { return };
    let left = lab.left.clone();
    let full = || OpenOptions::new().write(true).open("/dev/full").expect("the kernel has it");
    let daemon = lab.start_with_log(&left, "left", "--allow-corruption", full().into());
    let control = lab.socket("left").display().to_string();
    assert_eq!(lab.ask(&format!("protect left --mode non-blocking --control {control}")).0, 0);
    assert_eq!(lab.ask(&format!("corrupt left 1e-3 --control {control}")).0, 0);
    let status = lab.status("left");
    assert!(status.contains("log lines could not be written"), "{status}");
    let mut command = lab.linkmend(&left, &format!("status --control {control}"));
    let code = command.stdout(full()).stderr(full()).status().expect("it starts").code();
    assert_eq!(code, Some(1), "a status that cannot be shown is a failure, not a panic");
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
}

/// A terminal that is held, or a pager that nobody scrolls, lets the pipe fill up after 64 KiB.
#[test]
fn a_reader_of_the_log_that_stands_still_does_not_hold_up_the_daemon() {
    let Some(mut lab) = Lab::new("still") else { return };
    let left = lab.left.clone();
    // Each request is a line, and none is held back as one of a flood.
    let daemon = lab.start_with_log(&left, "left", "--allow-corruption -v", Stdio::piped());
    let mut client = Client::connect(&lab.socket("left")).expect("it listens");
    let mut slowest = Duration::ZERO;
    for _ in 0..2_000 {
        let asked = Instant::now();
        client.corrupt("left", None).expect("it answers");
        slowest = slowest.max(asked.elapsed());
    }
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let status = lab.status("left");
    assert!(status.contains("log lines could not be written"), "{status}");
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0), "its last words are not waited for");
}

/// Without a handler, SIGXFSZ would end the daemon.
#[test]
fn a_log_that_may_not_grow_does_not_end_the_daemon() {
    let Some(mut lab) = Lab::new("limit") else { return };
    let control = lab.socket("left");
    let line = format!(
        "ulimit -f 1; exec ip netns exec {} {} run --inner create:host --link l0 --name left -v --control {} 2>{}",
        lab.left,
        env!("CARGO_BIN_EXE_linkmend"),
        control.display(),
        lab.log("left").display(),
    );
    let mut command = Command::new("bash");
    let child = command.args(["-c", &line]).process_group(0).stdout(Stdio::null()).spawn().expect("bash");
    lab.daemons.push(child);
    let begun = Instant::now();
    while !control.exists() {
        assert!(begun.elapsed() < daemon_lab::PATIENCE, "{}", lab.read_log("left"));
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut client = Client::connect(&control).expect("it listens");
    for _ in 0..30 {
        let protect = linkmend_control::ProtectConfig::default();
        client.protect("left", &protect).expect("it answers");
    }
    assert!(lab.status("left").contains("log lines could not be written"), "{}", lab.read_log("left"));
    assert_eq!(lab.stop(0, "-TERM"), Some(0));
}

/// Probes of both links then arrive on both, and contradict each other hundreds of times a second.
#[test]
fn two_links_in_one_broadcast_domain_do_not_flood_the_log() {
    let Some(mut lab) = Lab::new("flood") else { return };
    let hub = Hub::new("flood");
    for (namespace, name) in [(lab.left.clone(), "left"), (lab.right.clone(), "right")] {
        hub.connect(&namespace, "one");
        hub.connect(&namespace, "two");
        let ports = "inner = \"create:host\"\nlink = \"one\"\nbackup = \"two\"";
        lab.start_configured(&namespace, name, &format!("[[link]]\nname = \"{name}\"\n{ports}\n"));
    }
    std::thread::sleep(Duration::from_secs(5));
    for daemon in 0..2 {
        assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
    }
    for name in ["left", "right"] {
        let log = lab.read_log(name);
        assert!(log.lines().count() < 80, "{} lines: {log}", log.lines().count());
    }
}
