//! Who faces whom.

use crate::PortName;
use linkmend_diagnose::Diagnose;
use std::collections::{BTreeMap, BTreeSet};

/// Ports and their peers at the other ends of the cables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cabling {
    peers: BTreeMap<PortName, PortName>,
    /// Ports whose neighbours were heard by lldpd. What a neighbour calls its port towards others may be an alias.
    heard: BTreeSet<PortName>,
}

/// A cable that lldpd sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardCable {
    /// The port that hears the other one.
    pub near: PortName,
    pub far: PortName,
    /// Whether `far` has the port's alias, and not its name.
    pub by_alias: bool,
}

/// Two statements about a port that cannot both be true.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CablingError {
    /// A port is at both ends of a cable.
    #[error("{0} is connected to itself")]
    Loop(Box<PortName>),
    /// A port, and two others that it is said to face.
    #[error("{} is connected to both {} and {}", .0[0], .0[1], .0[2])]
    TwoPeers(Box<[PortName; 3]>),
    /// A port, the one that it faces by what people have written, and the one that lldpd sees there.
    #[error("{} is connected to {} according to the configuration, but lldpd sees {} there", .0[0], .0[1], .0[2])]
    Unlike(Box<[PortName; 3]>),
}

impl CablingError {
    /// What is made of the contradiction.
    pub fn consequence(&self) -> &'static str {
        match self {
            CablingError::Unlike(_) => "using the configuration",
            _ => "using neither, so no protection is requested for frames that arrive there",
        }
    }
}

impl Diagnose for CablingError {
    fn hint(&self) -> Option<String> {
        Some("list each port in one link, together with the port at the other end of its cable".to_owned())
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

    /// Adds cables that somebody else has seen. What contradicts is left out on both sides: then it is not known who faces
    /// whom there. The contradictions come with it, in order of ports.
    pub fn with_seen(&self, seen: &[[PortName; 2]]) -> (Cabling, Vec<CablingError>) {
        let mut said: BTreeMap<&PortName, BTreeSet<&PortName>> = BTreeMap::new();
        let known = self.peers.iter().map(|(port, peer)| [port, peer]);
        let seen = seen.iter().flat_map(|[one, other]| [[one, other], [other, one]]);
        for [port, peer] in known.chain(seen) {
            said.entry(port).or_default().insert(peer);
        }
        let fault = |port: &PortName, peers: &BTreeSet<&PortName>| {
            let mut peers = peers.iter().copied();
            match (peers.next(), peers.next()) {
                (Some(peer), None) if peer == port => Some(CablingError::Loop(Box::new(port.clone()))),
                (Some(one), Some(other)) => {
                    Some(CablingError::TwoPeers(Box::new([port.clone(), one.clone(), other.clone()])))
                }
                _ => None,
            }
        };
        let faults: BTreeMap<&PortName, CablingError> =
            said.iter().filter_map(|(port, peers)| Some((*port, fault(port, peers)?))).collect();
        let mut cabling = Cabling::default();
        for (port, peers) in &said {
            let sound = |end: &PortName| !faults.contains_key(end);
            if let Some(peer) = peers.first().filter(|peer| sound(port) && sound(peer)) {
                cabling.peers.insert((*port).clone(), (*peer).clone());
            }
        }
        (cabling, faults.into_values().collect())
    }

    /// Adds the cables of a network file, like [`with_seen`](Self::with_seen), and those that lldpd sees. Neighbours say what they
    /// like: where that contradicts what people have written, what is written counts. An alias does not contradict the name of a
    /// port of the same neighbour.
    pub fn with_heard(&self, heard: &[HeardCable], others: &[[PortName; 2]]) -> (Cabling, Vec<CablingError>) {
        let (written, mut faults) = self.with_seen(others);
        let named: BTreeSet<&PortName> = self.peers.keys().chain(others.iter().flatten()).collect();
        let mut free = Vec::new();
        let mut confirmed = BTreeSet::new();
        for HeardCable { near, far, by_alias } in heard {
            if !named.contains(near) && !named.contains(far) {
                free.push([near.clone(), far.clone()]);
                continue;
            }
            let contradicts = |port: &PortName, seen: &PortName| {
                let peer = written.peer(port).filter(|peer| *peer != seen)?;
                let is_alias = *by_alias && port == near && peer.agent() == far.agent();
                (!is_alias)
                    .then(|| CablingError::Unlike(Box::new([port.clone(), peer.clone(), seen.clone()])))
            };
            match contradicts(near, far).or_else(|| contradicts(far, near)) {
                Some(fault) => faults.push(fault),
                None => _ = confirmed.insert(near.clone()),
            }
        }
        let (mut cabling, more) = written.with_seen(&free);
        faults.extend(more);
        confirmed.extend(free.into_iter().map(|[near, _]| near));
        cabling.heard = confirmed.into_iter().filter(|near| cabling.peers.contains_key(near)).collect();
        (cabling, faults)
    }

    /// Calls a port by its name that a neighbour has heard of by its alias; whether it did.
    ///
    /// # Errors
    /// If the port is known by its name, and faces another one. Nothing is changed then.
    pub fn resolve(&mut self, alias: &PortName, name: &PortName) -> Result<bool, CablingError> {
        let Some(near) = self.peers.get(alias).filter(|near| alias != name && self.heard.contains(near))
        else {
            return Ok(false);
        };
        let near = near.clone();
        if let Some(peer) = self.peers.get(name).filter(|peer| **peer != near) {
            return Err(CablingError::TwoPeers(Box::new([name.clone(), peer.clone(), near])));
        }
        self.peers.remove(alias);
        self.peers.insert(near.clone(), name.clone());
        self.peers.insert(name.clone(), near);
        Ok(true)
    }

    /// Whether lldpd has heard this port's neighbour, which then has heard of the port by its alias.
    pub fn is_heard(&self, port: &PortName) -> bool {
        self.heard.contains(port)
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
    fn what_was_seen_is_added_unless_it_contradicts() {
        let names = |ends: &[[&str; 2]]| -> Vec<[PortName; 2]> {
            ends.iter().map(|ends| ends.map(|end| end.parse().expect("a port"))).collect()
        };
        let known = cables(&[["a/1", "b/1"], ["a/2", "b/2"], ["a/5", "b/5"]]).expect("no contradiction");
        let seen = names(&[
            ["a/1", "b/1"],
            ["a/2", "c/9"],
            ["a/3", "c/3"],
            ["a/4", "c/4"],
            ["a/4", "d/4"],
            ["a/6", "a/6"],
        ]);
        let (cabling, faults) = known.with_seen(&seen);
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "a/2 is connected to both b/2 and c/9",
                "a/4 is connected to both c/4 and d/4",
                "a/6 is connected to itself"
            ]
        );
        let left = cables(&[["a/1", "b/1"], ["a/3", "c/3"], ["a/5", "b/5"]]).expect("no contradiction");
        assert_eq!(cabling, left, "neither statement about a/2 and a/4 is believed");
        let mut reversed = seen;
        reversed.reverse();
        reversed.iter_mut().for_each(|ends| ends.reverse());
        assert_eq!(known.with_seen(&reversed).0, cabling, "order does not matter");
    }

