//! A year of the paper's fabric, and of a hundred times as many links.
//!
//! `cargo bench -p linkmend-fleet --bench year`; `-- --long` adds the ten million links.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use linkmend_fleet::simulate::{Settings, Summary, simulate};
use linkmend_fleet::strategy::Strategy;
use linkmend_fleet::trace::TraceParameters;
use linkmend_topology::FabricParameters;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    // `cargo test` runs benchmarks without this argument.
    let (pods, rounds) = if has("--bench") { (FabricParameters::PAPER.pods, 5) } else { (9, 1) };
    println!("A year on one core, topology and trace included; median of {rounds} rounds\n");
    println!(
        "{:10} {:16} {:>10} {:>10} {:>9} {:>8} {:>12}",
        "links", "strategy", "constraint", "events", "s", "ratio", "us/event"
    );
    let mut base = None;
    for constraint in [0.5, 0.75] {
        for strategy in [Strategy::CorrOpt, Strategy::ProtectCorrOpt] {
            row(pods, strategy, constraint, rounds, &mut base);
        }
    }
    if has("--long") {
        for constraint in [0.5, 0.75] {
            row(pods * 100, Strategy::ProtectCorrOpt, constraint, 1, &mut base);
        }
    }
    println!(
        "\nFor comparison, measured on such a machine: the authors' simulator 250 s at 50 %, hours at 75 %;"
    );
    println!("a plain Python rewrite with a polynomial optimizer 11 s and 47 s.");
    if let Some(kib) = peak_memory_kib() {
        println!("Peak memory of all of it: {:.1} MiB", kib as f64 / 1024.0);
    }
}

fn row(pods: u32, strategy: Strategy, constraint: f64, rounds: usize, base: &mut Option<f64>) {
    let fabric = FabricParameters { pods, ..FabricParameters::PAPER };
    let mut seconds = Vec::new();
    let mut summary = Summary::default();
    for _ in 0..rounds {
        let began = Instant::now();
        let topology = fabric.build().expect("the parameters are in range");
        let trace = TraceParameters::paper(1).generate(&topology);
        summary = simulate(&topology, &trace, &Settings::paper(strategy, constraint, 1), &mut |_, _| {});
        seconds.push(began.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let median = seconds[seconds.len() / 2];
    let base = *base.get_or_insert(median);
    let events = summary.loss_events + summary.repairs;
    println!(
        "{:<10} {:16} {:>9}% {:>10} {:>9.3} {:>8.2} {:>12.3}",
        fabric.links(),
        strategy.name(),
        constraint * 100.0,
        events,
        median,
        median / base,
        median / events as f64 * 1e6
    );
}

/// Works on Linux only.
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
