//! Their sender, our receiver.

use super::frame;
use super::sender::{Sender, Settings};
use super::world::{End, Fates, LinkmendEnd, World, config, fates, is_data};
use linkmend_protocol::{Config, Mode};

const THEIRS: usize = 0;
const OURS: usize = 1;

fn world(blocking: bool, copies: usize) -> World {
    world_with(config(), Settings { blocking, copies, dummies: 2, loop_ticks: 3 })
}

/// Their registers take the very first frame for acknowledged, so the tests begin behind it.
fn world_with(config: Config, settings: Settings) -> World {
    let theirs = End::TheirSender(Box::new(Sender::new(settings)), Vec::new());
    let mut world = World::new(theirs, End::Linkmend(Box::new(LinkmendEnd::new(config, Mode::Ordered))));
    world.offer(THEIRS, 0..1);
    world.run_until_idle(1_000);
    world
}

fn theirs(world: &World) -> &Sender {
    match &world.ends[THEIRS] {
        End::TheirSender(sender, _) => sender,
        _ => unreachable!("their sender"),
    }
}

fn ids(range: std::ops::Range<u32>) -> Vec<u32> {
    range.collect()
}

fn arrived(fates: &Fates, range: std::ops::Range<u32>, copies: usize) -> Vec<u32> {
    let lost = |id: &u32| fates.borrow().get(id).is_some_and(|&count| usize::from(count) > copies);
    range.filter(|id| !lost(id)).collect()
}

#[test]
fn every_lost_frame_is_resent_once_in_n_copies_and_delivered_once_and_in_order() {
    for (seed, blocking, copies, rate) in
        [(1, true, 1, 0.02), (2, true, 2, 0.1), (3, true, 4, 0.2), (4, false, 1, 0.02), (5, false, 3, 0.1)]
    {
        let mut world = world(blocking, copies);
        let lost = fates(&mut world, THEIRS, seed, rate);
        world.offer(THEIRS, 1..20_000);
        world.run_until_idle(2_000_000);
        world.run(2_000);
        let mut delivered = world.ends[OURS].delivered();
        if !blocking {
            delivered.sort_unstable();
        }
        let expected = arrived(&lost, 0..20_000, copies);
        assert_eq!(delivered, expected, "seed {seed}");
        let stats = world.ends[OURS].ours().end.stats();
        let given_up = 20_000 - expected.len() as u64;
        assert_eq!((stats.recovery_timeouts, stats.rx_buffer_overflows), (given_up, 0), "seed {seed}");
        assert_eq!(theirs(&world).resent.len() as u64, stats.lost_frames, "each hole was asked for once");
    }
}

#[test]
fn numbers_and_era_wrap_under_loss() {
    let mut world = world(true, 3);
    let lost = fates(&mut world, THEIRS, 7, 0.01);
    world.offer(THEIRS, 1..280_000);
    world.run_until_idle(3_000_000);
    assert_eq!(world.ends[OURS].delivered(), arrived(&lost, 0..280_000, 3));
}

/// Their sender has five registers for one notification, so a longer hole is requested in pieces.
#[test]
fn holes_of_every_length_are_recovered_whatever_reveals_them() {
    for length in (1..=12).chain([255, 256, 257, 300, 700]) {
        for tail in [false, true] {
            let mut world = world(true, 1);
            let hole = 50..50 + length;
            world.loss[THEIRS] =
                Box::new(move |bytes| is_data(bytes, false).is_some_and(|id| hole.contains(&id)));
            let end = 50 + length + if tail { 0 } else { 30 };
            world.offer(THEIRS, 1..end);
            world.run_until_idle(50_000);
            world.run(1_000);
            assert_eq!(world.ends[OURS].delivered(), ids(0..end), "hole of {length}, tail {tail}");
            let stats = world.ends[OURS].ours().end.stats();
            assert_eq!(stats.notifications_sent, u64::from(length.div_ceil(5)));
        }
    }
}

/// The meaning of a notification's leading ACK, in numbers: the frame that revealed the hole, or one before what a
/// dummy announces.
#[test]
fn a_notification_acknowledges_the_frame_that_revealed_the_hole() {
    for tail in [false, true] {
        let mut world = world(true, 1);
        let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let log = std::rc::Rc::clone(&seen);
        world.loss[THEIRS] = Box::new(|bytes| is_data(bytes, false).is_some_and(|id| (10..12).contains(&id)));
        world.loss[OURS] = Box::new(move |bytes| {
            let header = frame::read(bytes).expect("theirs");
            if header.kind == frame::Kind::Notification {
                log.borrow_mut().push((header.number, header.hole_size, header.first_lost));
            }
            false
        });
        world.offer(THEIRS, 1..if tail { 12 } else { 30 });
        world.run_until_idle(5_000);
        assert_eq!(*seen.borrow(), [(if tail { 11 } else { 12 }, 2, 10)]);
    }
}

