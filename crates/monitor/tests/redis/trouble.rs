//! A thousand ports, of which a hundred corrupt, while the server and the way to it fail in the middle of activations.

use super::proxy::Proxy;
use super::server::{Server, is_installed, settings};
use super::world::{AGENTS, HOLD_DOWN, World};
use linkmend_monitor::PortName;
use linkmend_monitor::bus::{Bus, BusEvent, RedisBus};
use linkmend_monitor::exchange::{DirectionState, Effect};
use std::collections::BTreeMap;

/// Directions that begin to corrupt at once, before each kind of trouble.
const BATCH: usize = 25;
/// Trouble comes after this many messages of a batch, each of which needs 50.
const IN_THE_MIDDLE: u64 = 12;

/// Steps until the `count`th message from now is about to be sent, and does `trouble` then.
fn step_into(world: &mut World, mut trouble: impl FnMut()) {
    let at = world.puts + IN_THE_MIDDLE;
    for _ in 0..20 {
        world.step(|puts| {
            if puts == at {
                trouble();
            }
        });
        if world.puts >= at {
            return;
        }
    }
    panic!("only {} messages, and not {at}", world.puts);
}

fn run(world: &mut World, steps: u32) {
    (0..steps).for_each(|_| world.step(|_| ()));
}

fn remembered(server: &Server) -> BTreeMap<PortName, DirectionState> {
    let mut bus = server.bus("observer");
    let events = bus.poll().expect("it answers");
    let states = events.into_iter().filter_map(|event| match event {
        BusEvent::State(port, state) | BusEvent::Recorded(port, state) => Some((port, state)),
        BusEvent::Rereading | BusEvent::Synchronised | BusEvent::Findings(..) => None,
    });
    states.collect()
}

/// These ports and no others are protected, each was activated once, and the server knows it.
fn assert_protected_once(world: &World, server: &Server, corrupting: &[PortName]) {
    for port in world.ports.keys() {
        let sender = world.sender(port);
        assert_eq!(sender.protected, corrupting.contains(port), "{port}");
        assert_eq!(sender.activations, u32::from(sender.protected), "{port} was activated once");
    }
    let states = remembered(server);
    for port in corrupting {
        let state = &states[port];
        let done = state.acknowledgement.as_ref().expect("it was acknowledged");
        assert_eq!(
            (Some(done.generation), done.effect),
            (state.request_generation(), Effect::Active),
            "{port}"
        );
    }
    assert_eq!(states.len(), corrupting.len(), "no other direction was ever asked for");
}

#[test]
fn whatever_fails_on_the_way_exactly_what_corrupts_is_protected_and_activated_once() {
    if !is_installed("whatever_fails_on_the_way_exactly_what_corrupts_is_protected_and_activated_once") {
        return;
    }
    let mut server = Server::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let proxy = Proxy::to(server.port);
    let url = |agent: usize| match agent {
        2 => format!("redis://127.0.0.1:{}", proxy.port),
        _ => server.url(),
    };
    let urls: Vec<String> = (0..AGENTS).map(url).collect();
    let bus = |agent: usize| RedisBus::new(&settings(&urls[agent]), &format!("s{agent}")).expect("usable");
    let mut world = World::new((0..AGENTS).map(bus).collect());
    let corrupting: Vec<PortName> = world.ports.keys().step_by(10).take(4 * BATCH).cloned().collect();
    let mut batches = corrupting.chunks(BATCH);
    let mut corrupt = |world: &mut World| {
        let batch = batches.next().expect("four");
        batch.iter().for_each(|port| world.ports.get_mut(port).expect("there").loss = 1e-3);
    };
    run(&mut world, 5);
    assert_eq!((world.puts, world.failures), (0, 0));

    // The server dies, stays away for a while, and comes back with what it had.
    corrupt(&mut world);
    step_into(&mut world, || server.kill());
    run(&mut world, 3);
    assert!(world.failures > 0);
    server.restart();
    run(&mut world, 5);
    // It comes back with nothing.
    corrupt(&mut world);
    step_into(&mut world, || server.kill());
    server.forget();
    server.restart();
    run(&mut world, 5);
    // An agent dies, and another one starts anew.
    corrupt(&mut world);
    step_into(&mut world, || ());
    world.replace(1, bus(1));
    run(&mut world, 5);
    // An agent loses its way to the server.
    corrupt(&mut world);
    let before = world.failures;
    step_into(&mut world, || proxy.cut(true));
    run(&mut world, 2);
    assert!(world.failures > before);
    proxy.cut(false);
    run(&mut world, 10);

    assert_protected_once(&world, &server, &corrupting);
    // Repaired, they are let go.
    corrupting.iter().for_each(|port| world.ports.get_mut(port).expect("there").loss = 0.0);
    run(&mut world, 4 * HOLD_DOWN);
    assert!(world.ports.values().all(|port| !port.protected));
    assert!(remembered(&server).values().all(|state| {
        let request = state.request.as_ref().expect("still there");
        let done = state.acknowledgement.as_ref().map(|done| (done.generation, done.effect));
        request.protection.is_none() && done == Some((request.generation, Effect::Dormant))
    }));
}
