//! What stands at the ends of links.
//!
//! A *host* is the source and the destination of flows, and passes nothing on. A *switch* has many ports and passes on what
//! is not for itself, as its [`routes`](switch) say; it can be the source and destination of flows, too, as a Tofino with its
//! packet generator is. A [`generator`] stands at a port and makes the frames of one flow; what arrives at the node that its
//! flow is destined for has left the network.

pub mod generator;
pub mod switch;

pub use generator::Traffic;
pub use linkmend_topology::NodeId;
pub use switch::{Balance, Switch};

/// A simulated machine.
#[derive(Debug, Clone)]
pub enum Node {
    /// Source and destination of flows.
    Host,
    /// Passes frames on.
    Switch(Switch),
}

/// Frames from one node to another, all of one class of service and in one order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Where they come from.
    pub source: NodeId,
    /// Where they go.
    pub destination: NodeId,
    /// What switches balance by, as a real one hashes addresses and ports.
    pub(crate) hash: u64,
    /// The destination's place in the switches' routes.
    pub(crate) route: u32,
}
