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
    let grouped = lab(&["x: {group: tor}", "y: {group: tor}", "z: {kind: srl}"], &["x:1, z:1", "y:1, z:2"]);
    for (text, warnings) in [(named, 1), (levels, 1), (grouped, 0)] {
        let loaded = read_text("l.clab.yml", text.as_bytes(), &AT_100G).unwrap();
        let layers: Vec<u8> = (0..3).map(|switch| loaded.topology.switch(SwitchId(switch)).layer).collect();
        assert_eq!(layers, [0, 0, 1], "{text}");
        assert_eq!(loaded.warnings.len(), warnings, "{:?}", loaded.warnings);
    }
}

#[test]
fn what_is_wrong_with_a_lab_is_said_with_its_line() {
    let label = "cannot tell the layers";
    let hint = "add the label `linkmend.layer` (0 for a ToR) to every switch";
    let cases = [
        ("topology:\n".to_owned(), "the network has no switches".to_owned()),
        (
            lab(&["h: {kind: linux}"], &[]),
            format!("all nodes are of kinds that are taken for hosts, such as linux\n{hint}"),
        ),
        (
            lab(&["a:", "b:"], &["a:1, b:1"]),
            format!("{label}: no group or name says `tor` or `leaf`\n{hint}"),
        ),
        (lab(&["leaf1:", "b:"], &[]), format!("{label}: b has no path to a leaf\n{hint}")),
        (
            lab(
                &["leaf1:", "spine1:", "x:", "spine2:"],
                &["leaf1:1, spine1:1", "spine1:2, x:1", "x:2, spine2:1"],
            ),
            format!(
                "{label}: spine1 is 1 and spine2 is 3 above the lowest layer, but both are called spine\n{hint}"
            ),
        ),
        (
            lab(&["leaf1:", "agg1:", "core1:"], &["leaf1:1, agg1:1", "leaf1:2, core1:2"]),
            format!("{label}: core1 (superspine or core) is not above agg1 (agg)\n{hint}"),
        ),
        (
            lab(&["leaf1:", "leaf2:", "spine1:"], &["leaf1:1, spine1:1", "leaf1:2, leaf2:2"]),
            "4: leaf2 has no path to the top layer (layer 1)".into(),
        ),
        (
            lab(&["leaf1:", "spine1:"], &["leaf1:1, spine:1"]),
            "6: link leaf1:1--spine:1 ends at spine, which is not defined".into(),
        ),
        (
            lab(&["leaf1:", "spine1:"], &["leaf1:1, leaf1:2"]),
            format!("{label}: spine1 has no path to a leaf\n{hint}"),
        ),
        (
            lab(&["a: {labels: {linkmend.layer: 0}}", "b: {labels: {linkmend.layer: 1}}"], &["a:1, a:2"]),
            "6: link a:1--a:2 joins a with itself".into(),
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
