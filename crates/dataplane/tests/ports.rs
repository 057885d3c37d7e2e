//! Both kinds of ports on real veth pairs.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod support;

use linkmend_diagnose::Diagnose;
use std::process::Command;

use linkmend_dataplane::{
    BypassMode, BypassOptions, Port, PortChoice, PortError, PortPair, PortPairOptions, XdpMode,
};
use support::{Host, Lab, forward_until, skipped, test_frame};

const IPV4: &[u8] = &[0x08, 0x00];
const VLAN: &[u8] = &[0x81, 0x00, 0x20, 0x07, 0x08, 0x00];
const TWO_VLANS: &[u8] = &[0x88, 0xa8, 0x00, 0x64, 0x81, 0x00, 0x20, 0x07, 0x08, 0x00];
const LINKMEND: &[u8] = &[0x88, 0xb5, 0x01, 0x00, 0x07];

fn active(choice: PortChoice, xdp_mode: Option<XdpMode>) -> PortPairOptions {
    PortPairOptions {
        choice,
        bypass: BypassOptions {
            xdp_mode,
            mode: BypassMode::Active,
            stall_after: std::time::Duration::from_secs(5),
            known_until_ns: 0,
            tag_bytes: 0,
            offloads: false,
        },
        ..PortPairOptions::default()
    }
}

fn frames(largest: usize) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for (seed, length) in [60, 61, 64, 128, 1000, 1513, 1514].into_iter().enumerate() {
        frames.push(test_frame(IPV4, length, seed as u8));
    }
    for (seed, length) in [(20, 64), (21, 1518)] {
        frames.push(test_frame(VLAN, length, seed));
        frames.push(test_frame(LINKMEND, length - 4, seed + 5));
    }
    // The kernel's own packet sockets allow one tag beyond the MTU, but not two.
    frames.push(test_frame(TWO_VLANS, 1514, 30));
    if largest > 1514 {
        for (seed, length) in [(40, 3000), (41, 4096), (42, largest - 1), (43, largest)] {
            frames.push(test_frame(IPV4, length, seed));
        }
        frames.push(test_frame(VLAN, largest + 4, 44));
    }
    frames
}

fn every_frame_passes_once_and_unchanged(what: &str, mtu: u32, options: &PortPairOptions) {
    let Some(lab) = Lab::new(what, mtu) else {
        return;
    };
    let Some((mut host1, mut host2)) = lab.hosts(options.bypass.xdp_mode) else {
        return;
    };
    let mut pair = lab.open(options).unwrap();
    let sent = frames(mtu as usize + 14);
    for frame in &sent {
        host1.send(frame);
    }
    assert_eq!(lengths(&forward_until(&mut pair, &mut host2, sent.len())), lengths(&sent));
    // The other direction is tried now that the lengths are known to be right.
    for frame in &sent {
        host2.send(frame);
    }
    assert!(forward_until(&mut pair, &mut host1, sent.len()) == sent, "bytes differ");
    for frame in &sent {
        host1.send(frame);
    }
    assert!(forward_until(&mut pair, &mut host2, sent.len()) == sent, "bytes differ");
    for port in [&mut pair.inner, &mut pair.links[0]] {
        let counters = port.counters();
        assert!(counters.rx_frames >= sent.len() as u64);
        assert_eq!(counters.rx_dropped + counters.tx_dropped + counters.kernel.rx_dropped, 0);
        assert_eq!(port.in_flight(), 0);
    }
}

fn lengths(frames: &[Vec<u8>]) -> Vec<usize> {
    frames.iter().map(Vec::len).collect()
}

#[test]
fn af_packet_carries_standard_frames() {
    let options = active(PortChoice::Packet, None);
    every_frame_passes_once_and_unchanged("AF_PACKET, standard frames", 1500, &options);
}

#[test]
fn af_packet_carries_jumbo_frames() {
    let options = active(PortChoice::Packet, None);
    every_frame_passes_once_and_unchanged("AF_PACKET, jumbo frames", 9000, &options);
}

#[test]
fn af_xdp_carries_standard_frames_in_generic_mode() {
    let options = active(PortChoice::Xdp, None);
    every_frame_passes_once_and_unchanged("AF_XDP generic, standard frames", 1500, &options);
}

#[test]
fn af_xdp_carries_standard_frames_in_native_mode() {
    let options = active(PortChoice::Xdp, Some(XdpMode::Native));
    every_frame_passes_once_and_unchanged("AF_XDP native, standard frames", 1500, &options);
}

#[test]
fn af_xdp_carries_jumbo_frames_in_generic_mode() {
    let options = active(PortChoice::Xdp, None);
    every_frame_passes_once_and_unchanged("AF_XDP generic, jumbo frames", 9000, &options);
}