    #[test]
    fn an_alias_is_no_second_name_and_is_resolved_once() {
        let port = |text: &str| -> PortName { text.parse().expect("a port") };
        let heard = |near, far, by_alias| HeardCable { near: port(near), far: port(far), by_alias };
        let all = [heard("a/1", "b/etp1", true), heard("a/2", "b/etp2", true), heard("a/3", "b/swp3", false)];
        let known = cables(&[["a/2", "b/2"]]).expect("no contradiction");
        let (mut cabling, faults) = known.with_heard(&all, &[[port("a/4"), port("b/4")]]);
        assert_eq!(faults, []);
        let peer = |cabling: &Cabling, of: &str| cabling.peer(&port(of)).map(ToString::to_string);
        assert_eq!(peer(&cabling, "a/1").as_deref(), Some("b/etp1"));
        assert_eq!(peer(&cabling, "a/2").as_deref(), Some("b/2"));
        assert_eq!(cabling.resolve(&port("b/etp1"), &port("b/1")), Ok(true));
        assert_eq!(peer(&cabling, "a/1").as_deref(), Some("b/1"));
        assert_eq!((peer(&cabling, "b/1").as_deref(), peer(&cabling, "b/etp1")), (Some("a/1"), None));
        assert_eq!(cabling.resolve(&port("b/etp1"), &port("b/1")), Ok(false));
        assert_eq!(
            cabling.resolve(&port("b/4"), &port("b/9")),
            Ok(false),
            "nobody has heard of it by an alias"
        );
        let error = cabling.resolve(&port("b/swp3"), &port("b/1")).expect_err("it faces another port");
        assert_eq!(error.to_string(), "b/1 is connected to both a/1 and a/3");
        // Another neighbour at the same port contradicts.
        let (_, faults) = known.with_heard(&[heard("a/2", "c/etp2", true)], &[]);
        assert_eq!(faults.len(), 1);
    }

    /// A neighbour that called itself something else took away every cable that was written.
    #[test]
    fn what_is_written_is_believed_whatever_neighbours_say() {
        let port = |text: &str| -> PortName { text.parse().expect("a port") };
        let heard = |near, far| HeardCable { near: port(near), far: port(far), by_alias: false };
        let known = cables(&[["a/1", "b/1"], ["a/2", "b/2"]]).expect("no contradiction");
        let written = [port("a/3"), port("b/3")];
        let all = [heard("a/1", "evil/1"), heard("a/9", "b/2"), heard("a/3", "b/4"), heard("a/4", "c/4")];
        let (cabling, faults) = known.with_heard(&all, &[written]);
        let peer = |of: &str| cabling.peer(&port(of)).map(ToString::to_string);
        let peers = ["a/1", "a/2", "a/3", "a/4", "a/9"].map(peer);
        let expected = [Some("b/1"), Some("b/2"), Some("b/3"), Some("c/4"), None];
        assert_eq!(peers.each_ref().map(Option::as_deref), expected);
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "a/1 is connected to b/1 according to the configuration, but lldpd sees evil/1 there",
                "b/2 is connected to a/2 according to the configuration, but lldpd sees a/9 there",
                "a/3 is connected to b/3 according to the configuration, but lldpd sees b/4 there",
            ]
        );
    }

    #[test]
    fn contradictions_are_reported() {
        let error = cables(&[["a/1", "b/1"], ["c/1", "b/1"]]).expect_err("two peers");
        assert_eq!(error.to_string(), "b/1 is connected to both a/1 and c/1");
        assert_eq!(cables(&[["a/1", "a/1"]]).expect_err("a loop").to_string(), "a/1 is connected to itself");
    }
}
