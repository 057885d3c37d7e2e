//! Adds a scheme to the simulator: [`twice`] is the scheme, and [`stress::run_other`] and [`flows::run_other`] run it.
//! The simulator's crates do not depend on it.
//!
//! `cargo run -p linkmend-example-scheme` prints the measurements.

#![expect(clippy::print_stdout, reason = "it prints what it has measured")]

mod twice;

use linkmend_sim::flows::{self, FlowsReport};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Mode, ParameterError};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::stress::{self, StressReport};
use linkmend_sim::time::Rate;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use twice::Twice;

const FRAMES: u64 = 100_000;
const TRIALS: u64 = 2_000;
/// Share of frames that the link corrupts, large enough that some frames are lost twice.
const LOSS: f64 = 0.02;

fn main() -> Result<(), ParameterError> {
    let link = stress_run(FRAMES)?;
    println!(
        "link: {} of {} frames corrupted, not counting copies; {} of them lost for good, because their copy was corrupted \
         as well; {:.1} % of the link's speed",
        link.frames_lost, link.frames_sent, link.frames_undelivered, link.effective_speed_pct
    );
    let flows = flows_run(TRIALS)?;
    println!(
        "flows: {} frames of {} flows corrupted, copies included; {} retransmissions by hosts",
        flows.network.frames_corrupted, TRIALS, flows.flows.retransmissions
    );
    Ok(())
}

/// Frames at line rate over one link.
fn stress_run(frames: u64) -> Result<StressReport, ParameterError> {
    let rate = Rate::from_bits_per_second(100_000_000_000).unwrap_or_else(|| unreachable!("it is exact"));
    let link = LinkConfig { protection: None, ..LinkConfig::paper(rate, LOSS, Mode::Ordered) };
    let config = LinksConfig { frames, ..LinksConfig::over(link) };
    stress::run_other::<Twice>(&config, &[(), ()], &mut |_| true)
}

/// TCP flows, one after another, over five switches in a row with such a link between them.
fn flows_run(trials: u64) -> Result<FlowsReport, ParameterError> {
    let parameters = RunParameters::default().or(&[
        ("transport", "dctcp"),
        ("size", "24387B"),
        ("trials", &trials.to_string()),
        ("loss", &LOSS.to_string()),
    ]);
    let config = parameters.flows(Path::new(""))?;
    let report = flows::run_other::<Twice>(&config, &[(), ()], 1, &AtomicBool::new(false), &|| ())?;
    Ok(report.unwrap_or_else(|| unreachable!("nobody stops it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_lost_only_with_its_copy() {
        let report = stress_run(FRAMES).expect("the parameters are good");
        assert_eq!(report.frames_sent, FRAMES);
        let expected = FRAMES as f64 * LOSS * LOSS;
        let lost = report.frames_undelivered as f64;
        // Four standard deviations of a count of rare events are four times its square root.
        assert!((lost - expected).abs() < 4.0 * expected.sqrt(), "{lost} lost, and {expected} are expected");
        assert_eq!(report.undelivered.copies_corrupted, report.frames_undelivered, "each with its copy");
        assert_eq!(report.frames_reordered, 0);
        assert!((49.0..50.0).contains(&report.effective_speed_pct), "{} %", report.effective_speed_pct);
    }

    #[test]
    fn hosts_retransmit_little_behind_it() {
        let report = flows_run(TRIALS).expect("the parameters are good");
        // A flow has 17 segments.
        assert!(
            report.network.frames_corrupted > 500,
            "{} frames corrupted",
            report.network.frames_corrupted
        );
        assert!(
            report.flows.retransmissions < report.network.frames_corrupted / 20,
            "{} retransmissions for {} corrupted frames",
            report.flows.retransmissions,
            report.network.frames_corrupted
        );
    }
}
