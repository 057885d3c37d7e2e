//! Networks of hosts and switches.

use linkmend_quantity::{BitRate, Distance};
use linkmend_sim::link::LinkConfig;
use linkmend_sim::link::config::{Buffering, Mode};
use linkmend_sim::measure::{LinkMeasures, Measured};
use linkmend_sim::network::{
    Balance, Frame, LinkId, Network, NodeId, Observer, Opening, Plan, PortId, Schemes, Side, Traffic,
};
use linkmend_sim::time::{Rate, Time};
use linkmend_topology::file::{HostLink, Loaded, TopologyFileOptions, Understood, parse_topology};
use linkmend_topology::graph::star;
use linkmend_topology::{Cable, Graph, NodeKind, SwitchId, fat_tree};

const BITS_PER_SECOND: u64 = 100_000_000_000;
const FRAME_BYTES: u16 = 1_518;

/// What came out of the network, by flow.
#[derive(Debug, Default)]
struct Sink {
    /// By port: whether frames leave the network there, and at which node.
    hosts: Vec<Option<NodeId>>,
    frames: Vec<u64>,
    next: Vec<u64>,
    reordered: u64,
    hops: u64,
}

impl Observer for Sink {
    fn delivered(&mut self, port: PortId, _: Time, frame: &Frame) {
        self.hops += 1;
        if self.hosts[port.index()].is_some() {
            let flow = frame.flow.0 as usize;
            self.frames[flow] += 1;
            self.reordered += u64::from(frame.id < self.next[flow]);
            self.next[flow] = self.next[flow].max(frame.id + 1);
        }
    }
}

/// A fat tree in which each host sends to the host `away` places further on. Every third link between switches corrupts
/// what goes up, and is protected.
fn network(k: u32, balance: Balance, frames: u64, away: usize, loss: f64) -> Network<Measured<Sink>> {
    run(&fat_tree_with_hosts(k), balance, frames, away, loss)
}

fn fat_tree_with_hosts(k: u32) -> Graph {
    let topology = fat_tree(k, BITS_PER_SECOND).expect("k is even");
    Graph::with_hosts(&topology, k / 2, Cable::DEFAULT, Cable::DEFAULT.length).expect("small enough")
}

/// The same on any graph whose cables are alike.
fn run(graph: &Graph, balance: Balance, frames: u64, away: usize, loss: f64) -> Network<Measured<Sink>> {
    let rate = Rate::from_bits_per_second(BITS_PER_SECOND).expect("exact");
    let link = LinkConfig::paper(rate, loss, Mode::Ordered).buffered(Buffering::Direct);
    let described = |id: LinkId, edge: &linkmend_topology::graph::Edge| {
        let between_switches = edge.ends.iter().all(|end| graph.node(end.node).kind == NodeKind::Switch);
        let bad = between_switches && id.0.is_multiple_of(3);
        if bad { link.clone().over(edge.cable) } else { LinkConfig::clean(rate).over(edge.cable) }
    };
    let mut plan = Plan::of_links(graph, balance, described).expect("every link can be built");
    let port = |host| Plan::<Schemes>::first_port(graph, host).expect("a host has a link");
    let hosts: Vec<(NodeId, PortId)> = graph.hosts().map(|host| (host, port(host))).collect();
    let interval = Time(3 * rate.time_of(u64::from(FRAME_BYTES) + 20).0);
    for (index, &(_, port)) in hosts.iter().enumerate() {
        let (to, _) = hosts[(index + away) % hosts.len()];
        let traffic = Traffic::Paced { frames, bytes: FRAME_BYTES, modes: vec![Mode::Ordered], interval };
        plan.traffic(port, to, traffic);
    }
    let mut sink = Sink {
        hosts: vec![None; plan.port_count()],
        frames: vec![0; hosts.len()],
        next: vec![0; hosts.len()],
        ..Sink::default()
    };
    hosts.iter().for_each(|&(host, port)| sink.hosts[port.index()] = Some(host));
    let links = LinkMeasures::new(vec![u64::from(FRAME_BYTES); plan.port_count()]);
    let mut network = plan.build(11, Measured { links, watch: sink }).expect("valid");
    assert_eq!(network.open_sessions(&mut || true), Opening::Open);
    network.start_traffic();
    let end = Time(network.now().0 + frames * interval.0 + 1_000_000_000);
    network.run_while(end, |_| true, &mut || true);
    assert!(network.is_drained(), "nothing is left on the way");
    network
}

