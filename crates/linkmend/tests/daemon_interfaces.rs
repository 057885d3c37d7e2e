//! What a daemon notices of its interfaces while nothing passes over them. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::{Lab, PATIENCE, ip};
use std::time::{Duration, Instant};

/// Waits until `status` says so, and returns how long that took.
fn wait_for_status(lab: &Lab, words: &str) -> Duration {
    let begun = Instant::now();
    loop {
        let status = lab.status("left");
        if status.contains(words) {
            return begun.elapsed();
        }
        assert!(begun.elapsed() < PATIENCE, "`{words}` is not shown: {status}");
    }
}

/// It once went unnoticed for as long as there was no traffic: 30 s and more.
#[test]
fn a_deleted_interface_ends_the_link_at_once_without_traffic() {
    let Some(mut lab) = Lab::new("gone") else { return };
    let left = lab.left.clone();
    assert!(ip(&format!("-n {left} link add i0 mtu 1500 type veth peer name i1")));
    for end in ["i0", "i1"] {
        assert!(ip(&format!("-n {left} link set {end} up")));
    }
    let daemon = lab.start_between(&left, "left", "i0");
    let begun = Instant::now();
    assert!(ip(&format!("-n {left} link del i0")));
    let code = loop {
        if let Some(status) = lab.daemons[daemon].try_wait().expect("it can be asked") {
            break status.code();
        }
        assert!(begun.elapsed() < PATIENCE, "{}", lab.read_log("left"));
        std::thread::sleep(Duration::from_millis(10));
    };
    let (took, log) = (begun.elapsed(), lab.read_log("left"));
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("the interface is gone; the loop ends link=left port=\"i0\""), "{log}");
    assert!(took < Duration::from_secs(3), "{took:?}");
}

#[test]
fn a_lost_carrier_and_another_mtu_are_shown_and_logged() {
    let Some(mut lab) = Lab::new("carrier") else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    lab.start(&left, "left", "--mode off");
    assert!(ip(&format!("-n {right} link set l0 down")));
    wait_for_status(&lab, "MTU 1508; NO CARRIER");
    lab.wait_for_log("left", "the interface has lost its carrier link=left port=\"l0\"");
    assert!(ip(&format!("-n {right} link set l0 up")));
    lab.wait_for_log("left", "the interface has its carrier back");
    assert!(!lab.status("left").contains("NO CARRIER"));
    assert!(ip(&format!("-n {left} link set l0 mtu 1300")));
    wait_for_status(&lab, "MTU 1300");
    lab.wait_for_log("left", "the longest frames pass unprotected, or are lost");
    let log = lab.read_log("left");
    assert_eq!(log.matches("the MTU has changed").count(), 1, "{log}");
    assert!(ip(&format!("-n {left} link set l0 down")));
    wait_for_status(&lab, "DOWN");
    lab.wait_for_log("left", "the interface is down; frames are lost there until it is up");
    assert!(ip(&format!("-n {left} link set l0 up")));
    lab.wait_for_log("left", "the interface is up again");
}

/// The link's MTU of the start once decided for ever what fits with a header: frames that no longer fitted were given to
/// the port, which refused them.
#[test]
fn a_lowered_mtu_lets_the_longest_frames_pass_unprotected() {
    let Some(mut lab) = Lab::new("mtu") else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    for (side, name) in [(&left, "left"), (&right, "right")] {
        lab.start(side, name, "");
        let address = if name == "left" { "10.99.0.1" } else { "10.99.0.2" };
        assert!(ip(&format!("-n {side} addr add {address}/24 dev host")));
    }
    lab.wait_for_log("left", "protection is active");
    for side in [&left, &right] {
        // As long as the hosts' frames, without room for a header.
        assert!(ip(&format!("-n {side} link set l0 mtu 1500")));
    }
    for name in ["left", "right"] {
        lab.wait_for_log(name, "the longest frames pass unprotected");
    }
    lab.ping_with(20, "-s 1472 -M do").unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
    assert!(lab.status("left").contains("frames sent unprotected, too long with a header"));
}
