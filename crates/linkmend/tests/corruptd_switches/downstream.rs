//! A dirty link, and switches behind it that pass on what it corrupts.

use super::pod::{Layout, Pod};
use super::switches::is_installed;
use std::sync::atomic::Ordering;

/// tor1 sends up through agg1, which is cut-through, to two switches.
const LAYOUT: Layout = Layout {
    network: "default_speed: 100G\nswitches:\n  - {name: tor1, layer: 0}\n  - {name: agg1, layer: 1}\n  \
    - {name: spine1, layer: 2}\n  - {name: spine2, layer: 2}\nlinks:\n  \
    - {from: tor1, to: agg1, from_port: Ethernet0, to_port: Ethernet0}\n  \
    - {from: agg1, to: spine1, from_port: Ethernet4, to_port: Ethernet0}\n  \
    - {from: agg1, to: spine2, from_port: Ethernet8, to_port: Ethernet0}\n",
    switches: &[
        ("tor1", &["Ethernet0"]),
        ("agg1", &["Ethernet0", "Ethernet4", "Ethernet8"]),
        ("spine1", &["Ethernet0"]),
        ("spine2", &["Ethernet0"]),
    ],
    more: |_, _| String::new(),
};

#[test]
fn daemons_protect_the_source_and_not_what_is_downstream_of_it() {
    if !is_installed() {
        return;
    }
    let pod = Pod::start(LAYOUT);
    let dirty =
        [(("agg1", "Ethernet0"), 1_000), (("spine1", "Ethernet0"), 520), (("spine2", "Ethernet0"), 480)];
    pod.corrupt(&dirty);
    let victims = ["spine1", "spine2"];
    pod.wait_until("telling victims from the source", || {
        let source = |victim: &&str| pod.downstream_of(victim).is_some_and(|of| of.starts_with("tor1"));
        victims.iter().all(source) && pod.protecting() == ["tor1 Ethernet0"]
    });
    // It stays so while everything is counted on and on.
    let counted = pod.counted.load(Ordering::Relaxed);
    pod.wait_until("counting", || pod.counted.load(Ordering::Relaxed) > counted + 12);
    assert_eq!(pod.protecting(), ["tor1 Ethernet0"]);
    assert_eq!(pod.downstream_of("agg1"), None);

    // The link is repaired, and one behind it turns out to corrupt as well.
    pod.corrupt(&dirty[1..2]);
    pod.wait_until("protecting the other one", || {
        pod.downstream_of("spine1").is_none() && pod.protecting() == ["agg1 Ethernet4"]
    });
}
