//! What the bypass forwards leaves through the queue of the other port, what the kernel drops is counted, and the
//! daemon does not overtake what the kernel has queued.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod support;

use std::time::Duration;

use linkmend_control::Side;
use linkmend_dataplane::{BypassMode, BypassOptions, PortChoice, PortPair, PortPairOptions};
use support::{Host, Lab, collect, heartbeat, run, test_frame};

const FRAMES: usize = 300;

fn options() -> PortPairOptions {
    PortPairOptions {
        choice: PortChoice::Xdp,
        bypass: BypassOptions { stall_after: Duration::MAX, ..BypassOptions::default() },
        ..PortPairOptions::default()
    }
}

fn numbered(number: usize) -> Vec<u8> {
    let mut frame = test_frame(&[0x08, 0x00], 1000, 1);
    frame[20..22].copy_from_slice(&(number as u16).to_be_bytes());
    frame
}

fn number(frame: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([frame[20], frame[21]]))
}

/// Gives the gateway's inner port a queue that sends frames slowly. Nothing is queued towards a veth link port.
fn slow_queue(lab: &Lab, rate: &str, limit_bytes: usize) {
    let (gateway, limit) = (lab.gateway(), limit_bytes.to_string());
    let words = ["-n", &gateway, "qdisc", "replace", "dev", "inner", "root", "tbf", "rate", rate];
    let words = [&words[..], &["burst", "4kb", "limit", &limit]].concat();
    assert!(run("tc", &words), "tc {words:?}");
}

/// Returns all frames that arrive until none has arrived for a while.
fn until_silence(host: &mut Host) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut silent = 0;
    while silent < 20 {
        let received = host.received();
        silent = if received.is_empty() { silent + 1 } else { 0 };
        frames.extend(received);
        std::thread::sleep(Duration::from_millis(10));
    }
    frames
}

#[test]
fn a_burst_waits_in_the_queue_of_the_slower_port() {
    let Some(lab) = Lab::new("bypass, burst", 1500) else { return };
    slow_queue(&lab, "50mbit", 1 << 20);
    let pair = lab.open(&options()).unwrap();
    let (mut host1, mut host2) = lab.hosts(None).unwrap();
    for number in 0..FRAMES {
        host2.send(&numbered(number));
    }
    let received: Vec<usize> = until_silence(&mut host1).iter().map(|frame| number(frame)).collect();
    assert!(received == (0..FRAMES).collect::<Vec<_>>(), "{} of {FRAMES} frames", received.len());
    let drops = pair.bypass.as_ref().unwrap().drops_reader();
    let [inner, link] = [Side::Inner, Side::Link].map(|side| drops.read(side));
    assert_eq!((inner, link), Default::default());
}

#[test]
fn frames_dropped_by_a_full_queue_are_counted_one_by_one() {
    let Some(lab) = Lab::new("bypass, full queue", 1500) else { return };
    slow_queue(&lab, "5mbit", 30_000);
    let pair = lab.open(&options()).unwrap();
    let (mut host1, mut host2) = lab.hosts(None).unwrap();
    for number in 0..FRAMES {
        host2.send(&numbered(number));
    }
    let received = until_silence(&mut host1).len();
    let drops = pair.bypass.as_ref().unwrap().drops_reader();
    let [inner, link] = [Side::Inner, Side::Link].map(|side| drops.read(side));
    assert!(received < FRAMES && inner.queued > 0, "{received} received, {inner:?}");
    assert_eq!(received + inner.queued as usize, FRAMES, "inner {inner:?}, link {link:?}");
    let from_link = pair.bypass.as_ref().unwrap().counters(Side::Link);
    assert_eq!(from_link.bypassed_frames as usize, FRAMES);
}

