//! The premise of the protocol, held against paths that lose, duplicate, delay and reorder datagrams: what arrives is a
//! part of what was sent, in order, each frame once. It is all of it if the path loses nothing and reorders no further than
//! it did while the wait was learned.

mod world;

use linkmend_tunnel::{HELD_BYTES_MAX, Resequencer, WAIT_MAX_NS, wire};
use proptest::prelude::*;
use world::{MS, Path, World, frame, number_of};

/// Sends numbered frames of these lengths, one each millisecond, and returns the numbers of those that arrive.
fn send(world: &mut World, first: u64, lengths: &[usize]) -> Vec<u64> {
    world.delivered.clear();
    for (place, length) in lengths.iter().enumerate() {
        world.send(&frame(first + place as u64, *length));
        world.run(MS);
    }
    world.run(400 * MS);
    world.delivered.iter().map(|frame| number_of(frame)).collect()
}

fn paths() -> impl Strategy<Value = Path> {
    (0..30_u64, 0..30_u64, 0..30_u64, 0..40_u64).prop_map(|(loss, duplicates, reorders, extent)| Path {
        delay_ns: 20 * MS,
        loss_percent: loss,
        duplicate_percent: duplicates,
        reorder_percent: reorders,
        reorder_ns: extent * MS,
    })
}

proptest! {
    #[test]
    fn frames_arrive_in_order_and_once(path in paths(), seed: u64, lengths in prop::collection::vec(22_usize..4_000, 1..200)) {
        let mut world = World::connected(path, seed);
        let arrived = send(&mut world, 0, &lengths);
        prop_assert!(arrived.windows(2).all(|two| two[0] < two[1]), "{arrived:?}");
        for frame in &world.delivered {
            let number = number_of(frame);
            prop_assert_eq!(frame, &world::frame(number, lengths[number as usize]));
        }
    }

    #[test]
    fn nothing_is_lost_once_the_reordering_has_been_learned(seed: u64, extent in 0_u64..30, percent in 1_u64..50, lengths in prop::collection::vec(22_usize..4_000, 1..200)) {
        let path = Path { delay_ns: 20 * MS, duplicate_percent: 10, reorder_percent: percent, reorder_ns: extent * MS, ..Path::default() };
        let mut world = World::connected(path, seed);
        // There is nothing to be learned from the first datagram of a session.
        world.path = Path::default();
        world.send(&frame(0, 100));
        world.run(100 * MS);
        // The worst case comes by design and not by chance: one datagram overtaken for the whole extent.
        world.path = Path { reorder_percent: 100, ..path };
        world.send(&frame(0, 100));
        world.run(1);
        world.path = Path { reorder_percent: 0, ..path };
        world.send(&frame(1, 100));
        world.run(100 * MS);
        world.path = path;
        let arrived = send(&mut world, 10, &lengths);
        prop_assert_eq!(arrived, (10..10 + lengths.len() as u64).collect::<Vec<_>>());
    }

    #[test]
    fn a_path_that_never_reorders_is_never_waited_for(seed: u64, loss in 0_u64..50, lengths in prop::collection::vec(22_usize..4_000, 1..100)) {
        let path = Path { delay_ns: 20 * MS, loss_percent: loss, duplicate_percent: 20, ..Path::default() };
        let mut world = World::connected(path, seed);
        for (number, length) in lengths.iter().enumerate() {
            world.send(&frame(number as u64, *length));
            world.run(MS);
            prop_assert_eq!(world.right.wait_ns(), 0);
        }
        world.run(100 * MS);
        prop_assert!(world.longest_stay_ns() <= 20 * MS, "{}", world.longest_stay_ns());
    }

    #[test]
    fn any_bytes_are_a_datagram_that_does_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100), kind in 0_u8..5, seed: u64) {
        let mut world = World::connected(Path::default(), seed);
        let token = world.token_of_left();
        let hostile = [&[0x10 | kind][..], &token.to_be_bytes(), &bytes].concat();
        world.inject(&hostile);
        world.inject(&bytes);
        world.run(100 * MS);
    }
}

#[test]
fn what_waits_is_bounded_in_number_bytes_and_time() {
    let mut order = Resequencer::default();
    let mut delivered = Vec::new();
    let body = vec![0; 4096];
    let mut arrive = |order: &mut Resequencer, now, number| {
        order.handle(now, number, &body, false, &mut |number, _| delivered.push(number));
        delivered.len()
    };
    arrive(&mut order, 0, 0);
    arrive(&mut order, 0, 2);
    arrive(&mut order, WAIT_MAX_NS, 1);
    assert_eq!(order.wait_ns(), WAIT_MAX_NS, "a delay of just the longest wait is learned");
    let first_held = 4;
    let fit = (HELD_BYTES_MAX / body.len()) as u64;
    for number in first_held..first_held + fit {
        assert_eq!(arrive(&mut order, WAIT_MAX_NS, number), 2);
    }
    assert_eq!(
        arrive(&mut order, WAIT_MAX_NS, first_held + fit),
        2 + fit as usize + 1,
        "the gap is given up"
    );
    assert_eq!(arrive(&mut order, WAIT_MAX_NS, wire::NUMBER_MAX), 2 + fit as usize + 1);
    assert_eq!(order.next_timeout(), Some(2 * WAIT_MAX_NS));
    order.handle_timeout(2 * WAIT_MAX_NS, &mut |number, _| delivered.push(number));
    assert_eq!(delivered.last(), Some(&wire::NUMBER_MAX));
    assert_eq!(order.next_timeout(), None);
}

#[test]
fn a_path_that_reorders_no_longer_is_waited_for_no_longer() {
    let mut order = Resequencer::default();
    for (now, number) in [(0, 0), (0, 2), (5 * MS, 1)] {
        order.handle(now, number, &[], false, &mut |_, _| {});
    }
    assert!(order.wait_ns() > 5 * MS);
    for now in [31_000 * MS, 59_000 * MS] {
        order.handle_timeout(now, &mut |_, _| {});
        assert!(order.wait_ns() > 5 * MS, "{now}");
    }
    order.handle_timeout(62_000 * MS, &mut |_, _| {});
    assert_eq!(order.wait_ns(), 0);
}

#[test]
fn small_frames_share_a_datagram_and_long_ones_take_several() {
    let mut world = World::connected(Path::default(), 1);
    let before = world.right.counters().datagrams;
    for number in 0..10 {
        world.add(&frame(number, 100));
    }
    world.flush();
    world.run(MS);
    assert_eq!((world.delivered.len(), world.right.counters().datagrams - before), (10, 1));
    world.send(&frame(10, 10_240));
    world.run(MS);
    assert_eq!(world.delivered.len(), 11);
    assert!(!world.add(&[0; 10_241]), "longer than any frame");
}
