//! What the protocol costs per frame, both link ends together.
//!
//! `cargo bench -p linkmend-protocol --bench frame_life` prints nanoseconds; `crates/protocol/benches/instructions.sh`
//! counts instructions under callgrind. Nanoseconds are not judged: beside other work a frame takes several times as long.

#![expect(
    clippy::disallowed_methods,
    reason = "a benchmark measures real time, and its size is set from outside"
)]
#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod life;

use life::FrameLifecycle;
use linkmend_protocol::Mode;
use std::time::Instant;

const RUNS: usize = 9;
const FRAMES: u64 = 2_000_000;

fn main() {
    if let Some(frames) = std::env::var("LINKMEND_BENCH_FRAMES").ok().and_then(|text| text.parse().ok()) {
        // One case, for an instruction count.
        let mode = if std::env::var_os("LINKMEND_BENCH_NON_BLOCKING").is_some() {
            Mode::NonBlocking
        } else {
            Mode::Ordered
        };
        let loss =
            std::env::var("LINKMEND_BENCH_LOSS").ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
        FrameLifecycle::new(mode, loss).run(frames);
        return;
    }
    println!("ns per frame, send + receive + acknowledge + release, both ends");
    for mode in Mode::ALL {
        for loss in [0.0, 1e-3] {
            let mut life = FrameLifecycle::new(mode, loss);
            life.run(FRAMES / 10);
            let mut runs: Vec<f64> = (0..RUNS).map(|_| time(&mut life)).collect();
            life.finish();
            assert_eq!(life.delivered, life.released, "every frame lived to its end");
            runs.sort_by(f64::total_cmp);
            let median = runs[RUNS / 2];
            let (low, high) = (runs[0], runs[RUNS - 1]);
            println!("{mode:?} at loss {loss}: {median:.1} ns ({low:.1} to {high:.1})");
        }
    }
}

fn time(life: &mut FrameLifecycle) -> f64 {
    let begun = Instant::now();
    life.run(FRAMES);
    begun.elapsed().as_nanos() as f64 / FRAMES as f64
}
