//! containerlab topologies.

use super::*;

#[test]
fn a_containerlab_topology_gives_switches_links_and_what_was_left_out() {
    let loaded = read_topology(&data("clos.clab.yml"), &NO_OPTIONS).unwrap();
    assert_eq!(
        switches(&loaded.topology),
        [
            "leaf1 0 east",
            "leaf2 0 east",
            "leaf3 0 west",
            "leaf4 0 west",
            "agg1 1 east",
            "agg2 1 west",
            "spine1 2 -",
            "spine2 2 -"
        ]
    );
    assert_eq!(
        links(&loaded.topology),
        [
            "leaf1:e1-1--agg1:e1-1 100G",
            "leaf2:e1-1--agg1:e1-2 100G",
            "agg2:e1-1--leaf3:e1-1 100G",
            "leaf4:e1-1--agg2:e1-2 100G",
            "agg1:e1-49--spine1:e1-1 200G",
            "agg1:e1-50--spine2:e1-1 100G",
            "agg2:e1-49--spine1:e1-2 100G",
            "agg2:e1-50--spine2:e1-2 100G",
        ]
    );
    assert_eq!(
        loaded.warnings,
        [
            "left out 2 links out of the lab",
            "left out 2 nodes without a label `linkmend.layer`, with their links: server1, server3",
        ]
    );
}

/// A lab with these nodes and links, one a line.
fn lab(nodes: &[&str], links: &[&str]) -> String {
    let mut text = "topology:\n  nodes:\n".to_owned();
    nodes.iter().for_each(|node| text += &format!("    {node}\n"));
    text += "  links:\n";
    links.iter().for_each(|link| text += &format!("    - endpoints: [{link}]\n"));
    text
}

#[test]
fn layers_come_from_graph_levels_or_names_where_no_label_says_them() {
    let wires = ["a-leaf1:1, a-spine1:1", "b-leaf1:1, a-spine1:2", "a-leaf1:9, h:1"];
    let named = lab(&["a-leaf1:", "b-leaf1:", "a-spine1:", "h: {kind: linux}"], &wires);
    let levels = named
        .replace("leaf1:\n", "leaf1: {labels: {graph-level: 2}}\n")
        .replace("spine1:\n", "spine1: {labels: {graph-level: \"1\"}}\n")
        .replace("kind: linux", "kind: linux, labels: {graph-level: 3}");
    let grouped = lab(&["x: {group: tor}", "y: {group: tor}", "z: {kind: srl}"], &["x:1, z:1", "y:1, z:2"])
        .replace("z: {kind: srl}", "z: {kind: linux, group: spine}");
    for (text, warnings) in [(named, 1), (levels, 1), (grouped, 0)] {
        let loaded = read_text("l.clab.yml", text.as_bytes(), &AT_100G).unwrap();
        let layers: Vec<u8> = (0..3).map(|switch| loaded.topology.switch(SwitchId(switch)).layer).collect();
        assert_eq!(layers, [0, 0, 1], "{text}");
        assert_eq!(loaded.warnings.len(), warnings, "{:?}", loaded.warnings);
    }
}

