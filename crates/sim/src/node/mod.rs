//! The nodes at the ends of links.
//!
//! A *host* is the source and the destination of flows, and forwards nothing. A *switch* has many ports and forwards
//! frames that are not for itself, according to its [`routes`](switch). It can also be the source and destination of
//! flows, like a Tofino with its packet generator. A [generator](crate::link::generator) belongs to a port and produces
//! the frames of one flow; a frame that arrives at its flow's destination has left the network.

pub mod switch;

pub use linkmend_topology::NodeId;
pub(crate) use switch::Way;
pub use switch::{Balance, Switch};

/// A simulated machine.
#[derive(Debug, Clone)]
pub enum Node {
    /// Source and destination of flows.
    Host,
    /// A switch, which forwards frames.
    Switch(Switch),
}

/// Frames from one node to another, all in the same class of service and in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The node that its frames come from.
    pub source: NodeId,
    /// The node that its frames go to.
    pub destination: NodeId,
    /// The hash by which switches balance; a real switch would hash addresses and ports.
    pub(crate) hash: u64,
}

impl Flow {
    /// A flow whose hash is derived from a number.
    pub(crate) fn between(source: NodeId, destination: NodeId, number: u64) -> Flow {
        Flow { source, destination, hash: linkmend_random::mix(number) }
    }
}
