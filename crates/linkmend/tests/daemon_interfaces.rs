//! Changes of its interfaces that a daemon notices while they are idle. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::{Lab, PATIENCE, ip};
use std::time::{Duration, Instant};

/// Waits until `status` contains these words, and returns how long that took.
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

/// The change must be noticed without traffic, too.
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
    let code = lab.wait_for_end(daemon);
    let (took, log) = (begun.elapsed(), lab.read_log("left"));
    assert_eq!(code, Some(1), "{log}");
    assert!(log.contains("the interface is gone; the loop ends link=left port=\"i0\""), "{log}");
    assert!(took < Duration::from_secs(3), "{took:?}");
    // It used to say in one breath that the others went on, and that it would start again by itself.
    assert!(log.contains("error: no link is left: link left: interface `i0` is gone\n"), "{log}");
    assert!(!log.contains("the other links") && !log.contains("by itself"), "{log}");
    assert!(log.contains("hint: `linkmend detach l0` removes it"), "{log}");
}

/// Two links: `kept` over the cable, `lost` between two interfaces that can be deleted.
const TWO_LINKS: &str = r#"
    [[link]]
    name = "kept"
    inner = "create:host"
    link = "l0"

    [[link]]
    name = "lost"
    inner = "i0"
    link = "o0"
"#;

fn make_pair(namespace: &str, name: &str, mtu: u32) {
    let (near, far) = (format!("{name}0"), format!("{name}1"));
    assert!(ip(&format!("-n {namespace} link add {near} mtu {mtu} type veth peer name {far} mtu {mtu}")));
    for end in [near, far] {
        assert!(ip(&format!("-n {namespace} link set {end} up")));
    }
}

fn show(lab: &Lab, link: &str) -> (i32, String) {
    let (code, out, err) = lab.ask(&format!("status {link} --control {}", lab.socket("left").display()));
    (code, out + &err)
}

