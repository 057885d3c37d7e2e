//! Agents over a Redis in which somebody puts back all that stood there at some earlier moment, while they are restarted.

use super::server::{Server, is_installed};
use super::trust::sealed;
use super::world::{AGENTS, HOLD_DOWN, World};
use linkmend_monitor::PortName;
use std::time::{Duration, Instant};

/// All keys of the server, in its own form.
struct Moment(Vec<(String, Vec<u8>)>);

impl Moment {
    fn of(server: &Server) -> Moment {
        let mut by_hand = server.connect();
        let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut by_hand).expect("listed");
        let dump = |key: String| {
            let dumped = redis::cmd("DUMP").arg(&key).query(&mut by_hand).expect("it is there");
            (key, dumped)
        };
        Moment(keys.into_iter().map(dump).collect())
    }

    fn put_back(&self, server: &Server) {
        let mut calls = redis::pipe();
        calls.cmd("FLUSHALL").ignore();
        for (key, dumped) in &self.0 {
            calls.cmd("RESTORE").arg(key).arg(0).arg(dumped).ignore();
        }
        calls.exec(&mut server.connect()).expect("restored");
    }
}

fn restart(world: &mut World, server: &Server, agent: usize) {
    world.replace(agent, sealed(server, &format!("s{agent}")));
}

#[test]
fn no_moment_of_the_past_ends_or_begins_protection_at_whatever_restart_it_comes_back() {
    if !is_installed("no_moment_of_the_past_ends_or_begins_protection_at_whatever_restart_it_comes_back") {
        return;
    }
    let server = Server::start(&[]);
    let mut world = World::new((0..AGENTS).map(|agent| sealed(&server, &format!("s{agent}"))).collect());
    let [needed, healthy]: [PortName; 2] =
        ["s0/Ethernet0", "s0/Ethernet1"].map(|port| port.parse().expect("a port"));
    let mut moments = Vec::new();
    for loss in [1e-3, 0.0, 1e-4] {
        for port in [&needed, &healthy] {
            let loss = if port == &healthy && loss == 1e-4 { 0.0 } else { loss };
            world.ports.get_mut(port).expect("there").loss = loss;
        }
        (0..HOLD_DOWN + 10).for_each(|_| world.step(|_| ()));
        moments.push(Moment::of(&server));
    }
    let is_right = |world: &World| world.sender(&needed).protected && !world.sender(&healthy).protected;
    assert!(is_right(&world));
    // The port that sends to these is one of the last agent.
    let [asks, carries_out] = [0, AGENTS - 1];
    for order in [&[carries_out][..], &[asks], &[asks, carries_out], &[carries_out, asks]] {
        for (moment, past) in moments.iter().enumerate() {
            for first in [0, 1] {
                for (at, agent) in order.iter().enumerate() {
                    if at == first {
                        past.put_back(&server);
                    }
                    restart(&mut world, &server, *agent);
                    if at == first || order.len() == 1 {
                        past.put_back(&server);
                    }
                    for _ in 0..3 {
                        world.step(|_| ());
                        assert!(is_right(&world), "{order:?}, moment {moment}, before restart {first}");
                    }
                }
            }
        }
    }
    // Nobody writes any more, and all is as before.
    world.ports.get_mut(&needed).expect("there").loss = 0.0;
    world.ports.get_mut(&healthy).expect("there").loss = 1e-3;
    let begun = Instant::now();
    while world.sender(&needed).protected || !world.sender(&healthy).protected {
        assert!(begun.elapsed() < Duration::from_secs(90), "{:?}", world.sender(&needed));
        world.step(|_| ());
        std::thread::sleep(Duration::from_millis(20));
    }
}
