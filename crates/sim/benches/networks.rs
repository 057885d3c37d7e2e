//! How many events a second a fat tree simulates, from 16 hosts to 1,024, and in how much memory.
//!
//! `cargo bench -p linkmend-sim --bench networks`. Every host sends to one in another pod at half its rate, so frames pass
//! six links. The last column compares the cost of an event with that in the smallest network.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
#![expect(clippy::print_stdout, reason = "it prints its table")]

use linkmend_sim::corruption::Corruption;
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::link::scheme::Unprotected;
use linkmend_sim::network::{Balance, Network, NoObserver, Opening, Plan, PortConfig, Scheme, Traffic};
use linkmend_sim::time::{Rate, Time};
use linkmend_topology::{Cable, Graph, fat_tree};
use std::time::Instant;

const BITS_PER_SECOND: u64 = 100_000_000_000;
const FRAME_BYTES: u16 = 1_518;
/// Hops of all frames of a run: in a benchmark, and when only its working is tested.
const HOPS: u64 = 12_000_000;
const TEST_HOPS: u64 = 50_000;
const ROUNDS: usize = 3;

fn main() {
    let bench = std::env::args().any(|argument| argument == "--bench");
    let sizes: &[u32] = if bench { &[4, 8, 16] } else { &[4] };
    let (hops, rounds) = if bench { (HOPS, ROUNDS) } else { (TEST_HOPS, 1) };
    println!(
        "{:34} {:>6} {:>9} {:>7} {:>10} {:>14} {:>9} {:>8} {:>7}",
        "fat tree, 100G, every frame 6 links",
        "hosts",
        "switches",
        "links",
        "events",
        "M events/s",
        "ns/event",
        "MiB",
        "ratio"
    );
    for (name, protected) in [("unprotected", false), ("one link in 50 protected, 1e-3", true)] {
        let mut first = None;
        for &k in sizes {
            let mut best: Option<(f64, u64)> = None;
            let before = memory_kib();
            let mut held = 0;
            for _ in 0..rounds {
                let (seconds, events, memory) = if protected {
                    timed(k, hops, |link| schemes(if link % 50 == 0 { 1e-3 } else { 0.0 }))
                } else {
                    timed(k, hops, |_| plain())
                };
                held = held.max(memory.saturating_sub(before));
                if best.is_none_or(|(least, _)| seconds < least) {
                    best = Some((seconds, events));
                }
            }
            let Some((seconds, events)) = best else { continue };
            let cost = seconds * 1e9 / events as f64;
            let ratio = cost / *first.get_or_insert(cost);
            let (hosts, switches) = (k * k * k / 4, 5 * k * k / 4);
            println!(
                "{name:34} {hosts:>6} {switches:>9} {:>7} {events:>10} {:>14.2} {cost:>9.1} {:>8.1} {ratio:>7.2}",
                3 * k * k * k / 4,
                1e3 / cost,
                held as f64 / 1024.0
            );
        }
    }
}

/// Seconds and events of the traffic, and the memory then in use.
fn timed<S: Scheme>(
    k: u32,
    hops: u64,
    mut ports: impl FnMut(usize) -> [PortConfig<S>; 2],
) -> (f64, u64, u64) {
    let topology = fat_tree(k, BITS_PER_SECOND).expect("k is even");
    let mut count = 0;
    let cable = Cable::DEFAULT;
    let graph = Graph::with_hosts(&topology, k / 2, cable, cable.length).expect("small enough");
    let mut plan = Plan::of_graph(&graph, Balance::FlowHash, |_, _| {
        count += 1;
        ports(count)
    });
    let port = |host| Plan::<S>::first_port(&graph, host).expect("a host has a link");
    let hosts: Vec<_> = graph.hosts().map(|host| (host, port(host))).collect();
    let frames = (hops / 6 / hosts.len() as u64).max(1);
    let rate = Rate::from_bits_per_second(BITS_PER_SECOND).expect("exact");
    let interval = Time(2 * rate.time_of(u64::from(FRAME_BYTES) + 20).0);
    for (index, &(_, port)) in hosts.iter().enumerate() {
        // Half the network away is another pod.
        let (to, _) = hosts[(index + hosts.len() / 2) % hosts.len()];
        plan.traffic(
            port,
            to,
            Traffic::Paced { frames, bytes: FRAME_BYTES, modes: vec![Mode::Ordered], interval },
        );
    }
    let mut network: Network<NoObserver, S> = plan.build(1, NoObserver).expect("valid");
    assert_eq!(network.open_sessions(&mut || true), Opening::Open);
    let before = network.events();
    let began = Instant::now();
    network.start_traffic();
    let end = Time(network.now().0 + frames * interval.0 + 1_000_000_000);
    network.run_while(end, |_| true, &mut || true);
    let seconds = began.elapsed().as_secs_f64();
    assert!(network.is_drained(), "all frames have arrived");
    (seconds, network.events() - before, memory_kib())
}

fn link(loss: f64) -> LinkConfig {
    let rate = Rate::from_bits_per_second(BITS_PER_SECOND).expect("exact");
    LinkConfig::paper(rate, loss, Mode::Ordered).buffered(Buffering::Direct)
}

fn plain() -> [PortConfig<Unprotected>; 2] {
    link(0.0).ports_with([(), ()])
}

fn schemes(loss: f64) -> [PortConfig; 2] {
    // Traffic both ways: what is acknowledged by idle ports alone would wait for busy ones.
    let both = LinkConfig { reverse_corruption: Corruption::iid(loss), ..link(loss) };
    LinkConfig { protection: both.protection.filter(|_| loss > 0.0), ..both }.ports([0, 0])
}

/// Resident memory. Linux only.
fn memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
