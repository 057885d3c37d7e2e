//! What is understood of a network, as JSON.

use super::tables::reason;
use linkmend_topology::SwitchId;
use linkmend_topology::file::{Basis, Loaded};
use linkmend_topology::paths::Paths;
use serde_json::{Value, json};

/// Everything that is understood.
pub fn network(loaded: &Loaded) -> Value {
    let (topology, understood) = (&loaded.topology, &loaded.understood);
    let names = topology.names();
    let paths = Paths::new(topology);
    let switch = |switch: SwitchId| {
        let place = topology.switch(switch);
        let (basis, reason) = reason(loaded, switch);
        json!({
            "switch": names.switch(switch),
            "layer": place.layer,
            "pod": place.zone.map(|zone| names.zone(zone)),
            "basis": match basis {
                Basis::Told => "told",
                Basis::Named => "named",
                Basis::Guessed => "guessed",
            },
            "reason": reason,
            "paths": (place.layer == 0).then(|| paths.count(switch)),
        })
    };
    let link = |link| {
        let ends = topology.link(link);
        let [from_port, to_port] = topology.ports(link);
        json!({
            "link": names.link(link),
            "from": names.switch(ends.lower),
            "from_port": from_port,
            "to": names.switch(ends.upper),
            "to_port": to_port,
            "bps": topology.capacity(link),
            "between_peers": topology.is_peer(link),
        })
    };
    let host = |link: &linkmend_topology::file::HostLink| json!({"host": link.host, "switch": names.switch(link.switch), "port": link.port});
    let doubts = understood
        .doubts
        .iter()
        .map(|doubt| json!({"file": doubt.place.file, "line": doubt.place.line, "doubt": doubt.text}));
    json!({
        "switches": topology.switches().map(switch).collect::<Vec<Value>>(),
        "links": topology.links().map(link).collect::<Vec<Value>>(),
        "hosts": loaded.host_links.iter().map(host).collect::<Vec<Value>>(),
        "outside": understood.outside.iter().map(|node| json!({"node": node.name, "reason": node.reason})).collect::<Vec<Value>>(),
        "doubts": doubts.collect::<Vec<Value>>(),
        "warnings": loaded.warnings,
        "top_is_a_guess": understood.top_guess,
        "layers_option": loaded.layers_option(),
    })
}
