//! Every odd frame comes out byte for byte: in every mode, active and dormant, on both kinds of ports.

mod common;

use linkmend_control::CorruptionModel;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::frames::{TransparencyOptions, catalogue, send_and_capture};
use linkmend_lab::{FramePath, Lab, LabOptions, LinkEnds, RunControl};
use linkmend_protocol::classify::Classifier;
use linkmend_protocol::{Format, Mode};

fn check(lab: &Lab, what: &str) {
    for (direction, path) in [("forward", FramePath::forward(lab)), ("backward", FramePath::backward(lab))] {
        let frames = catalogue(&path);
        let report =
            send_and_capture(&path, &frames, &TransparencyOptions::default(), &RunControl::default())
                .expect("the frames can be sent");
        let failures: Vec<_> = report.failures().map(|outcome| (&outcome.name, &outcome.verdict)).collect();
        assert!(failures.is_empty(), "{what}, {direction}: {failures:?}");
        // The hosts' own IPv6 may send at any time, but Linkmend itself may not be seen.
        let ours = |frame: &&Vec<u8>| matches!(frame.get(12..14), Some([0x88, 0xb5] | [0xab, 0xcd]));
        let leaked: Vec<_> = report.first_strangers.iter().filter(ours).collect();
        assert!(leaked.is_empty(), "{what}, {direction}: {leaked:x?}");
    }
}

fn both_classes() -> ProtectionSettings {
    let mut classifier = Box::new(Classifier::new(Mode::Ordered.into()));
    assert!(
        classifier.set_pcp(5, Mode::NonBlocking.into()) && classifier.set_dscp(46, Mode::NonBlocking.into())
    );
    ProtectionSettings { classifier, ..ProtectionSettings::new(Mode::Ordered) }
}

fn every_state(name: &str, ports: PortChoice, host_mtu: u32) {
    every_state_of(name, ports, LabOptions { host_mtu, ..common::options(name) });
}

fn every_state_of(name: &str, ports: PortChoice, options: LabOptions) {
    let test = format!("transparency {name}");
    if !common::privileged(&test) {
        return;
    }
    let lab = Lab::up(options).expect("the lab comes up");
    let ends = LinkEnds::start(&lab, ports, 1).expect("the link ends start");
    check(&lab, &format!("{test}, dormant"));
    let forwarding = Some(CorruptionModel::Iid { rate: 0.0 });
    ends.corrupt(forwarding).expect("corruption is allowed");
    ends.corrupt_reverse(forwarding).expect("corruption is allowed");
    check(&lab, &format!("{test}, forwarded by the daemons"));
    let states = [
        ("ordered", ProtectionSettings::new(Mode::Ordered)),
        ("non-blocking", ProtectionSettings::new(Mode::NonBlocking)),
        ("both classes", both_classes()),
    ];
    for (state, protection) in states {
        ends.protect(Some(protection.clone())).expect("it gets active");
        check(&lab, &format!("{test}, {state}, one direction"));
        ends.protect_reverse(Some(protection)).expect("it gets active");
        check(&lab, &format!("{test}, {state}, both directions"));
        ends.protect_reverse(None).expect("it gets dormant");
    }
    let lossy = Some(CorruptionModel::Iid { rate: 0.05 });
    ends.corrupt(lossy).expect("corruption is allowed");
    ends.corrupt_reverse(lossy).expect("corruption is allowed");
    ends.protect_reverse(Some(ProtectionSettings::new(Mode::Ordered))).expect("it gets active");
    check(&lab, &format!("{test}, 5 % corrupted"));
}

#[test]
fn on_af_xdp() {
    every_state("xdp", PortChoice::Xdp, 1500);
}

#[test]
fn on_af_xdp_with_jumbo_frames() {
    every_state("xdpj", PortChoice::Xdp, 9000);
}

#[test]
fn on_af_xdp_with_several_queues() {
    let options = LabOptions { queues: 3, ..common::options("xdpq") };
    every_state_of("xdpq", PortChoice::Xdp, options);
}

#[test]
fn of_hosts_with_their_offloads_on() {
    for (name, host_mtu) in [("off", 1500), ("offj", 9000)] {
        let options = LabOptions { host_mtu, host_offloads: true, ..common::options(name) };
        every_state_of(name, PortChoice::Xdp, options);
    }
}

#[test]
fn on_af_packet() {
    every_state("pkt", PortChoice::Packet, 1500);
}

#[test]
fn on_af_packet_with_jumbo_frames() {
    every_state("pktj", PortChoice::Packet, 9000);
}

#[test]
fn in_the_compact_format() {
    let test = "transparency, compact format";
    if !common::privileged(test) {
        return;
    }
    let lab = Lab::up(common::options("cmp")).expect("the lab comes up");
    let ends = LinkEnds::start_with(&lab, |settings| settings.format = Format::Compact).expect("they start");
    for mode in Mode::ALL {
        let protection = Some(ProtectionSettings::new(mode));
        ends.protect(protection.clone()).expect("it gets active");
        check(&lab, &format!("{test}, {mode:?}, one direction"));
        ends.protect_reverse(protection).expect("it gets active");
        check(&lab, &format!("{test}, {mode:?}, both directions"));
        ends.protect(None).expect("it gets dormant");
        ends.protect_reverse(None).expect("it gets dormant");
    }
}
