//! A network as it was read from files, with its hosts.

use super::MAX_HOST_LINKS;
use crate::graph::{Cable, Graph};
use crate::{LinkId, SwitchId, Topology, TopologyError};
use linkmend_quantity::{BitRate, Distance};

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
}

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
