//! Which link of a topology a direction is of.

use crate::PortName;
use crate::exchange::Directions;
use linkmend_fleet::plan::LinkFinder;
use linkmend_topology::{LinkId, Topology};
use std::collections::BTreeMap;
use std::fmt;

/// A link that corrupts.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedLink {
    pub link: LinkId,
    /// Its two ports, sorted.
    pub ports: [PortName; 2],
    /// That of its worse direction.
    pub loss_rate: f64,
}

/// A direction whose link is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplaced {
    /// The port that receives.
    pub port: PortName,
    /// Why it is not known.
    pub why: String,
}

impl fmt::Display for Unplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.port, self.why)
    }
}

/// The links that corrupt, each at the rate of its worse direction, and the directions whose links are not known.
///
/// Agents must have the names of the topology's switches. Of several links between two switches, the corrupting cables are
/// taken in order of their ports: the plan does not depend on which of equal links they are.
pub fn corrupting_links(topology: &Topology, directions: &Directions) -> (Vec<PlacedLink>, Vec<Unplaced>) {
    let mut cables: BTreeMap<[&PortName; 2], f64> = BTreeMap::new();
    let mut unplaced = Vec::new();
    for (port, state) in directions {
        let request = state.request.as_ref();
        // A link that is going to lose frames has lost none.
        let request = request.filter(|request| !request.expected);
        let Some(protection) = request.and_then(|request| request.protection) else { continue };
        match request.and_then(|request| request.sender.as_ref()) {
            Some(sender) => {
                let ends = if port < sender { [port, sender] } else { [sender, port] };
                let worse = cables.entry(ends).or_insert(0.0);
                *worse = worse.max(protection.loss_rate);
            }
            None => unplaced.push(Unplaced { port: port.clone(), why: "its sender is not known".to_owned() }),
        }
    }
    let finder = LinkFinder::new(topology);
    let mut taken: BTreeMap<[&str; 2], usize> = BTreeMap::new();
    let mut placed = Vec::new();
    for ([one, other], loss_rate) in cables {
        let mut switches = [one.agent(), other.agent()];
        switches.sort_unstable();
        let links = finder.all_between(switches[0], switches[1]);
        let next = taken.entry(switches).or_default();
        match links.get(*next) {
            Some(&link) => {
                placed.push(PlacedLink { link, ports: [one.clone(), other.clone()], loss_rate });
            }
            None => {
                let [one_switch, other_switch] = switches;
                let why = match links.len() {
                    0 => format!("the network has no link between {one_switch} and {other_switch}"),
                    many => {
                        format!("the network has only {many} links between {one_switch} and {other_switch}")
                    }
                };
                unplaced.push(Unplaced { port: one.clone(), why });
            }
        }
        *next += 1;
    }
    (placed, unplaced)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::exchange::{DirectionState, Protection, Request};
    use linkmend_dataplane::config::ProtectMode;
    use linkmend_topology::file::{TopologyFileOptions, parse_topology};

    /// Two leaves and two spines; leaf1 has two links to spine1.
    const NETWORK: &str = "switches:\n  - {name: leaf1, layer: 0}\n  - {name: leaf2, layer: 0}\n  - {name: spine1, layer: 1}\n  \
                           - {name: spine2, layer: 1}\nlinks:\n  - {from: leaf1, to: spine1}\n  - {from: leaf1, to: spine1}\n  \
                           - {from: leaf1, to: spine2}\n  - {from: leaf2, to: spine2}\n";

    pub(in crate::planning) fn network(text: &str) -> Topology {
        let options =
            TopologyFileOptions { default_speed: Some(linkmend_quantity::BitRate(1)), ..Default::default() };
        parse_topology(text.as_bytes().to_vec(), "network.yaml", &options).expect("a network").topology
    }

    pub(in crate::planning) fn directions(of: &[(&str, Option<&str>, f64)]) -> Directions {
        let state = |sender: Option<&str>, loss_rate: f64| {
            let protection = Protection { mode: ProtectMode::Ordered, loss_rate, target: 1e-8, copies: 1 };
            let sender = sender.map(|sender| sender.parse().expect("a port"));
            let request =
                Request { generation: 1, protection: Some(protection), sender, ..Request::default() };
            DirectionState { request: Some(request), acknowledgement: None }
        };
        let named = |&(port, sender, loss): &(&str, Option<&str>, f64)| {
            (port.parse().expect("a port"), state(sender, loss))
        };
        of.iter().map(named).collect()
    }

    #[test]
    fn both_directions_are_one_link_and_parallel_cables_are_several() {
        let topology = &network(NETWORK);
        let (links, unplaced) = corrupting_links(
            topology,
            &directions(&[
                ("leaf1/a", Some("spine2/a"), 1e-4),
                ("spine2/a", Some("leaf1/a"), 1e-3),
                ("leaf1/b", Some("spine1/b"), 1e-5),
                ("spine1/c", Some("leaf1/c"), 1e-6),
                ("leaf1/d", Some("spine1/d"), 1e-7),
                ("leaf2/x", Some("spine1/x"), 1e-3),
                ("leaf2/y", None, 1e-3),
                ("tor9/z", Some("spine1/z"), 1e-3),
            ]),
        );
        let mut found: Vec<(u32, f64)> = links.iter().map(|link| (link.link.0, link.loss_rate)).collect();
        found.sort_by_key(|(link, _)| *link);
        assert_eq!(found, [(0, 1e-5), (1, 1e-6), (2, 1e-3)]);
        let why: Vec<String> = unplaced.iter().map(ToString::to_string).collect();
        assert_eq!(
            why,
            [
                "leaf2/y: its sender is not known",
                "leaf1/d: the network has only 2 links between leaf1 and spine1",
                "leaf2/x: the network has no link between leaf2 and spine1",
                "spine1/z: the network has no link between spine1 and tor9",
            ]
        );
    }
}
