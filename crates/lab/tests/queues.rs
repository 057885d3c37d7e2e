//! Ports with several receive queues: the loop gets the frames of all of them, and each flow stays in order.

mod common;

use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::tcp::{BulkOptions, TrafficPath, bulk};
use linkmend_lab::{Lab, LabOptions, LinkEnds, RunControl};
use linkmend_protocol::Mode;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::time::Duration;

const QUEUES: u32 = 4;
const STREAMS: usize = 8;

/// Starts the link ends with each loop on a processor of its own. A veth queues frames at the processor of their sender, so
/// numbered frames overtake each other when a loop moves, with any number of queues.
fn ends_that_stay(lab: &Lab) -> LinkEnds {
    let this_thread = Pid::from_raw(0);
    let allowed = sched_getaffinity(this_thread).expect("Linux tells");
    let processors: Vec<usize> =
        (0..CpuSet::count()).filter(|&processor| allowed.is_set(processor) == Ok(true)).collect();
    let ends = LinkEnds::start_with(lab, |settings| {
        settings.ports = PortChoice::Xdp;
        settings.seed = Some(1);
        let which = usize::from(settings.name.ends_with('2'));
        let mut own = CpuSet::new();
        own.set(processors[which % processors.len()]).expect("it exists");
        // The loop's thread inherits it.
        sched_setaffinity(this_thread, &own).expect("it is allowed");
    })
    .expect("the link ends start");
    sched_setaffinity(this_thread, &allowed).expect("it was allowed");
    ends
}

#[test]
fn frames_of_all_queues_are_protected_and_in_order() {
    let test = "frames_of_all_queues_are_protected_and_in_order";
    if !common::privileged(test) {
        return;
    }
    let lab = Lab::up(LabOptions { queues: QUEUES, ..common::options("queues") }).expect("the lab comes up");
    let ends = ends_that_stay(&lab);
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
