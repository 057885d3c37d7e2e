//! What is known of links at one moment, and of which of them nothing is known.

use super::links::{Found, PlacedLink};
use super::network::Network;
use crate::PortName;
use crate::exchange::Directions;
use crate::findings::{Counted, Finding, PortFindings};
use linkmend_topology::{Link, LinkId, SwitchId};
use std::collections::{BTreeMap, BTreeSet};

/// What agents have said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Known {
    /// When it was so, in seconds since 1970.
    pub at_s: u64,
    /// Since when all that is known was measured, in seconds since 1970: when that agent polled its ports for which it is longest
    /// ago, of those whose findings hold.
    pub heard_at_s: u64,
    pub directions: Directions,
    pub findings: PortFindings,
}

impl Known {
    /// What the agent of a port has found out about it.
    pub fn finding(&self, port: &PortName) -> Option<Finding> {
        self.findings.get(port).map(|of| of.finding)
    }

    /// When a port counted the latest corrupted frame, in seconds since 1970, if its agent finds that its link corrupts.
    pub fn corrupted_at_s(&self, port: &PortName) -> Option<u64> {
        let of = self.findings.get(port).filter(|of| of.finding == Finding::Corrupting)?;
        Some(self.at_s.saturating_sub(of.calm_s))
    }

    /// What a port has counted, if its agent finds that its link corrupts.
    pub fn counted(&self, port: &PortName) -> Option<Counted> {
        self.findings.get(port).filter(|of| of.finding == Finding::Corrupting)?.counted
    }

    /// The directions, with the rates that agents find at present where they say more than what was asked for once.
    pub fn measured(&self) -> Directions {
        let mut directions = self.directions.clone();
        for (port, state) in &mut directions {
            let request = state.request.as_mut().filter(|request| !request.expected);
            let protection = request.and_then(|request| request.protection.as_mut());
            let found = self.findings.get(port).and_then(|of| of.loss_rate);
            if let (Some(protection), Some(rate)) =
                (protection, found.filter(|rate| *rate > 0.0 && *rate <= 1.0))
            {
                protection.loss_rate = rate;
            }
        }
        directions
    }
}

/// The directions of links of which no agent says anything, by the switches that receive. A link that is disabled carries
/// nothing.
pub fn unjudged(
    network: &Network,
    found: &Found,
    findings: &PortFindings,
    is_disabled: impl Fn(&PlacedLink) -> bool,
) -> BTreeSet<(LinkId, SwitchId)> {
    let topology = network.topology();
    let names: Vec<String> = topology.switches().map(|switch| topology.names().switch(switch)).collect();
    let name = |switch: SwitchId| names.get(switch.index()).map_or("", String::as_str);
    let mut spoken_for = BTreeSet::new();
    for placed in &found.links {
        let Link { lower, upper, .. } = *topology.link(placed.link);
        let disabled = is_disabled(placed);
        let counts = |switch| {
            let mut counting = placed.ports.iter().zip(placed.loss_rates).filter(|(_, rate)| rate.is_some());
            disabled || counting.any(|(port, _)| port.agent() == name(switch))
        };
        spoken_for
            .extend([lower, upper].into_iter().filter(|end| counts(*end)).map(|end| (placed.link, end)));
    }
    // Where the network does not name ports, it is counted how many of its switch's links to another one an agent knows.
    let mut judged: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (port, of) in findings {
        if let Some(sender) = &of.sender {
            *judged.entry((port.agent(), sender.agent())).or_default() += 1;
        }
    }
    let mut parallel: BTreeMap<(SwitchId, SwitchId), usize> = BTreeMap::new();
    let links = || (0..topology.link_count() as u32).map(LinkId);
    for link in links() {
        let Link { lower, upper, .. } = *topology.link(link);
        *parallel.entry((lower, upper)).or_default() += 1;
    }
    let is_judged = |link: LinkId, receiver: SwitchId| {
        let Link { lower, upper, .. } = *topology.link(link);
        let (sender, place) = if receiver == lower { (upper, 0) } else { (lower, 1) };
        let all_are = || {
            let judged = judged.get(&(name(receiver), name(sender))).copied().unwrap_or(0);
            judged >= parallel.get(&(lower, upper)).copied().unwrap_or(0)
        };
        network.ports_of(link).is_some_and(|ports| findings.contains_key(&ports[place])) || all_are()
    };
    let ends = links().flat_map(|link| {
        let Link { lower, upper, .. } = *topology.link(link);
        [(link, lower), (link, upper)]
    });
    ends.filter(|end| !spoken_for.contains(end) && !is_judged(end.0, end.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::PortFinding;
    use crate::planning::links::tests::directions;

    /// A request says what a link lost when it was made; a link that loses less since, or more, is planned for by that.
    #[test]
    fn the_rate_that_is_found_at_present_counts_and_not_that_of_the_request() {
        let port: PortName = "leaf1/a".parse().expect("a port");
        let planned = |asked: f64, found: Option<f64>| {
            let of = PortFinding { loss_rate: found, ..PortFinding::new(Finding::Corrupting, None) };
            let known = Known {
                directions: directions(&[("leaf1/a", Some("spine1/a"), asked)]),
                findings: [(port.clone(), of)].into(),
                ..Known::default()
            };
            let request = known.measured()[&port].request.clone().expect("it was asked for");
            request.protection.expect("protection").loss_rate
        };
        assert_eq!(planned(1e-2, Some(1e-5)), 1e-5, "it has fallen");
        assert_eq!(planned(1e-5, Some(1e-2)), 1e-2, "it has risen");
        for none in [None, Some(0.0), Some(f64::NAN), Some(2.0)] {
            assert_eq!(planned(1e-2, none), 1e-2, "{none:?}");
        }
    }
}
