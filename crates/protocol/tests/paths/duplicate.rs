//! Every frame on both paths: a cut costs nothing, and whatever happens, nothing is lost, duplicated or reordered.

use crate::common::ledger::LossCause;
use crate::common::{A, B, FrameId, Loss, Random};
use crate::world::{World, quick_paths};
use linkmend_protocol::paths::Path;
use linkmend_protocol::{Mode, TransmitState};

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;
const SEEDS: u64 = 400;

fn seeds() -> u64 {
    std::env::var("LINKMEND_PATHS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS)
}

/// Offers a frame every 10 us for a while; returns them.
fn stream(world: &mut World, frames: u64) -> Vec<FrameId> {
    let mut offered = Vec::new();
    for _ in 0..frames {
        offered.extend(world.offer(A, Mode::Ordered, 1, 1_000));
        world.run_for(10 * MICRO);
    }
    offered
}

/// The longest time between two deliveries.
fn longest_gap(world: &World, frames: &[FrameId]) -> u64 {
    let at = |frame: &FrameId| world.ledger.frames[frame.0 as usize].delivered_at.expect("delivered");
    frames.windows(2).map(|pair| at(&pair[1]) - at(&pair[0])).max().expect("several")
}

/// A world in which both paths carry frames.
fn warm(delay_ns: [u64; 2]) -> World {
    let mut world = World::duplicating(1, [10_000; 2], delay_ns, [quick_paths(); 2]);
    stream(&mut world, 100);
    world
}

#[test]
fn a_cut_costs_no_frame_no_retransmission_and_no_gap() {
    for (cut, carrier) in [(Path::Primary, false), (Path::Primary, true), (Path::Backup, false)] {
        for delay_ns in [[5_000, 5_000], [5_000, 50_000], [50_000, 5_000]] {
            let mut world = warm(delay_ns);
            let before = world.nodes[A].end.stats();
            let mut frames = stream(&mut world, 200);
            world.cut_both(cut, true, carrier);
            frames.extend(stream(&mut world, 200));
            world.cut_both(cut, false, carrier);
            frames.extend(stream(&mut world, 400));
            world.run_until_idle(5 * MILLI);
            let (sender, receiver) = (world.nodes[A].end.stats(), world.nodes[B].end.stats());
            let what = format!("{cut} cut, carrier {carrier}, {delay_ns:?}");
            assert!(world.ledger.deliveries[A].ends_with(&frames), "{what}: all, once, in order");
            assert_eq!(sender.retransmitted_copies, before.retransmitted_copies, "{what}");
            assert_eq!((sender.resent_frames, receiver.lost_frames), (0, 0), "{what}");
            // A frame every 10 us, and the other path may be longer.
            let gap = longest_gap(&world, &frames);
            let difference = delay_ns[0].abs_diff(delay_ns[1]);
            assert!(gap <= 15 * MICRO + difference, "{what}: {gap} ns");
        }
    }
}

#[test]
fn what_one_path_loses_the_other_brings_without_a_retransmission() {
    let mut world = warm([5_000, 50_000]);
    world.cables[0].links[A].loss = Loss::Iid(0.35);
    let frames = stream(&mut world, 2_000);
    world.run_until_idle(5 * MILLI);
    assert!(world.ledger.deliveries[A].ends_with(&frames));
    assert_eq!(world.nodes[B].end.stats().lost_frames, 0);
    assert_eq!(world.nodes[A].end.stats().retransmitted_copies, 0);
    let stats = world.merges.as_ref().expect("duplicating")[B].stats();
    assert!(stats.held > 500 && stats.waits_given_up[1] <= 1, "{stats:?}");
}

#[test]
fn what_both_paths_lose_is_retransmitted() {
    let mut world = warm([5_000, 8_000]);
    for cable in &mut world.cables {
        cable.links[A].loss = Loss::Iid(0.2);
    }
    let frames = stream(&mut world, 2_000);
    world.run_until_idle(5 * MILLI);
    assert!(world.ledger.deliveries[A].ends_with(&frames));
    let lost = world.nodes[B].end.stats().lost_frames;
    assert!((40..160).contains(&lost), "{lost}, about 4 % of 2,000");
    assert!(world.ledger.needless < lost / 4, "{} needless copies", world.ledger.needless);
}

/// A path that takes a hundred times as long is not waited for, however many numbers repeat meanwhile.
#[test]
fn a_path_that_is_eras_late_does_no_harm() {
    let mut world = warm([1_000; 2]);
    for link in &mut world.cables[1].links {
        link.delay_ns = 100 * MILLI;
    }
    let mut frames = Vec::new();
    // Three eras, of which the other path holds more than one at a time.
    for _ in 0..400_000 / 200 {
        frames.extend(world.offer(A, Mode::Ordered, 200, 60));
        world.run_for(14 * MICRO);
    }
    world.run_until_idle(400 * MILLI);
    assert!(world.ledger.deliveries[A].ends_with(&frames));
    world.run_for(200 * MILLI);
    let stats = world.merges.as_ref().expect("duplicating")[B].stats();
    assert!(stats.duplicates[1] > 100_000, "{stats:?}");
}

/// Traffic both ways over two paths of a drawn speed and delay.
fn under_traffic(seed: u64, draw: &mut Random) -> World {
    let mbps = [10_000, draw.between(500, 10_000)];
    let shortest = draw.log_between(100, 20_000);
    let mut delay_ns = [shortest, shortest * draw.between(1, 10)];
    if draw.chance(0.5) {
        delay_ns.reverse();
    }
    let mut world = World::duplicating(seed, mbps, delay_ns, [quick_paths(); 2]);
    world.send_both_ways(draw);
    world
}

/// Cuts either path at any moment, in either direction, with and without loss of carrier; both paths lose frames.
fn run(seed: u64) -> (u64, u64) {
    let mut draw = Random::new(seed ^ 0x1357);
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
    world.run_until_idle(400_000_000);
    for (end, node) in world.nodes.iter().enumerate() {
        let stats = node.end.stats();
        let lost = stats.abandoned_frames + stats.exhausted_frames + stats.given_up_frames();
        assert_eq!(lost, 0, "seed {seed}, end {end}: {stats:?}");
        assert_eq!(node.end.status().transmit, TransmitState::Active, "seed {seed}");
    }
    assert!(world.ledger.frames.iter().all(|record| record.delivered_at.is_some()), "seed {seed}");
    let merges = world.merges.as_ref().expect("duplicating");
    let duplicates = merges.iter().map(|merge| merge.stats().duplicates.iter().sum::<u64>()).sum();
    (duplicates, world.ledger.needless)
}

#[test]
fn whatever_is_cut_nothing_is_lost_duplicated_or_reordered() {
    let (mut duplicates, mut needless) = (0, 0);
    for seed in 0..seeds() {
        let (more, more_needless) = run(seed);
        duplicates += more;
        needless += more_needless;
    }
    println!("{duplicates} duplicates dropped, {needless} needless copies in {} runs", seeds());
    assert!(duplicates > seeds() * 1_000, "{duplicates}");
}

/// Ends restart while a path holds frames of and for those before them, and sessions begin and end.
fn run_restarts(seed: u64) {
    let mut draw = Random::new(seed ^ 0x7531);
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
    world.run_until_idle(400_000_000);
    let explained = [LossCause::Abandoned, LossCause::Crash];
    for record in world.ledger.frames.iter().filter(|record| record.delivered_at.is_none()) {
        assert!(record.loss_cause.is_some_and(|cause| explained.contains(&cause)), "seed {seed}: {record:?}");
    }
}

#[test]
fn ends_that_restart_while_a_path_holds_frames_take_none_of_them_twice() {
    (0..seeds() / 4).for_each(run_restarts);
}
