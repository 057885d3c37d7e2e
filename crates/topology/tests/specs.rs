//! Networks from one line, and hosts attached to switches.
#![allow(clippy::unwrap_used, reason = "a network that cannot be built fails the test")]

use linkmend_diagnose::Diagnose;
use linkmend_quantity::{BitRate, Distance};
use linkmend_topology::graph::{MAX_NODES, Port};
use linkmend_topology::spec::{self, SpecError};
use linkmend_topology::{Cable, Graph, GraphBuilder, LinkId, NodeId, NodeKind, SwitchId, TopologyError};

fn name(graph: &Graph, node: NodeId) -> &str {
    &graph.node(node).name
}

/// Every link as `one:port--other:port`.
fn cables(graph: &Graph) -> Vec<String> {
    let describe = |Port { node, number }| format!("{}:{number}", name(graph, node));
    graph.links().map(|link| graph.link(link).ends.map(describe).join("--")).collect()
}

#[test]
fn a_line_says_what_its_display_says_again() {
    for spec in [
        "facebook-fabric:pods=3,tors=4,fabric-switches=2,spines=5,speed=25G",
        "fat-tree:k=4,speed=100G",
        "leaf-spine:leaves=3,spines=2,speed=400G",
    ] {
        assert_eq!(spec::layered(spec).unwrap().to_string(), spec);
    }
    assert_eq!(spec::layered("fat-tree").unwrap().to_string(), "fat-tree:k=48,speed=100G");
}

#[test]
fn switches_and_links_of_a_layered_network_keep_their_numbers_in_its_graph() {
    let topology = spec::layered("facebook-fabric:pods=2,tors=3,fabric-switches=2,spines=2").unwrap();
    let graph =
        spec::graph("facebook-fabric:pods=2,tors=3,fabric-switches=2,spines=2,hosts=2,length=100m").unwrap();
    for switch in topology.switches() {
        let node = NodeId::from(switch);
        assert_eq!(name(&graph, node), topology.names().switch(switch));
        assert_eq!(graph.node(node).kind, NodeKind::Switch);
    }
    for link in topology.links() {
        let ours = topology.link(link);
        let ends = [(ours.lower, ours.lower_port), (ours.upper, ours.upper_port)];
        let ends = ends.map(|(switch, number)| Port { node: switch.into(), number });
        let edge = graph.link(link);
        assert_eq!(edge.ends, ends);
        assert_eq!(edge.cable, Cable { speed: BitRate(topology.capacity(link)), length: Distance(100) });
    }
    let hosts: Vec<NodeId> = graph.hosts().collect();
    assert_eq!(hosts.len(), 2 * topology.tors().len());
    for (number, &host) in hosts.iter().enumerate() {
        let (_, port) = graph.neighbours(host).next().unwrap();
        let tor = topology.tors()[number / 2];
        assert_eq!(port.node, NodeId::from(tor));
        // After the ports of the links up.
        assert_eq!(port.number as usize, topology.up(tor).len() + number % 2);
        assert_eq!(name(&graph, host), format!("{}-host{}", topology.names().switch(tor), number % 2));
    }
}

#[test]
fn a_fat_tree_has_half_its_tor_ports_for_hosts() {
    let graph = spec::graph("fat-tree:k=8,host-speed=25G").unwrap();
    assert_eq!(graph.hosts().count(), 128);
    let host = graph.hosts().next().unwrap();
    let (link, _) = graph.neighbours(host).next().unwrap();
    assert_eq!(graph.link(link).cable.speed, BitRate(25_000_000_000));
    assert!(
        graph
            .nodes()
            .filter(|&node| graph.node(node).kind == NodeKind::Switch)
            .all(|node| { graph.node(node).links().len() == 8 })
    );
}

#[test]
fn a_speed_from_outside_holds_where_the_line_names_none() {
    let wanted = BitRate(10_000_000_000);
    for (line, others) in [
        ("fat-tree:k=4", 0),
        ("line:switches=3,hosts=2", 0),
        ("dumbbell", 0),
        ("star", 0),
        ("leaf-spine:leaves=2,spines=2,hosts=2,host-speed=25G", 4),
        ("line:switches=3,hosts=2,speed=25G", 6),
        ("star:hosts=3,speed=25G", 3),
    ] {
        let graph = spec::graph_with_speed(line, wanted).unwrap();
        let speeds = graph.links().map(|link| graph.link(link).cable.speed);
        assert_eq!(speeds.filter(|&speed| speed != wanted).count(), others, "{line}");
    }
}

#[test]
fn small_shapes_are_wired_as_they_are_called() {
    assert_eq!(
        cables(&spec::graph("dumbbell:hosts=2").unwrap()),
        [
            "switch0:0--switch1:0",
            "left0:0--switch0:1",
            "left1:0--switch0:2",
            "right0:0--switch1:1",
            "right1:0--switch1:2",
        ]
    );
    assert_eq!(
        cables(&spec::graph("line:switches=3").unwrap()),
        ["switch0:0--switch1:0", "switch1:1--switch2:0", "left0:0--switch0:1", "right0:0--switch2:1"]
    );
    assert_eq!(
        cables(&spec::graph("line:switches=1").unwrap()),
        ["left0:0--switch0:0", "right0:0--switch0:1"]
    );
    assert_eq!(
        cables(&spec::graph("star:hosts=3,speed=10G").unwrap()),
        ["host0:0--switch0:0", "host1:0--switch0:1", "host2:0--switch0:2"]
    );
}

