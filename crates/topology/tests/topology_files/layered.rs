//! Layered networks.

use super::*;
use linkmend_topology::file::write_layered;
use linkmend_topology::{FabricParameters, ZoneId, fat_tree, leaf_spine};
use proptest::prelude::*;

fn zones(topology: &Topology) -> Vec<String> {
    (0..topology.zone_count() as u32).map(|zone| topology.names().zone(ZoneId(zone))).collect()
}

#[test]
fn a_layered_network_is_read_alike_as_yaml_and_as_json() {
    let yaml = "\
default_speed: 100G
switches:
  - name: t1
    layer: 0
    pipes: 2
  - {name: t2, layer: 0}
  - {name: s1, layer: 1}
links:
  - {from: t1, to: s1}
  - {from: s1, to: t1}
  - {from: t1, to: s1, speed: 25G}
  - {from: t2, to: s1, name: long}
";
    let json = r#"{
	"default_speed": "100G",
	"switches": [
		{"name": "t1", "layer": 0, "pipes": 2}, {"name": "t2", "layer": 0}, {"name": "s1", "layer": 1}
	],
	"links": [
		{"from": "t1", "to": "s1"}, {"from": "s1", "to": "t1"},
		{"from": "t1", "to": "s1", "speed": "25G"}, {"from": "t2", "to": "s1", "name": "long"}
	]
}"#;
    for (name, text) in [("net.yaml", yaml), ("net.json", json), ("net.conf", json)] {
        let loaded = read_text(name, text.as_bytes(), &NO_OPTIONS).unwrap();
        let topology = &loaded.topology;
        assert_eq!(links(topology), ["t1--s1#1 100G", "s1--t1#2 100G", "t1--s1#3 25G", "long 100G"]);
        assert_eq!(switches(topology), ["t1 0 pod0", "t2 0 pod1", "s1 1 -"]);
        assert_eq!(topology.switch(SwitchId(0)).pipes, 2);
        assert!(loaded.warnings.is_empty());
    }
}

#[test]
fn what_is_wrong_with_the_switches_of_a_layered_network_is_said_with_its_line() {
    let with = |rest: &str| format!("{TWO}{rest}");
    let cases = [
        ("switches: []\n".into(), "n.yaml: the network has no switches"),
        ("switches: [\n".into(), "n.yaml:1: unclosed bracket '['"),
        ("switches:\n- {name: s, layer: 1}\n".into(), "n.yaml: no switch has layer 0, the layer of the ToRs"),
        (
            "switches:\n- {name: s, layer: 0}\n".into(),
            "n.yaml: a network needs at least two layers, but the highest layer is 0",
        ),
        ("switches:\n- name: t\n".into(), "n.yaml:2: missing field `layer`"),
        (
            "switches:\n- name: t\n  layr: 0\n".into(),
            "n.yaml:3: unknown field `layr`, expected one of name, layer, pod, pipes",
        ),
        ("switches:\n- name: t\n  layer: -1\n".into(), "n.yaml:3: -1 is below 0"),
        (
            "switches:\n- name: t\n  layer: low\n".into(),
            "n.yaml:3: invalid type: string \"low\", expected a whole number",
        ),
        (
            "switches:\n- name: t\n  layer: 32\n".into(),
            "n.yaml:2: layer of t is 32; it must be from 0, the ToRs, to 31",
        ),
        (
            "switches:\n- name: t\n  layer: 18446744073709551615\n".into(),
            "n.yaml:2: layer of t is 18446744073709551615; it must be from 0, the ToRs, to 31",
        ),
        (
            "switches:\n- {name: t, layer: 0, pipes: 257}\n".into(),
            "n.yaml:2: pipes of t is 257; it must be from 1 to 256",
        ),
        ("switches:\n- {name: '', layer: 0}\n".into(), "n.yaml:2: a switch has an empty name"),
        (with("- {name: t, layer: 1}\n"), "n.yaml:4: switch t is already defined at n.yaml:2"),
        (
            with("other: 1\n"),
            "n.yaml:4: unknown field `other`, expected one of default_speed, default_length, switches, links, hosts",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused("n.yaml", &text), expected, "{text}");
    }
}

