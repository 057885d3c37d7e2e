//! Random cuts, flaps and corruption on both paths; frames both ways. Nothing is lost, duplicated or, in ordered mode, reordered.
//! Ends have different detection times, paths lose frames or take no long ones any more, and hold frames while ends restart.

use crate::common::ledger::LossCause;
use crate::common::{Loss, Random};
use crate::world::{World, quick_paths};
use linkmend_protocol::paths::{Path, PathsConfig};
use linkmend_protocol::{Tick, TransmitState};

const SEEDS: u64 = 400;
/// Runs in which paths get worse or ends restart take longer, and are fewer.
const SHARE: u64 = 5;

fn seeds() -> u64 {
    std::env::var("LINKMEND_PATHS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

/// A world under traffic both ways, of a drawn speed, delay and mode.
fn under_traffic(seed: u64, draw: &mut Random, configs: [PathsConfig; 2]) -> World {
    let mbps = [10_000, draw.between(500, 10_000)];
    let delay_ns = [draw.between(100, 60_000), draw.between(100, 60_000)];
    let mut world = World::protected_with(seed, mbps, delay_ns, configs);
    world.send_both_ways(draw);
    world
}

/// Detection times of 100 us to 2 ms, each of its own.
fn different_detection(draw: &mut Random) -> [PathsConfig; 2] {
    [0, 1].map(|_| PathsConfig {
        detection: Tick::Nanosecond.micros(draw.log_between(100, 2_000)),
        ..quick_paths()
    })
}

/// All frames have arrived, and both ends protect what they send.
fn expect_everything(world: &World, seed: u64) {
    for (end, node) in world.nodes.iter().enumerate() {
        let stats = node.end.stats();
        let lost = stats.abandoned_frames + stats.exhausted_frames + stats.given_up_frames();
        assert_eq!(lost, 0, "seed {seed}, end {end}: {stats:?}");
        assert_eq!(node.end.status().transmit, TransmitState::Active, "seed {seed}");
    }
    assert!(world.ledger.frames.iter().all(|record| record.delivered_at.is_some()), "seed {seed}");
}

fn run(seed: u64) -> (u64, u64) {
    let mut draw = Random::new(seed ^ 0x5a5a);
    let mut world = under_traffic(seed, &mut draw, [quick_paths(); 2]);
    for cable in &mut world.cables {
        for link in &mut cable.links {
            link.loss = Loss::Iid([0.0, 1e-3, 1e-2, 5e-2][draw.below(4) as usize]);
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
            match draw.below(4) {
                3 => {
                    // Each path has one dead direction for a while.
                    let from = draw.below(2) as usize;
                    world.cut(path, from, true);
                    world.cut(path.other(), 1 - from, true);
                    world.run_for(draw.between(1_000, 600_000));
                    world.cut(path.other(), 1 - from, false);
                }
                0 => world.cut(path, draw.below(2) as usize, true),
                kind => world.cut_both(path, true, kind == 1),
            }
            down[index] = true;
        } else {
            // Asked for by a person, while the other is down or not.
            let now = linkmend_protocol::Instant(world.now);
            world.paths[draw.below(2) as usize].prefer(now, path);
        }
    }
    // One path is whole again; the other may stay as it is.
    let path = if down[0] { Path::Primary } else { Path::Backup };
    world.cut_both(path, false, true);
    world.run_until_idle(400_000_000);
    expect_everything(&world, seed);
    (world.changes.iter().map(|changes| changes.len() as u64).sum(), world.late)
}

#[test]
fn whatever_fails_nothing_is_lost_duplicated_or_reordered() {
    let seeds = seeds();
    let (mut changes, mut late) = (0, 0);
    for seed in 0..seeds {
        let (more, more_late) = run(seed);
        changes += more;
        late += more_late;
    }
    assert!(changes > seeds * 4 && late > seeds, "{changes} changes and {late} late frames in {seeds} runs");
}

/// One path of each direction is whole. The other one loses frames, takes no long ones, or nothing.
fn run_quality(seed: u64) -> u64 {
    let mut draw = Random::new(seed ^ 0xa5a5);
    let configs = different_detection(&mut draw);
    let mut world = under_traffic(seed, &mut draw, configs);
    let bad = [0, 1].map(|_| draw.below(2) as usize);
    for _ in 0..draw.between(2, 8) {
        let from = draw.below(2) as usize;
        let cable = &mut world.cables[bad[from]];
        let link = &mut cable.links[from];
        (link.bytes_max, link.loss, cable.cut[from]) = (u32::MAX, Loss::Iid(0.0), false);
        match draw.below(5) {
            0 => {}
            1 => link.bytes_max = draw.between(200, 1_400) as u32,
            2 => cable.cut[from] = true,
            _ => link.loss = Loss::Iid([0.03, 0.1, 0.35, 0.5][draw.below(4) as usize]),
        }
        world.run_for(draw.between(100_000, 15_000_000));
    }
    world.run_until_idle(400_000_000);
    expect_everything(&world, seed);
    world.paths.iter().map(|paths| paths.stats().quality_changes).sum()
}

#[test]
fn paths_that_get_worse_lose_nothing_while_the_other_one_is_whole() {
    let seeds = seeds() / SHARE;
    let changes: u64 = (0..seeds).map(run_quality).sum();
    assert!(changes > seeds / 2, "{changes} changes for quality in {seeds} runs");
}

/// Ends restart while a path holds frames of and for those before them. What the restart and the end of a session do not explain
/// is delivered, and nothing twice.
fn run_restarts(seed: u64) -> (u64, u64) {
    let mut draw = Random::new(seed ^ 0x3c3c);
    let configs = different_detection(&mut draw);
    let mut world = under_traffic(seed, &mut draw, configs);
    // Between sessions frames travel unprotected, on either path.
    world.ledger.strict_order = false;
    let (mut unproven, mut late) = (0, 0);
    for _ in 0..draw.between(2, 8) {
        let (path, from) = (draw.below(2) as usize, draw.below(2) as usize);
        world.cables[path].links[from].holds = true;
        world.run_for(draw.between(1_000, 5_000_000));
        for _ in 0..draw.between(0, 2) {
            let end = draw.below(2) as usize;
            unproven += world.paths[end].stats().probes_unproven;
            world.restart(end);
            world.run_for(draw.between(0, 30_000_000));
        }
        late = world.late;
        world.cables[path].links[from].holds = false;
        world.run_for(draw.between(1_000, 10_000_000));
        late = world.late - late;
    }
    world.run_until_idle(400_000_000);
    let explained = [LossCause::Abandoned, LossCause::Crash];
    for record in world.ledger.frames.iter().filter(|record| record.delivered_at.is_none()) {
        assert!(record.loss_cause.is_some_and(|cause| explained.contains(&cause)), "seed {seed}: {record:?}");
    }
    unproven += world.paths.iter().map(|paths| paths.stats().probes_unproven).sum::<u64>();
    (unproven, late)
}

#[test]
fn ends_that_restart_while_a_path_holds_frames_take_none_of_them_twice() {
    let seeds = seeds() / SHARE;
    let (mut unproven, mut late) = (0, 0);
    for seed in 0..seeds {
        let (more, more_late) = run_restarts(seed);
        unproven += more;
        late += more_late;
    }
    assert!(
        unproven > seeds && late > seeds,
        "{unproven} probes of ends that are gone, {late} frames in {seeds} runs"
    );
}