fn wait_to_see(lab: &Lab, link: &str, words: &str) -> String {
    let begun = Instant::now();
    loop {
        let (code, said) = show(lab, link);
        if code == 0 && said.contains(words) {
            return said;
        }
        assert!(begun.elapsed() < PATIENCE, "`{words}` is not shown: {said}\n{}", lab.read_log("left"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The loss of one link's interface must not end the daemon, and with it the protection of every other link.
#[test]
fn a_deleted_interface_ends_one_link_and_the_others_go_on() {
    let Some(mut lab) = Lab::new("others") else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    make_pair(&left, "i", 1500);
    make_pair(&left, "o", 1508);
    let daemon = lab.start_configured(&left, "left", TWO_LINKS);
    lab.start(&right, "right", "");
    for (side, address) in [(&left, "10.99.0.1"), (&right, "10.99.0.2")] {
        assert!(ip(&format!("-n {side} addr add {address}/24 dev host")));
    }
    lab.wait_for_log("left", "protection is active");
    assert!(ip(&format!("-n {left} link del i0")));
    wait_to_see(&lab, "lost", "OUT OF OPERATION: there is no interface `i0`");
    let log = lab.read_log("left");
    assert!(log.contains("the interface is gone; the loop ends link=lost port=\"i0\""), "{log}");
    assert!(
        log.contains("this link is out of operation, and starts again when its interface is back"),
        "{log}"
    );
    let control = lab.socket("left").display().to_string();
    let (code, _, said) = lab.ask(&format!("protect lost --control {control}"));
    assert!(code == 1 && said.contains("there is no interface `i0`"), "{said}");
    lab.ping(50).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
    let kept = wait_to_see(&lab, "kept", "active: ordered");
    assert!(!kept.contains("times the peer fell silent"), "{kept}");
    let (code, json, _) = lab.ask(&format!("status --json --control {control}"));
    let reports: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(
        (code, reports[0]["gone"].is_null(), reports[1]["gone"].is_string()),
        (0, true, true),
        "{json}"
    );
    // When the interface comes back, the link does.
    make_pair(&left, "i", 1500);
    lab.wait_for_log("left", "the link runs again link=\"lost\"");
    wait_to_see(&lab, "lost", "not detected: no Linkmend at the other end");
    assert_eq!(lab.read_log("left").matches("protection is active").count(), 1, "{}", lab.read_log("left"));
    // Without any link left, the daemon ends.
    assert!(ip(&format!("-n {left} link del o0")));
    wait_to_see(&lab, "lost", "there is no interface `o0`");
    assert!(ip(&format!("-n {left} link del host")));
    assert_eq!(lab.wait_for_end(daemon), Some(1), "{}", lab.read_log("left"));
}

/// Beside `kept`, a link with a second one, both of which can be deleted.
const LINK_WITH_BACKUP: &str = r#"
    [[link]]
    name = "kept"
    inner = "create:host"
    link = "l0"

    [[link]]
    name = "both"
    inner = "i0"
    link = "o0"
    backup = "b0"
"#;

/// The link end has to start again with the interface that is back. This ended the daemon, with every other link.
#[test]
fn an_interface_of_two_that_is_removed_and_returns_ends_no_other_link() {
    let Some(mut lab) = Lab::new("readded") else { return };
    let (left, right) = (lab.left.clone(), lab.right.clone());
    for (name, mtu) in [("i", 1500), ("o", 1508), ("b", 1508)] {
        make_pair(&left, name, mtu);
    }
    let daemon = lab.start_configured(&left, "left", LINK_WITH_BACKUP);
    lab.start(&right, "right", "");
    lab.wait_for_log("left", "protection is active");
    for (removed, starts) in [("o", 1), ("b", 2), ("o", 3)] {
        assert!(ip(&format!("-n {left} link del {removed}0")));
        let gone = format!("continuing with the other link alone link=both port=\"{removed}0\"");
        lab.wait_for_log("left", &gone);
        // Longer than it takes to look for it.
        std::thread::sleep(Duration::from_millis(1_500));
        make_pair(&left, removed, 1508);
        let begun = Instant::now();
        while lab.read_log("left").matches("the link runs again link=\"both\"").count() < starts {
            assert!(begun.elapsed() < PATIENCE, "{}", lab.read_log("left"));
            std::thread::sleep(Duration::from_millis(20));
        }
        wait_to_see(&lab, "both", "not detected: no Linkmend at the other end");
    }
    let log = lab.read_log("left");
    assert_eq!(log.matches("its loop has ended: an interface is back").count(), 3, "said once each: {log}");
    assert_eq!(log.matches("protection is active").count(), 1, "the other link is undisturbed: {log}");
    wait_to_see(&lab, "kept", "active: ordered");
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0), "{}", lab.read_log("left"));
}

#[test]
fn a_stop_with_a_link_out_of_operation_is_a_success_and_names_the_ports_that_are_left() {
    let Some(mut lab) = Lab::new("stop") else { return };
    let left = lab.left.clone();
    make_pair(&left, "i", 1500);
    make_pair(&left, "o", 1508);
    let daemon = lab.start_configured(&left, "left", TWO_LINKS);
    assert!(ip(&format!("-n {left} link del i0")));
    wait_to_see(&lab, "lost", "OUT OF OPERATION");
    assert_eq!(lab.stop(daemon, "-TERM"), Some(0));
    let log = lab.read_log("left");
    assert!(log.contains("stopped while out of operation: there is no interface `i0`"), "{log}");
    assert!(log.contains("hint: `linkmend detach o0` removes it"), "{log}");
    let (code, said, _) = lab.ask("detach o0");
    assert!(code == 0 && said.contains("o0: removed the bypass"), "{said}");
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

/// The current MTU of the link decides what fits with a header, not the MTU at the start, because a port refuses frames
/// that do not fit.
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
        // The hosts' frames have this length, so there is no room for a header.
        assert!(ip(&format!("-n {side} link set l0 mtu 1500")));
    }
    for name in ["left", "right"] {
        lab.wait_for_log(name, "the longest frames pass unprotected");
    }
    lab.ping_with(20, "-s 1472 -M do").unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
    assert!(lab.status("left").contains("frames sent unprotected because a header would make them too long"));
}
