//! Ports of a network by name: `switch2--switch3` is the port of `switch2` at its link to `switch3`, `switch2:1` the port
//! of `switch2` with that number.

use crate::link::config::ParameterError;
use crate::network::{LinkId, PortId, Side};
use linkmend_topology::{Graph, NodeId};

/// Separates the node of a port from the node at the other end of its link, as in names of links.
const BETWEEN: &str = "--";
/// Separates the node of a port from its number.
const NUMBER: char = ':';

/// The name of a port by the two ends of its link.
pub fn port_name(graph: &Graph, port: PortId) -> String {
    let [one, other] = graph.link(port.link()).ends.map(|end| graph.node(end.node).name.as_str());
    match port.side() {
        Side::A => format!("{one}{BETWEEN}{other}"),
        Side::B => format!("{other}{BETWEEN}{one}"),
    }
}

/// The port with a name.
///
/// # Errors
/// If there is none, or several.
pub fn find_port(graph: &Graph, written: &str) -> Result<PortId, ParameterError> {
    // Names may contain the separators themselves, so every position of them is tried.
    for (place, _) in written.match_indices(BETWEEN) {
        let ends = [&written[..place], &written[place + BETWEEN.len()..]].map(|name| graph.find(name));
        if let [Some(node), Some(other)] = ends {
            return between(graph, written, node, other);
        }
    }
    for (place, _) in written.match_indices(NUMBER) {
        let links = graph.find(&written[..place]).map(|node| (node, graph.node(node).links()));
        let Some((node, links)) = links else { continue };
        let number = written[place + NUMBER.len_utf8()..].parse::<usize>().ok();
        if let Some(link) = number.and_then(|number| links.get(number)) {
            return Ok(port_of(graph, node, *link));
        }
        let requirement = format!("{} has ports 0 to {}", &written[..place], links.len().saturating_sub(1));
        return Err(ParameterError::new("port", written, requirement));
    }
    let example = graph.links().next().map(|link| port_name(graph, PortId::new(link, Side::A)));
    let requirement = format!(
        "must be a port: a node and the one at the other end of its link, such as {}, or a node and a number, such \
         as {}:0",
        example.unwrap_or_default(),
        graph.nodes().next().map(|node| graph.node(node).name.as_str()).unwrap_or_default(),
    );
    Err(ParameterError::new("port", written, requirement))
}

/// The port of `node` at its only link to `other`.
fn between(graph: &Graph, written: &str, node: NodeId, other: NodeId) -> Result<PortId, ParameterError> {
    let mut numbers = Vec::new();
    let mut found = Vec::new();
    for (number, (link, end)) in graph.neighbours(node).enumerate() {
        if end.node == other {
            numbers.push(format!("{}{NUMBER}{number}", graph.node(node).name));
            found.push(port_of(graph, node, link));
        }
    }
    match found[..] {
        [port] => Ok(port),
        [] => Err(ParameterError::new("port", written, "there is no link between these two nodes")),
        _ => {
            let requirement = format!("several links join these nodes; name one of {}", numbers.join(", "));
            Err(ParameterError::new("port", written, requirement))
        }
    }
}

/// The port of `node` at this link.
fn port_of(graph: &Graph, node: NodeId, link: LinkId) -> PortId {
    let side = if graph.link(link).ends[0].node == node { Side::A } else { Side::B };
    PortId::new(link, side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_topology::graph::GraphBuilder;
    use linkmend_topology::{Cable, spec};

    #[test]
    fn every_port_is_found_by_its_name() {
        for graph in ["line:switches=5,hosts=1", "fat-tree:k=4,hosts=2", "star:hosts=3"] {
            let graph = spec::graph(graph).expect("it can be built");
            for link in graph.links() {
                for port in PortId::both(link) {
                    assert_eq!(find_port(&graph, &port_name(&graph, port)), Ok(port));
                }
            }
        }
        let line = spec::graph("line:switches=5,hosts=1").expect("it can be built");
        assert_eq!(find_port(&line, "switch2--switch3"), Ok(PortId::new(LinkId(2), Side::A)));
        assert_eq!(find_port(&line, "switch2:0"), Ok(PortId::new(LinkId(1), Side::B)));
    }

    #[test]
    fn what_is_no_port_is_refused_by_name() {
        let mut builder = GraphBuilder::default();
        let [one, other] = ["one", "other"].map(|name| builder.switch(name));
        let third = builder.host("third");
        builder.link(one, other, Cable::DEFAULT);
        builder.link(one, other, Cable::DEFAULT);
        builder.link(third, other, Cable::DEFAULT);
        let graph = builder.build().expect("it is connected");
        let refused = |name: &str| find_port(&graph, name).expect_err("refused").to_string();
        assert!(refused("one--other").contains("one:0, one:1"), "{}", refused("one--other"));
        assert!(refused("one--third").contains("no link between"));
        assert!(refused("other:3").contains("other has ports 0 to 2"));
        for name in ["", "nowhere", "one--", "nowhere:0"] {
            assert!(refused(name).contains("such as one--other"), "{}", refused(name));
        }
        assert_eq!(find_port(&graph, "other:1"), Ok(PortId::new(LinkId(1), Side::B)));
    }
}
