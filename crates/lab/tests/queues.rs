//! Ports with several receive queues: the loop gets the frames of all of them, and each flow stays in order.

mod common;

use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::tcp::{BulkOptions, TrafficPath, bulk};
use linkmend_lab::{Lab, LabOptions, LinkEnds, RunControl};
use linkmend_protocol::Mode;
use std::time::Duration;

const QUEUES: u32 = 4;
const STREAMS: usize = 8;

#[test]
fn frames_of_all_queues_are_protected_and_in_order() {
    let test = "frames_of_all_queues_are_protected_and_in_order";
    if !common::privileged(test) {
        return;
    }
    let lab = Lab::up(LabOptions { queues: QUEUES, ..common::options("queues") }).expect("the lab comes up");
    let ends = LinkEnds::start(&lab, PortChoice::Xdp, 1).expect("the link ends start");
    let protection = Some(ProtectionSettings::new(Mode::Ordered));
    ends.protect(protection.clone()).expect("it gets active");
    ends.protect_reverse(protection).expect("it gets active");
    let status = || <[_; 2]>::from(ends.report().expect("they run"));
    let before = status();
    let path = TrafficPath::ipv4(&lab);
    let options = BulkOptions {
        duration: Duration::from_millis(800),
        warm_up: Duration::from_millis(200),
        ..BulkOptions::default()
    };
    std::thread::scope(|scope| {
        for _ in 0..STREAMS {
            scope.spawn(|| bulk(&path, &options, &RunControl::default()).expect("it flows"));
        }
    });
    for (before, after) in before.iter().zip(&status()) {
        assert!(
            after.inner.description.ends_with(&format!("{QUEUES} queues")),
            "{}",
            after.inner.description
        );
        assert!(after.inner.rx_frames > before.inner.rx_frames + 1_000);
        // A frame of a queue without a socket is forwarded in the kernel.
        assert_eq!(after.inner.bypassed_frames, before.inner.bypassed_frames);
        assert_eq!(after.link.bypassed_frames, before.link.bypassed_frames);
        // Numbered frames that overtake each other would be requested again.
        let requested = after.counters.lost_frames - before.counters.lost_frames;
        assert!(requested <= after.link.rx_frames / 1_000, "{requested} of {}", after.link.rx_frames);
    }
}