fn lost(network: &Network<Measured<Sink>>, links: u32) -> u64 {
    let ports = (0..links).flat_map(|link| PortId::both(LinkId(link)));
    ports.map(|port| network.observer.links.losses(port).0).sum()
}

#[test]
fn a_fat_tree_delivers_every_frame_of_every_flow_in_order_though_its_links_corrupt() {
    let network = network(4, Balance::FlowHash, 2_000, 8, 1e-2);
    let sink = &network.observer.watch;
    assert!(sink.frames.iter().all(|&frames| frames == 2_000), "{:?}", sink.frames);
    assert_eq!(sink.reordered, 0, "a flow keeps to its path, and the links are ordered");
    assert_eq!(sink.hops, 16 * 2_000 * 6, "another pod is six links away");
    assert!(lost(&network, 48) > 100, "{} frames were lost on the way", lost(&network, 48));
}

#[test]
fn hosts_of_one_tor_and_of_one_pod_take_shorter_paths() {
    for (away, near, hops) in [(1, 8, 2), (2, 0, 4)] {
        let network = network(4, Balance::FlowHash, 10, away, 0.0);
        // Every second host's neighbour is at its own ToR, the others' in the next; pods have four hosts.
        let expected = match away {
            1 => near * hops + 4 * 4 + 4 * 6,
            _ => 8 * hops + 8 * 6,
        };
        assert_eq!(network.observer.watch.hops, 10 * expected, "{away} places away");
    }
}

#[test]
fn spraying_uses_all_paths_and_reorders_where_they_differ() {
    let count = |balance, frames| {
        let network = network(4, balance, frames, 8, 1e-2);
        let sink = &network.observer.watch;
        assert!(sink.frames.iter().all(|&arrived| arrived == frames), "{:?}", sink.frames);
        // The ports of the first ToR up: its first two links.
        let sent = [0, 1].map(|link| network.transmitted(PortId::new(LinkId(link), Side::A)));
        (sink.reordered, sent)
    };
    let (reordered, sent) = count(Balance::Spray, 2_000);
    assert!(reordered > 0, "links that wait for copies are slower than others");
    // The first of them is protected, and sends dummies as well.
    assert!(sent[0] > 1_900 && (1_900..2_100).contains(&sent[1]), "half of 4,000 frames each: {sent:?}");
    // Four flows of a third of the link each meet on one: few enough frames for its queue.
    let (reordered, [first, second]) = count(Balance::Static, 200);
    assert_eq!(reordered, 0);
    assert!(first >= 400 && second < 10, "all by the first link: {first} and {second}");
}

#[test]
fn the_same_seed_gives_the_same_network() {
    let run = || {
        let network = network(4, Balance::Spray, 500, 8, 1e-2);
        let sink = &network.observer.watch;
        (network.events(), network.now(), sink.reordered, sink.hops, lost(&network, 48))
    };
    assert_eq!(run(), run());
}

#[test]
fn a_thousand_hosts_are_ordinary() {
    let network = network(16, Balance::FlowHash, 20, 512, 1e-2);
    assert_eq!(network.port_count(), 2 * 3_072);
    let sink = &network.observer.watch;
    assert_eq!(sink.frames.len(), 1_024);
    let dropped: u64 = (0..3_072u32)
        .flat_map(|link| PortId::both(LinkId(link)))
        .map(|port| network.normal_queue(port).0)
        .sum();
    assert_eq!(dropped, 0, "flows that meet on a link find room to wait in");
    assert!(sink.frames.iter().all(|&frames| frames == 20), "{:?}", sink.frames);
    assert_eq!(sink.reordered, 0);
}

/// The file is a fat tree of 720 switches with 3,456 hosts.
#[test]
fn a_network_of_thousands_of_nodes_from_a_file_that_names_its_hosts_runs_like_the_generated_one() {
    let generated = fat_tree_with_hosts(24);
    let topology = fat_tree(24, BITS_PER_SECOND).expect("k is even");
    let at_its_tor = |host| {
        let (_, port) = generated.neighbours(host).next().expect("a host has a link");
        let (host, switch) = (generated.node(host).name.clone(), SwitchId(port.node.0));
        HostLink { host, switch, port: None, speed: None, length: None }
    };
    let host_links = generated.hosts().map(at_its_tor).collect();
    let written = Loaded {
        topology,
        host_links,
        lengths: Vec::new(),
        cables: Vec::new(),
        warnings: Vec::new(),
        understood: Understood::default(),
    };
    let mut text = Vec::new();
    written.write(&mut text).expect("memory can be written");
    let read = parse_topology(text, "net.yaml", &TopologyFileOptions::default()).expect("it reads back");
    let graph = read.graph(Cable::DEFAULT).expect("connected");
    assert_eq!(graph.nodes().len(), 4_176);
    assert_eq!(graph, generated, "the same nodes, names, ports and cables");
    let network = run(&graph, Balance::FlowHash, 5, 1_728, 1e-2);
    let sink = &network.observer.watch;
    assert!(sink.frames.len() == 3_456 && sink.frames.iter().all(|&frames| frames == 5), "{:?}", sink.frames);
    assert_eq!(sink.hops, 5 * 3_456 * 6, "another pod is six links away");
}

