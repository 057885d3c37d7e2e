//! Numbered frames over a corrupting link: nothing duplicated, nothing reordered in ordered mode, losses within Equation 1.
//!
//! LINKMEND_DELIVERY_FRAMES sets the number of frames of each case; the full acceptance run takes 10 million.

#![allow(clippy::print_stdout, reason = "the figures are wanted with --nocapture")]

mod common;

use linkmend_control::CorruptionModel;
use linkmend_dataplane::{PortChoice, ProtectionSettings};
use linkmend_lab::generator::{GeneratorOptions, GeneratorReport, generate};
use linkmend_lab::{FramePath, Lab, LinkEnds, RunControl};
use linkmend_protocol::{Mode, effective_loss};

const FRAMES_DEFAULT: u64 = 100_000;

fn frames() -> u64 {
    match std::env::var("LINKMEND_DELIVERY_FRAMES") {
        Ok(text) => text.parse().expect("LINKMEND_DELIVERY_FRAMES is a number of frames"),
        Err(_) => FRAMES_DEFAULT,
    }
}

/// The largest number of losses among `frames` trials of probability `p` whose probability is at least 1e-9 (Chernoff
/// bound).
fn losses_at_most(frames: u64, p: f64) -> u64 {
    let mean = frames as f64 * p;
    (0u32..)
        .find(|&k| {
            let k = f64::from(k);
            k > mean && (k - mean - k * (k / mean).ln()).exp() < 1e-9
        })
        .map_or(u64::MAX, |k| u64::from(k) - 1)
}

fn send(path: &FramePath, frames: u64) -> GeneratorReport {
    let options = GeneratorOptions { count: frames, frame_bytes: 300, ..GeneratorOptions::default() };
    generate(path, &options, &RunControl::default()).expect("the generator runs")
}

fn case(lab: &Lab, ends: &LinkEnds, mode: Mode, model: CorruptionModel) {
    let what = format!("{mode:?}, {model:?}");
    ends.corrupt(Some(model)).expect("corruption is allowed");
    ends.corrupt_reverse(Some(model)).expect("corruption is allowed");
    ends.protect(Some(ProtectionSettings::new(mode))).expect("it gets active");
    ends.protect_reverse(Some(ProtectionSettings::new(mode))).expect("it gets active");
    let before = ends.report().expect("a report");
    let report = send(&FramePath::forward(lab), frames());
    let after = ends.report().expect("a report");
    let counted = |count: fn(&linkmend_control::LinkReport) -> u64| count(&after.1) - count(&before.1);
    let lost_first = counted(|report| report.counters.lost_frames);
    let given_up = counted(|report| report.counters.given_up_frames());
    let actual = lost_first as f64 / report.sent as f64;
    println!(
        "{what}: sent {}, lost on the link {lost_first} ({actual:.2e}), lost for good {}, given up {given_up}, \
         duplicated {}, reordered {}, {:.2} Gb/s",
        report.sent,
        report.lost,
        report.duplicated,
        report.reordered,
        report.bits_per_second / 1e9
    );
    assert_eq!(report.sent, frames(), "{what}: {report:?}");
    assert!(lost_first > 0, "{what}: the link did not corrupt");
    assert_eq!(report.duplicated, 0, "{what}");
    assert_eq!(report.corrupted, 0, "{what}");
    if mode == Mode::Ordered {
        assert_eq!(report.reordered, 0, "{what}");
    }
    // The worst case that Equation 1 allows: independent losses, copies as chosen for the measured rate.
    let bound = losses_at_most(report.sent, effective_loss(actual, after.0.copies));
    assert!(report.lost_on_path() <= bound, "{what}: lost {} > {bound}", report.lost_on_path());
    assert!(
        report.lost_on_path()
            <= given_up + after.0.counters.abandoned_frames - before.0.counters.abandoned_frames,
        "{what}: lost without a count"
    );
}

#[test]
fn numbered_frames_survive_a_corrupting_link() {
    if !common::privileged("delivery of numbered frames") {
        return;
    }
    let lab = Lab::up(common::options("dlv")).expect("the lab comes up");
    let ends = LinkEnds::start(&lab, PortChoice::Auto, 7).expect("the link ends start");
    let models = [
        CorruptionModel::Iid { rate: 1e-3 },
        CorruptionModel::Iid { rate: 1e-2 },
        CorruptionModel::GilbertElliott { rate: 1e-3, mean_burst: 4.0 },
        CorruptionModel::GilbertElliott { rate: 1e-2, mean_burst: 4.0 },
    ];
    for mode in Mode::ALL {
        for model in models {
            case(&lab, &ends, mode, model);
        }
    }
}
