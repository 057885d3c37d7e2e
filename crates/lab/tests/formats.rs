//! Header formats between two daemons: the published program's protocol, and formats that differ.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;

use linkmend_control::{CorruptionModel, report};
use linkmend_dataplane::ProtectionSettings;
use linkmend_lab::generator::{GeneratorOptions, generate};
use linkmend_lab::{FramePath, Lab, LinkEnds, Role, RunControl};
use linkmend_protocol::{Copies, Format, Mode};

const FRAMES: u64 = 20_000;

fn options() -> GeneratorOptions {
    GeneratorOptions { count: FRAMES, frame_bytes: 300, ethertype: 0x0800, ..GeneratorOptions::default() }
}

fn protection(mode: Mode) -> Option<ProtectionSettings> {
    Some(ProtectionSettings { copies: Copies::Fixed(4), ..ProtectionSettings::new(mode) })
}

#[test]
fn two_daemons_speak_the_published_program_s_protocol() {
    if !common::privileged("delivery in the linkguardian format") {
        return;
    }
    let lab = Lab::up(common::options("lgd")).expect("the lab comes up");
    let ends =
        LinkEnds::start_with(&lab, |settings| settings.format = Format::Linkguardian).expect("they start");
    ends.corrupt(Some(CorruptionModel::Iid { rate: 1e-2 })).expect("corruption is allowed");
    for mode in Mode::ALL {
        ends.protect(protection(mode)).expect("the knock is answered");
        ends.protect_reverse(protection(mode)).expect("the knock is answered");
        let before = ends.report().expect("a report");
        let report = generate(&FramePath::forward(&lab), &options(), &RunControl::default())
            .expect("the generator runs");
        let after = ends.report().expect("a report");
        let lost = after.1.counters.lost_frames - before.1.counters.lost_frames;
        let given_up = after.1.counters.recovery_timeouts - before.1.counters.recovery_timeouts;
        println!(
            "{mode}: lost on the link {lost}, for good {}, given up {given_up}, duplicated {}, reordered {}",
            report.lost, report.duplicated, report.reordered
        );
        assert!(lost > 100, "{mode}: the link did not corrupt");
        assert!(after.0.counters.protected_frames - before.0.counters.protected_frames >= FRAMES);
        assert_eq!((report.sent, report.duplicated, report.corrupted), (FRAMES, 0, 0), "{mode}");
        assert!(mode == Mode::NonBlocking || report.reordered == 0, "{mode}: {report:?}");
        assert!(report.lost_on_path() <= given_up, "{mode}: lost without a count: {report:?}");
        // The probability that all transmissions of a frame are lost is 1e-10; the allowance is for this machine.
        assert!(report.lost_on_path() <= 1, "{mode}: {report:?}");
        assert_eq!(after.1.counters.malformed_frames + after.0.counters.malformed_frames, 0);
    }
}

#[test]
fn daemons_of_different_formats_say_so_and_leave_the_link_unprotected() {
    if !common::privileged("formats that differ") {
        return;
    }
    let lab = Lab::up(common::options("mix")).expect("the lab comes up");
    let ends = LinkEnds::start_with(&lab, |settings| {
        if settings.name == Role::End2.suffix() {
            settings.format = Format::Compact;
        }
    })
    .expect("they start");
    assert!(ends.protect(protection(Mode::Ordered)).is_err(), "it does not get active");
    let (first, second) = ends.report().expect("a report");
    assert_eq!(first.mismatched_format, Some(report::Format::Compact));
    assert_eq!(second.mismatched_format, Some(report::Format::Transparent));
    let report =
        generate(&FramePath::forward(&lab), &options(), &RunControl::default()).expect("the generator runs");
    assert_eq!((report.sent, report.duplicated, report.corrupted), (FRAMES, 0, 0));
    assert_eq!((report.lost_on_path(), report.reordered), (0, 0), "{report:?}");
    let (first, _) = ends.report().expect("a report");
    assert_eq!(first.counters.protected_frames, 0);
}
