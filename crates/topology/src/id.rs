//! Numbers of nodes, links and zones.

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
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl ZoneId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A host or switch of a [`Graph`](crate::Graph), by its index there. If the graph was made from a layered network, a
/// switch has the same number in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<SwitchId> for NodeId {
    fn from(switch: SwitchId) -> NodeId {
        NodeId(switch.0)
    }
}
