//! Adds a workload to the simulator: [`ring`] is the workload, and [`Demand::other`] makes a run use its flows. The
//! simulator's crates do not depend on it.
//!
//! `cargo run -p linkmend-example-workload` prints the measurements.

#![expect(clippy::print_stdout, reason = "it prints what it has measured")]

mod ring;

use linkmend_sim::flows::{self, Demand, SchemeKind};
use linkmend_sim::host::FlowRecord;
use linkmend_sim::link::config::ParameterError;
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use ring::Ring;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const TOPOLOGY: &str = "fat-tree:k=4,hosts=2";
const BYTES: u64 = 16_000_000;
/// Latest start of a step.
const DURATION: Time = Time::from_nanos(1_000_000_000);

fn main() -> Result<(), ParameterError> {
    for (loss, scheme) in [(0.0, SchemeKind::None), (1e-3, SchemeKind::None), (1e-3, SchemeKind::Ordered)] {
        let flows = run(loss, scheme)?;
        println!(
            "loss {loss:e}, {}: {} flows, all-reduce in {:.3} ms",
            scheme.name(),
            flows.len(),
            milliseconds(&flows)
        );
    }
    Ok(())
}

/// From the beginning of the first flow to the end of the last.
fn milliseconds(flows: &[FlowRecord]) -> f64 {
    let began = flows.iter().map(|flow| flow.began).min().unwrap_or(Time::ZERO);
    let ended = flows.iter().map(|flow| flow.delivered).max().unwrap_or(Time::ZERO);
    (ended - began).as_secs() * 1e3
}

/// An all-reduce among the hosts of a fat tree, over RDMA. Some of its links corrupt frames.
fn run(loss: f64, scheme: SchemeKind) -> Result<Vec<FlowRecord>, ParameterError> {
    let parameters = RunParameters::default().or(&[
        ("transport", "rdma"),
        ("topology", TOPOLOGY),
        ("scheme", scheme.name()),
        ("loss", &loss.to_string()),
        ("corrupting-links", "4"),
    ]);
    let demand = Demand::other(DURATION, |hosts, _| Ring::new(hosts, BYTES));
    let folder = Path::new("");
    let config = parameters.flows_in(parameters.graph(folder)?, demand, folder)?;
    let outcome = flows::run_with_records(&config, 1, &AtomicBool::new(false), &|| ())?;
    Ok(outcome.map_or_else(Vec::new, |(_, records)| records))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_sends_in_every_step_and_waits_for_the_slowest() {
        let flows = run(0.0, SchemeKind::None).expect("the parameters are good");
        let hosts = 16;
        let steps = 2 * (hosts - 1);
        assert_eq!(flows.len() as u32, hosts * steps);
        assert!(
            flows.iter().all(|flow| flow.destination == (flow.source + 1) % hosts && flow.bytes == 1_000_000)
        );
        let mut by_time: Vec<&FlowRecord> = flows.iter().collect();
        by_time.sort_by_key(|flow| flow.began);
        for pair in by_time.chunks(hosts as usize).collect::<Vec<_>>().windows(2) {
            let arrived = pair[0].iter().map(|flow| flow.delivered).max();
            assert!(
                pair[1].iter().all(|flow| Some(flow.began) == arrived),
                "a step begins when the last has arrived"
            );
        }
        // Each host sends 30 MB, which take 2.4 ms at 100 Gbit/s without headers.
        let took = milliseconds(&flows);
        assert!((2.4..4.0).contains(&took), "{took} ms");
    }

    #[test]
    fn losses_delay_everybody_unless_links_recover() {
        let [clean, lossy, recovered] =
            [(0.0, SchemeKind::None), (1e-3, SchemeKind::None), (1e-3, SchemeKind::Ordered)]
                .map(|(loss, scheme)| milliseconds(&run(loss, scheme).expect("the parameters are good")));
        assert!(lossy > 1.15 * clean && recovered < 1.05 * clean, "{clean}, {lossy} and {recovered} ms");
    }
}
