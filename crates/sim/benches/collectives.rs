//! How long a ring all-reduce takes to simulate, on leaf-spine fabrics of up to 1,024 hosts, and in how much memory.
//!
//! `cargo bench -p linkmend-sim --bench collectives` runs 100 MB among 1,024 hosts at 400G, as RDMA with packets of 4,096
//! bytes. `-- RANKS ...` runs other numbers of ranks.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use linkmend_sim::flows;
use linkmend_sim::parameters::RunParameters;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() {
    let bench = std::env::args().any(|argument| argument == "--bench");
    let asked: Vec<u32> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let sizes = match (asked.is_empty(), bench) {
        (false, _) => asked,
        (true, true) => vec![32, 128, 1_024],
        (true, false) => vec![32],
    };
    let size = if bench { "100MB" } else { "1MB" };
    println!(
        "{:>6} {:>10} {:>12} {:>12} {:>8} {:>10} {:>9} {:>7} {:>12}",
        "ranks", "order", "frame hops", "events", "s", "ns/hop", "ns/event", "MiB", "step"
    );
    for ranks in sizes {
        for order in ["linear", "across"] {
            run(ranks, size, order);
        }
    }
}

fn run(ranks: u32, size: &str, order: &str) {
    // Leaves and spines as many as hosts of a leaf, as near as can be.
    let hosts = 1 << (ranks.ilog2().div_ceil(2));
    let leaves = ranks / hosts;
    let topology =
        format!("leaf-spine:leaves={leaves},spines={hosts},hosts={hosts},speed=400G,host-speed=400G");
    let parameters = RunParameters::default().or(&[
        ("transport", "rdma"),
        ("rdma-mtu", "4096"),
        ("scheme", "none"),
        ("loss", "0"),
        ("speed", "400G"),
        ("topology", &topology),
        ("collective", "all-reduce-ring"),
        ("size", size),
        ("rank-order", order),
    ]);
    let config = parameters.flows(Path::new("")).expect("the parameters are good");
    let began = Instant::now();
    let report =
        flows::run(&config, 1, &AtomicBool::new(false), &|| ()).expect("valid").expect("not stopped");
    let seconds = began.elapsed().as_secs_f64();
    let training = report.flows.training.expect("it is a training job");
    assert_eq!(training.unfinished_operations, 0, "all operations end");
    println!(
        "{ranks:>6} {order:>10} {:>12} {:>12} {seconds:>8.2} {:>10.1} {:>9.1} {:>7} {:>9.1} us",
        report.network.frame_hops,
        report.network.events,
        seconds * 1e9 / report.network.frame_hops as f64,
        seconds * 1e9 / report.network.events as f64,
        memory_kib() / 1_024,
        training.step_us.map_or(0.0, |step| step.mean)
    );
}

/// The most memory that was resident. Linux only.
fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
