//! What the kernel counts at a veth pair, in a network namespace of its own.

use linkmend_linux::driver_statistics::DriverStatistics;
use linkmend_linux::interface_counters::{InterfaceCounterSocket, InterfaceCounters};
use linkmend_linux::link_statistics::{LinkStatistics, LinkStatisticsSocket};
use linkmend_linux::packet_ring::PacketRing;
use linkmend_linux::packet_socket::SendBatch;
use linkmend_linux::veth;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, unshare};
use std::io::Write;
use std::os::fd::AsFd;

const MTU: u32 = 1_500;
const FRAME_BYTES: usize = 1_000;

/// Runs `test` in a network namespace with a pair `left` and `right`, both up. Without the privilege it is skipped.
fn with_pair(test: impl FnOnce() + Send) {
    let run = || {
        if unshare(CloneFlags::CLONE_NEWNET).is_err() {
            // Written directly, because the test harness swallows what passing tests print.
            let text = "SKIPPED: the counters of a veth pair; run as root: sudo -E make test";
            let _ = writeln!(std::io::stderr(), "\n######## {text} ########\n");
            return;
        }
        // Otherwise the kernel sends frames of its own. Without IPv6 there is no such file, and no such frame.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        veth::create_pair("left", "right", MTU).expect("root may");
        for interface in ["left", "right"] {
            veth::bring_up(interface, MTU).expect("it is there");
        }
        test();
    };
    // Only the thread that asks for it gets into the new namespace.
    std::thread::scope(|scope| scope.spawn(run).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

fn send(interface: &str, frames: usize) {
    let socket = PacketRing::open(FRAME_BYTES, 1 << 17).expect("root may");
    socket.bind(if_nametoindex(interface).expect("it is there")).expect("it is up");
    let mut frame = vec![0; FRAME_BYTES];
    frame[..6].fill(0xff);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    let mut batch = SendBatch::default();
    for _ in 0..frames {
        assert_eq!(batch.send(socket.as_fd(), [[&frame[..]]]).expect("a veth takes all"), 1);
    }
}

fn named(socket: &InterfaceCounterSocket, name: &str) -> InterfaceCounters {
    socket.named(name).expect("the kernel answers").expect("it is there")
}

#[test]
fn counters_advance_by_exactly_the_frames_that_were_sent() {
    with_pair(|| {
        let socket = InterfaceCounterSocket::open().expect("anybody may");
        let before = socket.all().expect("the kernel answers");
        assert!(before.consistent);
        let names: Vec<&str> = before.answers.iter().map(|interface| interface.name.as_str()).collect();
        for name in ["lo", "left", "right"] {
            assert!(names.contains(&name), "{names:?}");
        }
        let of = |dump: &[InterfaceCounters], name: &str| {
            dump.iter().find(|interface| interface.name == name).cloned().expect("it is there")
        };
        send("left", 137);
        let after = socket.all().expect("the kernel answers");
        for (name, sent, received) in [("left", 137, 0), ("right", 0, 137)] {
            let (before, after) = (of(&before.answers, name), of(&after.answers, name));
            let bytes = FRAME_BYTES as u64;
            let expected = InterfaceCounters {
                tx_packets: before.tx_packets + sent,
                tx_bytes: before.tx_bytes + sent * bytes,
                rx_packets: before.rx_packets + received,
                rx_bytes: before.rx_bytes + received * bytes,
                ..before
            };
            // The kernel drops what nobody receives.
            assert_eq!(InterfaceCounters { rx_dropped: expected.rx_dropped, ..after.clone() }, expected);
            assert_eq!(named(&socket, name), after, "alone as among all");
            assert_eq!((after.kind.as_deref(), after.up, after.carrier), (Some("veth"), true, true));
        }
    });
}

#[test]
fn the_carrier_of_one_end_goes_with_the_other_and_its_changes_are_counted() {
    with_pair(|| {
        let socket = InterfaceCounterSocket::open().expect("anybody may");
        let before = named(&socket, "left");
        veth::take_down("right").expect("it is there");
        let without = named(&socket, "left");
        assert_eq!((without.up, without.carrier), (true, false));
        veth::bring_up("right", MTU).expect("it is there");
        let after = named(&socket, "left");
        assert_eq!((after.up, after.carrier), (true, true));
        let changes = |interface: &InterfaceCounters| interface.carrier_changes.expect("every kernel counts");
        assert_eq!(changes(&without), changes(&before) + 1);
        assert_eq!(changes(&after), changes(&before) + 2);
    });
}

#[test]
fn a_veth_counts_nothing_of_what_a_cable_does() {
    with_pair(|| {
        let socket = LinkStatisticsSocket::open().expect("the family is there");
        let left = socket.named("left").expect("the kernel answers").expect("it is there");
        assert!(left.speed_mbps.is_some());
        assert_eq!(left, LinkStatistics { speed_mbps: left.speed_mbps, ..LinkStatistics::default() });
        let all = socket.all().expect("the kernel answers");
        assert!(all.consistent);
        let found = all.answers.iter().find(|interface| interface.name == "left").expect("it is among all");
        assert_eq!(found.index, if_nametoindex("left").expect("it is there"));
        assert_eq!(found.statistics, left);
        assert!(all.answers.iter().any(|interface| interface.name == "right"));
        for unknown in ["no-such-thing", "", "a-name-that-is-too-long-for-an-interface"] {
            assert_eq!(socket.named(unknown).expect("that is an answer"), None);
        }
    });
}

#[test]
fn a_veth_names_its_peer_among_what_its_driver_counts() {
    with_pair(|| {
        let mut left = DriverStatistics::of("left").expect("it is there");
        let peer = u64::from(if_nametoindex("right").expect("it is there"));
        assert_eq!(left.value("peer_ifindex"), Some(peer));
        let before = left.clone();
        left.poll().expect("it is still there");
        assert!(left.iter().map(|(name, _)| name).eq(before.iter().map(|(name, _)| name)));
        veth::delete("left").expect("root may");
        assert!(left.poll().is_err());
        assert_eq!(DriverStatistics::of("lo").expect("it is there").iter().count(), 0);
    });
}
