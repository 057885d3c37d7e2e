//! Ends that do not belong on a link: a third one, and another in the place of the peer. Needs root and iproute2.

mod daemon_lab;

use daemon_lab::{Hub, Lab, Namespace, PATIENCE, ip};
use std::time::{Duration, Instant};

/// Starts a link end in a namespace that is connected to the hub, with a host of this address.
fn start(lab: &mut Lab, namespace: &str, name: &str, address: u8) {
    let config = format!("[[link]]\nname = \"{name}\"\ninner = \"create:host\"\nlink = \"one\"\n");
    lab.start_configured(namespace, name, &config);
    assert!(ip(&format!("-n {namespace} addr add 10.99.0.{address}/24 dev host")));
}

fn wait_for_protection(lab: &Lab, name: &str, times: usize) {
    let begun = Instant::now();
    while lab.read_log(name).matches("protection is active").count() < times {
        assert!(begun.elapsed() < PATIENCE, "{name}: {}", lab.read_log(name));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_third_end_is_named_and_nothing_is_lost() {
    let Some(mut lab) = Lab::new("third") else { return };
    let hub = Hub::new("third");
    let third = Namespace::new("third-c");
    let (left, right) = (lab.left.clone(), lab.right.clone());
    for namespace in [&left, &right, &third.0] {
        hub.connect(namespace, "one");
    }
    start(&mut lab, &left, "left", 1);
    start(&mut lab, &right, "right", 2);
    for name in ["left", "right"] {
        wait_for_protection(&lab, name, 1);
    }
    // The addresses of hosts are looked up with broadcasts, which are not what is tested.
    lab.ping(10).unwrap_or_else(|said| panic!("{said}"));
    let wanted = lab.echo_replies() + 3_000;
    let said = std::thread::scope(|scope| {
        let pings = scope.spawn(|| daemon_lab::ping(&left, 3_000, ""));
        std::thread::sleep(Duration::from_secs(1));
        start(&mut lab, &third.0, "third", 3);
        pings.join().expect("no panic")
    });
    assert!(lab.wait_for_replies(wanted), "{said}\n{}", lab.read_log("left"));
    assert!(!said.contains("duplicates"), "{said}");
    for name in ["left", "right", "third"] {
        lab.wait_for_log(name, "a third end answers on this link");
    }
    let status = lab.status("left");
    assert!(status.contains("A THIRD END, ") && status.contains("SUSPENDED"), "{status}");
    // All three hosts reach each other, as without Linkmend.
    for (from, to) in [(&left, 3), (&right, 3), (&third.0, 1)] {
        assert!(ip(&format!("netns exec {from} ping -c 3 -i 0.2 -W 2 10.99.0.{to}")), "{to}");
    }
    assert_eq!(lab.stop(2, "-TERM"), Some(0));
    for name in ["left", "right"] {
        lab.wait_for_log(name, "there is no longer a third end on this link");
        wait_for_protection(&lab, name, 2);
        let log = lab.read_log(name);
        assert_eq!(log.matches("a third end answers").count(), 1, "said once: {log}");
    }
}

/// Starts a link end with two links, to these bridges.
fn start_with_two(lab: &mut Lab, hub: &Hub, namespace: &str, name: &str, address: u8, bridges: [&str; 2]) {
    for (port, bridge) in ["one", "two"].into_iter().zip(bridges) {
        hub.connect(namespace, port);
        hub.plug(namespace, port, bridge);
    }
    let ports = "inner = \"create:host\"\nlink = \"one\"\nbackup = \"two\"";
    lab.start_configured(namespace, name, &format!("[[link]]\nname = \"{name}\"\n{ports}\n"));
    assert!(ip(&format!("-n {namespace} addr add 10.99.0.{address}/24 dev host")));
}

/// Waits until `left` and `right` protect, and could use either link.
fn wait_until_both_are_ready(lab: &Lab) {
    for name in ["left", "right"] {
        wait_for_protection(lab, name, 1);
    }
    lab.ping(10).unwrap_or_else(|said| panic!("{said}"));
    wait_to_see(lab, "the backup is ready");
}

fn wait_to_see(lab: &Lab, words: &str) -> String {
    let begun = Instant::now();
    loop {
        let status = lab.status("left");
        if status.contains(words) {
            return status;
        }
        assert!(begun.elapsed() < PATIENCE, "`{words}` is not shown: {status}\n{}", lab.read_log("left"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What is sent on one link arrives on the other then.
#[test]
fn cables_of_two_links_that_are_swapped_are_named_and_carry_frames() {
    let Some(mut lab) = Lab::new("crossed") else { return };
    let hub = Hub::new("crossed");
    hub.add_bridge("other");
    hub.add_bridge("idle");
    let (left, right) = (lab.left.clone(), lab.right.clone());
    for (namespace, name, address) in [(&left, "left", 1), (&right, "right", 2)] {
        start_with_two(&mut lab, &hub, namespace, name, address, ["bridge", "other"]);
    }
    wait_until_both_are_ready(&lab);
    hub.plug(&right, "one", "idle");
    hub.plug(&right, "two", "bridge");
    hub.plug(&right, "one", "other");
    for name in ["left", "right"] {
        lab.wait_for_log(name, "probes of one link arrive on the other");
        assert!(!lab.read_log(name).contains("end answers on this link"), "{}", lab.read_log(name));
    }
    lab.ping(1_000).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
    let status = lab.status("left");
    assert!(status.contains("CABLES ARE SWAPPED") && !status.contains("is ready"), "{status}");
    assert!(status.contains("active: ordered"), "{status}");
    // Swapped back, both links are what they were.
    hub.plug(&right, "one", "idle");
    hub.plug(&right, "two", "other");
    hub.plug(&right, "one", "bridge");
    wait_to_see(&lab, "the backup is ready");
    lab.ping(1_000).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
}

/// A regression: protection was suspended on the clean link that was in use.
#[test]
fn a_third_end_on_the_link_that_is_not_in_use_suspends_nothing_until_that_is_needed() {
    let Some(mut lab) = Lab::new("idle3") else { return };
    let hub = Hub::new("idle3");
    hub.add_bridge("other");
    hub.add_bridge("idle");
    let third = Namespace::new("idle3-c");
    let (left, right) = (lab.left.clone(), lab.right.clone());
    for (namespace, name, address) in [(&left, "left", 1), (&right, "right", 2)] {
        start_with_two(&mut lab, &hub, namespace, name, address, ["bridge", "other"]);
    }
    wait_until_both_are_ready(&lab);
    hub.connect(&third.0, "one");
    hub.plug(&third.0, "one", "other");
    let wanted = lab.echo_replies() + 2_000;
    let said = std::thread::scope(|scope| {
        let pings = scope.spawn(|| daemon_lab::ping(&left, 2_000, ""));
        start(&mut lab, &third.0, "third", 3);
        pings.join().expect("no panic")
    });
    assert!(lab.wait_for_replies(wanted), "{said}\n{}", lab.read_log("left"));
    for name in ["left", "right"] {
        lab.wait_for_log(name, "a third end answers on this link, so it is not used");
        assert_eq!(lab.read_log(name).matches("protection ended").count(), 0, "{}", lab.read_log(name));
    }
    let status = wait_to_see(&lab, "the backup is NOT READY: a different end, ");
    assert!(status.contains("active: ordered") && status.contains("A THIRD END, "), "{status}");
    // It is needed now.
    hub.plug(&right, "one", "idle");
    wait_to_see(&lab, "SUSPENDED");
    for name in ["left", "right"] {
        lab.wait_for_log(name, "INFO protection ended");
    }
    hub.plug(&right, "one", "bridge");
    for name in ["left", "right"] {
        wait_for_protection(&lab, name, 2);
    }
    assert_eq!(lab.stop(2, "-TERM"), Some(0));
    wait_to_see(&lab, "the backup is ready");
    lab.ping(500).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
}

/// Each end then hears its peer on one link, and one of the other pair on the other.
#[test]
fn one_cable_of_two_pairs_that_is_swapped_is_named_and_costs_nothing() {
    let Some(mut lab) = Lab::new("pairs") else { return };
    let hub = Hub::new("pairs");
    let (third, fourth) = (Namespace::new("pairs-c"), Namespace::new("pairs-d"));
    let (left, right) = (lab.left.clone(), lab.right.clone());
    for bridge in ["other", "theirs", "theirs2", "idle"] {
        hub.add_bridge(bridge);
    }
    for (namespace, name, address, bridges) in [
        (&left, "left", 1, ["bridge", "other"]),
        (&right, "right", 2, ["bridge", "other"]),
        (&third.0, "third", 1, ["theirs", "theirs2"]),
        (&fourth.0, "fourth", 2, ["theirs", "theirs2"]),
    ] {
        start_with_two(&mut lab, &hub, namespace, name, address, bridges);
    }
    wait_until_both_are_ready(&lab);
    for name in ["third", "fourth"] {
        wait_for_protection(&lab, name, 1);
    }
    let wanted = lab.echo_replies() + 2_000;
    let said = std::thread::scope(|scope| {
        let pings = scope.spawn(|| daemon_lab::ping(&left, 2_000, ""));
        hub.plug(&fourth.0, "two", "idle");
        hub.plug(&right, "two", "theirs2");
        hub.plug(&fourth.0, "two", "other");
        pings.join().expect("no panic")
    });
    assert!(lab.wait_for_replies(wanted), "{said}\n{}", lab.read_log("left"));
    assert!(!said.contains("duplicates"), "{said}");
    for name in ["left", "right", "third", "fourth"] {
        lab.wait_for_log(name, "this link leads to a different end than the other one, so it is not used");
        assert_eq!(lab.read_log(name).matches("protection ended").count(), 0, "{}", lab.read_log(name));
    }
    let status = wait_to_see(&lab, "the backup is NOT READY: a different end, ");
    assert!(status.contains("active: ordered"), "{status}");
    hub.plug(&fourth.0, "two", "idle");
    hub.plug(&right, "two", "other");
    hub.plug(&fourth.0, "two", "theirs2");
    wait_to_see(&lab, "the backup is ready");
    lab.ping(500).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
}

#[test]
fn an_end_in_the_place_of_the_peer_is_named_and_protected_with() {
    let Some(mut lab) = Lab::new("swap") else { return };
    let hub = Hub::new("swap");
    let (third, fourth) = (Namespace::new("swap-c"), Namespace::new("swap-d"));
    let (left, right) = (lab.left.clone(), lab.right.clone());
    hub.add_bridge("other");
    hub.add_bridge("idle");
    for (namespace, name, address, bridge) in [
        (&left, "left", 1, "bridge"),
        (&right, "right", 2, "bridge"),
        (&third.0, "third", 1, "other"),
        (&fourth.0, "fourth", 2, "other"),
    ] {
        hub.connect(namespace, "one");
        hub.plug(namespace, "one", bridge);
        start(&mut lab, namespace, name, address);
    }
    for name in ["left", "right", "third", "fourth"] {
        wait_for_protection(&lab, name, 1);
    }
    lab.ping(10).unwrap_or_else(|said| panic!("{said}"));
    hub.plug(&fourth.0, "one", "idle");
    hub.plug(&right, "one", "other");
    hub.plug(&fourth.0, "one", "bridge");
    for name in ["left", "right", "third", "fourth"] {
        lab.wait_for_log(name, "a different end than before answers on this link");
        wait_for_protection(&lab, name, 2);
        assert!(!lab.read_log(name).contains("a third end answers"), "{}", lab.read_log(name));
    }
    // Another host has the address now.
    assert!(ip(&format!("-n {left} neigh flush dev host")));
    lab.ping(10).unwrap_or_else(|said| panic!("{said}"));
    lab.ping(500).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
}
