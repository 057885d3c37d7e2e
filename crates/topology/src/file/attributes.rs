//! Attributes of nodes and edges in files of graphs, under the names that tools give them.

use super::draft::{Location, counted};
use super::gather::{End, Entry, Gathering};
use super::{TopologyFileError, speed};
use linkmend_quantity::BitRate;
use std::collections::{BTreeMap, BTreeSet};

/// Attributes of a node that say what it is.
const ROLES: [&str; 6] = ["role", "function", "type", "tier", "group", "kind"];

/// Attributes of an edge with the ports at its source and target.
const PORTS: [[&str; 9]; 2] = [
    [
        "sourceport",
        "source_port",
        "src_port",
        "srcport",
        "source_interface",
        "src_interface",
        "a_port",
        "port_a",
        "from_port",
    ],
    [
        "targetport",
        "target_port",
        "dst_port",
        "dstport",
        "target_interface",
        "dst_interface",
        "b_port",
        "port_b",
        "to_port",
    ],
];

/// Attributes of an edge that may hold its speed with a unit.
const SPEEDS: [&str; 6] = ["speed", "linkspeed", "bandwidth", "capacity", "bw", "linklabel"];

/// Attributes by name in lower case.
pub(super) type Attributes = BTreeMap<String, String>;

/// A node of a graph.
pub(super) struct GraphNode {
    /// By what edges refer to it.
    pub id: String,
    /// By what people know it.
    pub label: Option<String>,
    pub attributes: Attributes,
    pub at: Location,
}

/// An edge of a graph, whose ends are places in the list of nodes.
pub(super) struct GraphEdge {
    pub ends: [usize; 2],
    pub attributes: Attributes,
    pub at: Location,
}

/// Adds a graph. A label is a node's name if no other node has it.
pub(super) fn add(
    gathering: &mut Gathering,
    nodes: &[GraphNode],
    edges: Vec<GraphEdge>,
    file: u32,
) -> Result<(), TopologyFileError> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    let label = |node: &'_ GraphNode| {
        node.label.as_deref().map(str::trim).filter(|label| !label.is_empty()).map(str::to_owned)
    };
    for label in nodes.iter().filter_map(|node| node.label.as_deref()) {
        *uses.entry(label.trim()).or_default() += 1;
    }
    let mut shared = 0;
    let mut numbers = Vec::with_capacity(nodes.len());
    let mut taken = BTreeSet::new();
    for node in nodes {
        let name = match label(node) {
            Some(label) if uses.get(label.as_str()) == Some(&1) => label,
            Some(label) => {
                shared += 1;
                format!("{label} ({})", node.id)
            }
            None => node.id.clone(),
        };
        let number = gathering.node(&name, node.at)?;
        if !taken.insert(number) {
            return Err(gathering.form(node.at, format!("two nodes are named `{name}`")));
        }
        numbers.push(number);
        for what in ROLES {
            if let Some(word) = node.attributes.get(what) {
                gathering.say(number, what, word);
            }
        }
    }
    if shared > 0 {
        let nodes = counted(
            shared,
            "node has a label that other nodes share, so its",
            "nodes have labels that other nodes share, so their",
        );
        gathering.doubt(Location { file, line: 0 }, format!("{nodes} id is part of the name"));
    }
    let mut without_unit = 0;
    for GraphEdge { ends, attributes, at } in edges {
        let port = |side: usize| PORTS[side].iter().find_map(|key| attributes.get(*key).cloned());
        let end = |side: usize| End { node: numbers[ends[side]], port: port(side) };
        let (speed, unknown) = speed_of(&attributes);
        without_unit += usize::from(unknown);
        gathering.cable(Entry { ends: [end(0), end(1)], speed, length: None, at })?;
    }
    if without_unit > 0 {
        let edges = counted(without_unit, "edge has a speed", "edges have speeds");
        gathering.doubt(Location { file, line: 0 }, format!("{edges} without a unit, which is ignored"));
    }
    Ok(())
}

/// The speed, and whether there is only one that cannot be understood.
fn speed_of(attributes: &Attributes) -> (Option<BitRate>, bool) {
    if let Some(raw) = attributes.get("linkspeedraw") {
        return (speed::scaled(raw, 1.0), false);
    }
    let written = SPEEDS.iter().filter_map(|key| attributes.get(*key).map(|value| (*key, value)));
    let unit = attributes.get("linkspeedunits").map_or("", String::as_str);
    let parsed = written.clone().find_map(|(_, value)| {
        speed::parse(value).or_else(|| speed::parse(&format!("{value}{unit}")).filter(|_| !unit.is_empty()))
    });
    let is_number = |(key, value): (&str, &String)| key != "linklabel" && value.trim().parse::<f64>().is_ok();
    (parsed, parsed.is_none() && written.into_iter().any(is_number))
}
