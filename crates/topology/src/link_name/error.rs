//! Why a name means no link.

use crate::LinkId;
use linkmend_diagnose::{Diagnose, Fault};

/// Why a link was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No link has this name or number.
    #[error("there is no link `{written}`; links are numbered 0 to {last}, or written like {example}")]
    Unknown {
        /// The name as it was written.
        written: String,
        /// Number of the last link.
        last: usize,
        /// A link of this network by its ends.
        example: String,
    },
    /// The name belongs to something other than a link.
    #[error("`{written}` is {what}, not a link; its links are {links}")]
    NotALink {
        /// The name as it was written.
        written: String,
        /// What it is the name of.
        what: &'static str,
        /// Some of its links, as text.
        links: String,
        /// All of its links.
        of: Vec<LinkId>,
    },
    /// No link connects the two switches.
    #[error("there is no link between {one} and {other}, though both switches exist")]
    NotJoined {
        /// Name of one end.
        one: String,
        /// Name of the other end.
        other: String,
    },
    /// Links connect the two switches, but none at these ports.
    #[error("there is no link `{written}`; the links between {one} and {other} are {links}")]
    OtherPorts {
        /// The name as it was written.
        written: String,
        /// Name of one end.
        one: String,
        /// Name of the other end.
        other: String,
        /// Some of the links between them, as text.
        links: String,
    },
    /// A switch has no link at this port.
    #[error("{switch} has no link at a port `{port}`; its links are {links}")]
    NoPort {
        switch: String,
        /// The port as it was written.
        port: String,
        /// Some of the switch's links, as text.
        links: String,
    },
    /// Several links have this name.
    #[error("`{written}` may be any of {count} links: {links}; use one of these")]
    Several {
        /// The name as it was written.
        written: String,
        /// How many links it may be.
        count: usize,
        /// Some of them with their ports, as text.
        links: String,
    },
}

impl Diagnose for FindError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}
