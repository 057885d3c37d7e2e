//! The laboratory for an ordinary user. Without the test harness, because the program must have a single thread when
//! it enters its namespaces: it starts itself again as `nobody`, who then enters a user namespace.

#![allow(clippy::print_stdout, reason = "it stands in for the test harness")]

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use linkmend_lab::frames::{TransparencyOptions, catalogue, send_and_capture};
use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::packet::FramePath;
use linkmend_lab::stop::RunControl;
use linkmend_lab::tcp::{FlowOptions, PingOptions, TrafficPath, flows, ping};
use linkmend_lab::topology::{DownOutcome, Lab, LabOptions};
use linkmend_lab::unprivileged::{Privileges, ensure_privileges, has_capabilities};
use linkmend_lab::{DelayLines, Impairments};

const NOBODY: u32 = 65534;
const STAGE: &str = "LINKMEND_LAB_TEST_STAGE";
const REFUSED: i32 = 77;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--list") {
        println!("ordinary_user: test");
        return;
    }
    match std::env::var(STAGE).as_deref() {
        Ok("inside") => inside(),
        _ if has_capabilities() => become_nobody(),
        _ => inside(),
    }
}

/// Runs a copy of this program as `nobody`, from a folder that nobody may read.
fn become_nobody() {
    let copy: PathBuf = std::env::temp_dir().join(format!("linkmend-lab-test-{}", std::process::id()));
    std::fs::copy(std::env::current_exe().expect("a program"), &copy).expect("copied");
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).expect("readable");
    let status = Command::new(&copy).uid(NOBODY).gid(NOBODY).env(STAGE, "inside").current_dir("/").status();
    let removed = std::fs::remove_file(&copy);
    match status.expect("it starts").code() {
        Some(0) => println!("test ordinary_user ... ok"),
        Some(REFUSED) => {
            eprintln!("\n######## SKIPPED: ordinary_user: no user namespaces here (see above) ########\n");
        }
        code => panic!("the laboratory of an ordinary user failed: {code:?}"),
    }
    removed.expect("the copy goes");
}

fn inside() {
    let privileges = match ensure_privileges() {
        Ok(privileges) => privileges,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(REFUSED);
        }
    };
    assert!(matches!(privileges, Privileges::UserNamespace { .. }), "{privileges:?}");
    assert_eq!(ensure_privileges().expect("again"), privileges, "the second call differs");
    let lab = Lab::up(LabOptions { remove_on_drop: true, ..LabOptions::default() }).expect("up");
    lab.bridge().expect("there are bridges");
    let control = RunControl::default();
    let path = FramePath::forward(&lab);
    let options = GeneratorOptions { count: 20_000, ..GeneratorOptions::default() };
    let report = generate(&path, &options, &control).expect("frames");
    assert_eq!((report.received, report.receive_socket_drops), (20_000, 0), "{report:#?}");
    eprintln!("window {}, {:.0} frames/s", report.window_frames, report.frames_per_second);
    let options = TransparencyOptions { settle: Duration::from_millis(50), ..TransparencyOptions::default() };
    let report = send_and_capture(&path, &catalogue(&path), &options, &control).expect("odd frames");
    assert_eq!(report.failures().count(), 1, "only LACP does not pass a bridge");
    let options = FlowOptions { count: 100, ..FlowOptions::default() };
    let report = flows(&TrafficPath::ipv4(&lab), &options, &control).expect("flows");
    assert_eq!(report.samples_ns.len(), 100);
    assert_eq!(Lab::down("lm").expect("down"), DownOutcome::Removed { ended: Vec::new() });
    drop(lab);
    impaired(&control);
}

/// Rate and delay without any privilege: no netem, no large socket buffers, no real-time priority.
fn impaired(control: &RunControl) {
    let impairments = Impairments {
        rate_bps: Some(100_000_000),
        delay: Duration::from_millis(3),
        queue_bytes: Some(1 << 20),
        ..Impairments::default()
    };
    let options =
        LabOptions { prefix: "lmi".to_owned(), impairments, remove_on_drop: true, ..LabOptions::default() };
    let lab = Lab::up(options).expect("up");
    lab.bridge().expect("there are bridges");
    let lines = DelayLines::start(&lab).expect("lines").expect("there are impairments");
    let options = PingOptions { count: 50, ..PingOptions::default() };
    let report = ping(&TrafficPath::ipv4(&lab), &options, control).expect("pings");
    let round_trip = report.round_trip_ns.expect("some came");
    // Frames are never early. How late they are depends on other processes, because an ordinary user's threads have no
    // priority.
    assert!((6_000_000..9_000_000).contains(&round_trip.min), "{round_trip:?}");
    let options = GeneratorOptions { count: 5_000, ..GeneratorOptions::default() };
    let report = generate(&FramePath::forward(&lab), &options, control).expect("frames");
    assert_eq!(
        (report.received, report.reordered, report.receive_socket_drops),
        (5_000, 0, 0),
        "{report:#?}"
    );
    assert!(report.frames_per_second * 1538.0 * 8.0 < 101e6, "{report:#?}");
    assert_eq!(lines.report().iter().map(|line| line.overflow_drops + line.queue_drops).sum::<u64>(), 0);
}
