//! Delay lines in the real kernel: order, delay, rate, and that nothing is lost below the limit.

mod common;

use std::time::Duration;

use linkmend_lab::generator::{GeneratorOptions, GeneratorReport, generate};
use linkmend_lab::tcp::{PingOptions, TrafficPath, ping};
use linkmend_lab::topology::{Lab, LabOptions};
use linkmend_lab::{DelayLines, FramePath, Impairments, LineReport, RunControl};

/// A laboratory with impairments, its link ends bridged.
fn impaired(test: &str, name: &str, impairments: Impairments) -> Option<(Lab, DelayLines)> {
    if !common::privileged(test) {
        return None;
    }
    let options = LabOptions { impairments, ..common::options(name) };
    let lab = Lab::up(options).expect("the lab comes up");
    lab.bridge().expect("the kernel has bridges");
    let lines = DelayLines::start(&lab).expect("the lines start").expect("there are impairments");
    Some((lab, lines))
}

fn send(lab: &Lab, options: GeneratorOptions) -> GeneratorReport {
    generate(&FramePath::forward(lab), &options, &RunControl::default()).expect("it runs")
}

fn dropped(reports: &[LineReport]) -> (u64, u64, u64) {
    reports.iter().fold((0, 0, 0), |(queue, overflow, refused), report| {
        (queue + report.queue_drops, overflow + report.overflow_drops, refused + report.refused_frames)
    })
}

#[test]
fn a_round_trip_takes_twice_the_delays_of_both_places() {
    let impairments = Impairments {
        delay: Duration::from_millis(4),
        link_delay: Duration::from_millis(1),
        ..Impairments::default()
    };
    let test = "a_round_trip_takes_twice_the_delays_of_both_places";
    let Some((lab, lines)) = impaired(test, "delay", impairments) else { return };
    let options = PingOptions { count: 200, ..PingOptions::default() };
    let report = ping(&TrafficPath::ipv4(&lab), &options, &RunControl::default()).expect("they run");
    let round_trip = report.round_trip_ns.expect("some came");
    assert_eq!(round_trip.count, 200);
    // Frames are never early. The fastest round trip, which no scheduler delayed, is late only by the intervals of the
    // four lines that it passes.
    assert!((10_000_000..11_500_000).contains(&round_trip.min), "{round_trip:?}");
    assert_eq!(dropped(&lines.report()), (0, 0, 0));
}

#[test]
fn nothing_is_lost_duplicated_or_reordered_at_the_rate() {
    let impairments = Impairments {
        rate_bps: Some(200_000_000),
        delay: Duration::from_millis(2),
        link_delay: Duration::from_micros(100),
        queue_bytes: Some(2 << 20),
    };
    let test = "nothing_is_lost_duplicated_or_reordered_at_the_rate";
    let Some((lab, lines)) = impaired(test, "rate", impairments) else { return };
    // The window is smaller than the queue. On a machine that keeps the generator waiting, the line runs empty, so the
    // fastest of a few runs shows the line's own rate, which none may exceed.
    let mut fastest_bps: f64 = 0.0;
    for _ in 0..5 {
        let report = send(
            &lab,
            GeneratorOptions { count: 5_000, window_frames: 1_300, ..GeneratorOptions::default() },
        );
        assert_eq!((report.received, report.duplicated, report.reordered), (5_000, 0, 0), "{report:#?}");
        assert_eq!((report.corrupted, dropped(&lines.report())), (0, (0, 0, 0)));
        // 1538 bytes a frame on the wire.
        let wire_bps = report.frames_per_second * 1538.0 * 8.0;
        assert!(wire_bps < 201e6, "{wire_bps}");
        fastest_bps = fastest_bps.max(wire_bps);
    }
    assert!(fastest_bps > 190e6, "{fastest_bps}");
}

#[test]
fn what_a_full_queue_drops_is_counted() {
    let impairments =
        Impairments { rate_bps: Some(50_000_000), queue_bytes: Some(128 << 10), ..Impairments::default() };
    let Some((lab, lines)) = impaired("what_a_full_queue_drops_is_counted", "full", impairments) else {
        return;
    };
    let options = GeneratorOptions {
        count: 5_000,
        frames_per_second: Some(8_000),
        window_frames: 4_096,
        ..GeneratorOptions::default()
    };
    let report = send(&lab, options);
    let (queue, overflow, refused) = dropped(&lines.report());
    assert!(report.lost > 500, "twice the rate was offered: {report:#?}");
    assert_eq!((report.lost_on_path(), overflow, refused, report.reordered), (queue, 0, 0, 0));
}

#[test]
fn frames_that_come_while_the_line_waits_keep_their_delay() {
    // A long delay and a short one run on one thread: the short line must not wait for the long one's frames.
    let impairments = Impairments {
        delay: Duration::from_millis(100),
        link_delay: Duration::from_micros(200),
        ..Impairments::default()
    };
    let test = "frames_that_come_while_the_line_waits_keep_their_delay";
    let Some((lab, _lines)) = impaired(test, "mixed", impairments) else { return };
    let options = PingOptions { count: 30, ..PingOptions::default() };
    let report = ping(&TrafficPath::ipv4(&lab), &options, &RunControl::default()).expect("they run");
    let round_trip = report.round_trip_ns.expect("some came");
    assert!((200_400_000..202_500_000).contains(&round_trip.min), "{round_trip:?}");
}
