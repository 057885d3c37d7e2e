//! Which directions only carry what others have corrupted.

use super::links::corrupting_links;
use super::network::Network;
use crate::PortName;
use crate::exchange::Directions;
use linkmend_fleet::attribution::{Counted, Counts, Culprit, Verdict, attribute};
use linkmend_fleet::plan::{ReportedLink, culprit_name};
use std::collections::BTreeMap;

/// The ports that count frames which were corrupted further up the path, with the link that did. Links above `activate` are
/// certain to be among the directions.
pub fn downstream_ports(
    network: &Network,
    directions: &Directions,
    activate: f64,
) -> BTreeMap<PortName, String> {
    let topology = network.topology();
    let found = corrupting_links(network, directions);
    let counted =
        |of: &ReportedLink| Some(Counted { link: of.link, loss_rate: of.loss_rate?, receiver: of.receiver });
    let links = found.reported(topology, |_| false).iter().filter_map(counted).collect();
    let counts = Counts { links, entering: found.entering, reported_from: activate, ..Counts::default() };
    let attributed = attribute(topology, &counts);
    let placed = |link| found.links.iter().find(|placed| placed.link == link);
    let name = |culprit| match culprit {
        Culprit::Link(link) => placed(link).map(|placed| placed.name(topology)),
        Culprit::Outside(_) | Culprit::Unjudged(_) => None,
    };
    let mut downstream = BTreeMap::new();
    for placed in &found.links {
        let Some(Verdict::Downstream(culprit)) = attributed.get(&placed.link).map(|of| of.verdict) else {
            continue;
        };
        let culprit = name(culprit).unwrap_or_else(|| culprit_name(topology, culprit));
        for (port, _) in placed.ports.iter().zip(placed.loss_rates).filter(|(_, rate)| rate.is_some()) {
            downstream.insert(port.clone(), culprit.clone());
        }
    }
    downstream
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::links::tests::{directions, network};
    use super::*;

    /// Two ToRs, two switches above them, two at the top.
    pub(in crate::planning) const POD: &str = "switches:\n  - {name: tor1, layer: 0}\n  - {name: tor2, layer: 0}\n  \
        - {name: agg1, layer: 1}\n  - {name: agg2, layer: 1}\n  - {name: spine1, layer: 2}\n  \
        - {name: spine2, layer: 2}\nlinks:\n  - {from: tor1, to: agg1}\n  - {from: tor1, to: agg2}\n  \
        - {from: tor2, to: agg1}\n  - {from: tor2, to: agg2}\n  - {from: agg1, to: spine1}\n  \
        - {from: agg1, to: spine2}\n  - {from: agg2, to: spine1}\n  - {from: agg2, to: spine2}\n";

    #[test]
    fn ports_behind_a_dirty_link_and_behind_a_hosts_cable_are_named() {
        let topology = network(POD);
        let behind = |of: &[(&str, Option<&str>, f64)]| {
            let ports = downstream_ports(&topology, &directions(of), 1e-8);
            ports.into_iter().map(|(port, culprit)| format!("{port} {culprit}")).collect::<Vec<String>>()
        };
        let up = [
            ("spine1/a", Some("agg1/c"), 5.2e-4),
            ("spine2/a", Some("agg1/d"), 4.8e-4),
            ("agg1/a", Some("tor1/a"), 1e-3),
        ];
        assert_eq!(behind(&up), ["spine1/a tor1--agg1", "spine2/a tor1--agg1"]);
        // What came up to a switch at the top has not gone down to this ToR.
        let down = [up[0], up[1], ("tor1/a", Some("agg1/a"), 1e-3)];
        assert_eq!(behind(&down), [] as [String; 0]);
        let host =
            [("tor1/x", None, 1e-3), ("agg1/a", Some("tor1/a"), 2e-4), ("agg2/a", Some("tor1/b"), 2e-4)];
        assert_eq!(behind(&host), ["agg1/a a host's link of tor1", "agg2/a a host's link of tor1"]);
    }
}