#[test]
fn what_is_wrong_with_a_lab_is_said_with_its_line() {
    let label = "cannot determine the layers";
    let hint =
        "specify the layers by name, like `--layers 'leaf*=0,spine*=1'`, or with the label `linkmend.layer`";
    let nothing = "no label, group or name identifies ToRs, leaves or access switches";
    let alone = "no link connects two switches with keywords";
    let cases = [
        ("topology:\n".to_owned(), "the network has no switches".to_owned()),
        (
            lab(&["h: {kind: linux}"], &[]),
            format!(
                "all nodes are of kinds that are treated as hosts, such as linux, and no keyword identifies \
                 a leaf or spine\n{hint}"
            ),
        ),
        (lab(&["a:", "b:"], &["a:1, b:1"]), format!("{label}: {nothing}\n{hint}")),
        (lab(&["leaf1:", "b:"], &[]), format!("{label}: {alone}\n{hint}")),
        (
            lab(&["leaf1:", "leaf2:", "leaf3:", "spine1:"], &["leaf1:1, spine1:1", "leaf2:2, leaf3:2"]),
            "4: leaf2 has no path to the top layer (layer 1)".into(),
        ),
        (
            lab(&["leaf1:", "spine1:"], &["leaf1:1, spine:1"]),
            "6: link leaf1:1--spine:1 ends at spine, which is not defined".into(),
        ),
        (lab(&["leaf1:", "spine1:"], &["leaf1:1, leaf1:2"]), format!("{label}: {alone}\n{hint}")),
        (
            lab(&["a: {labels: {linkmend.layer: 0}}", "b: {labels: {linkmend.layer: 1}}"], &["a:1, a:2"]),
            "3: a has no path to the top layer (layer 1)".into(),
        ),
        (
            lab(&["a: {labels: {linkmend.layer: low}}"], &[]),
            "3: label linkmend.layer of a is `low`, not a whole number".into(),
        ),
        (lab(&["leaf1:", "spine1:"], &["leaf1:1"]), "6: a link needs two `endpoints`".into()),
        (lab(&["leaf1:", "spine1:"], &["leaf1, spine1:1"]), "6: `leaf1` is not `node:interface`".into()),
        (lab(&["leaf1:", "leaf1:"], &[]), "4: switch leaf1 is already defined at l.clab.yml:3".into()),
        (
            lab(&["leaf1: {labels: {linkmend.speed: 7}}", "spine1:"], &["leaf1:1, spine1:1"]),
            "3: `7` has no unit; a rate is written like `7G`, with one of k, M, G, T, bit/s, Gbit/s".into(),
        ),
    ];
    for (text, expected) in cases {
        let message = refused("l.clab.yml", &text);
        let message = message.trim_start_matches("l.clab.yml:").trim_start();
        assert_eq!(message, expected, "{text}");
    }
    let text = lab(&["leaf1:", "spine1:"], &["leaf1:1, spine1:1"]);
    let error = read_text("l.clab.yml", text.as_bytes(), &NO_OPTIONS).unwrap_err();
    let error = with_hint(&error);
    assert!(error.ends_with(":6: link leaf1:1--spine1:1 has no speed\ngive it a label `linkmend.speed`, like `100G`, or give a default speed"), "{error}");
}

/// Where each node of a lab was put, and why: `name layer reason`; those outside as `name - reason`.
fn places(loaded: &Loaded) -> Vec<String> {
    let names = loaded.topology.names();
    let switch = |switch: SwitchId| {
        let (basis, reason) = &loaded.understood.reasons[&switch];
        format!("{} {} {basis:?}: {reason}", names.switch(switch), loaded.topology.switch(switch).layer)
    };
    let outside = loaded.understood.outside.iter().map(|node| format!("{} - {}", node.name, node.reason));
    loaded.topology.switches().map(switch).chain(outside).collect()
}

/// The shape of a public topology of which a plan disabled both uplinks of a leaf, because it took two border routers and a
/// traffic generator for spines.
#[test]
fn border_routers_and_traffic_generators_are_no_spines() {
    let text = lab(
        &[
            "sp1: {kind: n9k, group: spine1}",
            "sp2: {kind: n9k, group: spine1}",
            "lf1: {kind: n9k, group: leaf1}",
            "lf2: {kind: n9k, group: leaf1}",
            "bgrt1: {kind: n9k, group: network-function1}",
            "trge1: {kind: keysight_ixia-c-one, group: network-function1}",
        ],
        &[
            "sp1:1, lf1:1",
            "sp1:2, lf2:1",
            "sp2:1, lf1:2",
            "sp2:2, lf2:2",
            "lf1:5, bgrt1:1",
            "lf1:6, bgrt1:2",
            "lf1:7, trge1:1",
        ],
    );
    let loaded = read_text("l.clab.yml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(
        places(&loaded),
        [
            "sp1 1 Named: group `spine1`",
            "sp2 1 Named: group `spine1`",
            "lf1 0 Named: group `leaf1`",
            "lf2 0 Named: group `leaf1`",
            "bgrt1 - no label, group or name indicates its layer",
        ]
    );
    assert_eq!(linkmend_topology::paths::Paths::new(&loaded.topology).count(SwitchId(2)), 2);
    assert_eq!(loaded.host_links.len(), 1, "the traffic generator is a host");
    assert_eq!(loaded.understood.doubts.len(), 1);
    assert_eq!(loaded.understood.doubts[0].place.line, Some(7));
    loaded.require_known_top("l").unwrap();
}

