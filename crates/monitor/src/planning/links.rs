//! Which link of a topology a direction is of.

use crate::PortName;
use crate::exchange::Directions;
use linkmend_fleet::plan::{LinkFinder, ReportedLink};
use linkmend_topology::{LinkId, SwitchId, Topology};
use std::collections::BTreeMap;
use std::fmt;

/// A link that corrupts.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedLink {
    pub link: LinkId,
    /// Its two ports, sorted.
    pub ports: [PortName; 2],
    /// What each of them counts; at least one does.
    pub loss_rates: [Option<f64>; 2],
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
    /// Its name in the topology, or its ports if there are several links between its switches: which of them it is, is not
    /// known.
    pub fn name(&self, topology: &Topology) -> String {
        let ends = topology.link(self.link);
        let beside = topology.up(ends.lower).iter().filter(|hop| hop.switch == ends.upper).count();
        let [one, other] = &self.ports;
        if beside > 1 { format!("{one}--{other}") } else { topology.names().link(self.link) }
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
/// Agents must have the names of the topology's switches. Of several links between two switches, the corrupting cables are
/// taken in order of their ports: the plan does not depend on which of equal links they are.
pub fn corrupting_links(topology: &Topology, directions: &Directions) -> Found {
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
                let why = "its sender is not known".to_owned();
                found.unplaced.push(Unplaced { port: port.clone(), why });
            }
        }
    }
    let finder = LinkFinder::new(topology);
    let mut taken: BTreeMap<[&str; 2], usize> = BTreeMap::new();
    for ([one, other], loss_rates) in cables {
        let mut switches = [one.agent(), other.agent()];
        switches.sort_unstable();
        let links = finder.all_between(switches[0], switches[1]);
        let next = taken.entry(switches).or_default();
        match links.get(*next) {
            Some(&link) => {
                found.links.push(PlacedLink { link, ports: [one.clone(), other.clone()], loss_rates });
            }
            None => {
                let [one_switch, other_switch] = switches;
                let why = match links.len() {
                    0 => format!("the network has no link between {one_switch} and {other_switch}"),
                    many => {
                        format!("the network has only {many} links between {one_switch} and {other_switch}")
                    }
                };
                let counting = [one, other].into_iter().zip(loss_rates);
                outside.extend(counting.filter_map(|(port, loss_rate)| Some((port, loss_rate?))));
                found.unplaced.push(Unplaced { port: one.clone(), why });
            }
        }
        *next += 1;
    }
    found.entering = entering(topology, &outside);
    found
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
        let Found { links, entering, unplaced } = corrupting_links(
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
                "leaf2/y: its sender is not known",
                "leaf1/d: the network has only 2 links between leaf1 and spine1",
                "leaf2/x: the network has no link between leaf2 and spine1",
                "spine1/z: the network has no link between spine1 and tor9",
            ]
        );
    }
}
