//! Hosts in topology files: which switch and port each hangs at.

use super::{NO_OPTIONS, TWO, read_text, refused};
use linkmend_quantity::{BitRate, Distance};
use linkmend_topology::file::{Loaded, TopologyFileOptions, parse_lldp, parse_topology};
use linkmend_topology::{Cable, Graph, NodeKind};

fn loaded(text: &str) -> Loaded {
    read_text("net.yaml", text.as_bytes(), &NO_OPTIONS).unwrap_or_else(|error| panic!("{error}"))
}

/// Links of hosts as `host switch port speed length`, in order.
fn hosts(loaded: &Loaded) -> Vec<String> {
    let text = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let link = |link: &linkmend_topology::file::HostLink| {
        let (speed, length) = (link.speed.map(|v| v.to_string()), link.length.map(|v| v.to_string()));
        let switch = loaded.topology.names().switch(link.switch);
        format!("{} {switch} {} {} {}", link.host, text(link.port.clone()), text(speed), text(length))
    };
    loaded.host_links.iter().map(link).collect()
}

const NET: &str = "default_speed: 100G
default_length: 30m
switches:
- {name: tor1, layer: 0}
- {name: tor2, layer: 0}
- {name: spine1, layer: 1}
links:
- {from: tor1, to: spine1}
- {from: tor2, to: spine1, length: 2km}
hosts:
- {name: web1, to: tor1, port: swp7, speed: 25G, length: 5m}
- {name: db1, to: tor1}
- {name: web1, to: tor2}
";

#[test]
fn a_layered_file_says_which_host_hangs_at_which_port() {
    let loaded = loaded(NET);
    assert_eq!(hosts(&loaded), ["web1 tor1 swp7 25G 5m", "db1 tor1 - 100G 30m", "web1 tor2 - 100G 30m"]);
    assert_eq!(loaded.lengths, [Some(Distance(30)), Some(Distance(2_000))]);
    assert_eq!((loaded.topology.switch_count(), loaded.topology.link_count()), (3, 2), "fleets see no hosts");
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
}

#[test]
fn the_graph_of_a_file_has_the_hosts_behind_switches_and_links_that_keep_their_numbers() {
    let loaded = loaded(NET);
    let graph = loaded.graph(Cable::DEFAULT).expect("connected");
    for switch in loaded.topology.switches() {
        assert_eq!(graph.node(switch.into()).name, loaded.topology.names().switch(switch));
    }
    for link in loaded.topology.links() {
        let ends = loaded.topology.link(link);
        assert_eq!(graph.link(link).ends.map(|end| end.node), [ends.lower.into(), ends.upper.into()]);
    }
    let names: Vec<&str> = graph.hosts().map(|host| graph.node(host).name.as_str()).collect();
    assert_eq!(names, ["web1", "db1"], "a host with two links is one host");
    let web1 = graph.find("web1").expect("it is there");
    let uplinks: Vec<(String, Cable)> = graph
        .neighbours(web1)
        .map(|(link, port)| (graph.node(port.node).name.clone(), graph.link(link).cable))
        .collect();
    let cable =
        |gigabits: u64, length| Cable { speed: BitRate(gigabits * 1_000_000_000), length: Distance(length) };
    assert_eq!(uplinks, [("tor1".to_owned(), cable(25, 5)), ("tor2".to_owned(), cable(100, 30))]);
    assert_eq!(graph.node(web1).kind, NodeKind::Host);
}

#[test]
fn what_a_file_does_not_say_of_a_cable_is_the_default() {
    let text = format!("{TWO}links:\n- {{from: t, to: s, speed: 40G}}\nhosts:\n- {{name: h, to: t}}\n");
    let loaded = loaded(&text);
    assert_eq!(hosts(&loaded), ["h t - - -"]);
    let cables = |graph: &Graph| graph.links().map(|link| graph.link(link).cable).collect::<Vec<Cable>>();
    let cable =
        |gigabits: u64, length| Cable { speed: BitRate(gigabits * 1_000_000_000), length: Distance(length) };
    assert_eq!(cables(&loaded.graph(cable(10, 7)).expect("connected")), [cable(40, 7), cable(10, 7)]);
}