#[test]
fn a_frame_too_long_for_the_other_port_is_counted_as_a_failed_redirect() {
    let Some(lab) = Lab::new("bypass, frames too long", 3000) else { return };
    assert!(run("ip", &["-n", &lab.gateway(), "link", "set", "dev", "inner", "mtu", "1500"]));
    let pair = lab.open(&options()).unwrap();
    let (mut host1, mut host2) = lab.hosts(None).unwrap();
    for _ in 0..3 {
        host2.send(&test_frame(&[0x08, 0x00], 2000, 1));
    }
    host2.send(&numbered(0));
    assert_eq!(until_silence(&mut host1).len(), 1);
    let [inner, link] =
        [Side::Inner, Side::Link].map(|side| pair.bypass.as_ref().unwrap().failed_redirects(side));
    assert_eq!((inner, link), (0, 3));
}

/// A VLAN tag is removed from a frame before the program that redirects it sees it, and has to be put back.
#[test]
fn vlan_tags_stay_in_place() {
    let Some(lab) = Lab::new("bypass, VLAN tags", 1500) else { return };
    let _pair = lab.open(&options()).unwrap();
    let (mut host1, mut host2) = lab.hosts(None).unwrap();
    let tagged = test_frame(&[0x81, 0x00, 0x60, 0x07, 0x08, 0x00], 200, 1);
    let twice = test_frame(&[0x88, 0xa8, 0x20, 0x07, 0x81, 0x00, 0x60, 0x09, 0x08, 0x00], 200, 2);
    let priority_only = test_frame(&[0x81, 0x00, 0xa0, 0x00, 0x08, 0x00], 200, 3);
    let sent = [tagged, twice, priority_only];
    for frame in &sent {
        host1.send(frame);
    }
    assert!(host2.wait_for(3) == sent);
    for frame in &sent {
        host2.send(frame);
    }
    assert!(host1.wait_for(3) == sent);
}

#[test]
fn the_daemon_does_not_overtake_what_the_kernel_has_queued() {
    let Some(lab) = Lab::new("bypass, taking over from the kernel", 1500) else { return };
    // The frames below take a quarter of a second, because the machine may take tens of milliseconds from one of the
    // next lines to the other.
    slow_queue(&lab, "2mbit", 1 << 20);
    let mut pair = lab.open(&options()).unwrap();
    let (mut host1, mut host2) = lab.hosts(None).unwrap();
    for number in 0..60 {
        host2.send(&numbered(number));
    }
    let bypass = pair.bypass.as_ref().unwrap();
    bypass.set_mode(BypassMode::Active);
    assert!(!bypass.wait_for_queues(Duration::ZERO), "the queue should not be empty yet");
    assert!(bypass.wait_for_queues(Duration::from_secs(1)));
    for number in 60..80 {
        host2.send(&numbered(number));
    }
    forward_to_inner(&mut pair);
    let received: Vec<usize> = until_silence(&mut host1).iter().map(|frame| number(frame)).collect();
    assert_eq!(received, (0..80).collect::<Vec<_>>());
}

fn forward_to_inner(pair: &mut PortPair) {
    heartbeat(pair);
    let PortPair { inner, links, pool, .. } = pair;
    let frames = support::wait_for(20, || collect(&mut links[0], pool));
    assert_eq!(frames.len(), 20);
    for bytes in frames {
        let frame = pool.copy_in(&bytes).unwrap();
        inner.send(pool, frame).unwrap();
        pool.release(frame);
    }
    inner.flush(pool).unwrap();
}

/// Programs behind XDP stay when the daemon ends, and are removed by `detach` and by AF_PACKET ports.
#[test]
fn queue_programs_outlive_the_daemon_and_are_removed_with_the_bypass() {
    let Some(lab) = Lab::new("bypass, programs behind XDP", 1500) else { return };
    drop(lab.open(&options()).unwrap());
    let (mut host1, mut host2) = lab.hosts(None).unwrap();
    host2.send(&numbered(1));
    assert_eq!(host1.wait_for(1), [numbered(1)]);
    let packet = PortPairOptions { choice: PortChoice::Packet, ..options() };
    let mut pair = lab.open(&packet).unwrap();
    host2.send(&numbered(2));
    let PortPair { links, pool, .. } = &mut pair;
    assert_eq!(support::wait_for(1, || collect(&mut links[0], pool)), [numbered(2)]);
    assert_eq!(until_silence(&mut host1).len(), 0, "the kernel still forwards");
}
