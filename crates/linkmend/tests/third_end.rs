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
        lab.wait_for_log(name, "there is no third end on this link any more");
        wait_for_protection(&lab, name, 2);
        let log = lab.read_log(name);
        assert_eq!(log.matches("a third end answers").count(), 1, "said once: {log}");
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
        for (port, bridge) in [("one", "bridge"), ("two", "other")] {
            hub.connect(namespace, port);
            hub.plug(namespace, port, bridge);
        }
        let ports = "inner = \"create:host\"\nlink = \"one\"\nbackup = \"two\"";
        lab.start_configured(namespace, name, &format!("[[link]]\nname = \"{name}\"\n{ports}\n"));
        assert!(ip(&format!("-n {namespace} addr add 10.99.0.{address}/24 dev host")));
    }
    for name in ["left", "right"] {
        wait_for_protection(&lab, name, 1);
    }
    lab.ping(10).unwrap_or_else(|said| panic!("{said}"));
    let begun = Instant::now();
    while !lab.status("left").contains("the backup is ready") {
        assert!(begun.elapsed() < PATIENCE, "{}", lab.status("left"));
        std::thread::sleep(Duration::from_millis(20));
    }
    hub.plug(&right, "one", "idle");
    hub.plug(&right, "two", "bridge");
    hub.plug(&right, "one", "other");
    for name in ["left", "right"] {
        lab.wait_for_log(name, "probes of one link arrive on the other");
        assert!(!lab.read_log(name).contains("end answers on this link"), "{}", lab.read_log(name));
    }
    lab.ping(1_000).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
    let status = lab.status("left");
    assert!(status.contains("CABLES ARE EXCHANGED") && !status.contains("is ready"), "{status}");
    assert!(status.contains("active: ordered"), "{status}");
    // Swapped back, both links are what they were.
    hub.plug(&right, "one", "idle");
    hub.plug(&right, "two", "other");
    hub.plug(&right, "one", "bridge");
    let begun = Instant::now();
    while !lab.status("left").contains("the backup is ready") {
        assert!(begun.elapsed() < PATIENCE, "{}", lab.status("left"));
        std::thread::sleep(Duration::from_millis(20));
    }
    lab.ping(1_000).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
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
        lab.wait_for_log(name, "another end answers on this link than before");
        wait_for_protection(&lab, name, 2);
        assert!(!lab.read_log(name).contains("a third end answers"), "{}", lab.read_log(name));
    }
    // Another host has the address now.
    assert!(ip(&format!("-n {left} neigh flush dev host")));
    lab.ping(10).unwrap_or_else(|said| panic!("{said}"));
    lab.ping(500).unwrap_or_else(|said| panic!("{said}\n{}", lab.read_log("left")));
}
