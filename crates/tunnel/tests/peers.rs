//! Who the peer is, and where: restarts, changed addresses, strangers.

mod world;

use linkmend_tunnel::{Handled, Reach, Role};
use std::net::SocketAddr;
use world::{MS, Path, World, end, frame};

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn world() -> World {
    World::connected(Path { delay_ns: 20 * MS, ..Path::default() }, 1)
}

/// How many of ten frames arrive, sent one each 20 ms.
fn arriving(world: &mut World) -> usize {
    world.delivered.clear();
    for number in 0..10 {
        world.add(&frame(number, 100));
        world.flush();
        world.run(20 * MS);
    }
    world.run(100 * MS);
    world.delivered.len()
}

#[test]
fn ends_meet_although_most_of_their_hellos_are_lost() {
    let path = Path { delay_ns: 20 * MS, loss_percent: 80, duplicate_percent: 30, ..Path::default() };
    let mut world = World::new(path, 5);
    world.run(10_000 * MS);
    assert!(world.left.peer().is_some() && world.right.peer().is_some());
}

#[test]
fn the_path_mtu_is_found_on_the_way() {
    let mut world = world();
    world.run(5_000 * MS);
    assert_eq!(world.left.datagram_bytes(), 8_972, "the path of this test takes everything");
}

#[test]
fn a_caller_that_was_restarted_is_followed_and_its_old_session_is_not() {
    let mut world = world();
    assert_eq!(arriving(&mut world), 10);
    world.left = end(33, world.now, Role::Calls, Reach::Near);
    world.left.expect_at(world.now, [world.right_address]);
    let old = world.left_address;
    world.run(200 * MS);
    assert_eq!(world.right.counters().sessions, 2);
    let strangers = world.right.counters().strangers;
    world.replay(old);
    world.run(100 * MS);
    assert_eq!(world.right.counters().strangers, strangers + 1, "the token of the old session");
    assert_eq!(arriving(&mut world), 10);
}

#[test]
fn a_listener_that_was_restarted_is_introduced_by_the_traffic_of_its_peer() {
    let mut world = world();
    world.right = end(44, world.now, Role::Listens, Reach::Near);
    assert!(arriving(&mut world) >= 4, "three times across the path, and again");
    assert_eq!(world.right.peer(), Some(world.left_address));
}

#[test]
fn the_peer_is_where_its_newest_datagram_comes_from() {
    let mut world = world();
    let first = world.left_address;
    assert_eq!(arriving(&mut world), 10);
    world.left_address = address("192.168.7.7:50000");
    assert_eq!(arriving(&mut world), 10);
    assert_eq!(world.right.peer(), Some(world.left_address));
    world.replay(first);
    world.run(100 * MS);
    assert_eq!(
        world.right.peer(),
        Some(world.left_address),
        "an old datagram does not bring the old address back"
    );
    assert!(world.events.contains(&Handled::Moved(world.left_address)));
    assert_eq!(world.right.counters().roamed, 1);
}

#[test]
fn nobody_takes_the_place_of_a_peer_that_is_heard() {
    let mut world = world();
    let mut thief = end(66, world.now, Role::Calls, Reach::Near);
    let (at, right) = (address("10.0.0.66:1"), world.right_address);
    thief.expect_at(world.now, [right]);
    for _ in 0..10 {
        thief.handle_timeout(world.now, &mut |_| {});
        while let Some((_, bytes)) = thief.poll_control() {
            world.right.handle_datagram(world.now, at, bytes, false, &mut |_| {});
        }
        while let Some((to, bytes)) = world.right.poll_control() {
            assert_ne!(to, at, "not even an answer: {bytes:?}");
        }
        world.run(300 * MS);
    }
    assert_eq!((thief.peer(), world.right.peer()), (None, Some(world.left_address)));
    assert_eq!(arriving(&mut world), 10);
}

#[test]
fn public_addresses_are_refused_unless_allowed() {
    for (reach, wanted) in [(Reach::Near, 0), (Reach::Anywhere, 10)] {
        let mut world = world();
        world.right = end(22, world.now, Role::Listens, reach);
        world.left = end(11, world.now, Role::Calls, Reach::Anywhere);
        world.left_address = address("203.0.113.9:34997");
        world.left.expect_at(world.now, [world.right_address]);
        world.run(500 * MS);
        assert_eq!(arriving(&mut world), wanted, "{reach:?}");
        assert_eq!(world.right.counters().refused_addresses > 0, wanted == 0);
    }
}
