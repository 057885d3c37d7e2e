//! Three `corruptd` of three SONiC switches with a thousand ports between them, over one Redis: the server is killed and
//! restarted, falls silent, and a daemon is killed, each in the middle of activations. What is protected in the end must be
//! exactly what corrupts.

mod downstream;
mod flapping;
mod pod;
mod switches;

use std::time::{Duration, Instant};
use switches::{Network, PORTS, SWITCHES, is_installed};

/// Directions that begin to corrupt at once, before each kind of trouble.
const BATCH: usize = 24;
/// Trouble comes after this many of them are protected.
const IN_THE_MIDDLE: usize = 6;

/// The longest wait for something that takes seconds on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn wait_until(what: &str, network: &Network, mut is_so: impl FnMut(&Network) -> bool) {
    let begun = Instant::now();
    while !is_so(network) {
        assert!(begun.elapsed() < PATIENCE, "{what} took too long\n{}", network.logs());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until some of the batch are protected, and not yet all.
fn in_the_middle(network: &Network, before: usize) {
    wait_until("protecting some", network, |network| network.protected().len() >= before + IN_THE_MIDDLE);
}

#[test]
fn whatever_dies_on_the_way_exactly_what_corrupts_is_protected_and_let_go_after_repair() {
    if !is_installed() {
        return;
    }
    let mut network = Network::start();
    wait_until("seeing all ports", &network, |network| {
        (0..SWITCHES).all(|switch| network.ports_in_state(switch, "healthy") == PORTS)
    });
    assert!(network.protected().is_empty());

    // The bus dies in the middle of activations, and comes back with what it had.
    let mut corrupting = network.corrupt(BATCH);
    in_the_middle(&network, 0);
    network.kill_bus();
    std::thread::sleep(Duration::from_secs(2));
    network.start_bus();
    wait_until("protecting all after the bus came back", &network, |network| {
        network.protected() == corrupting
    });

    // A daemon dies, and another one is started in its place.
    corrupting.extend(network.corrupt(BATCH));
    in_the_middle(&network, BATCH);
    network.restart_daemon(1);
    wait_until("protecting all after a daemon died", &network, |network| network.protected() == corrupting);

    // The bus falls silent: connections stay, and nothing comes.
    corrupting.extend(network.corrupt(BATCH));
    in_the_middle(&network, 2 * BATCH);
    network.silence_bus(Duration::from_secs(5));
    wait_until("protecting all after a silence", &network, |network| network.protected() == corrupting);

    // Each was activated once. Only what the killed daemon had done, and not yet reported, may be told its hook a second
    // time, with the same generation.
    let told = network.told("protect");
    let mut once = told.clone();
    once.dedup();
    assert_eq!(once.len(), corrupting.len(), "{once:?}");
    let twice = told.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0].0);
    assert_eq!(twice.filter(|sender| !sender.starts_with("s1/")).count(), 0, "{told:?}");
    for switch in 0..SWITCHES {
        let seen = network.ports_in_state(switch, "corrupting");
        let own = corrupting.iter().filter(|port| port.starts_with(&format!("s{switch}/"))).count();
        assert_eq!(seen, own, "of switch {switch}\n{}", network.logs());
    }

    network.repair();
    wait_until("letting go", &network, |network| network.protected().is_empty());
    let mut let_go = network.told("unprotect");
    let_go.dedup();
    assert_eq!(let_go.len(), corrupting.len());
}
