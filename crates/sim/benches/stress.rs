//! How many frames a second the stress test simulates, with every event and with fast-forward.
//!
//! `cargo bench -p linkmend-sim --bench stress`; `-- --long` adds the ten billion frames. Absolute speeds depend on the
//! machine; the last column compares with the same link unprotected, measured in turns with it.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::links::LinksConfig;
use linkmend_sim::stress::{StressReport, run};
use linkmend_sim::time::Rate;
use std::time::Instant;

/// Frames of a case: in a benchmark, and when only its working is tested.
const FULL_FRAMES: u64 = 3_000_000;
const SKIPPED_FRAMES: u64 = 100_000_000;
const LONG_FRAMES: u64 = 10_000_000_000;
const OVERLOADED_FRAMES: u64 = 300_000;
const TEST_FRAMES: u64 = 20_000;
/// How much more a frame of a run eight times as long may cost.
const OVERLOADED_RATIO_MAX: f64 = 1.5;
const ROUNDS: usize = 5;

struct Case {
    name: &'static str,
    config: LinksConfig,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    // `cargo test` runs benchmarks without this argument.
    let rounds = if has("--bench") { ROUNDS } else { 1 };
    let frames = |frames: u64| if has("--bench") { frames } else { TEST_FRAMES };
    let mut cases = cases(frames(FULL_FRAMES), frames(SKIPPED_FRAMES));
    if has("--long") {
        cases.extend(long_cases());
    }
    // One case alone, by a part of its name: for profilers.
    let only = arguments.iter().position(|argument| argument == "--only").map(|at| &arguments[at + 1]);
    if let Some(part) = only {
        cases.retain(|case| case.name.contains(part.as_str()));
    }
    let mut seconds = vec![Vec::new(); cases.len()];
    let mut reports = Vec::new();
    for _ in 0..rounds {
        reports =
            cases.iter().zip(&mut seconds).map(|(case, seconds)| timed(&case.config, seconds)).collect();
    }
    println!("100G, 1,518-byte frames, one core; median of {rounds} rounds in turns\n");
    println!("{:48} {:>14} {:>14} {:>12} {:>10}", "", "frames", "M frames/s", "events/frame", "ratio");
    let mut base = None;
    for ((case, seconds), report) in cases.iter().zip(&mut seconds).zip(&reports) {
        seconds.sort_by(f64::total_cmp);
        let speed = report.frames_sent as f64 / seconds[seconds.len() / 2];
        let base = *base.get_or_insert(speed);
        let events = report.events as f64 / report.frames_sent as f64;
        println!(
            "{:48} {:>14} {:>14.2} {:>12.3} {:>10.2}",
            case.name,
            report.frames_sent,
            speed / 1e6,
            events,
            speed / base
        );
    }
    if only.is_none() {
        overloaded(rounds, frames(OVERLOADED_FRAMES));
    }
    println!(
        "\nFor comparison, one unprotected link elsewhere: ns-3 0.7 to 0.8, htsim 7.1 million frames/s."
    );
    if let Some(kib) = peak_memory_kib() {
        println!("Peak memory of all of it: {:.1} MiB", kib as f64 / 1024.0);
    }
}

/// A 400G link whose frames circle through a 100G port, so that copies come too late: what waits must not be searched
/// longer the longer the run. Times of a short and of a long run, in turns.
fn overloaded(rounds: usize, frames: u64) {
    println!(
        "\n{:48} {:>14} {:>14} {:>12}",
        "400G through a 100G port", "ns/frame", "8 times as long", "ratio"
    );
    for (name, mode) in [("ordered", Mode::Ordered), ("non-blocking", Mode::NonBlocking)] {
        let overloaded = LinksConfig::paper(gigabits(400), 1e-3, mode).with_link(|link| {
            link.buffering = Buffering::Recirculating;
            link.switch.recirculation_rate = gigabits(100);
        });
        let run_of = |frames| LinksConfig { frames, ..overloaded.clone() };
        let mut ns = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (times, frames) in ns.iter_mut().zip([frames, 8 * frames]) {
                let mut seconds = Vec::new();
                timed(&run_of(frames), &mut seconds);
                times.push(seconds[0] * 1e9 / frames as f64);
            }
        }
        // Both runs of a round meet the same machine, so that their ratio says more than the time of either.
        let ratios = ns[0].iter().zip(&ns[1]).map(|(short, long)| long / short).collect();
        let [short, long] = ns;
        let [short, long, ratios] = [short, long, ratios].map(|mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values
        });
        let [short, long, ratio] = [&short, &long, &ratios].map(|values| values[values.len() / 2]);
        let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
        println!("{name:48} {short:>14.0} {long:>14.0} {ratio:>12.2} ({low:.2} to {high:.2})");
        // In an ordinary test a run is too short to be measured. What others do on the machine lengthens some rounds, and not all.
        assert!(
            rounds == 1 || low < OVERLOADED_RATIO_MAX,
            "a frame costs more the longer the run, in every round"
        );
    }
}

fn timed(config: &LinksConfig, seconds: &mut Vec<f64>) -> StressReport {
    let began = Instant::now();
    let report = run(config, &mut |_| true).expect("the parameters are good");
    seconds.push(began.elapsed().as_secs_f64());
    report
}

fn paper(loss: f64, mode: Mode) -> LinksConfig {
    LinksConfig::paper(gigabits(100), loss, mode)
}

fn gigabits(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000_000).expect("a byte lasts whole picoseconds")
}

fn cases(full: u64, skipped: u64) -> Vec<Case> {
    let every_event = |config: LinksConfig| LinksConfig { frames: full, full: true, ..config };
    let direct = |config: LinksConfig| config.with_link(|link| link.buffering = Buffering::Direct);
    let skipping = |config: LinksConfig, share| LinksConfig { frames: skipped / share, ..config };
    let unprotected = paper(0.0, Mode::Ordered).with_link(|link| link.protection = None);
    let case = |name, config| Case { name, config };
    vec![
        case("every event, unprotected", every_event(unprotected)),
        case("every event, direct, no loss", every_event(direct(paper(0.0, Mode::Ordered)))),
        case("every event, direct, 1e-3, ordered", every_event(direct(paper(1e-3, Mode::Ordered)))),
        case("every event, recirculating, 1e-3, ordered", every_event(paper(1e-3, Mode::Ordered))),
        case("every event, recirculating, 1e-3, non-blocking", every_event(paper(1e-3, Mode::NonBlocking))),
        case("fast-forward, recirculating, 1e-3, ordered", skipping(paper(1e-3, Mode::Ordered), 10)),
        case("fast-forward, recirculating, 1e-4, ordered", skipping(paper(1e-4, Mode::Ordered), 2)),
        case("fast-forward, recirculating, 1e-5, ordered", skipping(paper(1e-5, Mode::Ordered), 1)),
    ]
}

fn long_cases() -> Vec<Case> {
    let long =
        |name, loss| Case { name, config: LinksConfig { frames: LONG_FRAMES, ..paper(loss, Mode::Ordered) } };
    vec![long("ten billion frames at 1e-5, ordered", 1e-5), long("ten billion frames at 1e-3, ordered", 1e-3)]
}

/// The largest resident memory so far; only Linux says it.
fn peak_memory_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}