#[test]
fn a_lost_tail_and_its_first_dummy_cost_a_few_round_trips() {
    let mut world = world(true, 1);
    let mut dummies = 0;
    world.loss[THEIRS] = Box::new(move |bytes| {
        let dummy = frame::read(bytes).is_some_and(|header| header.dummy);
        dummies += u32::from(dummy);
        is_data(bytes, false).is_some() || dummy && dummies == 1
    });
    let begun = world.tick;
    world.offer(THEIRS, 1..2);
    world.run_until(400, |world| world.ends[OURS].delivered().len() == 2);
    assert!(world.tick - begun < 100, "{} ticks of 100 ns", world.tick - begun);
}

#[test]
fn a_lost_notification_costs_its_hole_and_no_more() {
    let mut world = world(true, 2);
    world.loss[THEIRS] = Box::new(|bytes| is_data(bytes, false).is_some_and(|id| (20..23).contains(&id)));
    world.loss[OURS] =
        Box::new(|bytes| frame::read(bytes).is_some_and(|header| header.kind == frame::Kind::Notification));
    world.offer(THEIRS, 1..200);
    world.run_until_idle(50_000);
    world.run(2_000);
    assert_eq!(world.ends[OURS].delivered(), [ids(0..20), ids(23..200)].concat());
    assert_eq!(world.ends[OURS].ours().end.stats().recovery_timeouts, 3);
}

/// The next ACK makes up for lost ones: their buffer empties, and nothing arrives twice.
#[test]
fn lost_acks_hold_their_buffer_and_nothing_else() {
    let mut world = world(true, 2);
    let mut random = super::random::Random::new(3);
    world.loss[OURS] = Box::new(move |bytes| {
        frame::read(bytes).is_some_and(|header| header.kind == frame::Kind::Ack) && random.chance(0.5)
    });
    fates(&mut world, THEIRS, 4, 0.001);
    world.offer(THEIRS, 1..5_000);
    world.run(20_000);
    assert_eq!(world.ends[OURS].delivered(), ids(0..5_000));
}

#[test]
fn our_pause_holds_their_queue_and_the_buffer_never_overflows() {
    let config = Config {
        rx_buffer_bytes: 64 * 1024,
        pause_bytes: 2_000,
        resume_bytes: 500,
        recovery_timeout: linkmend_protocol::Tick::Nanosecond.micros(60),
        ..config()
    };
    let mut world = world_with(config, Settings { blocking: true, copies: 1, dummies: 2, loop_ticks: 3 });
    let mut copies = 0;
    world.loss[THEIRS] = Box::new(move |bytes| {
        let copy = is_data(bytes, true).is_some();
        copies += u32::from(copy);
        is_data(bytes, false).is_some_and(|id| id % 500 == 30) || copy && copies % 2 == 1
    });
    world.offer(THEIRS, 1..3_000);
    world.run_until_idle(100_000);
    let stats = world.ends[OURS].ours().end.stats();
    let lost: Vec<u32> = ids(0..3_000).into_iter().filter(|id| id % 1_000 == 30).collect();
    let expected: Vec<u32> = ids(0..3_000).into_iter().filter(|id| !lost.contains(id)).collect();
    assert_eq!(world.ends[OURS].delivered(), expected);
    assert!(stats.pauses_sent > 0 && theirs(&world).pauses > 0 && !theirs(&world).paused, "{stats:?}");
    assert!(stats.rx_buffer.max < 2_000 + 40 * 70, "{stats:?}");
}

