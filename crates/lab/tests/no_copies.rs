//! The laboratory starts programs without making a copy of its process, whose loops would stand still meanwhile.

#![allow(unsafe_code, reason = "only the C library says when a process is copied")]

mod common;

use linkmend_lab::{BackupLink, Cut, Lab, LabError, LabOptions, Path, Role};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

static COPIES: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn count() {
    COPIES.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn programs_are_started_without_a_copy_of_the_process() {
    if !common::privileged("programs_are_started_without_a_copy_of_the_process") {
        return;
    }
    // SAFETY: the handler only counts.
    assert_eq!(unsafe { libc::pthread_atfork(Some(count), None, None) }, 0);
    let lab = Lab::up(LabOptions { backup: Some(BackupLink::default()), ..common::options("cop") });
    let lab = lab.expect("the lab comes up");
    lab.cut(Path::Primary, Cut::Carrier).expect("it is cut");
    lab.mend(Path::Primary).expect("it is mended");
    let mut child = lab.spawn(Role::Host1, Command::new("true")).expect("it starts");
    assert!(child.wait().expect("it ends").success());
    let missing = lab.spawn(Role::Host1, Command::new("no-such-program-here"));
    assert!(matches!(missing, Err(LabError::Spawn { .. })), "{missing:?}");
    assert_eq!(COPIES.load(Ordering::Relaxed), 0);
    // Otherwise it would have been counted.
    // SAFETY: the child does nothing but end.
    match unsafe { libc::fork() } {
        // SAFETY: it does not return.
        0 => unsafe { libc::_exit(0) },
        // SAFETY: the child was just made.
        pid => assert_eq!(unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) }, pid),
    }
    assert_eq!(COPIES.load(Ordering::Relaxed), 1);
}
