//! One rule for names of links in all formats: see `linkmend_topology::LinkFinder`.

use super::{AT_100G, NO_OPTIONS, read_text, refused};
use linkmend_topology::file::{Loaded, read_topology};
use linkmend_topology::{LinkFinder, LinkId};
use std::fs;

const CONTAINERLAB: &str = "name: p
topology:
  nodes:
    leaf1: {kind: ceos}
    leaf2: {kind: ceos}
    spine1: {kind: ceos}
  links:
    - endpoints: ['leaf1:eth1', 'spine1:eth1']
    - endpoints: ['leaf1:eth2', 'spine1:eth2']
    - endpoints: ['leaf2:eth1', 'spine1:eth3']
";

const LAYERED: &str = "default_speed: 100G
switches:
- {name: leaf1, layer: 0}
- {name: leaf2, layer: 0}
- {name: spine1, layer: 1}
links:
- {from: leaf1, to: spine1, from_port: eth1, to_port: eth1}
- {from: leaf1, to: spine1, from_port: eth2, to_port: eth2}
- {from: leaf2, to: spine1, from_port: eth1, to_port: eth3}
";

fn view(port: &str, chassis: &str, far_port: &str) -> String {
    format!(
        r#"{{"{port}": {{"via": "LLDP", "chassis": {{"{chassis}": {{}}}}, "port": {{"id": {{"type": "ifname", "value": "{far_port}"}}}}}}}}"#
    )
}

/// The same network as three LLDP dumps, whose switches announce themselves with a domain.
fn lldp() -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let dump = |name: &str, views: &[String]| {
        let text = format!(r#"{{"lldp": {{"interface": [{}]}}}}"#, views.join(", "));
        fs::write(folder.path().join(format!("{name}.json")), text).unwrap();
    };
    let spine = "spine1.dc1.example.com";
    dump("leaf1", &[view("eth1", spine, "eth1"), view("eth2", spine, "eth2")]);
    dump("leaf2", &[view("eth1", spine, "eth3")]);
    let rules = "layers:\n- {match: 'leaf*', layer: 0}\n- {match: 'spine*', layer: 1}\n";
    fs::write(folder.path().join("layers.yaml"), rules).unwrap();
    read_topology(folder.path(), &AT_100G).expect("a network")
}

