//! netlab topologies in the forms in which people write them.

use super::*;

#[test]
fn links_of_every_form_are_read() {
    let text = "
module: [ospf]
provider: clab
defaults:
  device: eos
groups:
  leafs:
    members: [a1, a2]
  tops:
    members: [b1, b2]
    role: spine
  servers:
    members: [h1, h2]
    device: linux
nodes:
  a1:
  a2:
  b1: {id: 7}
  b2:
  h1:
  h2:
links:
- a1-b1
- [a2, b1]
- a1:
    ifname: e2
  b2: {ifname: e1}
  bandwidth: 1000
- interfaces:
  - node: a2
    ifname: e2
  - node: b2
    ifname: e2
- interfaces: [a1, a2]
- group: hosts
  members:
  - h1-a1
  - a2: {}
    h2: {ipv4: true}
- a1: {}
  prefix: 10.0.0.0/24
- a1-a2-b1
- {a1: , type: loopback}
";
    for name in ["topology.yml", "lab.yaml"] {
        let loaded = read_text(name, text.replace("tops:", "spines:").as_bytes(), &AT_100G).unwrap();
        assert_eq!(
            links(&loaded.topology),
            ["a1--b1 100G", "a2--b1 100G", "a1:e2--b2:e1 100G", "a2:e2--b2:e2 100G", "a1--a2 100G"]
        );
        let hosts: Vec<&str> = loaded.host_links.iter().map(|link| link.host.as_str()).collect();
        assert_eq!(hosts, ["h1", "h2"]);
        assert_eq!(loaded.understood.doubts.len(), 1);
        assert_eq!(
            loaded.understood.doubts[0].text,
            "a link between a1, a2, b1 is left out: it is not a cable between two nodes"
        );
        assert_eq!(loaded.understood.doubts[0].place.line, Some(42));
    }
}

#[test]
fn nodes_are_a_list_or_a_mapping() {
    for nodes in [
        "[leaf1, spine1]",
        "[{name: leaf1}, {name: spine1, device: eos}]",
        "{leaf1: , spine1: {device: srlinux}}",
    ] {
        let text = format!("nodes: {nodes}\nlinks: [leaf1-spine1]\n");
        let loaded = read_text("topology.yml", text.as_bytes(), &AT_100G).unwrap();
        assert_eq!(links(&loaded.topology), ["leaf1--spine1 100G"], "{nodes}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_or_in_doubt() {
    for (text, expected) in [
        (
            "nodes: [leaf1, spine1]\nlinks:\n- leaf1-spin1\n",
            "topology.yml:3: this link ends at `spin1`, which is not a node",
        ),
        (
            "nodes: [leaf1, spine1]\nlinks:\n- {leaf: , spine: }\n",
            "topology.yml:3: none of `leaf`, `spine` is a node",
        ),
        ("nodes: [leaf1, leaf1]\n", "topology.yml:1: there is already a node `leaf1`"),
        ("nodes: 3\n", "topology.yml:1: `nodes` is a list or a mapping"),
        (
            "module: [bgp]\nplugin: [fabric]\nfabric: {spines: 2}\n",
            "topology.yml:2: a plugin creates the nodes of this topology",
        ),
        (
            "plugin: [fabric]\nfabric: {leafs: 2}\nnodes: [h1]\nlinks: [h1-L1]\n",
            "topology.yml:1: a plugin creates the nodes of this topology",
        ),
        ("nodes: [r1, r2]\nlinks: [r1-r2]\n", "topology.yml: cannot determine the layers"),
    ] {
        let message = refused("topology.yml", text);
        assert!(message.starts_with(expected), "{message}");
    }
    let text = "nodes: [leaf1, spine1, 'x{{ n }}']\nlinks:\n- leaf1-spine1\n- [leaf1, 'x{{ n }}']\n";
    let loaded = read_text("topology.yml", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(loaded.understood.doubts.len(), 2, "{:?}", loaded.understood.doubts);
}
