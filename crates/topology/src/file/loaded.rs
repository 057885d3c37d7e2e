//! A network as it was read from files, with its hosts.

use super::infer::Basis;
use super::{MAX_HOST_LINKS, Place, TopologyFault, TopologyFileError};
use crate::graph::{Cable, Graph};
use crate::{LinkId, SwitchId, Topology, TopologyError};
use linkmend_quantity::{BitRate, Distance};
use std::collections::BTreeMap;

/// A network, and warnings from reading it.
#[derive(Debug)]
pub struct Loaded {
    /// The network, with the operator's names. It has no hosts.
    pub topology: Topology,
    /// The links of hosts, in the order of the files. A host with several links stands here once for each.
    pub host_links: Vec<HostLink>,
    /// Length of each link of the network, as far as the file says it.
    pub lengths: Vec<Option<Distance>>,
    /// Ports at both ends of links, as far as the files say them, in the order of links.
    pub cables: Vec<NamedCable>,
    /// What was left out of the network and what is unusual, for people to read.
    pub warnings: Vec<String>,
    /// How the layers were found, and what is in doubt.
    pub understood: Understood,
}

/// How the layers of a network were found.
#[derive(Debug, Clone, Default)]
pub struct Understood {
    /// Why each switch has its layer; a switch that is missing here was told its layer by the file.
    pub reasons: BTreeMap<SwitchId, (Basis, String)>,
    /// Nodes that are neither switches of the layers nor hosts.
    pub outside: Vec<Outside>,
    /// What may be otherwise than it was understood.
    pub doubts: Vec<Doubt>,
    /// Why the top layer is a guess, if it is.
    pub top_guess: Option<String>,
    /// How many links have the default speed, because the file has none for them.
    pub assumed_speeds: usize,
}

/// A node that forwards but is no part of the layers: a border router, a firewall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    pub name: String,
    /// Why it is none.
    pub reason: String,
}

/// Something that may be otherwise than it was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubt {
    pub place: Place,
    /// What was understood and why.
    pub text: String,
}

impl Understood {
    pub(super) fn doubt(&mut self, file: &str, line: u32, text: String) {
        let place = Place { file: file.to_owned(), line: (line > 0).then_some(line) };
        self.doubts.push(Doubt { place, text });
    }
}

/// A cable: each switch or host with its own name for the port.
pub type PortCable = [(String, String); 2];

/// The two ports of a link between switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedCable {
    /// Which link it is.
    pub link: LinkId,
    /// Each switch with its own name for the port.
    pub ends: [(SwitchId, String); 2],
}

/// A link between a host and a port of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLink {
    /// The host's name, which no switch has.
    pub host: String,
    /// The switch at which it hangs.
    pub switch: SwitchId,
    /// The switch's name for the port, if the file says it.
    pub port: Option<String>,
    /// Speed of the link, if the file says it.
    pub speed: Option<BitRate>,
    /// Length of the link, if the file says it.
    pub length: Option<Distance>,
}

impl Loaded {
    /// Refuses a network whose top layer is a guess: whatever is decided about its links could be wrong. `file` is the name
    /// that the message uses.
    ///
    /// # Errors
    /// If it is one, with the option that says the layers as they were guessed.
    pub fn require_known_top(&self, file: &str) -> Result<(), TopologyFileError> {
        match &self.understood.top_guess {
            None => Ok(()),
            Some(reason) => {
                let (reason, layers) = (reason.clone(), self.layers_option());
                Err(TopologyFault::GuessedTop { reason, layers }.at(file, None))
            }
        }
    }

    /// The layers as an option gives them: a pattern for all switches of a layer whose names begin with the same word, if no
    /// other name of the file does.
    pub fn layers_option(&self) -> String {
        let names = self.topology.names();
        let stem =
            |name: &str| name.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default().to_owned();
        let mut layers_of: BTreeMap<String, Vec<Option<u8>>> = BTreeMap::new();
        let others = self.host_links.iter().map(|link| &link.host);
        let others = others.chain(self.understood.outside.iter().map(|node| &node.name));
        others.for_each(|name| layers_of.entry(stem(name)).or_default().push(None));
        for switch in self.topology.switches() {
            let layer = self.topology.switch(switch).layer;
            layers_of.entry(stem(&names.switch(switch))).or_default().push(Some(layer));
        }
        // A pattern also matches every longer stem that begins with it.
        let is_clear = |stem: &str, layer: u8| {
            let matched = layers_of.iter().filter(|(other, _)| other.starts_with(stem));
            !stem.is_empty() && matched.flat_map(|(_, layers)| layers).all(|other| *other == Some(layer))
        };
        let mut rules = Vec::new();
        for switch in self.topology.switches() {
            let (name, layer) = (names.switch(switch), self.topology.switch(switch).layer);
            let stem = stem(&name);
            let pattern = if is_clear(&stem, layer) { format!("{stem}*") } else { name };
            let rule = format!("{pattern}={layer}");
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        rules.join(",")
    }

    /// The network with its hosts. Switches and links keep their numbers; hosts follow in the order of the files, and so do
    /// their links. What the file does not say of a cable is that of `default`.
    ///
    /// # Errors
    /// If the network is in several parts, or has more nodes than a graph may have.
    pub fn graph(&self, default: Cable) -> Result<Graph, TopologyError> {
        let hosts = self.host_links.iter().map(|link| {
            let speed = link.speed.unwrap_or(default.speed);
            let length = link.length.unwrap_or(default.length);
            (link.host.as_str(), link.switch, Cable { speed, length })
        });
        let length = |link: crate::LinkId| self.lengths.get(link.index()).copied().flatten();
        Graph::of_layered(&self.topology, |link| length(link).unwrap_or(default.length), hosts)
    }
}

// Every link may be that of another host.
const _: () = assert!(MAX_HOST_LINKS + super::MAX_SWITCHES <= crate::graph::MAX_NODES);
