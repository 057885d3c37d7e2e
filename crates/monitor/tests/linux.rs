//! Counters of real interfaces, in a network namespace of its own.

use linkmend_linux::veth;
use linkmend_monitor::counters::Reading;
use linkmend_monitor::source::{CounterNames, DriverNames, LinuxSource, Source};
use nix::sched::{CloneFlags, unshare};
use std::collections::BTreeMap;
use std::io::Write;

const MTU: u32 = 1_500;

/// Runs `test` in a network namespace of its own. Without the privilege it is skipped.
fn in_namespace(test: impl FnOnce() + Send) {
    let run = || {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            // Written directly, because the test harness swallows what passing tests print.
            let text = "SKIPPED: counters of real interfaces; run as root: sudo -E make test";
            let _ = writeln!(std::io::stderr(), "\n######## {text} ########\n");
            return;
        }
        test();
    };
    // Only the thread that asks for it gets into the new namespace.
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn pair(left: &str, right: &str) {
    veth::create_pair(left, right, MTU).expect("root may");
    for interface in [left, right] {
        veth::bring_up(interface, MTU).expect("it is there");
    }
}

fn open(patterns: &[&str]) -> LinuxSource {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    LinuxSource::open(&patterns, &DriverNames::new()).expect("anybody may")
}

fn poll(source: &mut LinuxSource) -> BTreeMap<String, Reading> {
    source.poll().expect("the kernel answers").into_iter().collect()
}

#[test]
fn interfaces_that_were_named_are_read_as_they_come_and_go() {
    in_namespace(|| {
        pair("port1", "other1");
        let mut source = open(&["port*"]);
        let first = poll(&mut source);
        assert_eq!(first.keys().collect::<Vec<_>>(), ["port1"]);
        let before = first["port1"];
        assert_eq!(before.corrupted_frames, Some(0), "the kernel counts for every interface");
        assert_eq!(before.speed, Some(10_000_000_000), "what a veth says");
        assert!(before.carrier_changes.is_some() && before.epoch.is_some());

        // Frames that arrive are counted: those of the neighbour's own IPv6 will do.
        std::fs::write("/proc/sys/net/ipv6/conf/other1/disable_ipv6", "1").expect("root may");
        std::fs::write("/proc/sys/net/ipv6/conf/other1/disable_ipv6", "0").expect("root may");
        let begun = std::time::Instant::now();
        while poll(&mut source)["port1"].good_frames <= before.good_frames {
            assert!(begun.elapsed().as_secs() < 10, "no frame was counted");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }

        // A port that goes down is still a port, and says so.
        assert_eq!(before.up, Some(true));
        let ip = |state| std::process::Command::new("ip").args(["link", "set", "port1", state]).status();
        assert!(ip("down").expect("iproute2 is installed").success());
        assert_eq!(poll(&mut source)["port1"].up, Some(false));
        assert!(ip("up").expect("it ran before").success());

        pair("port2", "other2");
        assert_eq!(poll(&mut source).len(), 2);
        veth::delete("port1").expect("root may");
        pair("port1", "other1");
        let after = poll(&mut source)["port1"];
        assert_ne!(after.epoch, before.epoch, "it is another interface, which counts from 0");
    });
}

#[test]
fn virtual_interfaces_are_only_watched_if_they_are_named() {
    in_namespace(|| {
        pair("port1", "other1");
        let error = open(&[]).poll().expect_err("nothing but virtual interfaces");
        assert!(error.to_string().contains("of the 3 interfaces here, none matches"), "{error}");
        assert!(error.hint.is_some_and(|hint| hint.contains("--interface")));
        assert!(open(&["nothing?"]).poll().is_err());
    });
}

#[test]
fn a_driver_that_has_other_names_is_read_by_them() {
    in_namespace(|| {
        pair("port1", "other1");
        // What a veth counts for its queues, in place of what an adapter counts at its port.
        let names = |good: &str| CounterNames {
            good_frames: vec![good.to_owned()],
            corrupted_frames: vec!["rx_queue_0_drops".to_owned()],
            ..CounterNames::default()
        };
        let own = |good| DriverNames::from([("veth".to_owned(), names(good))]);
        let mut source = LinuxSource::open(&["port1".to_owned()], &own("peer_ifindex")).expect("anybody may");
        let other = nix::net::if_::if_nametoindex("other1").expect("it is there");
        assert_eq!(poll(&mut source)["port1"].good_frames, u64::from(other), "what that counter says");
        // Names that the driver does not have leave the kernel's counters.
        let mut source = LinuxSource::open(&["port1".to_owned()], &own("no_such")).expect("anybody may");
        assert_ne!(poll(&mut source)["port1"].good_frames, u64::from(other));
    });
}
