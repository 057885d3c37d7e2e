//! The TCP tools over bridges, where nothing is lost, and over a path that fails.

mod common;

use std::time::{Duration, Instant};

use linkmend_lab::stop::RunControl;
use linkmend_lab::tcp::{
    BulkOptions, Connections, FlowOptions, PingOptions, TcpError, TrafficPath, bulk, flows, ping,
    wait_until_reachable,
};
use linkmend_lab::topology::Lab;

fn short_bulk() -> BulkOptions {
    BulkOptions {
        duration: Duration::from_millis(600),
        warm_up: Duration::from_millis(200),
        sample_interval: Duration::from_millis(50),
        ..BulkOptions::default()
    }
}

#[test]
fn bulk_measures_over_both_families() {
    let Some(lab) = common::bridged("bulk_measures_over_both_families", "bulk") else { return };
    for path in [TrafficPath::ipv4(&lab), TrafficPath::ipv6(&lab)] {
        wait_until_reachable(&path, Duration::from_secs(5), &RunControl::default().stop).expect("a path");
        let report = bulk(&path, &short_bulk(), &RunControl::default()).expect("it runs");
        assert!(!report.ended_early);
        assert!(report.received_bytes > 1_000_000, "{}", report.received_bytes);
        let measured = Duration::from_nanos(report.measured_ns);
        assert!(measured >= Duration::from_millis(590) && measured < Duration::from_secs(3), "{measured:?}");
        assert!((3..=17).contains(&report.samples.len()), "{} samples", report.samples.len());
        assert!(report.samples.iter().any(|sample| sample.sender.rtt_us > 0));
        eprintln!("bulk: {:.2} Gb/s", report.goodput_bits_per_second / 1e9);
    }
}

#[test]
fn an_unknown_congestion_control_is_named() {
    let Some(lab) = common::bridged("an_unknown_congestion_control_is_named", "cc") else { return };
    let options = BulkOptions { congestion_control: "nonesuch".to_owned(), ..short_bulk() };
    let error = bulk(&TrafficPath::ipv4(&lab), &options, &RunControl::default()).expect_err("there is none");
    assert!(error.to_string().contains("nonesuch"), "{error}");
    let hint = linkmend_diagnose::Diagnose::hint(&error).expect("a way out");
    assert!(hint.contains("cubic"), "{hint}");
}

#[test]
fn flows_of_each_kind_finish() {
    let Some(lab) = common::bridged("flows_of_each_kind_finish", "flows") else { return };
    let path = TrafficPath::ipv4(&lab);
    for connections in
        [Connections::FreshAfterHandshake, Connections::FreshWithHandshake, Connections::Persistent]
    {
        let options = FlowOptions { count: 300, warm_up: 10, connections, ..FlowOptions::default() };
        let control = RunControl::default();
        let report = flows(&path, &options, &control).expect("they run");
        let summary = report.completion_ns.expect("some finished");
        assert_eq!((summary.count, report.timed_out, report.ended_early), (300, 0, false));
        assert!(summary.min > 1_000 && summary.p50 < 100_000_000, "{summary:?}");
        assert_eq!(report.window_restarts_when_idle, Some(false));
        assert_eq!((control.progress.done(), control.progress.total()), (310, 310));
        eprintln!("{connections:?}: p50 {} us, max {} us", summary.p50 / 1000, summary.max / 1000);
    }
}

#[test]
fn a_large_flow_counts_every_byte() {
    let Some(lab) = common::bridged("a_large_flow_counts_every_byte", "large") else { return };
    let options = FlowOptions { count: 3, warm_up: 0, bytes: 2_000_001, ..FlowOptions::default() };
    let report = flows(&TrafficPath::ipv6(&lab), &options, &RunControl::default()).expect("they run");
    assert_eq!(report.samples_ns.len(), 3);
}

#[test]
fn pings_come_back() {
    let Some(lab) = common::bridged("pings_come_back", "ping") else { return };
    let options = PingOptions { count: 100, ..PingOptions::default() };
    let report = ping(&TrafficPath::ipv4(&lab), &options, &RunControl::default()).expect("they run");
    assert_eq!(report.round_trip_ns.expect("some came").count, 100);
}

#[test]
fn without_a_path_all_end_soon_and_say_why() {
    if !common::privileged("without_a_path_all_end_soon_and_say_why") {
        return;
    }
    let lab = Lab::up(common::options("dead")).expect("up");
    let path = TrafficPath::ipv4(&lab);
    let (control, started) = (RunControl::default(), Instant::now());
    let timeout = Duration::from_millis(300);
    let reach = wait_until_reachable(&path, timeout, &control.stop);
    assert!(matches!(reach, Err(TcpError::Unreachable { .. })), "{reach:?}");
    let options = BulkOptions { connect_timeout: timeout, ..short_bulk() };
    assert!(matches!(bulk(&path, &options, &control), Err(TcpError::Unreachable { .. })));
    let options = FlowOptions { timeout, ..FlowOptions::default() };
    assert!(matches!(flows(&path, &options, &control), Err(TcpError::Unreachable { .. })));
    let options = FlowOptions { connections: Connections::FreshWithHandshake, ..options };
    let report = flows(&path, &options, &control).expect("it says what happened");
    assert!(report.ended_early && report.completion_ns.is_none());
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[test]
fn a_path_that_dies_under_way_ends_in_time() {
    let Some(lab) = common::bridged("a_path_that_dies_under_way_ends_in_time", "dies") else { return };
    let path = TrafficPath::ipv4(&lab);
    let options = BulkOptions { duration: Duration::from_secs(2), ..short_bulk() };
    let started = Instant::now();
    let report = std::thread::scope(|scope| {
        let running = scope.spawn(|| bulk(&path, &options, &RunControl::default()));
        std::thread::sleep(Duration::from_millis(700));
        lab.unbridge().expect("there are bridges");
        running.join().expect("no panic").expect("it ran")
    });
    assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
    assert_eq!(report.samples.last().expect("samples").received_bytes, 0);
}

#[test]
fn a_raised_flag_ends_the_tools() {
    let Some(lab) = common::bridged("a_raised_flag_ends_the_tools", "stop") else { return };
    let (path, control) = (TrafficPath::ipv4(&lab), RunControl::default());
    let started = Instant::now();
    let options = BulkOptions { duration: Duration::from_secs(60), ..BulkOptions::default() };
    let many = FlowOptions { count: 1_000_000, ..FlowOptions::default() };
    std::thread::scope(|scope| {
        let bulk = scope.spawn(|| bulk(&path, &options, &control));
        let flows = scope.spawn(|| flows(&path, &many, &control));
        std::thread::sleep(Duration::from_millis(500));
        control.stop.stop();
        assert!(bulk.join().expect("no panic").expect("it ran").ended_early);
        assert!(flows.join().expect("no panic").expect("it ran").ended_early);
    });
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}