#[test]
fn a_top_that_is_a_guess_is_refused_with_the_option_that_says_it() {
    let guess = |nodes: &[&str], links: &[&str]| {
        let loaded = read_text("l.clab.yml", lab(nodes, links).as_bytes(), &AT_100G).unwrap();
        with_hint(&loaded.require_known_top("l.clab.yml").unwrap_err())
    };
    let square = ["l01:1, s01:1", "l02:1, s01:2", "l01:3, h01:1"];
    assert_eq!(
        guess(&["l01: {kind: ceos}", "l02: {kind: ceos}", "s01: {kind: ceos}", "h01: {kind: ceos}"], &square),
        "l.clab.yml: the top layer is a guess: only the letters l and s in names indicate which switches \
         are leaves and spines\n\
         if it is right, confirm it: --layers 'l*=0,s*=1'"
    );
    let odd = ["leaf1:1, spine1:1", "leaf2:1, spine1:2", "leaf1:2, x9:1", "leaf2:2, x9:2"];
    let message = guess(&["leaf1:", "leaf2:", "spine1:", "x9:"], &odd);
    assert!(
        message.contains("x9 is connected to several leaves, and nothing indicates whether it is above them"),
        "{message}"
    );
    let levels = ["a: {labels: {graph-level: 2}}", "b: {labels: {graph-level: 1}}"];
    assert!(guess(&levels, &["a:1, b:1"]).contains("only `graph-level`"));
    // A core that only a border leaf is cabled to is not what all leaves climb to.
    let core = ["leaf1:1, spine1:1", "leaf2:1, spine1:2", "leaf2:2, core:1"];
    assert!(
        guess(&["leaf1:", "leaf2:", "spine1:", "core:"], &core).contains("the keyword of core puts it above")
    );
}

#[test]
fn layers_of_an_option_come_before_words() {
    let text = lab(&["l1:", "l2:", "s1:", "x1:"], &["l1:1, s1:1", "l2:1, x1:2", "l2:2, s1:2", "l1:2, l2:3"]);
    let layers = "l*=0,x*=1,s*=1".parse().unwrap();
    let options = TopologyFileOptions { layers: Some(layers), ..AT_100G };
    let loaded = read_text("l.clab.yml", text.as_bytes(), &options).unwrap();
    assert_eq!(switches(&loaded.topology), ["l1 0 pod0", "l2 0 pod1", "s1 1 -", "x1 1 -"]);
    loaded.require_known_top("l").unwrap();
    let error = "l*=0,s*".parse::<linkmend_topology::file::LayersOption>().unwrap_err();
    assert_eq!(error, "`s*` is not PATTERN=LAYER with a layer from 0, the ToRs, to 31");
}

#[test]
fn leaves_below_leaves_are_a_layer_of_their_own() {
    let text = lab(
        &["leaf1a:", "leaf1b:", "leaf1c:", "leaf2:", "spine1:", "leaf1-gpu1: {kind: linux}"],
        &[
            "leaf1a:1, spine1:1",
            "leaf1b:1, spine1:2",
            "leaf1a:2, leaf1b:2",
            "leaf1c:1, leaf1a:3",
            "leaf1c:2, leaf1b:3",
            "leaf2:1, spine1:3",
            "leaf2:2, leaf1-gpu1:1",
        ],
    );
    let loaded = read_text("l.clab.yml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(
        places(&loaded),
        [
            "leaf1a 1 Named: name",
            "leaf1b 1 Named: name",
            "leaf1c 0 Guessed: name; its only uplinks lead to switches of its own kind",
            "leaf2 0 Guessed: name; there is no switch below it, so it is a ToR",
            "spine1 2 Named: name",
        ]
    );
    let peers = loaded.topology.links().filter(|&link| loaded.topology.is_peer(link)).count();
    assert_eq!((peers, loaded.host_links.len()), (1, 1));
    loaded.require_known_top("l").unwrap();
}

#[test]
fn switches_that_no_tor_reaches_are_named() {
    let text =
        lab(&["leaf1:", "spine1:", "spine2:", "spine3:"], &["leaf1:1, spine1:1", "spine2:1, spine3:1"]);
    let loaded = read_text("l.clab.yml", text.as_bytes(), &AT_100G).unwrap();
    let doubts: Vec<&str> = loaded.understood.doubts.iter().map(|doubt| &doubt.text[..]).collect();
    assert_eq!(doubts, ["no ToR has a path to spine2", "no ToR has a path to spine3"]);
}

/// `evpnlab` of a public repository: a core behind a border leaf was taken for a layer above the spines.
#[test]
fn a_core_behind_a_border_leaf_is_outside_and_no_doubt_about_the_top() {
    let nodes = ["leaf1:", "leaf2:", "borderleaf:", "spine1:", "spine2:", "core:", "firewall:"];
    let ups = ["leaf1", "leaf2", "borderleaf"].into_iter().enumerate();
    let ups = ups.flat_map(|(n, leaf)| [1, 2].map(|spine| format!("{leaf}:e{spine}, spine{spine}:e{n}")));
    let outside =
        ["core:1, borderleaf:3", "firewall:1, borderleaf:4", "core:2, firewall:2"].map(str::to_owned);
    let links: Vec<String> = ups.chain(outside).collect();
    let links: Vec<&str> = links.iter().map(String::as_str).collect();
    let loaded = read_text("n.clab.yml", lab(&nodes, &links).as_bytes(), &AT_100G).unwrap();
    assert_eq!(loaded.understood.top_guess, None);
    let outside: Vec<&str> = loaded.understood.outside.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(outside, ["core", "firewall"]);
    assert_eq!(loaded.topology.tors().len(), 3);
}