#[test]
fn af_xdp_carries_jumbo_frames_in_native_mode() {
    let options = active(PortChoice::Xdp, Some(XdpMode::Native));
    every_frame_passes_once_and_unchanged("AF_XDP native, jumbo frames", 9000, &options);
}

#[test]
fn interface_is_served_by_one_process_whatever_the_kind_of_port() {
    let Some(lab) = Lab::new("exclusive ports", 1500) else {
        return;
    };
    for (first, second) in [
        (PortChoice::Xdp, PortChoice::Packet),
        (PortChoice::Packet, PortChoice::Xdp),
        (PortChoice::Xdp, PortChoice::Auto),
    ] {
        let pair = lab.open(&active(first, None)).unwrap();
        let error = lab.open(&active(second, None)).err().unwrap();
        assert!(matches!(error, PortError::InUse { .. }), "{error}");
        assert!(error.to_string().contains("inner"));
        assert!(error.hint().is_some());
        drop(pair);
    }
    lab.open(&active(PortChoice::Auto, None)).unwrap();
}

#[test]
fn unknown_interface_is_named() {
    let error = PortPair::open("nosuch0", &["nosuch1"], &PortPairOptions::default());
    let error = error.err().unwrap();
    assert_eq!(error.to_string(), "interface nosuch0: no such interface in this network namespace");
}

#[test]
fn the_same_frame_can_be_sent_several_times() {
    let Some(lab) = Lab::new("retransmission", 1500) else {
        return;
    };
    for choice in [PortChoice::Xdp, PortChoice::Packet] {
        let mut pair = lab.open(&active(choice, None)).unwrap();
        let (_, mut host2) = lab.hosts(None).unwrap();
        let bytes = test_frame(IPV4, 900, 1);
        let available = pair.pool.available();
        let frame = pair.pool.copy_in(&bytes).unwrap();
        for _ in 0..3 {
            pair.links[0].send(&mut pair.pool, frame).unwrap();
        }
        assert_eq!(pair.pool.references(frame), 4);
        pair.pool.release(frame);
        pair.links[0].flush(&mut pair.pool).unwrap();
        let received = forward_until(&mut pair, &mut host2, 3);
        assert_eq!(received, vec![bytes.clone(); 3], "{}", pair.links[0].description());
        assert_eq!(pair.pool.available(), available);
    }
}

#[test]
fn a_full_queue_refuses_a_frame_and_counts_it() {
    let Some(lab) = Lab::new("full transmit queue", 1500) else {
        return;
    };
    for choice in [PortChoice::Xdp, PortChoice::Packet] {
        let mut pair = lab.open(&active(choice, None)).unwrap();
        let frame = pair.pool.copy_in(&test_frame(IPV4, 100, 1)).unwrap();
        let room = pair.links[0].transmit_room();
        for _ in 0..room {
            pair.links[0].send(&mut pair.pool, frame).unwrap();
        }
        assert_eq!(pair.links[0].transmit_room(), 0);
        assert!(pair.links[0].send(&mut pair.pool, frame).is_err());
        assert_eq!(pair.links[0].counters().tx_queue_full, 1);
        pair.links[0].flush(&mut pair.pool).unwrap();
        pair.links[0].reclaim(&mut pair.pool);
        assert_eq!(pair.links[0].transmit_room(), room);
        assert_eq!(pair.pool.references(frame), 1);
    }
}

/// AF_PACKET ports need only the privileges of a user namespace.
#[test]
fn ports_work_in_an_unprivileged_user_namespace() {
    if !support::run("unshare", &["-Urn", "true"]) {
        return skipped("user namespace, which this system refuses");
    }
    let output = Command::new("unshare")
        .arg("-Urn")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "inside_a_user_namespace", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by ports_work_in_an_unprivileged_user_namespace"]
fn inside_a_user_namespace() {
    for (host, port) in [("h1", "inner"), ("h2", "link")] {
        for command in [
            format!("link add name {host} type veth peer name {port}"),
            format!("link set dev {host} up"),
            format!("link set dev {port} up"),
        ] {
            let words: Vec<&str> = command.split_whitespace().collect();
            assert!(support::run("ip", &words), "ip {command}");
        }
    }
    let mut pair = PortPair::open("inner", &["link"], &PortPairOptions::default()).unwrap();
    assert!(matches!(pair.links[0], Port::Packet(_)), "{}", pair.links[0].description());
    let (mut host1, mut host2) = (Host::here("h1"), Host::here("h2"));
    let sent = frames(1514);
    for frame in &sent {
        host1.send(frame);
    }
    assert!(forward_until(&mut pair, &mut host2, sent.len()) == sent);
    for frame in &sent {
        host2.send(frame);
    }
    assert!(forward_until(&mut pair, &mut host1, sent.len()) == sent);
}