/// Their sender ignores the pause. A frame that finds no room is requested once, like a lost one. If the copy finds
/// none either, the frame is given up and counted, and the lane does not stall.
#[test]
fn frames_that_find_no_room_are_requested_once_and_counted() {
    let config = Config {
        rx_buffer_bytes: 64 * 1024,
        pause_bytes: 60_000,
        resume_bytes: 30_000,
        recovery_timeout: linkmend_protocol::Tick::Nanosecond.micros(130),
        ..config()
    };
    let mut world = world_with(config, Settings { blocking: true, copies: 1, dummies: 2, loop_ticks: 3 });
    world.loss[OURS] = Box::new(|bytes| frame::read_priority_pause(bytes).is_some());
    // The copy of one frame is lost, so that all behind it waits for the timeout.
    world.loss[THEIRS] =
        Box::new(|bytes| is_data(bytes, false) == Some(30) || is_data(bytes, true) == Some(30));
    world.offer(THEIRS, 1..2_000);
    world.run_until_idle(100_000);
    world.run(5_000);
    let stats = world.ends[OURS].ours().end.stats();
    assert!(stats.rx_buffer_overflows > 0, "{stats:?}");
    let delivered = world.ends[OURS].delivered();
    let missing: Vec<u32> = ids(0..2_000).into_iter().filter(|id| !delivered.contains(id)).collect();
    assert!(missing.starts_with(&[30]) && delivered.is_sorted_by(|a, b| a < b));
    assert_eq!(stats.recovery_timeouts, missing.len() as u64, "what found no room twice is counted");
    assert!((missing.len() as u64) < stats.rx_buffer_overflows, "some copies find room");
}

/// The other direction carries our ACKs, on frames that are not protected.
#[test]
fn acks_ride_on_what_our_host_sends() {
    let mut world = world(true, 1);
    fates(&mut world, THEIRS, 9, 0.02);
    world.offer(THEIRS, 1..5_000);
    world.offer(OURS, 0..6_000);
    world.run_until_idle(200_000);
    assert_eq!(world.ends[THEIRS].delivered(), ids(0..6_000));
    assert!(world.ends[OURS].ours().end.stats().piggybacked_acks_sent > 1_000);
}

/// No session could tell, but the numbers do.
#[test]
fn a_sender_that_starts_again_is_believed() {
    for (before, blocking) in [(100, true), (100, false), (40_000, true), (70_000, true)] {
        let mut world = world(blocking, 1);
        world.offer(THEIRS, 1..before);
        world.run_until_idle(500_000);
        let settings = Settings { blocking, copies: 1, dummies: 2, loop_ticks: 3 };
        world.ends[THEIRS] = End::TheirSender(Box::new(Sender::new(settings)), Vec::new());
        world.offer(THEIRS, 100_000..100_001);
        world.run_until_idle(10_000);
        world.loss[THEIRS] = Box::new(|bytes| is_data(bytes, false).is_some_and(|id| id % 50 == 20));
        world.offer(THEIRS, 100_001..100_500);
        world.run_until_idle(100_000);
        world.run(2_000);
        let mut delivered = world.ends[OURS].delivered();
        delivered.sort_unstable();
        assert_eq!(delivered, [ids(0..before), ids(100_000..100_500)].concat(), "after {before}");
    }
}

#[test]
fn frames_that_the_kernel_delivered_meanwhile_are_not_requested_again() {
    let mut world = world(true, 1);
    let mut first = 1;
    // A few could pass for a hole that one notification asks for.
    for meanwhile in [100, 1, 3, 5, 6, 100] {
        world.offer(THEIRS, first..first + 100);
        world.run(150);
        world.ends[OURS].ours().stopped = true;
        world.offer(THEIRS, first + 100..first + 100 + meanwhile);
        world.run(150);
        let now = super::world::at(world.tick);
        world.ends[OURS].ours().stopped = false;
        world.ends[OURS].ours().end.handle_stall(now);
        first += 100 + meanwhile;
        world.offer(THEIRS, first..first + 100);
        first += 100;
        world.run_until_idle(5_000);
    }
    world.run(2_000);
    assert_eq!(world.ends[OURS].delivered(), ids(0..first));
}

/// An end of ours that starts in the middle begins with the numbers it sees.
#[test]
fn an_end_that_starts_later_begins_with_the_numbers_it_sees() {
    let mut world = world(true, 1);
    world.offer(THEIRS, 1..1_000);
    world.run_until_idle(20_000);
    world.ends[OURS] = End::Linkmend(Box::new(LinkmendEnd::new(config(), Mode::Ordered)));
    world.loss[THEIRS] = Box::new(|bytes| is_data(bytes, false).is_some_and(|id| id % 50 == 20));
    world.offer(THEIRS, 1_000..1_500);
    world.run_until_idle(20_000);
    world.run(2_000);
    assert_eq!(world.ends[OURS].delivered(), ids(1_000..1_500));
}
