//! Which link of a topology a direction is of.

use super::network::Network;
use crate::PortName;
use crate::exchange::Directions;
use linkmend_fleet::plan::ReportedLink;
use linkmend_topology::{LinkFinder, LinkId, SwitchId, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A link that corrupts.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedLink {
    pub link: LinkId,
    /// Its two ports, sorted.
    pub ports: [PortName; 2],
    /// What each of them counts; at least one does.
    pub loss_rates: [Option<f64>; 2],
    /// Whether it may be another one of several links between its switches: their ports are not known.
    pub is_interchangeable: bool,
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

/// What of a topology counts corrupted frames.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub links: Vec<PlacedLink>,
    /// The highest loss rate at a switch of a direction that is of no link of the topology, like that of a host.
    pub entering: BTreeMap<SwitchId, f64>,
    /// Directions whose links are not known.
    pub unplaced: Vec<Unplaced>,
}

impl PlacedLink {
    /// Its name in the topology, or its ports if the topology cannot tell it from those beside it.
    pub fn name(&self, topology: &Topology) -> String {
        let [one, other] = &self.ports;
        if self.is_interchangeable { format!("{one}--{other}") } else { topology.names().link(self.link) }
    }

    /// The rate of its worse direction.
    pub fn loss_rate(&self) -> f64 {
        self.loss_rates.into_iter().flatten().fold(0.0, f64::max)
    }
}

impl Found {
    /// These links as the fleet's planner takes them. `disabled` says which of them are.
    pub fn reported(&self, topology: &Topology, disabled: impl Fn(&PlacedLink) -> bool) -> Vec<ReportedLink> {
        let mut reported = Vec::new();
        for placed in &self.links {
            let ends = topology.link(placed.link);
            for (port, loss_rate) in placed.ports.iter().zip(placed.loss_rates) {
                if loss_rate.is_none() {
                    continue;
                }
                let receives = |end: &SwitchId| topology.names().switch(*end) == port.agent();
                let receiver = [ends.lower, ends.upper].into_iter().find(receives);
                let disabled = disabled(placed);
                reported.push(ReportedLink { link: placed.link, receiver, loss_rate, disabled });
            }
        }
        reported
    }
}

/// The links that count corrupted frames, and the directions whose links are not known.
///
/// Agents must have the names of the topology's switches. A link is found by its ports, if the network names them. Of several
/// links between two switches whose ports it does not name, the corrupting cables are taken in order: the plan does not
/// depend on which of equal links they are.
pub fn corrupting_links(network: &Network, directions: &Directions) -> Found {
    let topology = network.topology();
    let mut cables: BTreeMap<[&PortName; 2], [Option<f64>; 2]> = BTreeMap::new();
    let mut found = Found::default();
    let mut outside = Vec::new();
    for (port, state) in directions {
        let request = state.request.as_ref();
        // A link that is going to lose frames has lost none.
        let request = request.filter(|request| !request.expected);
        let Some(protection) = request.and_then(|request| request.protection) else { continue };
        match request.and_then(|request| request.sender.as_ref()) {
            Some(sender) => {
                let ends = if port < sender { [port, sender] } else { [sender, port] };
                cables.entry(ends).or_default()[usize::from(port > sender)] = Some(protection.loss_rate);
            }
            None => {
                outside.push((port, protection.loss_rate));
                let why = "its sender is unknown".to_owned();
                found.unplaced.push(Unplaced { port: port.clone(), why });
            }
        }
    }
    let ends: Vec<[&PortName; 2]> = cables.keys().copied().collect();
    for ((ends, loss_rates), place) in cables.into_iter().zip(places(network, &ends)) {
        match place {
            Ok((link, is_interchangeable)) => {
                let ports = ends.map(PortName::clone);
                found.links.push(PlacedLink { link, ports, loss_rates, is_interchangeable });
            }
            Err(why) => {
                let counting = ends.into_iter().zip(loss_rates);
                outside.extend(counting.filter_map(|(port, loss_rate)| Some((port, loss_rate?))));
                found.unplaced.push(Unplaced { port: ends[0].clone(), why });
            }
        }
    }
    found.entering = entering(topology, &outside);
    found
}

/// The link of each cable, and whether it may be another one beside it; or why it is not known.
fn places(network: &Network, cables: &[[&PortName; 2]]) -> Vec<Result<(LinkId, bool), String>> {
    let finder = LinkFinder::new(network.topology());
    let between = |[one, other]: [&PortName; 2]| {
        let mut switches = [one.agent(), other.agent()];
        switches.sort_unstable();
        finder.all_between(switches[0], switches[1])
    };
    // Either port is enough: the other one may be called by another name.
    let by_port = |ends: [&PortName; 2], links: &[LinkId]| {
        let named = ends.into_iter().filter_map(|port| network.link_of(port));
        let links: BTreeSet<LinkId> = named.filter(|link| links.contains(link)).collect();
        if links.len() == 1 { links.first().copied() } else { None }
    };
    let mut taken: BTreeSet<LinkId> =
        cables.iter().filter_map(|ends| by_port(*ends, &between(*ends))).collect();
    let mut place = |ends: [&PortName; 2]| {
        let links = between(ends);
        if let Some(link) = by_port(ends, &links) {
            return Ok((link, false));
        }
        let [one, other] = ends.map(PortName::agent);
        match links.iter().find(|link| taken.insert(**link)) {
            Some(&link) => Ok((link, links.len() > 1)),
            None if links.is_empty() => Err(format!("the network has no link between {one} and {other}")),
            None => Err(format!("the network has only {} links between {one} and {other}", links.len())),
        }
    };
    cables.iter().map(|ends| place(*ends)).collect()
}

/// The highest of these rates at each switch.
fn entering(topology: &Topology, outside: &[(&PortName, f64)]) -> BTreeMap<SwitchId, f64> {
    if outside.is_empty() {
        return BTreeMap::new();
    }
    let switches: BTreeMap<String, SwitchId> =
        topology.switches().map(|switch| (topology.names().switch(switch), switch)).collect();
    let mut entering = BTreeMap::new();
    for (port, loss_rate) in outside {
        if let Some(&switch) = switches.get(port.agent()) {
            let highest: &mut f64 = entering.entry(switch).or_default();
            *highest = highest.max(*loss_rate);
        }
    }
    entering
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::exchange::{DirectionState, Protection, Request};
    use linkmend_control::ProtectMode;
    use linkmend_topology::file::{TopologyFileOptions, parse_topology};

    /// Two leaves and two spines; leaf1 has two links to spine1.
    const NETWORK: &str = "switches:\n  - {name: leaf1, layer: 0}\n  - {name: leaf2, layer: 0}\n  - {name: spine1, layer: 1}\n  \
                           - {name: spine2, layer: 1}\nlinks:\n  - {from: leaf1, to: spine1}\n  - {from: leaf1, to: spine1}\n  \
                           - {from: leaf1, to: spine2}\n  - {from: leaf2, to: spine2}\n";

    pub(in crate::planning) fn network(text: &str) -> Network {
        let options =
            TopologyFileOptions { default_speed: Some(linkmend_quantity::BitRate(1)), ..Default::default() };
        let loaded = parse_topology(text.as_bytes().to_vec(), "network.yaml", &options).expect("a network");
        Network::new(loaded.topology, &loaded.cables)
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
        let network = &network(NETWORK);
        let topology = network.topology();
        let Found { links, entering, unplaced } = corrupting_links(
            network,
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
        let mut found: Vec<(u32, f64)> = links.iter().map(|link| (link.link.0, link.loss_rate())).collect();
        found.sort_by_key(|(link, _)| *link);
        assert_eq!(found, [(0, 1e-5), (1, 1e-6), (2, 1e-3)]);
        let switch = |switch: SwitchId| topology.names().switch(switch);
        let entering: Vec<(String, f64)> =
            entering.into_iter().map(|(at, loss_rate)| (switch(at), loss_rate)).collect();
        assert_eq!(entering, [("leaf1", 1e-7), ("leaf2", 1e-3)].map(|(at, rate)| (at.to_owned(), rate)));
        let why: Vec<String> = unplaced.iter().map(ToString::to_string).collect();
        assert_eq!(
            why,
            [
                "leaf2/y: its sender is unknown",
                "leaf1/d: the network has only 2 links between leaf1 and spine1",
                "leaf2/x: the network has no link between leaf2 and spine1",
                "spine1/z: the network has no link between spine1 and tor9",
            ]
        );
    }

    /// Eight links between two switches, and a ninth whose ports are not named.
    #[test]
    fn parallel_links_are_told_apart_by_their_ports() {
        let links: String = (0..8)
            .map(|n| format!("  - {{from: leaf1, to: sp0, name: L{n}, from_port: p{n}, to_port: q{n}}}\n"))
            .collect();
        let switches = "switches:\n  - {name: leaf1, layer: 0}\n  - {name: sp0, layer: 1}\n";
        let network = network(&format!("{switches}links:\n{links}  - {{from: leaf1, to: sp0, name: L8}}\n"));
        let names = |of: &[(&str, Option<&str>, f64)]| {
            let found = corrupting_links(&network, &directions(of));
            let names = found.links.iter().map(|link| link.name(network.topology()));
            names.chain(found.unplaced.iter().map(ToString::to_string)).collect::<Vec<String>>()
        };
        assert_eq!(names(&[("leaf1/p5", Some("sp0/q5"), 1e-3)]), ["L5"]);
        assert_eq!(
            names(&[("sp0/q7", Some("leaf1/p7"), 1e-3), ("leaf1/p5", Some("sp0/q5"), 1e-3)]),
            ["L5", "L7"]
        );
        // One port is enough, and two that contradict each other name none.
        assert_eq!(names(&[("leaf1/p5", Some("sp0/etp5"), 1e-3)]), ["L5"]);
        assert_eq!(names(&[("leaf1/p5", Some("sp0/q6"), 1e-3)]), ["leaf1/p5--sp0/q6"]);
        // What is not named takes no link of which the ports are known.
        let both = [("leaf1/a", Some("sp0/a"), 1e-3), ("leaf1/p0", Some("sp0/q0"), 1e-3)];
        assert_eq!(names(&both), ["leaf1/a--sp0/a", "L0"]);
    }
}