#[test]
fn a_cable_that_no_link_can_be_made_of_is_named_before_anything_runs() {
    let rate = Rate::from_bits_per_second(BITS_PER_SECOND).expect("exact");
    let plan = |cable| {
        let graph = star(2, cable).expect("two hosts");
        let link = LinkConfig::clean(rate);
        let plan = Plan::of_links(&graph, Balance::Static, |_, edge| link.clone().over(edge.cable));
        plan.map(|plan| plan.port_count()).map_err(|error| error.parameter)
    };
    assert_eq!(plan(Cable::DEFAULT), Ok(4));
    assert_eq!(plan(Cable { speed: BitRate(30_000_000_000), ..Cable::DEFAULT }), Err("speed"));
    assert_eq!(plan(Cable { length: Distance(100_001), ..Cable::DEFAULT }), Err("distance"));
    assert_eq!(plan(Cable { length: Distance(1 << 40), ..Cable::DEFAULT }), Err("distance"));
}

/// ACKs for one direction ride on the frames of the other one, as long as there are some (section 3.1), and have frames of
/// their own when there are none. One becomes due while a port sends its last frame, and nothing else wakes that port.
#[test]
fn acks_ride_on_frames_of_the_other_direction_and_go_alone_behind_the_last_of_them() {
    let rate = Rate::from_bits_per_second(BITS_PER_SECOND).expect("exact");
    let link = LinkConfig::paper(rate, 0.0, Mode::Ordered).buffered(Buffering::Direct);
    let frame_time = rate.time_of(u64::from(FRAME_BYTES) + 20);
    let traffic = |frames| Traffic::LineRate { frames, bytes: FRAME_BYTES, mode: Mode::Ordered };
    // More than a window in either case. The other direction has so much that its port is never idle before all has been
    // sent, or so little that it is idle for most of the time.
    for (frames, others) in [(3_000, 20_000), (20_000, 3_000)] {
        let mut plan: Plan = Plan::new();
        let [one, other] = [plan.switch(Balance::Static), plan.switch(Balance::Static)];
        let [a, b] = PortId::both(plan.link([one, other], link.ports([0, 0])));
        plan.traffic(a, other, traffic(frames));
        plan.traffic(b, one, traffic(others));
        let mut network = plan.build(1, linkmend_sim::network::NoObserver).expect("valid");
        assert_eq!(network.open_sessions(&mut || true), Opening::Open);
        network.start_traffic();
        // The header of three bytes, and what ACKs of their own take, are less than 2 %.
        let needed = |frames: u64| Time(network.now().0 + frames * frame_time.0 * 51 / 50);
        let (all_sent, all_done) = (needed(frames), Time(needed(frames.max(others)).0 + 10_000_000));
        network.run_while(all_sent, |network| network.produced(a) < frames, &mut || true);
        assert_eq!(network.produced(a), frames, "it stands still");
        network.run_while(all_done, |network| !network.is_drained(), &mut || true);
        assert!(network.is_drained(), "{:?}", network.status(a));
    }
}

#[test]
#[should_panic(expected = "no way for a flow")]
fn a_flow_without_a_path_is_refused() {
    let mut plan: Plan = Plan::new();
    let rate = Rate::from_bits_per_second(BITS_PER_SECOND).expect("exact");
    let link = LinkConfig::clean(rate);
    let [one, other, alone] = [plan.host(), plan.host(), plan.host()];
    let cable = plan.link([one, other], link.ports([0, 0]));
    let traffic = Traffic::LineRate { frames: 1, bytes: 64, mode: Mode::Ordered };
    plan.traffic(PortId::both(cable)[0], alone, traffic);
    let _ = plan.build(1, linkmend_sim::network::NoObserver);
}
