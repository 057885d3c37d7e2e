//! What the daemon's loop costs per frame, protocol included and kernel excluded: both link ends over ports in memory,
//! 60 frames a round, in simulated time.
//!
//! `cargo bench -p linkmend-dataplane --bench round` prints nanoseconds. `-- --only CASE` picks cases by a part of their
//! names, and `-- --count FRAMES` runs each of them once without measuring, for `crates/dataplane/benches/instructions.sh`,
//! which counts instructions under callgrind.

#![expect(clippy::print_stdout, reason = "it prints its table")]

mod link;

use link::{BATCH, Case, Link};
use linkmend_protocol::Mode;
use std::time::Duration;

/// Slots of every case, in turns with those of the others, so that a disturbance meets a few slots of all of them.
const SLOTS: usize = 15;
const SLOT_FRAMES: u64 = 60_000;
const TEST_FRAMES: u64 = 40 * BATCH as u64;
/// Frames of 64 and 1,500 bytes on the wire, without their check sequence.
const FRAME_BYTES: [usize; 2] = [60, 1_496];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag);
        at.and_then(|at| arguments.get(at + 1))
    };
    let picked = |name: &str| value("--only").is_none_or(|part| name.contains(part.as_str()));
    if let Some(frames) = value("--count").and_then(|frames| frames.parse().ok()) {
        for (_, case) in FRAME_BYTES.into_iter().flat_map(cases).filter(|(name, _)| picked(name)) {
            let mut link = Link::open(case);
            link.run(frames);
            link.finish();
        }
        return;
    }
    // `cargo test` runs benchmarks without this argument.
    let measures = arguments.iter().any(|argument| argument == "--bench");
    let (slots, frames) = if measures { (SLOTS, SLOT_FRAMES) } else { (1, TEST_FRAMES) };
    println!(
        "ns per frame in the loop: median of {slots} slots of {frames} frames, the least and the most\n"
    );
    println!("{:44} {:>24} {:>9} {:>9}", "", "both ends", "first", "second");
    for frame_bytes in FRAME_BYTES {
        let cases: Vec<_> = cases(frame_bytes).into_iter().filter(|(name, _)| picked(name)).collect();
        compare(&cases, slots, frames);
    }
}

fn cases(frame_bytes: usize) -> Vec<(String, Case)> {
    let mut cases = Vec::new();
    let mut add = |what: &str, mode, loss, both_ways| {
        let ways = if both_ways { "both ways" } else { "one way" };
        let name = format!("{what}, {ways}, loss {loss}, {} B", frame_bytes + 4);
        cases.push((name, Case { mode, loss, both_ways, frame_bytes }));
    };
    add("unprotected", None, 0.0, false);
    for (what, mode) in [("ordered", Mode::Ordered), ("non-blocking", Mode::NonBlocking)] {
        for (loss, both_ways) in [(0.0, false), (1e-3, false), (1e-3, true)] {
            add(what, Some(mode), loss, both_ways);
        }
    }
    cases
}

/// Measures the cases in turns, and prints a line for each.
fn compare(cases: &[(String, Case)], slots: usize, frames: u64) {
    let mut links: Vec<Link> = cases.iter().map(|&(_, case)| Link::open(case)).collect();
    let mut taken = vec![Vec::new(); cases.len()];
    for slot in 0..=slots {
        for (link, taken) in links.iter_mut().zip(&mut taken) {
            let [first, second] = measure(link, frames);
            // The first slot warms the caches up.
            if slot > 0 {
                taken.push([first + second, first, second]);
            }
        }
    }
    links.into_iter().for_each(Link::finish);
    for ((name, _), taken) in cases.iter().zip(&taken) {
        let [(both, least, most), (first, ..), (second, ..)] = [0, 1, 2].map(|column| {
            let mut values: Vec<f64> = taken.iter().map(|slot| slot[column]).collect();
            values.sort_by(f64::total_cmp);
            (values[values.len() / 2], values[0], values[values.len() - 1])
        });
        let both = format!("{both:.1} ({least:.1} to {most:.1})");
        println!("{name:44} {both:>24} {first:>9.1} {second:>9.1}");
    }
}

/// Nanoseconds per frame that either end takes for a slot.
fn measure(link: &mut Link, frames: u64) -> [f64; 2] {
    link.spent = [Duration::ZERO; 2];
    let frames = link.run(frames);
    link.spent.map(|spent| spent.as_nanos() as f64 / frames as f64)
}
