//! Our sender, their receiver.

use super::frame;
use super::receiver::{Receiver, Settings};
use super::world::{End, Fates, LinkmendEnd, World, config, fates, is_data};
use linkmend_protocol::{Config, Mode};

const OURS: usize = 0;
const THEIRS: usize = 1;

/// The state after the probe and its answer.
fn world(mode: Mode, copies: u8) -> World {
    world_with(config(), mode, copies, Settings::default())
}

fn world_with(config: Config, mode: Mode, copies: u8, settings: Settings) -> World {
    let mut ours = LinkmendEnd::new(config, mode);
    ours.protect(0, copies);
    let theirs = End::TheirReceiver(Box::new(Receiver::new(settings)));
    let mut world = World::new(End::Linkmend(Box::new(ours)), theirs);
    world.run_until(1_000, |world| world.ends[OURS].ours().is_active());
    // The probe has used up this number.
    world.run(u64::from(2 * settings.ack_no_timeout));
    world
}

fn theirs(world: &World) -> &Receiver {
    match &world.ends[THEIRS] {
        End::TheirReceiver(receiver) => receiver,
        _ => unreachable!("their receiver"),
    }
}

fn ids(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

/// The frames of `range` that were not lost in all their transmissions.
fn arrived(fates: &Fates, range: std::ops::Range<u32>, copies: u8) -> Vec<u32> {
    let lost = |id: &u32| fates.borrow().get(id).is_some_and(|&count| count > copies);
    range.filter(|id| !lost(id)).collect()
}

#[test]
fn every_lost_frame_is_resent_once_in_n_copies_and_delivered_in_order() {
    for (seed, copies, rate) in [(1, 1, 0.02), (2, 2, 0.1), (3, 4, 0.2)] {
        let mut world = world(Mode::Ordered, copies);
        let lost = fates(&mut world, OURS, seed, rate);
        world.offer(OURS, 0..20_000);
        world.run_until_idle(2_000_000);
        world.run(1_000);
        let expected = arrived(&lost, 0..20_000, copies);
        assert_eq!(world.ends[THEIRS].delivered(), expected, "seed {seed}");
        assert!(copies > 1 || expected.len() < 20_000, "some lose their only copy");
        let stats = world.ends[OURS].ours().end.stats();
        assert_eq!(stats.control_rejected + stats.peers_lost, 0, "{stats:?}");
        let asked: u64 = theirs(&world).notified.iter().skip(1).map(|(_, size, _)| u64::from(*size)).sum();
        assert_eq!(stats.retransmitted_copies, u64::from(copies) * asked);
    }
}

#[test]
fn in_non_blocking_mode_one_copy_is_delivered_once_and_more_copies_as_often_as_they_arrive() {
    for copies in [1, 3] {
        let mut world = world(Mode::NonBlocking, copies);
        let lost = fates(&mut world, OURS, 5, 0.05);
        world.offer(OURS, 0..10_000);
        world.run_until_idle(1_000_000);
        let mut delivered = world.ends[THEIRS].delivered();
        let count = delivered.len();
        delivered.sort_unstable();
        delivered.dedup();
        assert_eq!(delivered, arrived(&lost, 0..10_000, copies));
        // Their receiver passes on every copy, which is the reason for a single copy in this mode.
        assert_eq!(count > delivered.len(), copies > 1);
    }
}

#[test]
fn numbers_and_era_wrap_under_loss() {
    let mut world = world(Mode::Ordered, 3);
    let lost = fates(&mut world, OURS, 7, 0.01);
    world.offer(OURS, 0..280_000);
    world.run_until_idle(3_000_000);
    assert_eq!(world.ends[THEIRS].delivered(), arrived(&lost, 0..280_000, 3));
}

/// Their notification has eight bits for a hole's length, and expresses the rest by its leading ACK.
#[test]
fn holes_of_every_length_are_recovered_whatever_reveals_them() {
    for length in (1..=12).chain([255, 256, 257, 300, 511, 512, 700]) {
        for tail in [false, true] {
            let mut world = world(Mode::Ordered, 1);
            let hole = 50..50 + length;
            world.loss[OURS] =
                Box::new(move |bytes| is_data(bytes, false).is_some_and(|id| hole.contains(&id)));
            let end = 50 + length + if tail { 0 } else { 30 };
            world.offer(OURS, 0..end);
            world.run_until_idle(50_000);
            world.run(200);
            assert_eq!(world.ends[THEIRS].delivered(), ids(0..end), "hole of {length}, tail {tail}");
        }
    }
}

#[test]
fn a_lost_tail_and_its_first_dummy_cost_a_few_round_trips() {
    let mut world = world(Mode::Ordered, 1);
    world.offer(OURS, 0..10);
    world.run_until_idle(1_000);
    let mut dummies = 0;
    world.loss[OURS] = Box::new(move |bytes| {
        let dummy = frame::read(bytes).is_some_and(|header| header.dummy);
        dummies += u32::from(dummy);
        is_data(bytes, false).is_some() || dummy && dummies == 1
    });
    let begun = world.tick;
    world.offer(OURS, 10..11);
    world.run_until(400, |world| world.ends[THEIRS].delivered().len() == 11);
    assert!(world.tick - begun < 100, "{} ticks of 100 ns", world.tick - begun);
}

/// Their protocol reports a hole once. A corrupted notification costs its hole, and nothing behind it.
#[test]
fn a_lost_notification_costs_its_hole_and_no_more() {
    let mut world = world(Mode::Ordered, 2);
    world.loss[OURS] = Box::new(|bytes| is_data(bytes, false).is_some_and(|id| (20..23).contains(&id)));
    world.loss[THEIRS] =
        Box::new(|bytes| frame::read(bytes).is_some_and(|header| header.kind == frame::Kind::Notification));
    let before = theirs(&world).timeouts;
    world.offer(OURS, 0..200);
    world.run_until_idle(20_000);
    world.run(2_000);
    assert_eq!(world.ends[THEIRS].delivered(), [ids(0..20), ids(23..200)].concat());
    assert_eq!(theirs(&world).timeouts - before, 3);
    assert_eq!(world.ends[OURS].ours().end.stats().peers_lost, 0);
}

/// Their receiver acknowledges a frame once. If that ACK is the last one and lost, the sender asks for it.
#[test]
fn a_lost_last_ack_is_requested_again() {
    let mut world = world(Mode::Ordered, 1);
    world.loss[THEIRS] = Box::new(|bytes| frame::read(bytes).is_some_and(|h| h.kind == frame::Kind::Ack));
    world.offer(OURS, 0..5);
    world.run(5_000);
    world.loss[THEIRS] = Box::new(|_| false);
    world.run_until_idle(20_000);
    world.offer(OURS, 5..400);
    world.run_until_idle(20_000);
    world.run(1_000);
    assert_eq!(world.ends[THEIRS].delivered(), ids(0..400));
    let stats = world.ends[OURS].ours().end.stats();
    assert_eq!((stats.peers_lost, stats.abandoned_frames), (0, 0), "{stats:?}");
}

#[test]
fn their_pause_holds_the_normal_queue_and_nothing_else() {
    let settings = Settings { pause: 10, resume: 4, ack_no_timeout: 600, ..Settings::default() };
    let mut world = world_with(config(), Mode::Ordered, 1, settings);
    let mut copies = 0;
    // The copy is lost as well, so that the buffer fills until the frame is given up.
    world.loss[OURS] = Box::new(move |bytes| {
        let copy = is_data(bytes, true).is_some();
        copies += u32::from(copy);
        is_data(bytes, false) == Some(30) || copy && copies == 1
    });
    world.offer(OURS, 0..2_000);
    let mut most = 0;
    world.run_until(100_000, |world| {
        most = most.max(theirs(world).holds());
        world.normal[OURS].is_empty()
    });
    world.run_until_idle(10_000);
    assert_eq!(world.ends[THEIRS].delivered(), [ids(0..30), ids(31..2_000)].concat());
    assert!(theirs(&world).pauses > 0 && most < 10 + 30, "{most} frames");
    assert!(world.ends[OURS].ours().end.stats().pauses_received > 0);
}

#[test]
fn a_pause_whose_resume_is_lost_ends_by_itself() {
    let settings = Settings { pause: 10, resume: 4, ..Settings::default() };
    let mut world = world_with(config(), Mode::Ordered, 1, settings);
    world.loss[OURS] = Box::new(|bytes| is_data(bytes, false) == Some(30));
    world.loss[THEIRS] = Box::new(|bytes| frame::read_priority_pause(bytes) == Some(false));
    world.offer(OURS, 0..500);
    world.run_until_idle(10_000);
    world.run(500);
    assert_eq!(world.ends[THEIRS].delivered(), ids(0..500));
}

#[test]
fn nothing_is_protected_before_a_peer_has_answered() {
    let mut ours = LinkmendEnd::new(config(), Mode::Ordered);
    ours.protect(0, 2);
    let mut world = World::new(End::Linkmend(Box::new(ours)), End::Plain(Vec::new()));
    world.offer(OURS, 0..500);
    world.run(20_000);
    assert_eq!(world.ends[THEIRS].delivered(), ids(0..500));
    assert_eq!(world.ends[OURS].ours().end.stats().protected_frames, 0);
    world.ends[THEIRS] = End::TheirReceiver(Box::new(Receiver::new(Settings::default())));
    world.run_until(20_000, |world| world.ends[OURS].ours().is_active());
    world.run(20_000);
    world.loss[OURS] = Box::new(|bytes| is_data(bytes, false).is_some_and(|id| id % 10 == 3));
    world.offer(OURS, 500..1_000);
    world.run_until_idle(20_000);
    world.run(500);
    assert_eq!(world.ends[THEIRS].delivered(), ids(500..1_000));
}

#[test]
fn a_peer_that_disappears_costs_only_the_frames_under_way() {
    let mut world = world(Mode::Ordered, 1);
    world.offer(OURS, 0..100);
    world.run_until_idle(1_000);
    world.ends[THEIRS] = End::Plain(Vec::new());
    world.offer(OURS, 100..110);
    world.run_until(40_000, |world| !world.ends[OURS].ours().is_active());
    world.offer(OURS, 110..500);
    world.run_until_idle(5_000);
    world.run(100);
    assert_eq!(world.ends[THEIRS].delivered(), ids(110..500), "behind it, frames pass as they are");
    let stats = world.ends[OURS].ours().end.stats();
    assert_eq!((stats.peers_lost, stats.abandoned_frames), (1, 10));
}

#[test]
fn protection_ends_when_everything_is_acknowledged_and_continues_the_numbers_later() {
    let mut world = world(Mode::Ordered, 1);
    for round in 0..4 {
        let first = round * 300;
        world.loss[OURS] = Box::new(|bytes| is_data(bytes, false).is_some_and(|id| id % 7 == 3));
        world.offer(OURS, first..first + 200);
        world.run(100);
        let now = super::world::at(world.tick);
        world.ends[OURS].ours().end.unprotect(now);
        world.run_until(5_000, |world| {
            world.ends[OURS].ours().end.status().transmit == linkmend_protocol::TransmitState::Dormant
        });
        world.offer(OURS, first + 200..first + 300);
        world.run(600);
        let tick = world.tick;
        world.ends[OURS].ours().protect(tick, 1);
        world.run_until(1_000, |world| world.ends[OURS].ours().is_active());
        world.run(400);
    }
    let delivered = world.ends[THEIRS].delivered();
    let wrong = (0..1_200).find(|&id| delivered.get(id as usize) != Some(&id));
    assert_eq!((delivered.len(), wrong), (1_200, None));
}
