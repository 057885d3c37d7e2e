//! Hosts that leave segmentation and checksums to their interfaces, on a link whose ends carry their large segments.

mod common;

use linkmend_control::{CorruptionModel, LinkReport};
use linkmend_dataplane::ProtectionSettings;
use linkmend_lab::tcp::{BulkOptions, BulkReport, TrafficPath, bulk};
use linkmend_lab::topology::LINK_HEADROOM_BYTES;
use linkmend_lab::{Lab, LabOptions, LinkEnds, Role, RunControl};
use linkmend_protocol::Mode;
use std::fs;
use std::time::{Duration, Instant};

const DURATION: Duration = Duration::from_millis(800);
const LOSS: f64 = 1e-3;
const PATH_MTU: u32 = 1_500;
/// The longest datagram of such a path.
const PATH_DATAGRAM_BYTES: u64 = 1_472;

/// A number of the host's TCP (RFC 4022), such as `InCsumErrors`.
fn tcp_counter(lab: &Lab, role: Role, name: &str) -> u64 {
    // Of the thread's own network namespace.
    let read = || fs::read_to_string("/proc/thread-self/net/snmp").expect("it is readable");
    let table = lab.namespace(role).run(read).expect("the namespace is there");
    let mut lines = table.lines().filter(|line| line.starts_with("Tcp:")).map(str::split_whitespace);
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let value = names.zip(values).find(|(column, _)| *column == name).map(|(_, value)| value);
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {table}"))
}

fn transfer(path: &TrafficPath) -> BulkReport {
    let options =
        BulkOptions { duration: DURATION, warm_up: Duration::from_millis(100), ..BulkOptions::default() };
    bulk(path, &options, &RunControl::default()).expect("it flows")
}

#[test]
fn tcp_keeps_its_large_segments_and_loses_nothing() {
    let test = "tcp_keeps_its_large_segments_and_loses_nothing";
    if !common::privileged(test) {
        return;
    }
    let lab =
        Lab::up(LabOptions { host_offloads: true, ..common::options("tso") }).expect("the lab comes up");
    let ends = LinkEnds::start_with(&lab, |settings| settings.seed = Some(1)).expect("the link ends start");
    for path in [TrafficPath::ipv4(&lab), TrafficPath::ipv6(&lab)] {
        let dormant = transfer(&path);
        assert!(dormant.received_bytes > 10_000_000, "dormant: {}", dormant.received_bytes);
        for mode in Mode::ALL {
            ends.protect(Some(ProtectionSettings::new(mode))).expect("it gets active");
            ends.protect_reverse(Some(ProtectionSettings::new(mode))).expect("it gets active");
            ends.corrupt(Some(CorruptionModel::Iid { rate: LOSS })).expect("corruption is allowed");
            let received_segments = || tcp_counter(&lab, Role::Host2, "InSegs");
            let segments = received_segments();
            let status = || <[_; 2]>::from(ends.report().expect("they run"));
            let frames = status().map(|report| report.inner.rx_frames);
            let report = transfer(&path);
            let after = status();
            assert!(report.received_bytes > 10_000_000, "{mode:?}: {}", report.received_bytes);
            assert_eq!(after[0].inner.drops + after[1].inner.drops, 0, "{mode:?}");
            let sent = after[0].inner.rx_frames - frames[0];
            let received = received_segments() - segments;
            eprintln!(
                "{mode:?}: {:.2} Gbit/s; {sent} frames from h1, of which h2's TCP got {received} segments; {} of them retransmitted",
                report.goodput_bits_per_second / 1e9,
                report.retransmitted_segments
            );
            // What the first end cuts, the second joins again.
            assert!(
                sent > report.received_bytes / 1448 && received < sent / 3,
                "{mode:?}: {sent}, {received}"
            );
            ends.corrupt(None).expect("corruption is allowed");
        }
        ends.protect(None).expect("it gets dormant");
        ends.protect_reverse(None).expect("it gets dormant");
    }
    for role in [Role::Host1, Role::Host2] {
        assert_eq!(tcp_counter(&lab, role, "InCsumErrors"), 0, "{role:?}");
    }
}

/// The frames of the hosts' MTU take two datagrams each.
#[test]
fn over_udp_large_segments_are_cut_so_that_frames_are_not_split() {
    let test = "over_udp_large_segments_are_cut_so_that_frames_are_not_split";
    if !common::privileged(test) {
        return;
    }
    let host_mtu = PATH_MTU - LINK_HEADROOM_BYTES;
    let lab = Lab::up(LabOptions { host_offloads: true, host_mtu, ..common::options("tsu") })
        .expect("the lab comes up");
    let ends = LinkEnds::start_over_udp(&lab, |settings| {
        settings.seed = Some(1);
        settings.protection = Some(ProtectionSettings::new(Mode::Ordered));
    })
    .expect("the link ends start");
    ends.wait_for_protection().expect("they meet");
    ends.corrupt(Some(CorruptionModel::Iid { rate: LOSS })).expect("corruption is allowed");
    let status = || <[_; 2]>::from(ends.report().expect("they run"));
    let split = |report: &LinkReport| report.link.udp.as_ref().expect("a path").split_frames;
    let bytes = || status()[0].link.udp.as_ref().expect("a path").datagram_bytes;
    let begun = Instant::now();
    while bytes() < PATH_DATAGRAM_BYTES {
        assert!(begun.elapsed() < Duration::from_secs(10), "datagrams of {} bytes", bytes());
    }
    for path in [TrafficPath::ipv4(&lab), TrafficPath::ipv6(&lab)] {
        let received_segments = || tcp_counter(&lab, Role::Host2, "InSegs");
        let (segments, before) = (received_segments(), status());
        let report = transfer(&path);
        let after = status();
        let sent = after[0].inner.rx_frames - before[0].inner.rx_frames;
        let split = split(&after[0]) - split(&before[0]);
        let received = received_segments() - segments;
        eprintln!(
            "{:.2} Gbit/s; {sent} frames from h1, {split} of them split, of which h2's TCP got {received} segments",
            report.goodput_bits_per_second / 1e9
        );
        assert!(report.received_bytes > 10_000_000, "{}", report.received_bytes);
        assert!(
            sent > report.received_bytes / PATH_DATAGRAM_BYTES && received < sent / 3,
            "{sent}, {received}"
        );
        // A host may also send a frame of its own length.
        assert!(split < sent / 20, "{split} of {sent}");
    }
    for role in [Role::Host1, Role::Host2] {
        assert_eq!(tcp_counter(&lab, role, "InCsumErrors"), 0, "{role:?}");
    }
}