/// Leaves whose spines no word describes were left out, and what remained was planned for.
#[test]
fn leaves_that_only_unknown_switches_join_make_the_top_a_guess() {
    let nodes =
        ["leaf1: {kind: linux}", "leaf2: {kind: linux}", "top1: {kind: linux}", "borderleaf:", "core:"];
    let links = ["leaf1:1, top1:1", "leaf2:1, top1:2", "borderleaf:1, core:1"];
    let loaded = read_text("n.clab.yml", lab(&nodes, &links).as_bytes(), &AT_100G).unwrap();
    let guess = loaded.understood.top_guess.unwrap();
    assert_eq!(guess, "top1 is connected to several leaves, and nothing indicates whether it is above them");
    // Two leaves with a host in common are no such case.
    let nodes = ["leaf1:", "leaf2:", "spine1:", "h1: {kind: linux}"];
    let links = ["leaf1:1, spine1:1", "leaf2:1, spine1:2", "h1:1, leaf1:2", "h1:2, leaf2:2"];
    let loaded = read_text("n.clab.yml", lab(&nodes, &links).as_bytes(), &AT_100G).unwrap();
    assert_eq!(loaded.understood.top_guess, None);
}

/// `dci03`: every node is a Linux machine, those with FRR are switches, and letters say which.
#[test]
fn linux_machines_that_route_are_known_by_letters() {
    let frr = |name: &str| format!("{name}: {{kind: linux, image: 'frrouting/frr:v8.4.1'}}");
    let nodes: Vec<String> = ["dc1_l1", "dc1_l2", "dc1_s1", "dc1_s2", "dc1_cr1"].map(frr).into();
    let nodes: Vec<&str> =
        nodes.iter().map(String::as_str).chain(["cpe1: {kind: linux, image: alpine}"]).collect();
    let links = [
        "dc1_l1:1, dc1_s1:1",
        "dc1_l1:2, dc1_s2:1",
        "dc1_l2:1, dc1_s1:2",
        "dc1_l2:2, dc1_s2:2",
        "dc1_s1:3, dc1_cr1:1",
    ];
    let links: Vec<&str> = links.into_iter().chain(["cpe1:1, dc1_l1:3"]).collect();
    let loaded = read_text("n.clab.yml", lab(&nodes, &links).as_bytes(), &AT_100G).unwrap();
    assert_eq!(loaded.topology.tors().len(), 2);
    assert!(loaded.understood.top_guess.is_some(), "letters are a guess");
    assert_eq!(loaded.understood.outside[0].name, "dc1_cr1");
    assert_eq!(loaded.host_links.len(), 1);
    let plain = lab(&["dc1_l1: {kind: linux}", "dc1_s1: {kind: linux}"], &["dc1_l1:1, dc1_s1:1"]);
    assert!(refused("n.clab.yml", &plain).contains("all nodes are of kinds that are treated as hosts"));
}

/// A cable from a switch to itself was refused, with the whole network.
#[test]
fn a_cable_to_itself_is_left_out() {
    let links = ["leaf1:1, spine1:1", "leaf1:8, leaf1:9"];
    let loaded = read_text("n.clab.yml", lab(&["leaf1:", "spine1:"], &links).as_bytes(), &AT_100G).unwrap();
    assert_eq!(loaded.topology.link_count(), 1);
    let doubt = &loaded.understood.doubts[0];
    assert_eq!(doubt.text, "a cable from leaf1 to itself is left out, because it is on no path");
    assert_eq!(doubt.place.line, Some(7));
}

#[test]
fn a_group_says_the_role_whatever_the_kind() {
    let nodes = [
        "x1: {kind: linux, group: leaf}",
        "x2: {kind: ceos, group: leaf}",
        "y1: {kind: linux, group: spine}",
    ];
    let loaded =
        read_text("n.clab.yml", lab(&nodes, &["x1:1, y1:1", "x2:1, y1:2"]).as_bytes(), &AT_100G).unwrap();
    assert_eq!(switches(&loaded.topology), ["x1 0 pod0", "x2 0 pod1", "y1 1 -"]);
    assert_eq!(loaded.understood.top_guess, None);
}
