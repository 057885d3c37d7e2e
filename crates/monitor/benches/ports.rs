//! What it takes to watch so many ports every second: time of a poll, as a share of one core, and memory.
//!
//! `cargo bench -p linkmend-monitor --bench ports`.

#![expect(clippy::print_stdout, reason = "it prints its table")]

use linkmend_monitor::Cabling;
use linkmend_monitor::agent::{Agent, Policy};
use linkmend_monitor::counters::{FecReading, Reading};
use std::time::{Duration, Instant};

/// One port of so many corrupts, and one has a corrupted frame now and then.
const CORRUPTING: u64 = 100;
const FRAMES_PER_POLL: u64 = 1_000_000;

fn main() {
    let bench = std::env::args().any(|argument| argument == "--bench");
    let (most, polls) = if bench { (100_000, 3_600) } else { (100, 100) };
    println!(
        "{:>9} {:>5} {:>7} {:>14} {:>12} {:>10} {:>12} {:>10}",
        "ports", "FEC", "polls", "ms a poll", "us a port", "% of core", "worst ms", "kB a port"
    );
    for fec in [false, true] {
        for ports in [1_000, 10_000, 100_000].map(|ports: u64| ports.min(most)) {
            // As many polls as fill the window of an hour, or as take about half a minute.
            let polls = polls.min(36_000_000 / ports).max(if bench { 200 } else { 1 });
            measure(ports, polls, fec);
        }
    }
}

fn measure(ports: u64, polls: u64, fec: bool) {
    let before = resident_kb();
    let mut agent = Agent::new("s0", Policy::default(), Cabling::default());
    agent.handle_synchronised(Duration::ZERO);
    let names: Vec<String> = (0..ports).map(|port| format!("Ethernet{port}")).collect();
    let (mut busy, mut worst) = (Duration::ZERO, Duration::ZERO);
    for poll in 1..=polls {
        let readings: Vec<_> =
            (0..).zip(&names).map(|(port, name)| (name.clone(), reading(port, poll, fec))).collect();
        let begun = Instant::now();
        agent.handle_readings(Duration::from_secs(poll), readings);
        while agent.poll_action().is_some() {}
        while agent.poll_decision().is_some() {}
        let took = begun.elapsed();
        busy += took;
        worst = worst.max(took);
    }
    let each = busy.as_secs_f64() / polls as f64;
    println!(
        "{ports:>9} {:>5} {polls:>7} {:>14.2} {:>12.2} {:>10.2} {:>12.1} {:>10.2}",
        if fec { "yes" } else { "no" },
        each * 1e3,
        each * 1e6 / ports as f64,
        each * 100.0,
        worst.as_secs_f64() * 1e3,
        resident_kb().saturating_sub(before) as f64 / ports as f64
    );
}

fn reading(port: u64, poll: u64, fec: bool) -> Reading {
    let corrupted = match port % CORRUPTING {
        0 => poll * 10,
        1 => poll / 1_000,
        _ => 0,
    };
    let codewords = fec.then(|| std::array::from_fn(|errors| (20_000_000 * poll) >> (4 * errors)));
    Reading {
        good_frames: poll * FRAMES_PER_POLL,
        corrupted_frames: Some(corrupted),
        up: Some(true),
        carrier_changes: Some(1),
        speed: Some(100_000_000_000),
        epoch: Some(1),
        fec: codewords.map(|codewords| FecReading { codewords: Some(codewords), ..FecReading::default() }),
        ..Reading::default()
    }
}

/// Memory of this process, from `/proc/self/status`.
fn resident_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}