#[test]
fn distances_lead_to_a_host_and_through_none() {
    let graph = spec::graph("fat-tree:k=4").unwrap();
    let hosts: Vec<NodeId> = graph.hosts().collect();
    let distances = graph.distances_to(hosts[0]);
    let of = |host: usize| distances[hosts[host].index()];
    // Itself; the same ToR; the same pod; another pod.
    assert_eq!([of(0), of(1), of(2), of(4)], [Some(0), Some(2), Some(4), Some(6)]);
    // Two hosts joined by a third, which would have to forward.
    let mut builder = GraphBuilder::default();
    let [one, between, other] = ["one", "between", "other"].map(|name| builder.host(name));
    builder.link(one, between, Cable::DEFAULT);
    builder.link(between, other, Cable::DEFAULT);
    let expected = TopologyError::Apart { one: "one".to_owned(), other: "other".to_owned() };
    assert_eq!(builder.build(), Err(expected));
}

/// Section 2 of LinkGuardian's paper: a ToR of this fabric has 192 valley-free paths to the spine, 48 through each fabric switch.
#[test]
fn a_tor_of_the_facebook_fabric_has_192_paths_to_the_spine() {
    let topology = spec::layered("facebook-fabric").unwrap();
    for tor in topology.tors() {
        assert_eq!(topology.installed().paths(*tor), 4 * 48);
        assert!(topology.up(*tor).iter().all(|hop| topology.installed().paths(hop.switch) == 48));
    }
}

#[test]
fn thousands_of_nodes_are_ordinary() {
    let graph = spec::graph("fat-tree:k=32").unwrap();
    assert_eq!(graph.nodes().len(), 1280 + 8192);
    assert_eq!(graph.links().len(), 16_384 + 8192);
    assert!(graph.distances_to(NodeId(0)).iter().all(Option::is_some));
    let topology = spec::layered("fat-tree:k=4").unwrap();
    let too_many = Graph::with_hosts(&topology, u32::MAX, Cable::DEFAULT, Distance(2));
    let nodes = topology.tors().len() as u64 * u64::from(u32::MAX) + topology.switch_count() as u64;
    assert!(nodes > MAX_NODES);
    let refused = format!("nodes is {nodes}; it must be at most 4,000,000");
    assert_eq!(too_many.map_err(|error| error.to_string()).map(drop), Err(refused));
}

#[test]
fn what_is_no_graph_is_refused_by_name() {
    let joined = |one: &str, other: &str, speed| {
        let mut builder = GraphBuilder::default();
        let ends = [builder.switch(one), builder.switch(other)];
        builder.link(ends[0], ends[1], Cable { speed: BitRate(speed), ..Cable::DEFAULT });
        builder.build().unwrap_err().to_string()
    };
    assert_eq!(joined("a", "a", 1), "two nodes are named a");
    assert_eq!(joined("a", "b", 0), "speed is 0; it must be above 0");
    assert_eq!(GraphBuilder::default().build().unwrap_err(), TopologyError::NoNode);
    let mut builder = GraphBuilder::default();
    let switch = builder.switch("a");
    assert_eq!(builder.link(switch, switch, Cable::DEFAULT), LinkId(0));
    assert_eq!(builder.build().unwrap_err().to_string(), "a link connects a to itself");
    assert_eq!(SwitchId(3).index(), 3);
}

#[test]
fn what_a_line_says_wrong_is_named_with_a_way_out() {
    let layered = |written: &str| spec::layered(written).unwrap_err();
    let graph = |written: &str| spec::graph(written).unwrap_err();
    let describe = |error: SpecError| (error.to_string(), error.hint().unwrap_or_default());
    for (error, message, hint) in [
        (layered("torus"), "there is no topology `torus`", "facebook-fabric, fat-tree or leaf-spine"),
        (
            graph("torus"),
            "there is no topology `torus`",
            "facebook-fabric, fat-tree, leaf-spine, line, dumbbell or star",
        ),
        (layered("star:hosts=2"), "topology `star` has no layers", "facebook-fabric, fat-tree or leaf-spine"),
        (layered("fat-tree:hosts=2"), "topology fat-tree:hosts=2: there is no parameter `hosts`", "k, speed"),
        (
            graph("star:host-speed=1G"),
            "topology star:host-speed=1G: there is no parameter `host-speed`",
            "hosts, speed, length",
        ),
        (layered("fat-tree:k=7"), "topology fat-tree:k=7: k is 7; it must be even, 2 to 256", ""),
        (layered("fat-tree:k"), "topology fat-tree:k: `k` does not have the form NAME=VALUE", ""),
        (layered("fat-tree:k=x"), "topology fat-tree:k=x: k=x is not a number", ""),
        (
            graph("line:k=1,k=2"),
            "topology line:k=1,k=2: `k` is given twice, as 1 and as 2",
            "leave one of them out",
        ),
        (graph("line:hosts=0"), "topology line:hosts=0: hosts is 0; it must be 1 to 65,536", ""),
        (
            graph("line:length=3"),
            "topology line:length=3: length=3: `3` has no unit; a distance is written like `3m`, with one of m, km",
            "",
        ),
    ] {
        assert_eq!(describe(error), (message.to_owned(), hint.to_owned()));
    }
}
