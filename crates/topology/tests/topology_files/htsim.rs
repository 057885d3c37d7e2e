//! Fat trees of htsim.

use super::*;
use linkmend_quantity::Distance;
use linkmend_topology::Cable;
use linkmend_topology::file::read_cables;

const THREE_TIERS: &str = "# Two pods\nNodes 8\nTiers 3\nPodsize 4\n\n\
    Tier 0\nDownlink_speed_Gbps 200\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nOversubscribed 1\n\n\
    tier 1\ndownlink_speed_gbps 200\nradix_down 2\nradix_up 4\ndownlink_latency_ns 502\nQueue_Up 5\n\n\
    Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nBundle 2\nSwitch_Latency_ns 7\n";

fn read(text: &str) -> Loaded {
    read_text("small.topo", text.as_bytes(), &NO_OPTIONS).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn tiers_are_wired_as_in_htsim() {
    let loaded = read(THREE_TIERS);
    let links = links(&loaded.topology);
    assert_eq!(loaded.topology.switch_count(), 4 + 4 + 4);
    assert_eq!(
        links[..4],
        [
            "tor1:up1--agg1:down1 200G",
            "tor1:up2--agg2:down1 200G",
            "tor2:up1--agg1:down2 200G",
            "tor2:up2--agg2:down2 200G"
        ]
    );
    // Each switch of tier 1 has two cables to each of two core switches: those at its place in every pod.
    let of = |lower: &str, upper: &str| {
        let ends = [format!("{lower}:"), format!("--{upper}:")];
        links.iter().filter(|link| link.starts_with(&ends[0]) && link.contains(&ends[1])).count()
    };
    assert_eq!(links.len(), 8 + 16);
    assert_eq!([of("agg1", "core1"), of("agg1", "core2"), of("agg1", "core3")], [2, 0, 2]);
    assert_eq!([of("agg2", "core2"), of("agg2", "core4"), of("agg3", "core1"), of("agg4", "core4")], [2; 4]);
    assert!(links[8..].iter().all(|link| link.ends_with(" 100G")));
    let hosts: Vec<&str> = loaded.host_links.iter().map(|link| link.host.as_str()).collect();
    assert_eq!(hosts, ["host0", "host1", "host2", "host3", "host4", "host5", "host6", "host7"]);
    assert_eq!(loaded.host_links[3].port.as_deref(), Some("down2"));
    assert_eq!(loaded.host_links[3].length, Some(Distance(200)));
    assert_eq!([loaded.lengths[0], loaded.lengths[8]], [Some(Distance(100)), None]);
    assert_eq!(
        loaded.warnings,
        [
            "left out the latency of switches (`Switch_Latency_ns`)",
            "left out the lengths of queues (`Queue_Up`, `Queue_Down`)"
        ]
    );
    assert_eq!(loaded.graph(Cable::DEFAULT).unwrap().hosts().count(), 8);
}

#[test]
fn every_port_has_one_cable() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("small.topo");
    std::fs::write(&path, THREE_TIERS).unwrap();
    let mut ends: Vec<(String, String)> = read_cables(&path).unwrap().into_iter().flatten().collect();
    ends.sort();
    let all = ends.len();
    ends.dedup();
    assert_eq!((all, ends.len()), (48, 48));
}

#[test]
fn contradictions_are_refused_with_line_and_reason() {
    for (old, new, message) in [
        ("Nodes 8", "Nodes 4000000000", ":2: `Nodes` is 4000000000; it must be from 1 to 131072"),
        ("Nodes 8", "Nodes 10", ": Nodes by Podsize: 10 cannot be divided by 4"),
        ("Nodes 8\n", "", ": `Nodes` is missing"),
        ("Podsize 4", "Podsize four", ":4: `Podsize` must be followed by a whole number"),
        ("Podsize 4", "Podsize 4\nPodsize 4", ":5: `Podsize` is given a second time"),
        ("Podsize 4", "Podsize 4 8", ":4: `Podsize` has one value, but `8` follows it"),
        (
            "Podsize 4",
            "Podsize 4\nConnections 3",
            ":5: `Connections` is not `Nodes`, `Tiers`, `Podsize` or `Tier`",
        ),
        ("Tiers 3", "Tiers 2", ": there are 2 tiers, so none is tier 2"),
        ("Tiers 3", "Tiers 4", ":3: `Tiers` is 4; it must be from 2 to 3"),
        ("Tier 2", "Tier 1", ":20: tier 1 is given a second time"),
        (
            "Oversubscribed 1",
            "Oversubscribed 4",
            ": `Oversubscribed` of tier 0 is 4, but 2 ports lead down and 2 up",
        ),
        ("Radix_Down 2\n", "Radix_Down 1\n", ": Radix_Down of tier 1 is 2, but the other numbers demand 4"),
        ("Radix_Up 2\n", "", ": `Radix_Up` of a tier below another one is missing"),
        ("radix_up 4", "radix_up 3", ": Radix_Up of tier 1 by Bundle of tier 2: 3 cannot be divided by 2"),
        ("Radix_Down 4", "Radix_Down 5", ": Radix_Down of tier 2 is 5, but the other numbers demand 4"),
        ("Bundle 2", "Colour 2", ":23: `Colour` is not a setting of a tier"),
        (
            "Downlink_speed_Gbps 100",
            "Downlink_speed_Gbps 1601",
            ":21: `Downlink_speed_Gbps` is 1601; it must be from 1 to 1600",
        ),
    ] {
        assert!(THREE_TIERS.contains(old), "{old}");
        let error = refused("small.topo", &THREE_TIERS.replacen(old, new, 1));
        assert!(error.starts_with(&format!("small.topo{message}")), "{error}");
    }
    let no_speed = THREE_TIERS.replace("Downlink_speed_Gbps 100\n", "");
    let error = read_text("small.topo", no_speed.as_bytes(), &NO_OPTIONS).unwrap_err();
    assert!(with_hint(&error).contains("link agg1--core1 has no speed"), "{error}");
    assert!(read_text("small.topo", no_speed.as_bytes(), &AT_100G).is_ok());
}

#[test]
fn a_small_file_cannot_demand_a_large_network() {
    let tier = "Radix_Down 1\nRadix_Up 131072\n";
    let text = format!("Nodes 131072\nTiers 2\nPodsize 131072\nTier 0\n{tier}Tier 1\nRadix_Down 131072\n");
    assert_eq!(refused("large.topo", &text), "large.topo: there are more than 1048576 links");
}
