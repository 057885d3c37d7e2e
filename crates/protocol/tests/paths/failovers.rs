//! What a change of path does to frames.

use crate::common::{A, B, Loss};
use crate::world::{World, quick_paths};
use linkmend_protocol::paths::{ChangeReason, Path, PathsConfig};
use linkmend_protocol::{Mode, Ticks};

const MICRO: u64 = 1_000;
const MILLI: u64 = 1_000_000;

/// Cuts the primary path while frames are under way.
fn failover(carrier: bool, mode: Mode) -> World {
    let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
    let frames = world.offer(A, mode, 400, 1_000);
    world.run_for(100 * MICRO);
    world.cut_both(Path::Primary, true, carrier);
    world.run_until_idle(20 * MILLI);
    assert_eq!(world.ledger.deliveries[A], frames, "all, once, in order");
    world
}

#[test]
fn what_a_failed_path_has_lost_goes_out_again_on_the_other_in_order_once_each() {
    for mode in Mode::ALL {
        let world = failover(true, mode);
        let (sender, receiver) = (world.nodes[A].end.stats(), world.nodes[B].end.stats());
        assert!(sender.resent_frames > 5, "{sender:?}");
        assert_eq!(sender.retransmitted_copies, sender.resent_frames, "once each");
        assert_eq!(receiver.lost_frames, 0, "the path lost them, and no hole was seen");
        assert_eq!(world.changes[A][0].reason, ChangeReason::NoCarrier);
        let last = world.paths[A].last_failover().expect("one");
        assert_eq!(last.resent_frames, sender.resent_frames);
        assert!(last.gap.expect("the peer answered").0 < 60 * MICRO, "{last:?}");
    }
}

#[test]
fn a_silent_path_costs_its_detection_time_and_no_frame() {
    let world = failover(false, Mode::Ordered);
    assert!(world.changes.iter().flatten().any(|change| change.reason == ChangeReason::Silence));
    let gap = world.paths[A].last_failover().expect("one").gap.expect("the peer answered").0;
    assert!((200 * MICRO..300 * MICRO).contains(&gap), "{gap} ns");
}

/// The frames that the path before still delivers are those that go out again.
#[test]
fn frames_that_a_left_path_delivers_late_are_dropped() {
    let mut world = World::protected(1, [10_000; 2], [200_000, 5_000]);
    let frames = world.offer(A, Mode::Ordered, 200, 1_000);
    world.run_for(100 * MICRO);
    assert!(world.paths[A].prefer(linkmend_protocol::Instant(world.now), Path::Backup));
    world.run_until_idle(20 * MILLI);
    assert_eq!(world.ledger.deliveries[A], frames);
    assert!(world.late > 50, "{} late", world.late);
}

#[test]
fn a_return_is_hitless_as_well() {
    let mut world = failover(true, Mode::Ordered);
    world.cut_both(Path::Primary, false, true);
    for _ in 0..40 {
        world.offer(A, Mode::Ordered, 50, 1_000);
        world.offer(B, Mode::Ordered, 50, 1_000);
        world.run_for(100 * MICRO);
    }
    world.run_until_idle(20 * MILLI);
    assert_eq!(world.paths[A].active(), Path::Primary);
    assert_eq!(world.changes[A].last().expect("two").to, Path::Primary);
}

/// Copies for a change of path are no round: with one round, a frame whose copy the new path corrupts is resent all the same.
#[test]
fn a_change_uses_up_no_round() {
    let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
    for end in [A, B] {
        let config = linkmend_protocol::Config { max_rounds: 1, ..*world.nodes[end].end.config() };
        world.nodes[end].end.reconfigure(config).expect("valid");
    }
    world.cables[1].links[A].loss = {
        let mut copies = 0;
        Loss::script(move |wire| {
            copies += u32::from(wire.is_copy());
            wire.is_copy() && (2..=4).contains(&copies)
        })
    };
    let frames = world.offer(A, Mode::Ordered, 400, 1_000);
    world.run_for(100 * MICRO);
    world.cut_both(Path::Primary, true, true);
    world.run_until_idle(20 * MILLI);
    assert_eq!(world.ledger.deliveries[A], frames);
    assert_eq!(world.nodes[A].end.stats().exhausted_frames, 0);
}

#[test]
fn a_slower_backup_takes_what_it_can_and_loses_nothing() {
    let mut world = World::protected(1, [10_000, 200], [5_000, 300_000]);
    let frames = world.offer(A, Mode::Ordered, 900, 1_000);
    world.run_for(150 * MICRO);
    world.cut_both(Path::Primary, true, true);
    world.run_until_idle(200 * MILLI);
    assert_eq!(world.ledger.deliveries[A], frames);
    assert_eq!(world.changes[A].len(), 1, "a backup that is full is not silent");
}

#[test]
fn the_announcement_of_a_change_may_be_lost() {
    let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
    let mut probes = 0;
    world.cables[1].links[A].loss = Loss::script(move |wire| {
        let is_probe = matches!(wire, crate::common::Wire::Control(control)
            if matches!(**control, linkmend_protocol::Control::Probe(ref probe) if probe.decision.active == Path::Backup));
        probes += u32::from(is_probe);
        is_probe && probes <= 4
    });
    let frames = world.offer(A, Mode::Ordered, 400, 1_000);
    world.run_for(100 * MICRO);
    world.cut_both(Path::Primary, true, true);
    world.run_until_idle(20 * MILLI);
    assert_eq!(world.ledger.deliveries[A], frames);
}