fn all() -> [(&'static str, Loaded); 3] {
    let read = |name: &str, text: &str| read_text(name, text.as_bytes(), &AT_100G).expect("a network");
    [
        ("containerlab", read("p.clab.yml", CONTAINERLAB)),
        ("layered", read("p.yaml", LAYERED)),
        ("lldp", lldp()),
    ]
}

/// A regression: `leaf1--spine1` was refused in one format and meant the first of two links in another.
#[test]
fn parallel_links_are_told_apart_by_their_ports_in_every_format() {
    let found = [
        ("leaf1:eth2--spine1:eth2", 1),
        ("spine1:eth2--leaf1:eth2", 1),
        ("leaf1:eth2--spine1", 1),
        ("spine1--leaf1:eth1", 0),
        ("spine1:eth3", 2),
        ("leaf1/eth2", 1),
        ("LEAF1:ETH2", 1),
        ("spine1.dc1.example.com:eth2--leaf1.dc1.example.com:eth2", 1),
        ("spine1.dc1:eth1", 0),
        ("leaf2--spine1", 2),
        ("spine1--LEAF2", 2),
        ("leaf1--spine1#2", 1),
        ("1", 1),
    ];
    let refused = [
        ("leaf1--spine1", "`leaf1--spine1` may be any of 2 links: "),
        ("spine1--leaf1", "`spine1--leaf1` may be any of 2 links: "),
        (
            "leaf1:eth1--spine1:eth2",
            "there is no link `leaf1:eth1--spine1:eth2`; the links between leaf1 and ",
        ),
        ("leaf1:eth9", "leaf1 has no link at a port `eth9`; its links are "),
        ("leaf1--spine1#3", "the links between leaf1 and "),
        ("leaf1--leaf2", "there is no link between leaf1 and leaf2, though both switches exist"),
    ];
    for (format, loaded) in all() {
        let finder = LinkFinder::new(&loaded.topology);
        for (written, link) in found {
            assert_eq!(finder.find(written), Ok(LinkId(link)), "{format}: {written}");
        }
        for (written, message) in refused {
            let error = finder.find(written).expect_err(written).to_string();
            assert!(error.contains(message), "{format}: {error}");
            let names_ports = error.contains(":eth1--spine1") && error.contains(":eth2--spine1");
            assert!(names_ports || written == "leaf1--leaf2", "{format}: {error}");
        }
        for link in loaded.topology.links() {
            assert_eq!(finder.find(&loaded.topology.names().link(link)), Ok(link), "{format}");
            assert_eq!(finder.find(&loaded.topology.ends_of(link)), Ok(link), "{format}");
        }
    }
}

/// Nothing is written in the ports' place that could be taken for one of them.
#[test]
fn parallel_links_without_ports_go_by_their_place() {
    let text = LAYERED
        .replace(", from_port: eth1, to_port: eth1", "")
        .replace(", from_port: eth2, to_port: eth2", "");
    let loaded = read_text("p.yaml", text.as_bytes(), &NO_OPTIONS).expect("a network");
    let names: Vec<String> = loaded.topology.links().map(|link| loaded.topology.names().link(link)).collect();
    assert_eq!(names, ["leaf1--spine1#1", "leaf1--spine1#2", "leaf2:eth1--spine1:eth3"]);
    let error = LinkFinder::new(&loaded.topology).find("leaf1--spine1").expect_err("two links").to_string();
    assert_eq!(
        error,
        "`leaf1--spine1` may be any of 2 links: leaf1--spine1#1, leaf1--spine1#2; use one of these"
    );
}

/// Links with names of the operator's are shown with their ports beside these.
#[test]
fn an_operators_name_is_shown_with_its_ports() {
    let text = LAYERED.replace("from_port: eth2", "name: cable 7, from_port: eth2");
    let loaded = read_text("p.yaml", text.as_bytes(), &NO_OPTIONS).expect("a network");
    let finder = LinkFinder::new(&loaded.topology);
    for written in ["cable 7", "spine1:eth2", "leaf1:eth2--spine1:eth2"] {
        assert_eq!(finder.find(written), Ok(LinkId(1)), "{written}");
    }
    assert_eq!(loaded.topology.full_label(LinkId(1)), "cable 7 (leaf1:eth2--spine1:eth2)");
    assert_eq!(loaded.topology.full_label(LinkId(0)), "leaf1:eth1--spine1:eth1");
}

#[test]
fn a_name_that_also_means_the_ends_of_others_is_refused() {
    let named = |name: &str| LAYERED.replace("to_port: eth3", &format!("to_port: eth3, name: '{name}'"));
    for (name, means) in [
        ("leaf1--spine1", "leaf1:eth1--spine1:eth1, leaf1:eth2--spine1:eth2"),
        ("spine1:eth2", "leaf1:eth2--spine1:eth2"),
        ("spine1--leaf1#2", "leaf1:eth2--spine1:eth2"),
    ] {
        let error = refused("p.yaml", &named(name));
        assert!(
            error.starts_with(&format!("p.yaml:9: the name of link {name} also means {means}\n")),
            "{error}"
        );
    }
    read_text("p.yaml", named("leaf2--spine1").as_bytes(), &NO_OPTIONS).expect("it means this link alone");
}

/// Ports as vendors call them, IPv6 addresses as switches, a switch called like a port, and a port called like a switch.
#[test]
fn ports_and_switches_may_have_separators_in_their_names() {
    let text = "default_speed: 100G
switches:
- {name: 'fe80::1', layer: 0}
- {name: 'a--b', layer: 0}
- {name: 'Ethernet1/1', layer: 1}
- {name: 'xe-0/0/0:1', layer: 1}
links:
- {from: 'fe80::1', to: 'Ethernet1/1', from_port: 'xe-0/0/0:1', to_port: 'Ethernet1/1'}
- {from: 'fe80::1', to: 'xe-0/0/0:1', from_port: 'Ethernet1/1', to_port: 'a--b'}
- {from: 'a--b', to: 'Ethernet1/1', from_port: '1:2/3#4', to_port: 'fe80::1'}
- {from: 'a--b', to: 'xe-0/0/0:1'}
";
    let loaded = read_text("p.yaml", text.as_bytes(), &NO_OPTIONS).expect("a network");
    let finder = LinkFinder::new(&loaded.topology);
    for link in loaded.topology.links() {
        assert_eq!(finder.find(&loaded.topology.names().link(link)), Ok(link));
        assert_eq!(finder.find(&loaded.topology.ends_of(link)), Ok(link));
    }
    for (written, link) in [
        ("fe80::1:xe-0/0/0:1", 0),
        ("Ethernet1/1--fe80::1", 0),
        ("Ethernet1/1/Ethernet1/1", 0),
        ("xe-0/0/0:1--fe80::1", 1),
        ("a--b:1:2/3#4--Ethernet1/1", 2),
        ("xe-0/0/0:1--a--b", 3),
    ] {
        assert_eq!(finder.find(written), Ok(LinkId(link)), "{written}");
    }
}

/// `a:p` at port `q` and `a` at port `p:q` are written alike: such a text is refused with both.
#[test]
fn a_name_that_can_be_read_in_two_ways_means_neither() {
    let text = "default_speed: 100G
switches:
- {name: a, layer: 0}
- {name: 'a:p', layer: 0}
- {name: s, layer: 1}
links:
- {from: a, to: s, name: one, from_port: 'p:q', to_port: x1}
- {from: 'a:p', to: s, name: two, from_port: q, to_port: x2}
";
    let loaded = read_text("p.yaml", text.as_bytes(), &NO_OPTIONS).expect("a network");
    let finder = LinkFinder::new(&loaded.topology);
    let error = finder.find("s--a:p:q").expect_err("two links").to_string();
    assert_eq!(
        error,
        "`s--a:p:q` may be any of 2 links: one (a:p:q--s:x1), two (a:p:q--s:x2); use one of these"
    );
    assert_eq!(finder.find("a:p:q--s:x2"), Ok(LinkId(1)));
}

/// A short name that fits switches of several domains means no link.
#[test]
fn a_short_name_of_several_switches_means_none_of_them() {
    let text = LAYERED
        .replace("name: leaf1,", "name: leaf.east.example.com,")
        .replace("name: leaf2,", "name: leaf.west.example.com,");
    let text = text
        .replace("from: leaf1,", "from: leaf.east.example.com,")
        .replace("from: leaf2,", "from: leaf.west.example.com,");
    let loaded = read_text("p.yaml", text.as_bytes(), &NO_OPTIONS).expect("a network");
    let finder = LinkFinder::new(&loaded.topology);
    assert_eq!(finder.find("leaf.west--spine1"), Ok(LinkId(2)));
    let error = finder.find("leaf:eth1--spine1").expect_err("two switches").to_string();
    assert!(error.contains("may be any of 2 links: leaf.east.example.com:eth1--"), "{error}");
}

/// Names of switches and ports that look like each other, or contain what separates them.
const WORDS: [&str; 10] =
    ["a", "a:1", "1", "1:1", "b", "b--a", "b#2", "Ethernet1/1", "fe80::1", "a.dc1.example.com"];

/// A layered file with two ToRs, two spines and these links: its ends, its ports (beyond the words: none), its own name (the
/// same).
fn network(switches: &[usize], links: &[[usize; 5]]) -> String {
    use std::fmt::Write;
    let mut text = "default_speed: 100G\nswitches:\n".to_owned();
    for (number, word) in switches.iter().enumerate() {
        writeln!(text, "- {{name: '{}', layer: {}}}", WORDS[*word], number / 2).unwrap();
    }
    writeln!(text, "links:").unwrap();
    for [tor, spine, tor_port, spine_port, name] in links {
        let [from, to] = [tor % 2, 2 + spine % 2].map(|number| WORDS[switches[number]]);
        write!(text, "- {{from: '{from}', to: '{to}'").unwrap();
        if let (Some(from), Some(to)) = (WORDS.get(*tor_port), WORDS.get(*spine_port)) {
            write!(text, ", from_port: '{from}', to_port: '{to}'").unwrap();
        }
        if let Some(name) = WORDS.get(*name) {
            write!(text, ", name: '{name}'").unwrap();
        }
        writeln!(text, "}}").unwrap();
    }
    text
}

proptest::proptest! {
    /// Whatever switches, ports and links are called: a file that is read gives each link a name that means it alone, and what
    /// describes its ends never means another link.
    #[test]
    fn every_name_that_is_shown_means_its_link(
        order in proptest::sample::subsequence((0..WORDS.len()).collect::<Vec<_>>(), 4),
        links in proptest::collection::vec(proptest::array::uniform5(0_usize..16), 2..9),
    ) {
        let mut links = links;
        // Both ToRs have a path.
        (links[0][0], links[1][0]) = (0, 1);
        let text = network(&order, &links);
        if let Ok(loaded) = read_text("n.yaml", text.as_bytes(), &NO_OPTIONS) {
            let topology = &loaded.topology;
            let finder = LinkFinder::new(topology);
            for link in topology.links() {
                proptest::prop_assert_eq!(finder.find(&topology.names().link(link)), Ok(link), "{}", text);
                match finder.find(&topology.ends_of(link)) {
                    Ok(found) => proptest::prop_assert_eq!(found, link, "{}", text),
                    Err(error) => proptest::prop_assert!(error.to_string().contains("may be any of"), "{error}\n{text}"),
                }
            }
        }
    }
}

/// The property above is about networks that are read: most are, with parallel links and without.
#[test]
fn most_networks_with_such_names_are_read() {
    let accepted = (0..WORDS.len() - 3).flat_map(|first| (0..16).map(move |shift| (first, shift))).filter(
        |(first, shift)| {
            let order: Vec<usize> = (*first..first + 4).collect();
            let links: Vec<[usize; 5]> =
                (0..5).map(|number| [number, number / 2, shift + number, shift + number, 15]).collect();
            read_text("n.yaml", network(&order, &links).as_bytes(), &NO_OPTIONS).is_ok()
        },
    );
    assert!(accepted.count() > 80);
}
