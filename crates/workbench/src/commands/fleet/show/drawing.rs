//! A drawing of a whole network: ToRs at the bottom, the top layer above, peer links within layers.

use super::tables::reason;
use linkmend_report::{Hue, LayeredGraph, Line, Mark, Place, Stroke};
use linkmend_topology::SwitchId;
use linkmend_topology::file::{Basis, Loaded};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest number of switches that are drawn in a layer, and of links.
const MAX_SWITCHES: usize = 96;
const MAX_LINKS: usize = 6000;

const GUESSED: Mark = Mark::Framed(Hue::Vermillion);
const UP: Stroke = Stroke { hue: Hue::Grey, line: Line::Thin };
const PEER: Stroke = Stroke { hue: Hue::Blue, line: Line::Dashed };

/// Draws the network.
pub fn network(loaded: &Loaded, file: &Path) -> LayeredGraph {
    let topology = &loaded.topology;
    let mut graph = LayeredGraph::new(format!("{}", file.display()))
        .describe("The network as a plan sees it. Hover over a switch or link for its name and ports.");
    let mut places: BTreeMap<SwitchId, Place> = BTreeMap::new();
    let mut any_guess = false;
    for layer in 0..topology.layer_count() {
        let of_layer = |switch: &SwitchId| usize::from(topology.switch(*switch).layer) == layer;
        let switches: Vec<SwitchId> = topology.switches().filter(of_layer).collect();
        let drawn = switches.len().min(MAX_SWITCHES);
        let name = if layer == 0 { "ToRs".to_owned() } else { format!("Layer {layer}") };
        graph = graph.layer(match switches.len() - drawn {
            0 => name,
            _ => format!("{name} ({drawn} of {})", switches.len()),
        });
        for (number, &switch) in switches.iter().take(drawn).enumerate() {
            let (basis, why) = reason(loaded, switch);
            let name = topology.names().switch(switch);
            let mark = (basis == Basis::Guessed).then_some(GUESSED);
            any_guess |= mark.is_some();
            graph.push_node(layer, name.clone(), format!("{name}: {why}"), mark);
            places.insert(switch, (layer, number));
        }
    }
    for link in topology.links().take(MAX_LINKS) {
        let ends = topology.link(link);
        if let (Some(&from), Some(&to)) = (places.get(&ends.lower), places.get(&ends.upper)) {
            let stroke = if topology.is_peer(link) { PEER } else { UP };
            graph.push_edge(from, to, topology.full_label(link), Some(stroke));
        }
    }
    if topology.links().any(|link| topology.is_peer(link)) {
        graph = graph.explain_stroke(PEER, "between peers");
    }
    if any_guess { graph.explain_node(GUESSED, "layer is a guess") } else { graph }
}
