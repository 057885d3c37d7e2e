//! Why switches, hosts and links do not make a network.

use linkmend_diagnose::{Diagnose, ParameterError};
use std::fmt::Display;

/// Why switches, hosts and links are no network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// There is no switch, or only one layer.
    #[error("a network needs at least two layers, but the highest layer is {highest}")]
    OneLayer {
        /// The highest layer found.
        highest: u8,
    },
    /// There is no switch in layer 0.
    #[error("a network needs ToRs, but no switch is in layer 0")]
    NoTor,
    /// A ToR from which no path climbs to the top layer.
    #[error("{tor} has no path to the top layer (layer {top})")]
    NoPath {
        tor: String,
        /// The top layer.
        top: u8,
    },
    /// More paths than fit the counters.
    #[error("{tor} has more than {limit} paths to the top layer")]
    TooManyPaths { tor: String, limit: u64 },
    /// A graph without nodes.
    #[error("a network needs at least one host or switch")]
    NoNode,
    /// Two nodes that cannot be told apart.
    #[error("two nodes are named {name}")]
    TwoOfOneName { name: String },
    /// A link with both ends on one node.
    #[error("a link connects {node} to itself")]
    SelfLink { node: String },
    /// A graph in several parts.
    #[error("no path leads from {one} to {other}")]
    Apart {
        one: String,
        /// A node that it cannot reach.
        other: String,
    },
    /// A parameter of a generated network that is out of its range.
    #[error("{} is {}; it {}", .0.parameter, .0.value, .0.requirement)]
    Parameter(ParameterError),
}

impl Diagnose for TopologyError {}

impl TopologyError {
    /// A parameter that is out of its range; `requirement` begins with `must`.
    pub(crate) fn parameter(name: &'static str, value: impl Display, requirement: &str) -> TopologyError {
        TopologyError::Parameter(ParameterError::new(name, value, requirement))
    }
}
