//! Adds a transport to the simulator's hosts: [`fixed_window`] is the transport, and [`Transport::other`] makes hosts
//! use it. The simulator's crates do not depend on it.
//!
//! `cargo run -p linkmend-example-transport` prints the measurements.

#![expect(clippy::print_stdout, reason = "it prints what it has measured")]

mod fixed_window;

use fixed_window::FixedWindow;
use linkmend_sim::flows::{self, FlowsReport, SchemeKind};
use linkmend_sim::host::Transport;
use linkmend_sim::link::config::ParameterError;
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const TRIALS: u64 = 1_000;
const FLOW_BYTES: u64 = 24_387;
/// Share of frames that the link corrupts.
const LOSS: f64 = 1e-3;
const TRANSPORT: FixedWindow =
    FixedWindow { window_packets: 16, payload_bytes: 1_450, timeout: Time::from_nanos(1_000_000) };

fn main() -> Result<(), ParameterError> {
    for scheme in [SchemeKind::None, SchemeKind::Ordered] {
        let report = run(scheme, TRANSPORT)?;
        let median = report.flows.fct_us.map_or(0.0, |times| times.p50);
        println!(
            "{}: {TRIALS} flows of {FLOW_BYTES} B, {} packets retransmitted after {} timeouts, median {median:.1} us",
            scheme.name(),
            report.flows.retransmissions,
            report.flows.timeouts
        );
    }
    Ok(())
}

/// Flows, one after another, over five switches in a row, where one link corrupts frames.
fn run(scheme: SchemeKind, transport: FixedWindow) -> Result<FlowsReport, ParameterError> {
    let parameters = RunParameters::default().or(&[
        ("transport", "dctcp"),
        ("scheme", scheme.name()),
        ("loss", &LOSS.to_string()),
        ("size", &format!("{FLOW_BYTES}B")),
        ("trials", &TRIALS.to_string()),
    ]);
    let mut config = parameters.flows(Path::new(""))?;
    config.traffic[0].hosts.transport = Transport::other(transport);
    let report = flows::run(&config, 1, &AtomicBool::new(false), &|| ())?;
    Ok(report.unwrap_or_else(|| unreachable!("nobody stops it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flows_end_and_only_losses_cause_timeouts() {
        let report = run(SchemeKind::None, TRANSPORT).expect("the parameters are good");
        assert_eq!((report.flows.unfinished_flows, report.flows.failed_flows), (0, 0));
        // A flow has 17 packets, of which one in a thousand is lost.
        assert!(
            (5..40).contains(&report.network.frames_corrupted),
            "{} frames corrupted",
            report.network.frames_corrupted
        );
        assert!(report.flows.timeouts > 0 && report.flows.timeouts <= report.network.frames_corrupted);
        assert!(report.flows.retransmissions >= report.flows.timeouts);
    }

    #[test]
    fn a_link_that_recovers_spares_hosts_the_timeouts() {
        let report = run(SchemeKind::Ordered, TRANSPORT).expect("the parameters are good");
        assert!(report.network.frames_corrupted > 0);
        assert_eq!((report.flows.timeouts, report.flows.retransmissions), (0, 0));
    }

    #[test]
    fn a_smaller_window_takes_more_round_trips() {
        let median = |window_packets| {
            let report = run(SchemeKind::Ordered, FixedWindow { window_packets, ..TRANSPORT });
            report.expect("the parameters are good").flows.fct_us.expect("flows have ended").p50
        };
        let [stop_and_wait, two, all] = [1, 2, 17].map(median);
        assert!(stop_and_wait > 1.7 * two && two > 3.0 * all, "{stop_and_wait}, {two} and {all} us");
    }
}
