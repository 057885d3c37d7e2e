//! GraphML: networkx, yEd, the Internet Topology Zoo.

use super::attributes::{self, Attributes, GraphEdge, GraphNode};
use super::draft::Location;
use super::gather::{Gathering, Order};
use super::sketch::Sketch;
use super::xml::{self, Xml};
use super::{MAX_LINKS, MAX_SWITCHES, TopologyFault, TopologyFileError};
use roxmltree::Node;
use std::collections::BTreeMap;

pub(super) const SPEED_HINT: &str = "an attribute `speed` of its edge, like `100G`";

/// Attributes that name a node, the best first.
const LABELS: [&str; 4] = ["label", "name", "hostname", "node_label"];

/// Names of attributes by the ids that data refer to.
type Keys<'a> = BTreeMap<&'a str, &'a str>;

pub(super) fn read(text: &str, file: String) -> Result<Sketch, TopologyFileError> {
    let xml = Xml::parse(text.trim_start_matches('\u{feff}'), &file)?;
    let root = xml.document.root_element();
    let keys: Keys<'_> = xml::children(root, "key")
        .filter_map(|key| Some((key.attribute("id")?, key.attribute("attr.name").unwrap_or_default())))
        .collect();
    let mut gathering = Gathering::default();
    let number = gathering.file(file);
    let at = |node: Node<'_, '_>| Location { file: number, line: xml.line(node) };
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
    let of = |name: &'static str| {
        root.descendants().filter(move |node| node.is_element() && node.tag_name().name() == name)
    };
    // A node with a graph of its own is a group of yEd.
    for node in of("node").filter(|node| xml::child(*node, "graph").is_none()) {
        let at = at(node);
        let id = node.attribute("id").ok_or_else(|| gathering.form(at, "a node needs an `id`"))?;
        if by_id.insert(id, nodes.len()).is_some() {
            return Err(gathering.form(at, format!("there is already a node with the id `{id}`")));
        }
        if nodes.len() as u64 == MAX_SWITCHES {
            let fault = TopologyFault::TooMany { what: "nodes", most: MAX_SWITCHES };
            return Err(gathering.refuse(at, fault));
        }
        let attributes = data(node, &keys);
        let label = LABELS.iter().find_map(|key| attributes.get(*key)).cloned();
        let label = label.or_else(|| drawn(node, "NodeLabel"));
        nodes.push(GraphNode { id: id.to_owned(), label, attributes, at });
    }
    for edge in of("edge") {
        let at = at(edge);
        let end = |name: &str| {
            let id = edge.attribute(name).ok_or_else(|| format!("an edge needs a `{name}`"))?;
            by_id.get(id).copied().ok_or_else(|| format!("the {name} `{id}` is not a node"))
        };
        let ends = [end("source"), end("target")];
        let [Ok(source), Ok(target)] = ends else {
            let reason = ends.into_iter().find_map(Result::err).unwrap_or_default();
            return Err(gathering.form(at, reason));
        };
        if edges.len() as u64 == 2 * MAX_LINKS {
            return Err(gathering.refuse(at, TopologyFault::TooMany { what: "edges", most: 2 * MAX_LINKS }));
        }
        let mut attributes = data(edge, &keys);
        for port in ["sourceport", "targetport"] {
            if let Some(value) = edge.attribute(port) {
                attributes.insert(port.to_owned(), value.to_owned());
            }
        }
        if let Some(label) = drawn(edge, "EdgeLabel") {
            attributes.entry("linklabel".to_owned()).or_insert(label);
        }
        edges.push(GraphEdge { ends: [source, target], attributes, at });
    }
    if let Some(hyper) = of("hyperedge").next() {
        gathering.doubt(at(hyper), "an edge between more than two nodes is left out");
    }
    let is_directed = of("graph").any(|graph| graph.attribute("edgedefault") == Some("directed"));
    attributes::add(&mut gathering, &nodes, edges, number)?;
    gathering.finish(if is_directed { Order::Directed } else { Order::Undirected }, SPEED_HINT)
}

/// The attributes of a node or an edge.
fn data(node: Node<'_, '_>, keys: &Keys<'_>) -> Attributes {
    let value = |data: Node<'_, '_>| {
        let key = data.attribute("key")?;
        let name = keys.get(key).copied().filter(|name| !name.is_empty()).unwrap_or(key);
        Some((name.to_ascii_lowercase(), data.text()?.trim().to_owned()))
    };
    xml::children(node, "data").filter_map(value).filter(|(_, value)| !value.is_empty()).collect()
}

/// A label as yEd draws it.
fn drawn(node: Node<'_, '_>, name: &str) -> Option<String> {
    let is_label = |node: &Node<'_, '_>| node.is_element() && node.tag_name().name() == name;
    let text = node.descendants().find(is_label)?.text()?;
    Some(text.split_whitespace().collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}
