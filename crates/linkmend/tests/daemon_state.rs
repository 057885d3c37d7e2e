//! Protection that was set at run time outlasts the daemon. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::Lab;
use std::fs;

fn ask(lab: &Lab, arguments: &str) {
    let control = lab.socket("left").display().to_string();
    let (code, _, err) = lab.ask(&format!("{arguments} --control {control}"));
    assert_eq!(code, 0, "{arguments}: {err}");
}

/// A restart must not fall back to the configuration.
#[test]
fn protection_set_at_run_time_survives_a_restart_however_the_daemon_ended() {
    let Some(mut lab) = Lab::new("state") else { return };
    let left = lab.left.clone();
    let first = lab.start(&left, "left", "--mode off");
    ask(&lab, "protect left --mode non-blocking --copies 3");
    assert!(
        lab.status("left").contains("set at run time, differs from the configuration"),
        "{}",
        lab.status("left")
    );
    assert_eq!(lab.stop(first, "-TERM"), Some(0));
    let second = lab.start(&left, "left", "--mode off");
    let status = lab.status("left");
    assert!(status.contains("non-blocking, 3 copies") && status.contains("set at run time"), "{status}");
    lab.wait_for_log(
        "left",
        "protection is restored as it was set at run time: non-blocking; configured: off",
    );
    ask(&lab, "unprotect left");
    assert!(!lab.status("left").contains("set at run time"), "that is what is configured");
    ask(&lab, "protect left");
    lab.stop(second, "-KILL");
    fs::remove_file(lab.socket("left")).expect("it was left behind");
    let third = lab.start(&left, "left", "--mode off");
    assert!(lab.status("left").contains("ordered, "), "{}", lab.status("left"));
    assert_eq!(lab.stop(third, "-TERM"), Some(0));
    // The configuration wins if it says so, and if it has been changed since.
    let fourth = lab.start(&left, "left", "--mode off --restore false");
    assert!(lab.status("left").contains("protection is off"), "{}", lab.status("left"));
    assert_eq!(lab.stop(fourth, "-TERM"), Some(0));
    let fifth = lab.start(&left, "left", "--mode ordered --copies 5");
    assert!(lab.status("left").contains("ordered, 5 copies"), "{}", lab.status("left"));
    lab.wait_for_log(
        "left",
        "protection set at run time is not restored: its configuration has been changed since",
    );
    assert_eq!(lab.stop(fifth, "-TERM"), Some(0));
}

#[test]
fn a_damaged_state_file_is_reported_and_does_not_keep_a_link_down() {
    let Some(mut lab) = Lab::new("damaged") else { return };
    let left = lab.left.clone();
    let state = lab.folder.path().join("left.state");
    fs::write(&state, b"version = 1\n[[link]]\nname = \xff").expect("written");
    lab.start(&left, "left", "--mode non-blocking");
    let status = lab.status("left");
    assert!(status.contains("non-blocking") && status.contains("left.state could not be used"), "{status}");
    assert!(lab.read_log("left").contains("ERROR"), "{}", lab.read_log("left"));
    assert!(state.with_extension("damaged").exists());
}

/// The text must not be Rust's `Some(Iid { rate: 0.05 })`.
#[test]
fn log_messages_are_words_and_not_debug_output() {
    let Some(mut lab) = Lab::new("words") else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    lab.start(&left, "left", "--allow-corruption");
    let other = lab.start(&right, "right", "");
    lab.wait_for_log("left", "protection is active");
    for arguments in [
        "corrupt left 1e-3",
        "corrupt left --gilbert-elliott 1e-3,4",
        "corrupt left off",
        "protect left --copies 2",
        "protect left --mode non-blocking",
        "unprotect left",
        "protect left",
    ] {
        ask(&lab, arguments);
    }
    lab.stop(other, "-KILL");
    lab.wait_for_log("left", "the peer fell silent");
    let log = lab.read_log("left");
    for debug in ["Some(", "None", "{ ", "Iid", "PeerLost", "NonBlocking"] {
        assert!(!log.contains(debug), "`{debug}`: {log}");
    }
}
