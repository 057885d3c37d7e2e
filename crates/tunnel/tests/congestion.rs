//! A link over UDP shares a bottleneck that drops what does not fit: with a connection of TCP, and with nobody, on paths that
//! also lose at random. Each test prints what it has measured (`--nocapture`).

#[allow(dead_code, reason = "each test binary uses a part of it")]
mod bottleneck;

use bottleneck::{Ecn, MS, Observed, PATH, Path, SECOND, World};
use linkmend_transport::tcp::Algorithm;

/// Runs for so long after ten seconds.
fn run(path: Path, seed: u64, algorithms: &[Algorithm], seconds: u64) -> Observed {
    let mut world = World::new(path, seed, algorithms);
    world.run(10 * SECOND);
    world.run(seconds * SECOND)
}

/// What the tunnel has of what the other connection has, for each of these seeds.
fn shares(path: Path, seeds: std::ops::Range<u64>) -> Vec<f64> {
    let share = |seed| {
        let seen = run(path, seed, &[Algorithm::Cubic], 60);
        seen.frames_bytes as f64 / seen.connection_bytes[0] as f64
    };
    seeds.map(share).collect()
}

#[test]
fn beside_cubic_it_has_between_half_and_twice_of_its_share() {
    for buffer in [0.5, 1.0, 2.0] {
        let path = Path { buffer, ..PATH };
        let all = shares(path, 1..6);
        println!("40 ms, buffer of {buffer}: {all:.2?}");
        assert!(all.iter().all(|share| (0.5..=2.0).contains(share)), "buffer of {buffer}: {all:.2?}");
    }
}

#[test]
fn beside_cubic_nobody_starves_with_other_round_trips() {
    for (round_trip, buffer) in [(10, 0.5), (10, 1.0), (100, 1.0), (100, 2.0)] {
        let path = Path { round_trip_ns: round_trip * MS, buffer, ..PATH };
        let all = shares(path, 1..4);
        println!("{round_trip} ms, buffer of {buffer}: {all:.2?}");
        assert!(all.iter().all(|share| (0.2..=5.0).contains(share)), "{round_trip} ms, {buffer}: {all:.2?}");
    }
}

#[test]
fn alone_it_uses_the_path_and_keeps_the_queue_short() {
    for round_trip in [10, 40, 100] {
        for buffer in [0.5, 1.0, 2.0, 8.0] {
            let path = Path { round_trip_ns: round_trip * MS, buffer, ..PATH };
            let seen = run(path, 1, &[], 20);
            let (used, standing, most) =
                (seen.utilisation(&path, 20 * SECOND), seen.standing_ms(), seen.standing_most_ms());
            println!(
                "{round_trip} ms, buffer of {buffer}: used {used:.2}, standing queue {standing:.1} ms, 99 % {most:.1} ms"
            );
            assert!(standing < 10.0 && most < 20.0 && used > 0.9, "{round_trip} ms, buffer of {buffer}");
        }
    }
}

#[test]
fn a_path_that_loses_at_random_is_used() {
    for (loss, least) in [(0.01, 0.35), (0.1, 0.8), (0.25, 0.8)] {
        for seed in 1..4 {
            let path = Path { loss, buffer: 2.0, ..PATH };
            let seen = run(path, seed, &[], 20);
            let used = seen.utilisation(&path, 20 * SECOND) / (1.0 - loss);
            let (standing, most) = (seen.standing_ms(), seen.standing_most_ms());
            println!("loss {loss}: used {used:.2}, standing queue {standing:.1} ms, 99 % {most:.1} ms");
            assert!(used > least && standing < 15.0, "loss {loss}, seed {seed}");
        }
    }
}

#[test]
fn a_buffer_too_short_to_be_noticed_is_not_overrun() {
    let path = Path { buffer: 0.1, ..PATH };
    for algorithms in [&[][..], &[Algorithm::Cubic]] {
        let seen = run(path, 1, algorithms, 20);
        let dropped = seen.dropped as f64 / seen.passed as f64;
        println!("{algorithms:?}: used {:.2}, dropped {dropped:.4}", seen.utilisation(&path, 20 * SECOND));
        assert!(dropped < 0.01);
        assert!(seen.connection_bytes.iter().all(|bytes| *bytes > seen.frames_bytes / 3));
    }
}

#[test]
fn marks_replace_losses_on_a_path_that_marks() {
    // Below the queue of 5 ms that it keeps alone, there are marks all the time.
    for threshold in [3, 8] {
        let path = Path { buffer: 2.0, ecn: Ecn::Above(threshold), ..PATH };
        let seen = run(path, 1, &[], 20);
        let used = seen.utilisation(&path, 20 * SECOND);
        println!(
            "marked above {threshold} ms: used {used:.2}, {} marked, {} dropped",
            seen.marked, seen.dropped
        );
        assert!(used > 0.75 && seen.dropped == 0);
        assert!(threshold > 5 || seen.marked > 0);
    }
}

#[test]
fn a_path_that_drops_or_marks_all_that_may_be_marked_is_used_as_before() {
    for ecn in [Ecn::Dropped, Ecn::AllMarked] {
        let path = Path { ecn, ..PATH };
        let seen = run(path, 1, &[], 20);
        let used = seen.utilisation(&path, 20 * SECOND);
        println!("{ecn:?}: used {used:.2}, {} marked", seen.marked);
        assert!(used > 0.9 && seen.marked == 0);
    }
}
