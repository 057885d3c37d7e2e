//! Frames on either path: both capacities together, and whatever happens, nothing is lost, duplicated or reordered.

use crate::common::pair::quick_config;
use crate::common::{A, B, FrameId, Loss, LossCause, Random};
use crate::world::{World, quick_paths};
use linkmend_protocol::paths::{Path, PathsConfig};
use linkmend_protocol::{Config, Mode, Tick, TransmitState};
use std::ops::Range;

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;
const SEEDS: u64 = 400;
/// Of a full-size frame on a link, what is the frame.
const FRAME_BYTES: u32 = 1_480;
const WIRE_SHARE: f64 = 1_480.0 / 1_500.0;
/// How long both paths are busy with the backlog, and the part of that time that is judged.
const BACKLOG_MS: f64 = 150.0;
const MEASURED_MS: Range<u64> = 20..130;

/// 2 ms until a silent path has failed: probes take 3 % of 100 Mbit/s.
fn patient_paths() -> PathsConfig {
    PathsConfig { detection: Tick::Nanosecond.millis(2), ..quick_paths() }
}

fn stream(world: &mut World, frames: u64) -> Vec<FrameId> {
    let mut offered = Vec::new();
    for _ in 0..frames {
        offered.extend(world.offer(A, Mode::Ordered, 1, 1_000));
        world.run_for(10 * MICRO);
    }
    offered
}

