//! The optimizer where it is hardest: networks in which no two ToRs are alike, with all links bad.
//!
//! `cargo bench -p linkmend-fleet --bench uneven`; `-- 7` takes only that network, and `-- --fabric`
//! the paper's fabric with all links bad.

#![expect(clippy::print_stdout, reason = "it prints its table")]

#[path = "../tests/graphs/mod.rs"]
#[allow(dead_code, reason = "the tests need the rest")]
mod graphs;

use graphs::uneven::{loss_rates, uneven};
use linkmend_fleet::Constraint;
use linkmend_fleet::network::Network;
use linkmend_fleet::optimizer::{Objective, exact_together};
use linkmend_topology::{FabricParameters, LinkId, Topology, ZoneId};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    println!("Seconds are those of the processor.\n");
    println!(
        "{:8} {:>10} {:>12} {:>12} {:>12} {:>8}",
        "network", "constraint", "loss before", "after", "gap", "s"
    );
    if has("--fabric") {
        let topology = FabricParameters::PAPER.build().expect("it is in range");
        for share in [0.75, 0.5, 0.25] {
            row("fabric", &topology, 0, Constraint::connected(share));
        }
        return;
    }
    // `cargo test` runs benchmarks without this argument.
    let only =
        if has("--bench") { arguments.iter().find_map(|argument| argument.parse().ok()) } else { Some(10) };
    for number in (0..20).filter(|number| only.is_none_or(|only| only == *number)) {
        let share = if number % 4 < 2 { 0.5 } else { 0.75 };
        let constraint =
            if number % 3 == 0 { Constraint::connected(share) } else { Constraint::paper(share) };
        row(&number.to_string(), &uneven(number), number, constraint);
    }
}

fn row(name: &str, topology: &Topology, number: u64, constraint: Constraint) {
    let mut network = Network::new(topology, constraint, 1e-18);
    let rates = loss_rates(topology, number);
    for (link, rate) in (0..).map(LinkId).zip(&rates) {
        network.corrupt(link, *rate);
    }
    let zones: Vec<ZoneId> = topology.zones().collect();
    let began = processor_seconds();
    let decision = exact_together(&mut network, &zones, Objective::Penalty);
    let seconds = processor_seconds() - began;
    let all: f64 = rates.iter().sum();
    let gained: f64 = decision.disable.iter().map(|link| rates[link.index()]).sum();
    let gap = decision.gap().expect("the exact optimizer knows the gap");
    let constraint = constraint.to_string();
    println!("{name:8} {constraint:>10} {all:>12.6} {:>12.6} {gap:>12.6} {seconds:>8.2}", all - gained);
}

/// What this process has computed for; 0 elsewhere than on Linux.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next().and_then(|text| text.parse().ok());
    first.map_or(0.0, |nanoseconds: f64| nanoseconds / 1e9)
}
