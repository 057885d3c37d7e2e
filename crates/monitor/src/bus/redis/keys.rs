//! Names of keys.

use crate::PortName;

/// Keys that begin with one prefix.
///
/// The prefix is in braces, which makes it the *hash tag* of all keys: a cluster then has them in one slot. The script
/// that writes a direction writes the index and the stream, too, and a script may only use keys of one slot. A bus is
/// small (a kilobyte for each direction that was ever asked for), so one node is enough for it.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    tag: String,
    directions: String,
    /// The set of all ports whose directions are known.
    pub index: String,
    /// The stream of ports whose directions have changed.
    pub events: String,
    /// The set of all agents that have said what they find out about their ports.
    pub speakers: String,
}

impl Keys {
    pub fn new(prefix: &str) -> Keys {
        Keys {
            tag: format!("{{{prefix}}}"),
            directions: format!("{{{prefix}}}:direction:"),
            index: format!("{{{prefix}}}:directions"),
            events: format!("{{{prefix}}}:events"),
            speakers: format!("{{{prefix}}}:speakers"),
        }
    }

    /// Prefix of all keys.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Who has the name of an agent.
    pub fn agent(&self, name: &str) -> String {
        format!("{}:agent:{name}", self.tag)
    }

    /// What an agent finds out about its ports.
    pub fn findings(&self, agent: &str) -> String {
        format!("{}:findings:{agent}", self.tag)
    }

    /// The hash of what is known of a direction.
    pub fn direction(&self, port: &PortName) -> String {
        format!("{}{port}", self.directions)
    }
}