fn seeds() -> u64 {
    std::env::var("LINKMEND_PATHS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

/// Windows for both paths and some rounds of retransmissions on the longer one.
fn roomy() -> Config {
    Config {
        window_frames: 16_384,
        window_bytes: 32 << 20,
        rx_buffer_bytes: 32 << 20,
        pause_bytes: 31 << 20,
        resume_bytes: 30 << 20,
        ..quick_config()
    }
}

/// The goodput of a backlog on both paths, of what they deliver: their rates less their losses.
fn share_of_the_sum(mbps: [u64; 2], delay_ns: [u64; 2], loss: [f64; 2]) -> f64 {
    let mut world = World::sharing_with(1, mbps, delay_ns, patient_paths(), roomy());
    stream(&mut world, 10);
    world.run_for(20 * MILLI);
    for (cable, loss) in world.cables.iter_mut().zip(loss) {
        cable.links[A].loss = Loss::Iid(loss);
    }
    let delivered: f64 = mbps.iter().zip(loss).map(|(&mbps, loss)| mbps as f64 * (1.0 - loss)).sum();
    let begun = world.now;
    let per_ms = delivered * 1e3 / 8.0 / f64::from(FRAME_BYTES);
    let frames = world.offer(A, Mode::Ordered, (per_ms * BACKLOG_MS) as u64, FRAME_BYTES);
    world.run_until_idle(4_000 * MILLI);
    assert!(world.ledger.deliveries[A].ends_with(&frames), "all, once, in order");
    let is_counted = |frame: &&FrameId| {
        let at = world.ledger.frames[frame.0 as usize].delivered_at.expect("delivered");
        MEASURED_MS.contains(&((at - begun) / MILLI))
    };
    let milliseconds = (MEASURED_MS.end - MEASURED_MS.start) as f64;
    frames.iter().filter(is_counted).count() as f64 / (per_ms * WIRE_SHARE * milliseconds)
}

#[test]
fn a_backlog_gets_both_capacities() {
    let mut worst = f64::MAX;
    for mbps in [[1_000, 1_000], [1_000, 100], [100, 1_000]] {
        for delay_ns in [[200, 200], [200, 2_000], [2_000, 200]] {
            for loss in [[0.0, 0.0], [0.01, 0.0], [0.1, 0.0], [0.35, 0.0]] {
                let share = share_of_the_sum(mbps, delay_ns.map(|us| us * MICRO), loss);
                println!("{mbps:?} Mbit/s, {delay_ns:?} us, loss {loss:?}: {share:.3}");
                worst = worst.min(share);
            }
        }
    }
    assert!(worst >= 0.9, "{worst}");
}

/// The paths differ by a factor of ten in delay, so most frames on the shorter one overtake those on the other.
#[test]
fn no_frame_and_no_copy_is_taken_for_lost_because_the_other_path_is_faster() {
    for (delay_ns, loss) in [([5_000, 50_000], [0.1, 0.0]), ([5_000, 50_000], [0.0, 0.1])] {
        let mut world = World::sharing(1, [1_000, 1_000], delay_ns);
        stream(&mut world, 100);
        for (cable, loss) in world.cables.iter_mut().zip(loss) {
            cable.links[A].loss = Loss::Iid(loss);
        }
        let frames = world.offer(A, Mode::Ordered, 4_000, 1_000);
        world.run_until_idle(100 * MILLI);
        assert!(world.ledger.deliveries[A].ends_with(&frames));
        let (copies, stats) = (world.nodes[A].end.stats().retransmitted_copies, world.nodes[B].end.stats());
        println!("{} of {copies} copies were needless", world.ledger.needless);
        assert!(stats.lost_frames > 150, "{stats:?}");
        assert_eq!(world.ledger.needless, 0, "of {copies} copies");
    }
}

/// Frames that have left on the path that is cut go out on the other one as soon as the receiver has noticed.
#[test]
fn a_silent_cut_costs_a_detection_time_and_no_frame() {
    for cut in Path::ALL {
        for delay_ns in [[5_000, 5_000], [5_000, 50_000], [50_000, 5_000]] {
            let mut world = World::sharing(1, [1_000; 2], delay_ns);
            stream(&mut world, 100);
            // More than either path carries.
            let mut frames = Vec::new();
            for step in 0..400 {
                match step {
                    100 => world.cut_both(cut, true, false),
                    300 => world.cut_both(cut, false, false),
                    _ => {}
                }
                frames.extend(world.offer(A, Mode::Ordered, 1, 1_000));
                world.run_for(5 * MICRO);
            }
            world.run_until_idle(100 * MILLI);
            let what = format!("{cut} cut, {delay_ns:?}");
            assert!(world.ledger.deliveries[A].ends_with(&frames), "{what}: all, once, in order");
            let at = |frame: &FrameId| world.ledger.frames[frame.0 as usize].delivered_at.expect("delivered");
            let gap = frames.windows(2).map(|pair| at(&pair[1]) - at(&pair[0])).max().expect("several");
            println!("{what}: longest gap {gap} ns");
            let detection = quick_paths().detection.0;
            assert!(gap <= 2 * detection + 4 * delay_ns[0].max(delay_ns[1]), "{what}: {gap} ns");
        }
    }
}

/// Traffic both ways over two paths of a drawn speed and delay.
fn under_traffic(seed: u64, draw: &mut Random) -> World {
    let mbps = [10_000, draw.between(500, 10_000)];
    let shortest = draw.log_between(100, 20_000);
    let mut delay_ns = [shortest, shortest * draw.between(1, 10)];
    if draw.chance(0.5) {
        delay_ns.reverse();
    }
    let mut world = World::sharing(seed, mbps, delay_ns);
    world.send_both_ways(draw);
    world
}

/// Cuts either path at any moment, in either direction, with and without loss of carrier; both paths lose frames.
fn run(seed: u64) -> [u64; 2] {
    let mut draw = Random::new(seed ^ 0x2468);
    let mut world = under_traffic(seed, &mut draw);
    for cable in &mut world.cables {
        for link in &mut cable.links {
            link.loss = Loss::Iid([0.0, 1e-3, 1e-2, 5e-2, 0.3][draw.below(5) as usize]);
        }
    }
    let mut down = [false; 2];
    for _ in 0..draw.between(5, 40) {
        world.run_for(draw.between(1_000, 600_000));
        let path = if draw.chance(0.5) { Path::Primary } else { Path::Backup };
        let index = path as usize;
        if down[index] {
            world.cut_both(path, false, true);
            down[index] = false;
        } else if !down[1 - index] {
            match draw.below(3) {
                0 => world.cut(path, draw.below(2) as usize, true),
                kind => world.cut_both(path, true, kind == 1),
            }
            down[index] = true;
        } else {
            let now = linkmend_protocol::Instant(world.now);
            world.paths[draw.below(2) as usize].prefer(now, path);
        }
    }
    let path = if down[0] { Path::Primary } else { Path::Backup };
    world.cut_both(path, false, true);
    world.run_until_idle(400 * MILLI);
    for (end, node) in world.nodes.iter().enumerate() {
        let stats = node.end.stats();
        let lost = stats.abandoned_frames + stats.exhausted_frames + stats.given_up_frames();
        assert_eq!(lost, 0, "seed {seed}, end {end}: {stats:?}");
        assert_eq!(node.end.status().transmit, TransmitState::Active, "seed {seed}");
    }
    assert!(world.ledger.frames.iter().all(|record| record.delivered_at.is_some()), "seed {seed}");
    let merges = world.merges.as_ref().expect("sharing");
    Path::ALL.map(|path| merges.iter().map(|merge| merge.stats().first_copies[path as usize]).sum())
}

#[test]
fn whatever_is_cut_nothing_is_lost_duplicated_or_reordered() {
    let mut carried = [0, 0];
    for seed in 0..seeds() {
        for (sum, frames) in carried.iter_mut().zip(run(seed)) {
            *sum += frames;
        }
    }
    println!("{carried:?} frames on the two paths in {} runs", seeds());
    assert!(carried.iter().all(|&frames| frames > seeds() * 300), "{carried:?}");
}

/// Ends restart while a path holds frames of and for those before them, and sessions begin and end.
fn run_restarts(seed: u64) {
    let mut draw = Random::new(seed ^ 0x8642);
    let mut world = under_traffic(seed, &mut draw);
    // Between sessions frames travel unprotected, on either path.
    world.ledger.strict_order = false;
    for _ in 0..draw.between(2, 8) {
        let (path, from) = (draw.below(2) as usize, draw.below(2) as usize);
        world.cables[path].links[from].holds = true;
        world.run_for(draw.between(1_000, 5_000_000));
        for _ in 0..draw.between(0, 2) {
            world.restart(draw.below(2) as usize);
            world.run_for(draw.between(0, 30_000_000));
        }
        world.cables[path].links[from].holds = false;
        world.run_for(draw.between(1_000, 10_000_000));
    }
    world.run_until_idle(400 * MILLI);
    let explained = [LossCause::Abandoned, LossCause::Crash];
    for record in world.ledger.frames.iter().filter(|record| record.delivered_at.is_none()) {
        assert!(record.loss_cause.is_some_and(|cause| explained.contains(&cause)), "seed {seed}: {record:?}");
    }
}

#[test]
fn ends_that_restart_while_a_path_holds_frames_take_none_of_them_twice() {
    (0..seeds() / 4).for_each(run_restarts);
}
