//! Ports in topology files: who faces whom.

use super::{NO_OPTIONS, read_text, refused};
use linkmend_topology::file::Loaded;

fn cables(loaded: &Loaded) -> Vec<String> {
    let name = |switch| loaded.topology.names().switch(switch);
    let cable = |cable: &linkmend_topology::file::NamedCable| {
        let [one, other] = &cable.ends;
        format!("{}: {}/{} {}/{}", cable.link.0, name(one.0), one.1, name(other.0), other.1)
    };
    loaded.cables.iter().map(cable).collect()
}

const NET: &str = "default_speed: 100G
switches:
- {name: tor1, layer: 0}
- {name: spine1, layer: 1}
- {name: spine2, layer: 1}
links:
- {from: tor1, to: spine1}
- {from: spine2, to: tor1, from_port: swp9, to_port: swp2}
";

#[test]
fn a_layered_file_may_name_the_ports_of_links_and_reads_back_with_them() {
    let loaded = read_text("net.yaml", NET.as_bytes(), &NO_OPTIONS).expect("a network");
    assert_eq!(cables(&loaded), ["1: spine2/swp9 tor1/swp2"]);
    let mut text = Vec::new();
    loaded.write(&mut text).expect("memory can be written");
    let again = read_text("net.yaml", &text, &NO_OPTIONS).expect("it reads back");
    assert_eq!(cables(&again), ["1: tor1/swp2 spine2/swp9"], "from the lower switch");
}

#[test]
fn half_a_cable_is_refused() {
    let half = NET.replace(", to_port: swp2", "");
    let error = refused("net.yaml", &half);
    assert!(error.contains("both `from_port` and `to_port`"), "{error}");
}

#[test]
fn a_containerlab_topology_names_all_ports() {
    let text = "topology:\n  nodes:\n    leaf1: {kind: srl, labels: {linkmend.layer: 0}}\n    spine1: {kind: srl, labels: {linkmend.layer: 1}}\n  \
                links:\n  - {endpoints: ['leaf1:e1-1', 'spine1:e1-7'], labels: {linkmend.speed: 100G}}\n";
    let loaded = read_text("lab.clab.yml", text.as_bytes(), &NO_OPTIONS).expect("a network");
    assert_eq!(cables(&loaded), ["0: leaf1/e1-1 spine1/e1-7"]);
}
