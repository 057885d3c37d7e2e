//! Sorts ports by their nodes.

use crate::link::PortId;
use crate::node::NodeId;

/// The ports of each node, for this many nodes.
pub(super) fn by_node(nodes: usize, ports: impl Iterator<Item = (NodeId, PortId)>) -> Vec<Vec<PortId>> {
    let mut ports_of = vec![Vec::new(); nodes];
    for (node, port) in ports {
        ports_of[node.index()].push(port);
    }
    ports_of
}
