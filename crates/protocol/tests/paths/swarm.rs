//! Random cuts, flaps and corruption on both paths; frames both ways. Nothing is lost, doubled or, in ordered mode, reordered.

use crate::common::{Loss, Source};
use crate::world::World;
use linkmend_protocol::TransmitState;
use linkmend_protocol::paths::Path;

const SEEDS: u64 = 400;

fn run(seed: u64) -> (u64, u64) {
    let mut draw = crate::common::Random::new(seed ^ 0x5a5a);
    let mbps = [10_000, draw.between(500, 10_000)];
    let delay_ns = [draw.between(100, 60_000), draw.between(100, 60_000)];
    let mut world = World::protected(seed, mbps, delay_ns);
    for cable in &mut world.cables {
        for link in &mut cable.links {
            link.loss = Loss::Iid([0.0, 1e-3, 1e-2, 5e-2][draw.below(4) as usize]);
        }
    }
    let ordered = [0.0, 0.5, 1.0][draw.below(3) as usize];
    for node in &mut world.nodes {
        node.source = Some(Source {
            next_at: world.now,
            gap_max_ns: 20_000,
            burst_max: 8,
            bytes_max: 1_500,
            ordered,
            remaining: 3_000,
        });
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
    let stats = world.nodes.each_ref().map(|node| node.end.stats());
    for (end, stats) in stats.iter().enumerate() {
        assert_eq!(
            stats.abandoned_frames + stats.exhausted_frames + stats.given_up_frames(),
            0,
            "seed {seed}"
        );
        assert_eq!(world.nodes[end].end.status().transmit, TransmitState::Active, "seed {seed}");
    }
    assert!(world.ledger.frames.iter().all(|record| record.delivered_at.is_some()), "seed {seed}");
    (world.changes.iter().map(|changes| changes.len() as u64).sum(), world.late)
}

#[test]
fn whatever_fails_nothing_is_lost_doubled_or_reordered() {
    let seeds =
        std::env::var("LINKMEND_PATHS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS);
    let (mut changes, mut late) = (0, 0);
    for seed in 0..seeds {
        let (more, more_late) = run(seed);
        changes += more;
        late += more_late;
    }
    assert!(changes > seeds * 4 && late > seeds, "{changes} changes and {late} late frames in {seeds} runs");
}
