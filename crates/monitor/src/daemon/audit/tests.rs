//! Restarts, rotations and crashes.

use super::*;
use crate::agent::{Decision, PlanVerdict};
use crate::audit_chain::{Verified, Verifier};
use std::time::Duration;

fn decision(number: u64) -> Decision {
    let ports = ["leaf1/a", "spine1/b"].map(|port| port.parse().expect("a port"));
    let reason = format!("reason {number} \u{202e}");
    Decision::of_plan(Duration::from_secs(number), ports, PlanVerdict::Held, String::new(), reason)
}

fn write(audit: &mut Audit, numbers: std::ops::Range<u64>) {
    for number in numbers {
        audit.write(&Record::now(&decision(number))).expect("written");
    }
}

fn verified(files: &[&Path]) -> Verified {
    let mut verifier = Verifier::new(None);
    for file in files {
        verifier.handle_file();
        for line in std::fs::read(file).expect("readable").split_inclusive(|byte| *byte == b'\n') {
            verifier.handle_line(line).unwrap_or_else(|damage| panic!("{}: {damage}", file.display()));
        }
    }
    verifier.finish()
}

#[test]
fn restarts_and_rotations_continue_the_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, first, second] = ["log", "log.1", "log.2"].map(|name| folder.path().join(name));
    let open = || Audit::open(path.clone(), None).expect("it opens");
    let mut audit = open();
    write(&mut audit, 0..3);
    audit.reopen();
    write(&mut audit, 3..4);
    drop(audit);
    let mut audit = open();
    write(&mut audit, 4..6);
    // Rotated while it runs.
    std::fs::rename(&path, &second).expect("moved");
    audit.reopen();
    write(&mut audit, 6..8);
    drop(audit);
    // And while it does not.
    std::fs::rename(&path, &first).expect("moved");
    let _ = std::fs::write(folder.path().join("log.0.gz"), "packed");
    let mut audit = open();
    write(&mut audit, 8..10);
    let found = verified(&[&second, &first, &path]);
    assert_eq!((found.lines, found.beginnings, found.begins_at), (10, 1, None));
    assert_eq!(found.last.map(|place| place.number), Some(10));
    assert_eq!(verified(&[&path]).begins_at, Some(9));
}

#[test]
fn a_line_that_a_crash_has_torn_is_cut_off_and_the_chain_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let mut audit = Audit::open(path.clone(), None).expect("it opens");
    write(&mut audit, 0..3);
    drop(audit);
    let whole = std::fs::read(&path).expect("readable");
    for torn in [1, 10, 100] {
        std::fs::write(&path, &whole[..whole.len() - torn]).expect("written");
        let mut audit = Audit::open(path.clone(), None).expect("it opens");
        write(&mut audit, 3..4);
        let found = verified(&[&path]);
        assert_eq!((found.lines, found.unsealed_lines), (3, 0), "{torn} bytes");
    }
}

#[test]
fn a_file_without_a_chain_is_continued_with_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let old = b"{\"text\":\"old\"}\n{\"text\":\"\xff\"}\n";
    std::fs::write(&path, old).expect("written");
    write(&mut Audit::open(path.clone(), None).expect("it opens"), 0..2);
    let all = std::fs::read(&path).expect("readable");
    let new = all.strip_prefix(&old[..]).expect("what was there stays");
    std::fs::write(&path, [&old[..15], new].concat()).expect("written");
    let found = verified(&[&path]);
    assert_eq!((found.lines, found.unsealed_lines, found.beginnings), (2, 1, 1));
}

#[test]
fn two_processes_do_not_write_to_one_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let audit = Audit::open(path.clone(), None).expect("it opens");
    let error = Audit::open(path.clone(), None).expect_err("it is in use").to_string();
    assert!(error.contains("another process writes to") && error.contains("its own file"), "{error}");
    drop(audit);
    assert!(Audit::open(path, None).is_ok());
}
