//! Who faces whom.

use crate::PortName;
use linkmend_diagnose::Diagnose;
use std::collections::BTreeMap;

/// Ports and their peers at the other ends of the cables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cabling {
    peers: BTreeMap<PortName, PortName>,
}

/// Two statements about a port that cannot both be true.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CablingError {
    /// A port is at both ends of a cable.
    #[error("{0} faces itself")]
    Loop(Box<PortName>),
    /// A port, and two others that it is said to face.
    #[error("{} faces {}, and {} as well", .0[0], .0[1], .0[2])]
    TwoPeers(Box<[PortName; 3]>),
}

impl Diagnose for CablingError {
    fn hint(&self) -> Option<String> {
        Some("each port stands in one link, with the port at the other end of its cable".to_owned())
    }
}

impl Cabling {
    /// Takes the two ends of each cable.
    ///
    /// # Errors
    /// [`CablingError`]; what contradicts is reported and never guessed.
    pub fn new(cables: impl IntoIterator<Item = [PortName; 2]>) -> Result<Cabling, CablingError> {
        let mut cabling = Cabling::default();
        for [one, other] in cables {
            if one == other {
                return Err(CablingError::Loop(Box::new(one)));
            }
            cabling.face(&one, &other)?;
            cabling.face(&other, &one)?;
        }
        Ok(cabling)
    }

    /// The port at the other end of a port's cable.
    pub fn peer(&self, port: &PortName) -> Option<&PortName> {
        self.peers.get(port)
    }

    /// All ports, sorted.
    pub fn ports(&self) -> impl Iterator<Item = &PortName> {
        self.peers.keys()
    }

    fn face(&mut self, port: &PortName, peer: &PortName) -> Result<(), CablingError> {
        match self.peers.insert(port.clone(), peer.clone()) {
            Some(first) if first != *peer => {
                Err(CablingError::TwoPeers(Box::new([port.clone(), first, peer.clone()])))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cables(ends: &[[&str; 2]]) -> Result<Cabling, CablingError> {
        Cabling::new(ends.iter().map(|ends| ends.map(|end| end.parse().expect("a port"))))
    }

    #[test]
    fn both_ends_know_each_other_and_a_cable_may_be_named_twice() {
        let cabling = cables(&[["a/1", "b/1"], ["b/1", "a/1"], ["a/2", "c/1"]]).expect("no contradiction");
        let peer = |port: &str| cabling.peer(&port.parse().expect("a port")).map(ToString::to_string);
        assert_eq!(peer("b/1").as_deref(), Some("a/1"));
        assert_eq!(peer("c/1").as_deref(), Some("a/2"));
        assert_eq!(peer("c/2"), None);
    }

    #[test]
    fn contradictions_are_reported() {
        let error = cables(&[["a/1", "b/1"], ["c/1", "b/1"]]).expect_err("two peers");
        assert_eq!(error.to_string(), "b/1 faces a/1, and c/1 as well");
        assert_eq!(cables(&[["a/1", "a/1"]]).expect_err("a loop").to_string(), "a/1 faces itself");
    }
}
