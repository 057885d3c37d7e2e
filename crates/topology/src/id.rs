//! Nodes, links and zones by number.

/// A switch, by its index in its topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SwitchId(pub u32);

/// A link, by its index in its topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A zone, by its index in its topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneId(pub u32);

impl SwitchId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ZoneId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A host or switch of a [`Graph`](crate::Graph), by its index there. Where the graph comes from a layered network, a
/// switch has the number that it has in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<SwitchId> for NodeId {
    fn from(switch: SwitchId) -> NodeId {
        NodeId(switch.0)
    }
}