#[test]
fn what_is_wrong_with_the_links_of_a_layered_network_is_said_with_its_line() {
    let with = |rest: &str| format!("{TWO}{rest}");
    let link = |link: &str| format!("{TWO}links:\n- {{from: t, to: s}}\n- {link}\n");
    let cases = [
        (with("links: []\n"), "n.yaml:2: t has no path to the top layer (layer 1)"),
        (link("{from: t, to: x}"), "n.yaml:6: link t--x ends at x, which is not defined"),
        (link("from: t\n  to: x"), "n.yaml:7: link t--x ends at x, which is not defined"),
        (link("{from: t, to: t}"), "n.yaml:6: link t--t connects t to itself"),
        (
            link("{from: t, to: s, name: t--s}"),
            "n.yaml:6: the name of link t--s also means t--s#1\ngive the link a different `name`, or none, \
             so that it is identified by its switches and ports",
        ),
        (
            link("{from: t, to: s, speed: 0G}"),
            "n.yaml:6: speed of t--s is 0bit/s; it must be above 0 and at most 1600G",
        ),
        (
            link("{from: t, to: s, speed: 2T}"),
            "n.yaml:6: speed of t--s is 2T; it must be above 0 and at most 1600G",
        ),
        (
            link("{from: t, to: s, speed: 100}"),
            "n.yaml:6: `100` has no unit; a rate is written like `100G`, with one of k, M, G, T, bit/s, Gbit/s",
        ),
        (link("{from: t, to: s, from: t}"), "n.yaml:6: duplicate mapping key `from` is not allowed here"),
        (
            with("- {name: t2, layer: 0}\nlinks:\n- {from: t, to: s}\n- {from: t2, to: t}\n"),
            "n.yaml:4: t2 has no path to the top layer (layer 1)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refused("n.yaml", &text), expected, "{text}");
    }
}

#[test]
fn a_link_without_a_speed_and_a_file_that_is_no_text_or_not_there_are_refused() {
    let no_speed = format!("{TWO}links:\n- {{from: t, to: s}}\n");
    let error = with_hint(&read_text("n.yaml", no_speed.as_bytes(), &NO_OPTIONS).unwrap_err());
    assert!(error.ends_with(
        "n.yaml:5: link t--s has no speed\ngive it a `speed`, like `100G`, or give a default speed"
    ));
    let error = read_text("n.yaml", b"switches:\n- {name: \xff}", &NO_OPTIONS).unwrap_err().to_string();
    assert!(error.ends_with("n.yaml:2: this is not UTF-8 text"), "{error}");
    let missing = read_topology(Path::new("/nonexistent.yaml"), &NO_OPTIONS).unwrap_err().to_string();
    assert!(missing.starts_with("/nonexistent.yaml: "), "{missing}");
}

#[test]
fn too_many_paths_are_refused_at_the_tor() {
    let mut text = "switches:\n- {name: t, layer: 0}\n".to_owned();
    let mut links = "links:\n".to_owned();
    for layer in 1..=25 {
        text += &format!("- {{name: s{layer}, layer: {layer}}}\n");
        let below = if layer == 1 { "t".to_owned() } else { format!("s{}", layer - 1) };
        links += &format!("- {{from: {below}, to: s{layer}}}\n").repeat(2);
    }
    let message = refused("n.yaml", &(text + &links));
    assert_eq!(message, "n.yaml:2: t has more than 16777216 paths to the top layer");
}

#[test]
fn zones_are_called_after_the_pods_in_them() {
    let text = "\
switches:
- {name: a, layer: 0, pod: east}
- {name: b, layer: 0, pod: west}
- {name: c, layer: 0, pod: east}
- {name: d, layer: 0}
- {name: e, layer: 0, pod: 'east#2'}
- {name: f, layer: 1}
- {name: top, layer: 2, pod: ignored}
links:
- {from: a, to: f}
- {from: b, to: f}
- {from: f, to: top}
- {from: c, to: top}
- {from: d, to: top}
- {from: e, to: top}
";
    let loaded = read_text("n.yaml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(zones(&loaded.topology), ["east+west", "east", "pod2", "east#2"]);
    let spread = text.replace("pod: west", "pod: east");
    let loaded = read_text("n.yaml", spread.as_bytes(), &AT_100G).unwrap();
    assert_eq!(zones(&loaded.topology), ["east", "east#2", "pod2", "east#2#2"]);
}

#[test]
fn a_switch_above_the_tors_without_a_link_up_is_worth_a_warning() {
    let text = "switches:\n- {name: t, layer: 0}\n- {name: f, layer: 1}\n- {name: s, layer: 2}\nlinks:\n- {from: t, to: s}\n";
    let loaded = read_text("n.yaml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(loaded.warnings, ["1 switch below the top layer without a link up: f"]);
}

fn written(topology: &Topology) -> String {
    let mut text = Vec::new();
    write_layered(topology, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_network_that_is_written_reads_back_as_itself() {
    let small = FabricParameters { pods: 3, tors_per_pod: 4, spines_per_plane: 2, ..FabricParameters::PAPER };
    let from_lab = read_topology(&data("clos.clab.yml"), &NO_OPTIONS).unwrap().topology;
    for topology in [small.build().unwrap(), fat_tree(4, 25_000_000_000).unwrap(), from_lab] {
        let text = written(&topology);
        let read = read_text("n.yaml", text.as_bytes(), &NO_OPTIONS).unwrap();
        assert!(read.warnings.is_empty());
        assert_eq!(written(&read.topology), text);
        assert_eq!(read.topology.zone_count(), topology.zone_count());
        for link in (0..topology.link_count() as u32).map(LinkId) {
            assert_eq!(read.topology.link(link), topology.link(link));
            assert_eq!(read.topology.capacity(link), topology.capacity(link));
        }
    }
}

proptest! {
    /// Any layered network survives being written and read.
    #[test]
    fn any_network_reads_back_as_itself(
        sizes in prop::collection::vec(1_usize..4, 2..4),
        name in "[ -~é\n]{0,8}",
        seed in any::<u64>(),
    ) {
        let mut text = "switches:\n".to_owned();
        let switch = |layer: usize, at: usize| serde_json::to_string(&format!("{name}{layer}-{at}")).unwrap();
        for (layer, &size) in sizes.iter().enumerate() {
            (0..size).for_each(|at| text += &format!("- {{name: {}, layer: {layer}}}\n", switch(layer, at)));
        }
        text += "links:\n";
        for layer in 1..sizes.len() {
            for low in 0..sizes[layer - 1] {
                for high in 0..sizes[layer] {
                    // The first switch above is always linked, so that there is a path.
                    let links = if high == 0 { 1 } else { seed >> (layer * 9 + low * 3 + high) & 1 };
                    let link = format!("- {{from: {}, to: {}}}\n", switch(layer - 1, low), switch(layer, high));
                    text += &link.repeat(links as usize);
                }
            }
        }
        let read = read_text("n.yaml", text.as_bytes(), &AT_100G).unwrap();
        let first = written(&read.topology);
        let again = read_text("n.yaml", first.as_bytes(), &NO_OPTIONS).unwrap();
        prop_assert_eq!(written(&again.topology), first);
    }
}

/// A spine of more than 4,096 ports has more pipes than a file may say, and what was written was refused.
#[test]
fn a_spine_of_very_many_ports_is_read_as_it_was_written() {
    let topology = leaf_spine(5000, 1, 1_000_000_000).unwrap();
    let mut text = Vec::new();
    write_layered(&topology, &mut text).unwrap();
    let again = read_text("wide.yaml", &text, &NO_OPTIONS).unwrap().topology;
    assert_eq!(again.switch(SwitchId(5000)), topology.switch(SwitchId(5000)));
    assert_eq!(again.switch(SwitchId(5000)).pipes, 313);
}

/// Pairs of leaves in MLAG, and spines with a link between them.
#[test]
fn links_between_switches_of_one_layer_are_kept_beside_the_paths() {
    let text = "default_speed: 100G
switches:
- {name: t1, layer: 0}
- {name: t2, layer: 0}
- {name: s1, layer: 1}
- {name: s2, layer: 1}
links:
- {from: t1, to: s1}
- {from: t1, to: t2, from_port: a, to_port: b}
- {from: t2, to: s1}
- {from: t2, to: s2}
- {from: s2, to: s1}
";
    let loaded = read_text("net.yaml", text.as_bytes(), &NO_OPTIONS).unwrap();
    let topology = &loaded.topology;
    let peers: Vec<u32> =
        topology.links().filter(|&link| topology.is_peer(link)).map(|link| link.0).collect();
    assert_eq!(peers, [1, 4]);
    let paths = linkmend_topology::paths::Paths::new(topology);
    assert_eq!([0, 1].map(|tor| paths.count(SwitchId(tor))), [1, 2]);
    let [t1, t2] = [SwitchId(0), SwitchId(1)];
    let switches = |hops: &[linkmend_topology::Hop]| hops.iter().map(|hop| hop.switch).collect::<Vec<_>>();
    assert_eq!((switches(topology.beside(t1)), switches(topology.beside(t2))), (vec![t2], vec![t1]));
    assert_eq!(switches(topology.up(t1)), [SwitchId(2)]);
    let zones: Vec<String> =
        peers.iter().map(|&link| topology.names().zone(topology.zone_of(LinkId(link)))).collect();
    assert_eq!(zones, ["pod0", "top layer"]);
}
