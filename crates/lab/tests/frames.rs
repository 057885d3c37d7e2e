//! The transparency check: on a bare veth everything passes; on a bridge, the frames that bridges must not forward are
//! missing.

mod common;

use std::time::Duration;

use linkmend_lab::frames::{TestFrame, TransparencyOptions, Verdict, catalogue, send_and_capture};
use linkmend_lab::packet::{FramePath, FramePort};
use linkmend_lab::stop::RunControl;
use linkmend_lab::topology::{INNER_INTERFACE, Lab, LabOptions, Role};

fn quick() -> TransparencyOptions {
    TransparencyOptions { timeout: Duration::from_millis(300), settle: Duration::from_millis(100) }
}

#[test]
fn on_a_bare_veth_every_frame_is_identical() {
    if !common::privileged("on_a_bare_veth_every_frame_is_identical") {
        return;
    }
    for host_mtu in [1500, 9000] {
        let options = LabOptions { host_mtu, ..common::options(&format!("veth{host_mtu}")) };
        let lab = Lab::up(options).expect("up");
        let to = FramePort {
            namespace: lab.namespace(Role::End1).clone(),
            interface: INNER_INTERFACE.to_owned(),
            mac: Role::Host2.mac("eth0"),
        };
        let path = FramePath { to, ..FramePath::forward(&lab) };
        let frames = catalogue(&path);
        assert!(frames.len() > 100);
        let report = send_and_capture(&path, &frames, &quick(), &RunControl::default()).expect("it runs");
        assert_eq!(report.outcomes.len(), frames.len());
        for outcome in &report.outcomes {
            assert_eq!((&outcome.verdict, outcome.duplicates), (&Verdict::Identical, 0), "{}", outcome.name);
        }
    }
}

#[test]
fn what_a_bridge_does_not_forward_is_reported_missing() {
    let Some(lab) = common::bridged("what_a_bridge_does_not_forward_is_reported_missing", "bridge") else {
        return;
    };
    for path in [FramePath::forward(&lab), FramePath::backward(&lab)] {
        let report =
            send_and_capture(&path, &catalogue(&path), &quick(), &RunControl::default()).expect("it runs");
        let failures: Vec<_> = report.failures().collect();
        assert_eq!(failures.len(), 1, "{failures:#?}");
        assert_eq!(failures[0].name, "LACP");
        assert_eq!(failures[0].verdict, Verdict::Missing);
        assert_eq!(report.receive_socket_drops, 0);
    }
}

#[test]
fn a_raised_flag_and_unnumbered_frames_end_it() {
    let Some(lab) = common::bridged("a_raised_flag_and_unnumbered_frames_end_it", "fstop") else { return };
    let path = FramePath::forward(&lab);
    let control = RunControl::default();
    let foreign = [TestFrame { name: "not ours".to_owned(), bytes: vec![0; 60] }];
    let error = send_and_capture(&path, &foreign, &quick(), &control).expect_err("it has no number");
    assert!(error.to_string().contains("not ours"));
    control.stop.stop();
    let report = send_and_capture(&path, &catalogue(&path), &quick(), &control).expect("it ends");
    assert!(report.ended_early && report.outcomes.is_empty());
}
