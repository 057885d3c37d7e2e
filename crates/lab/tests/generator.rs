//! The frame generator over bridges, where everything must arrive.

mod common;

use std::time::Duration;

use linkmend_lab::generator::{GeneratorError, GeneratorOptions, generate};
use linkmend_lab::packet::FramePath;
use linkmend_lab::stop::RunControl;
use linkmend_lab::topology::{Lab, LabOptions};

#[test]
fn everything_arrives_in_order_at_every_size() {
    let Some(lab) = common::bridged("everything_arrives_in_order_at_every_size", "gen") else { return };
    for (frame_bytes, ethertype) in [(60, 0x88b6), (64, 0x1234), (1514, 0x0800), (1514, 0x88b5)] {
        for path in [FramePath::forward(&lab), FramePath::backward(&lab)] {
            let options =
                GeneratorOptions { count: 200_000, frame_bytes, ethertype, ..GeneratorOptions::default() };
            let control = RunControl::default();
            let report = generate(&path, &options, &control).expect("it runs");
            assert_eq!((report.sent, report.received, report.lost), (200_000, 200_000, 0), "{report:#?}");
            assert_eq!((report.duplicated, report.reordered, report.corrupted), (0, 0, 0), "{report:#?}");
            assert_eq!(report.receive_socket_drops, 0, "{report:#?}");
            assert!(!report.ended_early);
            eprintln!(
                "{frame_bytes} B, {ethertype:#06x}: {:.0} frames/s, {:.2} Gb/s, {} retries",
                report.frames_per_second,
                report.bits_per_second / 1e9,
                report.send_retries
            );
        }
    }
}

#[test]
fn jumbo_frames_arrive() {
    if !common::privileged("jumbo_frames_arrive") {
        return;
    }
    let lab = Lab::up(LabOptions { host_mtu: 9000, ..common::options("jumbo") }).expect("up");
    lab.bridge().expect("there are bridges");
    let options = GeneratorOptions { count: 20_000, frame_bytes: 9014, ..GeneratorOptions::default() };
    let report = generate(&FramePath::forward(&lab), &options, &RunControl::default()).expect("it runs");
    assert_eq!((report.received, report.corrupted), (20_000, 0), "{report:#?}");
}

#[test]
fn a_rate_is_kept() {
    let Some(lab) = common::bridged("a_rate_is_kept", "rate") else { return };
    let options = GeneratorOptions {
        count: 1_000_000,
        duration: Some(Duration::from_secs(1)),
        frames_per_second: Some(20_000),
        ..GeneratorOptions::default()
    };
    let report = generate(&FramePath::forward(&lab), &options, &RunControl::default()).expect("it runs");
    assert!(report.ended_early);
    assert_eq!(report.lost, 0, "{report:#?}");
    // A noisy machine may fall behind, but must never run ahead.
    assert!((10_000..=20_100).contains(&report.sent), "{}", report.sent);
}

#[test]
fn a_dead_path_shows_as_loss_and_a_raised_flag_ends_it() {
    if !common::privileged("a_dead_path_shows_as_loss_and_a_raised_flag_ends_it") {
        return;
    }
    let lab = Lab::up(common::options("gdead")).expect("up");
    let path = FramePath::forward(&lab);
    let options = GeneratorOptions { count: 100, ..GeneratorOptions::default() };
    let report = generate(&path, &options, &RunControl::default()).expect("it runs");
    assert_eq!((report.sent, report.received, report.lost, report.lost_on_path()), (100, 0, 100, 100));
    let control = RunControl::default();
    let options = GeneratorOptions { count: u64::MAX, ..GeneratorOptions::default() };
    let report = std::thread::scope(|scope| {
        let running = scope.spawn(|| generate(&path, &options, &control));
        std::thread::sleep(Duration::from_millis(700));
        control.stop.stop();
        running.join().expect("no panic").expect("it runs")
    });
    assert!(report.ended_early && report.window_stalls >= 1, "{report:#?}");
}

#[test]
fn frames_that_do_not_fit_are_refused() {
    let Some(lab) = common::bridged("frames_that_do_not_fit_are_refused", "fit") else { return };
    for options in [
        GeneratorOptions { frame_bytes: 1515, ..GeneratorOptions::default() },
        GeneratorOptions { frame_bytes: 59, ..GeneratorOptions::default() },
        GeneratorOptions { ethertype: 0x8100, ..GeneratorOptions::default() },
        GeneratorOptions { window_frames: 0, ..GeneratorOptions::default() },
        GeneratorOptions { count: 0, ..GeneratorOptions::default() },
    ] {
        let result = generate(&FramePath::forward(&lab), &options, &RunControl::default());
        assert!(matches!(result, Err(GeneratorError::Option(_))), "{options:?}");
    }
}