/// A regression: nothing was delivered, and 664,000 copies went out in 0.3 s.
#[test]
fn crossed_failures_carry_traffic_both_ways() {
    let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
    world.cut(Path::Primary, A, true);
    world.cut(Path::Backup, B, true);
    let frames = [A, B].map(|end| world.offer(end, Mode::Ordered, 2_000, 1_000));
    world.run_until_idle(20 * MILLI);
    assert_eq!(world.ledger.deliveries, frames);
    assert_eq!((world.paths[A].active(), world.paths[B].active()), (Path::Backup, Path::Primary));
    assert_eq!((world.changes[A].len(), world.changes[B].len()), (1, 0));
    assert!(world.nodes[A].end.stats().retransmitted_copies < 1_000);
}

/// A regression: the path took probes and short frames, and what was longer was given up after 32 rounds.
#[test]
fn a_path_that_takes_no_long_frames_any_more_loses_none() {
    for mode in Mode::ALL {
        let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
        world.cables[0].links[A].bytes_max = 900;
        let frames: Vec<_> = (0..300).flat_map(|_| world.offer(A, mode, 1, 1_000)).collect();
        world.run_until_idle(40 * MILLI);
        world.ledger.deliveries[A].sort();
        assert_eq!(world.ledger.deliveries[A], frames);
        let [change] = world.changes[A][..] else { panic!("{:?}", world.changes) };
        assert_eq!(change.to, Path::Backup);
        assert_eq!(world.nodes[A].end.stats().exhausted_frames, 0);
    }
}

/// A regression: the fallback went to non-blocking mode or dormant on a bad path, while the other was clean.
#[test]
fn the_fallback_gives_up_nothing_while_the_other_path_is_clean() {
    for loss in [0.1, 0.35, 0.5] {
        let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
        let mut config = *world.nodes[A].end.config();
        (config.fallback.enabled, config.loss_window_frames) = (true, 100);
        world.nodes[A].end.reconfigure(config).expect("valid");
        world.cables[0].links[A].loss = Loss::Iid(loss);
        let frames = world.offer(A, Mode::Ordered, 3_000, 1_000);
        world.run_until_idle(100 * MILLI);
        assert_eq!(world.ledger.deliveries[A], frames, "{loss}");
        assert_eq!(world.paths[A].active(), Path::Backup);
        assert_eq!(world.nodes[A].end.stats().fallback_changes, 0);
    }
}

/// What the receiver has said on the path that it leaves is lost with it.
#[test]
fn a_receiver_that_changes_its_path_says_at_once_what_has_arrived() {
    let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
    world.cut(Path::Primary, B, true);
    let frames = world.offer(A, Mode::Ordered, 50, 1_000);
    while world.changes[B].is_empty() {
        world.run_for(MICRO);
    }
    assert_eq!(world.ledger.deliveries[A], frames, "this direction is whole");
    assert_eq!(world.nodes[A].end.status().outstanding_frames, 50);
    // The way of the path, and the probes ahead.
    world.run_for(12 * MICRO);
    assert_eq!(world.nodes[A].end.status().outstanding_frames, 0);
    assert_eq!(world.nodes[A].end.stats().resent_frames, 0);
}

/// A regression: a short link used up 255 rounds before the missing probes of full size were noticed.
#[test]
fn a_path_is_left_when_a_frame_was_lost_in_all_its_rounds() {
    for mode in Mode::ALL {
        let config = PathsConfig { detection: Ticks(10 * MILLI), ..quick_paths() };
        let mut world = World::protected_with(1, [10_000; 2], [500; 2], [config; 2]);
        world.run_for(100 * MILLI);
        world.cables[0].links[A].bytes_max = 900;
        let frames = world.offer(A, mode, 20, 1_000);
        world.run_until_idle(5 * MILLI);
        world.ledger.deliveries[A].sort();
        assert_eq!(world.ledger.deliveries[A], frames);
        let [change] = world.changes[A][..] else { panic!("{:?}", world.changes) };
        assert_eq!((change.to, change.reason), (Path::Backup, ChangeReason::Loss));
        assert_eq!(world.nodes[A].end.stats().exhausted_frames, 0);
    }
}

#[test]
fn a_path_that_becomes_long_is_left_for_a_shorter_one() {
    let mut world = World::protected(1, [10_000; 2], [5_000; 2]);
    let mut frames = Vec::new();
    while world.changes[A].is_empty() {
        let link = &mut world.cables[0].links[A];
        assert!(link.delay_ns < 200 * MILLI, "{}", world.describe());
        link.delay_ns += 50 * MICRO;
        frames.extend(world.offer(A, Mode::Ordered, 1, 1_000));
        world.run_for(100 * MICRO);
    }
    assert!(world.cables[0].links[A].delay_ns > 100 * MILLI);
    world.run_until_idle(200 * MILLI);
    assert_eq!(world.ledger.deliveries[A], frames);
    assert_eq!((world.changes[A][0].to, world.changes[A][0].reason), (Path::Backup, ChangeReason::Delay));
    assert_eq!(world.paths[B].active(), Path::Primary, "its direction is as short as before");
}