#[test]
fn a_network_with_hosts_reads_back_as_it_was_written() {
    let before = loaded(NET);
    let mut text = Vec::new();
    before.write(&mut text).expect("memory can be written");
    let after = parse_topology(text, "again.yaml", &TopologyFileOptions::default()).expect("it reads back");
    assert_eq!((after.host_links, after.lengths), (before.host_links, before.lengths));
    assert_eq!(after.topology.to_string(), before.topology.to_string());
}

#[test]
fn hosts_that_cannot_be_are_refused_with_their_line() {
    let with = |hosts: &str| format!("{TWO}links:\n- {{from: t, to: s}}\nhosts:\n{hosts}");
    let cases = [
        ("- {name: h, to: x}\n", "net.yaml:7: link h--x ends at x, which is not defined"),
        ("- {name: \"\", to: t}\n", "net.yaml:7: a host has an empty name"),
        ("- {name: s, to: t}\n", "net.yaml:7: host s has the name of the switch at net.yaml:3"),
        (
            "- {name: h, to: t, speed: 0G}\n",
            "net.yaml:7: speed of h is 0bit/s; it must be above 0 and at most 1600G",
        ),
        ("- {name: h, to: t, sped: 1G}\n", "net.yaml:7: unknown field `sped`"),
        ("- {name: h}\n", "net.yaml:7: missing field `to`"),
    ];
    for (hosts, message) in cases {
        let refused = refused("net.yaml", &with(hosts));
        assert!(refused.starts_with(message), "{refused} instead of {message}");
    }
}

#[test]
fn the_hosts_of_a_lab_hang_at_the_interfaces_of_its_switches() {
    let loaded = loaded(
        "topology:
  nodes:
    tor1: {labels: {linkmend.layer: 0}}
    spine1: {labels: {linkmend.layer: 1}}
    client: {kind: linux, labels: {linkmend.speed: 25G}}
    br0: {kind: bridge}
  links:
  - endpoints: [\"tor1:e1\", \"spine1:e1\"]
    labels: {linkmend.speed: 100G}
  - endpoints: [\"client:eth1\", \"tor1:e7\"]
  - endpoints: [\"tor1:e8\", \"br0:tor1\"]
",
    );
    assert_eq!(hosts(&loaded), ["client tor1 e7 25G -"], "a bridge is no host");
    let graph = loaded.graph(Cable::DEFAULT).expect("connected");
    assert_eq!((graph.nodes().len(), graph.links().len()), (3, 2));
}

#[test]
fn neighbours_that_match_no_rule_are_the_hosts_of_lldp_dumps() {
    let port = |port: &str, name: &str, far: &str| {
        format!(
            "{{\"{port}\": {{\"chassis\": {{\"{name}\": {{}}}}, \"port\": {{\"id\": {{\"type\": \"ifname\", \"value\": \"{far}\"}}}}}}}}"
        )
    };
    let dump =
        |ports: &[String]| format!("{{\"lldp\": {{\"interface\": [{}]}}}}", ports.join(", ")).into_bytes();
    let rules =
        "layers:\n- {match: \"tor*\", layer: 0}\n- {match: \"spine*\", layer: 1}\ndefault_speed: 100G\n";
    let dumps = [
        ("tor1.json", dump(&[port("swp1", "spine1", "swp1"), port("swp9", "web1", "eth0")])),
        ("tor2.json", dump(&[port("swp1", "spine1", "swp2"), port("swp8", "web1", "eth1")])),
    ];
    let dumps = dumps.map(|(name, dump)| (name.to_owned(), dump));
    let loaded = parse_lldp(dumps, ("layers.yaml".to_owned(), rules.into()), &NO_OPTIONS).expect("a network");
    assert_eq!(hosts(&loaded), ["web1 tor1 swp9 100G -", "web1 tor2 swp8 100G -"]);
    let graph = loaded.graph(Cable::DEFAULT).expect("connected");
    assert_eq!(graph.hosts().count(), 1, "a host at two switches is one host");
}

#[test]
fn the_file_in_the_documentation_names_two_hosts() {
    let page = include_str!("../../../../docs/fleet.md");
    let (_, rest) = page.split_once("```yaml\n").expect("a file is shown");
    let (text, _) = rest.split_once("```").expect("it ends");
    let loaded = loaded(text);
    assert_eq!(hosts(&loaded), ["web1 tor1 swp7 25G 5m", "db1 tor1 - 100G -"]);
}
