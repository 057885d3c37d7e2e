//! Names of ports that are unique among all agents.

use linkmend_diagnose::{excerpt, is_printable};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The longest name of an agent or a port.
const LENGTH_MOST: usize = 255;

/// A port of a switch or a host: `leaf1/Ethernet4`. Its link's direction towards it is named by it, too, because only one
/// port sends there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PortName {
    agent: String,
    port: String,
}

/// Why a text names no port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a port; write AGENT/PORT, like leaf1/Ethernet4, of at most 255 printable characters each"
)]
pub struct PortNameError(String);

impl PortNameError {
    /// What is shown of a text that may be a whole file.
    const SHOWN_MOST: usize = 80;

    fn of(text: &str) -> PortNameError {
        PortNameError(excerpt(text, Self::SHOWN_MOST))
    }
}

impl PortName {
    /// A port of an agent.
    ///
    /// # Errors
    /// If a name is empty, too long, or has spaces or characters that cannot be printed, or that of the agent has a slash.
    pub fn new(agent: &str, port: &str) -> Result<PortName, PortNameError> {
        let fits = |name: &str| {
            (1..=LENGTH_MOST).contains(&name.len())
                && name.chars().all(|c| is_printable(c) && !c.is_whitespace())
        };
        if !fits(agent) || !fits(port) || agent.contains('/') {
            return Err(PortNameError::of(&format!("{agent}/{port}")));
        }
        Ok(PortName { agent: agent.to_owned(), port: port.to_owned() })
    }

    /// The agent that watches the port and acts at it.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// What its agent calls the port.
    pub fn port(&self) -> &str {
        &self.port
    }
}

impl FromStr for PortName {
    type Err = PortNameError;

    fn from_str(text: &str) -> Result<PortName, PortNameError> {
        let (agent, port) = text.split_once('/').ok_or_else(|| PortNameError::of(text))?;
        PortName::new(agent, port)
    }
}

impl TryFrom<String> for PortName {
    type Error = PortNameError;

    fn try_from(text: String) -> Result<PortName, PortNameError> {
        text.parse()
    }
}

impl From<PortName> for String {
    fn from(name: PortName) -> String {
        name.to_string()
    }
}

impl fmt::Display for PortName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.agent, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_have_slashes_and_an_agent_may_not() {
        let name: PortName = "leaf1/Ethernet1/4".parse().expect("a port");
        assert_eq!((name.agent(), name.port()), ("leaf1", "Ethernet1/4"));
        assert_eq!(name.to_string().parse(), Ok(name));
        for wrong in ["", "leaf1", "/eth0", "leaf1/", "leaf 1/eth0", "leaf1/eth\n0", "leaf1/eth\u{202e}0"] {
            assert!(wrong.parse::<PortName>().is_err(), "{wrong}");
        }
    }
}
