//! A topology, and which of its links has which ports.

use crate::PortName;
use linkmend_topology::file::NamedCable;
use linkmend_topology::{LinkId, Topology};
use std::collections::BTreeMap;
use std::fmt;

/// See the module's documentation.
#[derive(Debug)]
pub struct Network {
    topology: Topology,
    by_port: BTreeMap<PortName, LinkId>,
    /// The ports of links that name both, that of the lower switch first.
    ports: BTreeMap<LinkId, [PortName; 2]>,
}

impl Network {
    /// A network whose file names these cables. Ports with names that no agent can have are left out.
    pub fn new(topology: Topology, cables: &[NamedCable]) -> Network {
        let mut network = Network { topology, by_port: BTreeMap::new(), ports: BTreeMap::new() };
        for NamedCable { link, ends } in cables {
            let lower = network.topology.link(*link).lower;
            let mut ends = ends.each_ref();
            ends.sort_by_key(|(switch, _)| *switch != lower);
            let port = |(switch, port): &(_, String)| {
                PortName::new(&network.topology.names().switch(*switch), port).ok()
            };
            if let [Some(lower), Some(upper)] = ends.map(port) {
                network.by_port.extend([(lower.clone(), *link), (upper.clone(), *link)]);
                network.ports.insert(*link, [lower, upper]);
            }
        }
        network
    }

    /// Its switches and links.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The link that has this port, if the network's file says so.
    pub fn link_of(&self, port: &PortName) -> Option<LinkId> {
        self.by_port.get(port).copied()
    }

    /// The ports of a link, if the network's file names them; that of the lower switch first.
    pub fn ports_of(&self, link: LinkId) -> Option<&[PortName; 2]> {
        self.ports.get(&link)
    }
}

impl From<Topology> for Network {
    /// A network whose ports have no names.
    fn from(topology: Topology) -> Network {
        Network::new(topology, &[])
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.topology.fmt(f)
    }
}
