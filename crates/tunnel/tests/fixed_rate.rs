//! Hosts that send at a rate of their own lose nothing behind the congestion control, if the path carries that rate: not at
//! the start, not after a pause, and not because the path delays and reorders.

#[allow(dead_code, reason = "each test binary uses a part of it")]
mod bottleneck;

use bottleneck::source::{Fixed, Source};
use bottleneck::{MS, PATH, Path, SECOND, World};

/// A path whose bottleneck is far away.
const LONG: Path = Path { rate_bps: 1_000_000_000, round_trip_ns: 100 * MS, buffer: 1.0, ..PATH };

/// Offers 8 Mbit/s for 5 s after so many seconds with dummies alone. Returns what came of it, and the frames that arrived.
fn offer(path: Path, seed: u64, idle_s: u64) -> (Fixed, u64) {
    let mut world = World::new(path, seed, &[]);
    world.source = Source::Fixed(Fixed::new(1_000, MS, idle_s * SECOND, (idle_s + 5) * SECOND));
    world.run(idle_s * SECOND);
    let bytes = world.run(7 * SECOND).frames_bytes;
    (world.source.into_fixed(), bytes / 1_000)
}

#[test]
fn a_path_that_delays_and_reorders_costs_nothing() {
    for idle_s in [1, 10, 60] {
        for jitter_us in [50, 2_000, 8_000, 15_000] {
            for seed in 1..4 {
                let path = Path { jitter_ns: jitter_us * 1_000, ..LONG };
                let (fixed, arrived) = offer(path, seed, idle_s);
                let wait_ms = fixed.longest_wait_ns / MS;
                println!("idle for {idle_s} s, jitter of {jitter_us} us: longest wait {wait_ms} ms");
                // A path that begins to reorder costs a datagram or two; the protocol repeats them.
                assert!(
                    fixed.dropped == 0 && arrived + 10 >= fixed.offered,
                    "{arrived} of {}",
                    fixed.offered
                );
                assert!(wait_ms < 400, "it waited for {wait_ms} ms");
            }
        }
    }
}

#[test]
fn a_path_that_loses_costs_no_more_than_it_loses() {
    for (loss, copies) in [(0.005, 1), (0.01, 1), (0.02, 1), (0.05, 1), (0.1, 2), (0.25, 3)] {
        for seed in 1..11 {
            let path = Path { loss, copies, jitter_ns: 2 * MS, ..LONG };
            let (fixed, arrived) = offer(path, seed, 5);
            let [wait_ms, stand_ms] = [fixed.longest_wait_ns, fixed.longest_stand_ns].map(|ns| ns / MS);
            let share = arrived as f64 / fixed.offered as f64 / (1.0 - loss);
            println!("loss {loss}: longest wait {wait_ms} ms, for {stand_ms} ms, {share:.3} arrived");
            // With copies, more arrives than is offered.
            assert!(fixed.dropped == 0 && share > 0.97, "loss {loss}, seed {seed}");
            assert!(stand_ms < 200, "CoDel would drop: loss {loss}, seed {seed}");
        }
    }
}

#[test]
fn a_path_that_takes_over_catches_up() {
    for loss in [0.0, 0.02] {
        for frames in [20, 150, 500] {
            for seed in 1..6 {
                let path = Path { loss, copies: 1, jitter_ns: 2 * MS, ..LONG };
                let mut world = World::new(path, seed, &[]);
                world.source = Source::Fixed(Fixed::new(1_000, MS, 2 * SECOND, 5 * SECOND));
                world.run(2 * SECOND);
                // What the protocol has sent on the other link, and nobody has acknowledged.
                world.resend(frames);
                world.run(5 * SECOND);
                let fixed = world.source.into_fixed();
                let wait_ms = fixed.longest_wait_ns / MS;
                println!("loss {loss}, {frames} frames again: longest wait {wait_ms} ms");
                assert!(fixed.dropped == 0 && wait_ms < 600 && fixed.longest_stand_ns == 0);
            }
        }
    }
}
