//! A laboratory with two links, each of which can be cut.

mod common;

use std::process::Command;
use std::time::{Duration, Instant};

use linkmend_diagnose::Diagnose;
use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::{
    BackupLink, Cut, DelayLines, Direction, FramePath, Impairments, Lab, LabError, LabOptions, Role,
    RunControl,
};
use linkmend_protocol::paths::Path;

/// How long a carrier may take to follow.
const PATIENCE: Duration = Duration::from_secs(2);

fn two_links(name: &str, primary: Impairments, backup: BackupLink) -> LabOptions {
    LabOptions { impairments: primary, backup: Some(backup), ..common::options(name) }
}

fn has_carrier(lab: &Lab, role: Role, interface: &str) -> bool {
    let namespace = lab.namespace(role).name();
    let output = Command::new("ip").args(["-n", namespace, "link", "show", "dev", interface]).output();
    let said = String::from_utf8(output.expect("ip runs").stdout).expect("UTF-8");
    assert!(said.contains(interface), "{said}");
    said.contains("LOWER_UP")
}

fn assert_carriers(lab: &Lab, interface: &str, wanted: bool) {
    for role in [Role::End1, Role::End2] {
        let begun = Instant::now();
        while has_carrier(lab, role, interface) != wanted {
            assert!(begun.elapsed() < PATIENCE, "{role:?} {interface}: the carrier is not {wanted}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether frames pass from left to right, and from right to left.
fn passes(lab: &Lab) -> [bool; 2] {
    let options = GeneratorOptions {
        count: 20,
        frame_bytes: 300,
        drain: Duration::from_millis(200),
        ..GeneratorOptions::default()
    };
    [FramePath::forward(lab), FramePath::backward(lab)].map(|path| {
        let report = generate(&path, &options, &RunControl::default()).expect("the generator runs");
        assert!([0, report.sent].contains(&report.received), "some frames were lost: {report:?}");
        report.received > 0
    })
}

/// A bridge forwards again when the kernel has told it that the carrier is back, which may take a second.
fn assert_passes(lab: &Lab) {
    let begun = Instant::now();
    while passes(lab) != [true; 2] {
        assert!(begun.elapsed() < PATIENCE, "nothing passes");
    }
}

/// Cuts the first link in every way; its ends are bridges.
fn is_cut_and_mended_in_every_way(lab: &Lab) {
    assert_eq!(lab.cuts().expect("readable"), Some([None; 2]));
    assert_passes(lab);
    for (cut, passing) in [
        (Cut::Carrier, [false; 2]),
        (Cut::Silent(Direction::Both), [false; 2]),
        (Cut::Silent(Direction::LeftRight), [false, true]),
        (Cut::Silent(Direction::RightLeft), [true, false]),
        (Cut::Carrier, [false; 2]),
    ] {
        lab.cut(Path::Primary, cut).expect("it is cut");
        assert_carriers(lab, "link", cut != Cut::Carrier);
        assert_carriers(lab, "backup", true);
        assert_eq!(lab.cuts().expect("readable"), Some([Some(cut), None]));
        assert_eq!(passes(lab), passing, "{cut:?}");
        lab.mend(Path::Primary).expect("it is mended");
        assert_carriers(lab, "link", true);
        assert_passes(lab);
    }
    // Differently, without having been mended.
    lab.cut(Path::Primary, Cut::Silent(Direction::Both)).expect("it is cut");
    lab.cut(Path::Primary, Cut::Carrier).expect("it is cut");
    lab.cut(Path::Backup, Cut::Carrier).expect("it is cut");
    assert_carriers(lab, "backup", false);
    lab.mend(Path::Primary).expect("it is mended");
    lab.mend(Path::Primary).expect("it is mended, as it was");
    assert_carriers(lab, "link", true);
    assert_passes(lab);
    lab.mend(Path::Backup).expect("it is mended");
    assert_carriers(lab, "backup", true);
    assert_eq!(lab.cuts().expect("readable"), Some([None; 2]));
}

#[test]
fn bridged_links_are_cut_and_mended() {
    if !common::privileged("bridged_links_are_cut_and_mended") {
        return;
    }
    let lab = Lab::up(two_links("cutb", Impairments::default(), BackupLink::default())).expect("up");
    assert!(DelayLines::start(&lab).expect("there are none").is_none());
    lab.bridge().expect("bridges");
    is_cut_and_mended_in_every_way(&lab);
}

#[test]
fn links_with_delay_lines_are_cut_and_mended() {
    if !common::privileged("links_with_delay_lines_are_cut_and_mended") {
        return;
    }
    let primary = Impairments { link_delay: Duration::from_millis(1), ..Impairments::default() };
    let backup = BackupLink { rate_bps: Some(100_000_000), delay: Duration::from_millis(2) };
    let lab = Lab::up(two_links("cutl", primary, backup)).expect("up");
    let lines = DelayLines::start(&lab).expect("they start").expect("there are lines");
    assert_eq!(lines.report().len(), 4, "two links in two directions");
    lab.bridge().expect("bridges");
    is_cut_and_mended_in_every_way(&lab);
    assert!(lines.is_running());
}

#[test]
fn a_lab_with_two_links_goes_as_it_came() {
    if !common::privileged("a_lab_with_two_links_goes_as_it_came") {
        return;
    }
    let options = two_links("cutd", Impairments::default(), BackupLink::default());
    let prefix = options.prefix.clone();
    let lab = Lab::up(options.clone()).expect("up");
    let inode = lab.wires().expect("a fifth namespace").inode().expect("inode");
    lab.cut(Path::Backup, Cut::Carrier).expect("it is cut");
    let again = Lab::up(LabOptions { remove_on_drop: false, ..options.clone() }).expect("up again");
    assert_eq!(again.wires().expect("still").inode().expect("inode"), inode, "it was rebuilt for nothing");
    let attached = Lab::attach(&prefix).expect("it is up");
    assert_eq!(attached.cuts().expect("readable"), Some([None, Some(Cut::Carrier)]));
    let slower = BackupLink { rate_bps: Some(100_000_000), ..BackupLink::default() };
    let rebuilt = LabOptions { backup: Some(slower), remove_on_drop: false, ..options.clone() };
    let rebuilt = Lab::up(rebuilt).expect("up with a slower backup");
    assert_eq!(rebuilt.cuts().expect("readable"), Some([None; 2]), "a new laboratory is whole");
    let single = LabOptions { backup: None, remove_on_drop: false, ..options };
    let single = Lab::up(single).expect("up with one link");
    assert!(single.wires().is_none() && single.cuts().expect("no record").is_none());
    for refused in [single.cut(Path::Primary, Cut::Carrier), single.mend(Path::Backup)] {
        let error = refused.expect_err("there is one link");
        assert!(matches!(error, LabError::OneLink { .. }), "{error:?}");
        assert!(error.hint().is_some_and(|hint| hint.contains("--backup")));
    }
    Lab::down(&prefix).expect("down");
    let left = std::fs::read_dir(linkmend_lab::topology::MARKER_FOLDER).expect("the folder of records");
    let left: Vec<_> = left.flatten().map(|entry| entry.file_name().into_string().expect("UTF-8")).collect();
    assert!(!left.iter().any(|name| name.starts_with(&prefix)), "{left:?}");
}
