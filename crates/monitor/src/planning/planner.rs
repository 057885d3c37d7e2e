//! A plan that is kept while links begin to corrupt, get worse and come back.

use super::known::{Known, unjudged};
use super::links::{PlacedLink, Unplaced, corrupting_links};
use super::network::Network;
use crate::PortName;
use crate::exchange::{DirectionState, Directions, Protection, Request};
use crate::findings::Finding;
use linkmend_control::ProtectMode;
use linkmend_fleet::Constraint;
use linkmend_fleet::attribution::Culprit;
use linkmend_fleet::deployment::Deployment;
use linkmend_fleet::optimizer::Objective;
use linkmend_fleet::plan::{Action, Plan, PlanSettings, PlannedLink, Surroundings, culprit_name};
use linkmend_fleet::protection::{ProtectionLimits, ProtectionTable};
use linkmend_topology::LinkId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Loss rate that is as bad as losing a whole link's capacity.
const CAPACITY_WEIGHT: f64 = 1e-3;
/// Share of its capacity that ordered mode must leave a link.
const CAPACITY_LEAST: f64 = 0.85;

/// Stands for the loss rate of a disabled link of which nothing is heard.
const UNHEARD: f64 = 1.0;

/// What a network can spare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannerSettings {
    /// What every ToR must keep.
    pub constraint: Constraint,
    /// Loss rate that protection must reach, 0 to 1.
    pub target: f64,
}

/// A link that should be disabled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Its name in the topology, or its ports if that cannot tell it from those beside it.
    pub link: String,
    /// Its two ports, sorted.
    pub ports: [PortName; 2],
    pub loss_rate: f64,
    /// Why, for people.
    pub why: String,
}

/// What a plan says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Planned {
    /// Links to disable now, the worst first.
    pub disable: Vec<Verdict>,
    /// Links that were disabled and corrupt no longer: somebody has repaired them, and put them into operation.
    pub returned: Vec<[PortName; 2]>,
    /// Links that corrupt, or only pass on what a link corrupts that is not judged, and why they are not disabled.
    pub unsure: Vec<([PortName; 2], String)>,
    /// Directions that are of no link of the topology.
    pub unplaced: Vec<Unplaced>,
}

/// Decides which corrupting links to disable. What it says is only remembered when it was done
/// ([`disabled`](Self::disabled)); everything else is planned anew each time.
#[derive(Debug)]
pub struct Planner {
    network: Network,
    settings: PlanSettings,
    disabled: BTreeSet<[PortName; 2]>,
}

impl Planner {
    /// A planner for a network in which these links, by their two ports, are disabled already.
    pub fn new(
        network: Network,
        settings: PlannerSettings,
        disabled: impl IntoIterator<Item = [PortName; 2]>,
    ) -> Planner {
        let PlannerSettings { constraint, target } = settings;
        let settings = PlanSettings {
            constraint,
            target_loss: target,
            objective: Objective::Effective { capacity_weight: CAPACITY_WEIGHT },
            protection: ProtectionTable::authors(),
            min_capacity: CAPACITY_LEAST,
            deployment: Deployment::Everywhere,
            limits: ProtectionLimits::default(),
            crew: 1,
            store_and_forward: false,
        };
        Planner { network, settings, disabled: disabled.into_iter().collect() }
    }

    /// Plans for what agents know now.
    ///
    /// A link is disabled only if an agent of one of its ports finds that it corrupts. It stays so until those that have asked for
    /// something ask for nothing any more and find the link healthy, in operation. That nobody asks for anything says nothing: a
    /// bus may have lost its memory.
    pub fn plan(&mut self, known: &Known) -> Planned {
        let directions = &known.measured();
        let request = |port: &PortName| {
            let request = directions.get(port).and_then(|state| state.request.as_ref());
            // A request of generation 0 only tells an alias.
            request.filter(|request| request.generation > 0)
        };
        let found_at = |ports: &[PortName; 2], finding: Finding| {
            ports.iter().any(|port| known.finding(port) == Some(finding))
        };
        let is_back = |ports: &&[PortName; 2]| {
            let mut asking = ports.iter().filter_map(|port| Some((port, request(port)?))).peekable();
            let is_healthy = |(port, request): (&PortName, &Request)| {
                request.protection.is_none() && known.finding(port) == Some(Finding::Healthy)
            };
            let is_contradicted = found_at(ports, Finding::Corrupting) || found_at(ports, Finding::Down);
            asking.peek().is_some() && asking.all(is_healthy) && !is_contradicted
        };
        let returned: Vec<[PortName; 2]> = self.disabled.iter().filter(is_back).cloned().collect();
        returned.iter().for_each(|ports| {
            self.disabled.remove(ports);
        });
        let topology = self.network.topology();
        let found = corrupting_links(&self.network, &self.with_disabled(directions));
        let is_disabled = |link: &PlacedLink| self.disabled.contains(&link.ports);
        let unjudged = unjudged(&self.network, &found, &known.findings, is_disabled);
        let mut reported = found.reported(topology, is_disabled);
        for link in reported.iter_mut().filter(|link| link.disabled && link.loss_rate == Some(UNHEARD)) {
            link.loss_rate = None;
        }
        let surroundings = Surroundings { entering: found.entering, unjudged };
        let plan = Plan::within(topology, &reported, surroundings, self.settings.clone());
        let of: BTreeMap<LinkId, &PlacedLink> = found.links.iter().map(|link| (link.link, link)).collect();
        let (mut disable, mut unsure) = (Vec::new(), Vec::new());
        for planned in plan.by_urgency() {
            let Some(placed) = of.get(&planned.link) else { continue };
            let ports = placed.ports.clone();
            if let Some(why) = self.why_unsure(planned, found_at(&ports, Finding::Corrupting)) {
                unsure.push((ports, why));
            } else if planned.action == Action::Disable {
                let explained = plan.explain(planned.link);
                let why = explained.map(|explained| explained.reasons.join(" ")).unwrap_or_default();
                let link = placed.name(topology);
                disable.push(Verdict { link, ports, loss_rate: placed.loss_rate(), why });
            }
        }
        Planned { disable, returned, unsure, unplaced: found.unplaced }
    }

    /// Why nothing is done about a link that would be disabled, or may have to be.
    fn why_unsure(&self, planned: &PlannedLink, is_found: bool) -> Option<String> {
        match (planned.action, planned.upstream) {
            (Action::Disable, _) if !is_found => {
                Some("no agent currently reports that it corrupts frames".to_owned())
            }
            (Action::Protect(_) | Action::Leave(_), Some(origin @ Culprit::Unjudged(_))) => Some(format!(
                "its corrupted frames may come from {}, which cannot be judged at the moment",
                culprit_name(self.network.topology(), origin)
            )),
            _ => None,
        }
    }

    /// Disabled links of which no agent says anything, so that only people can know whether they are repaired.
    pub fn unheard(&self, directions: &Directions) -> Vec<[PortName; 2]> {
        let is_heard = |ports: &[PortName; 2]| ports.iter().any(|port| directions.contains_key(port));
        self.disabled.iter().filter(|ports| !is_heard(ports)).cloned().collect()
    }

    /// These directions, and those of disabled links of which nothing is heard: they take paths away all the same.
    fn with_disabled(&self, directions: &Directions) -> Directions {
        let mut all = directions.clone();
        for [one, other] in &self.disabled {
            let is_known = |port: &PortName, peer: &PortName| {
                let request = directions.get(port).and_then(|state| state.request.as_ref());
                request.is_some_and(|request| {
                    request.protection.is_some() && request.sender.as_ref() == Some(peer)
                })
            };
            if !is_known(one, other) && !is_known(other, one) {
                let sender = Some(other.clone());
                let request = Request { sender, ..unheard(self.settings.target_loss) };
                all.insert(one.clone(), DirectionState { request: Some(request), acknowledgement: None });
            }
        }
        all
    }

    /// A link was disabled.
    pub fn disabled(&mut self, ports: [PortName; 2]) {
        self.disabled.insert(ports);
    }

    /// What a link is called that has these ports; `None` if it is not of this network.
    pub fn name_of(&self, [one, other]: &[PortName; 2]) -> Option<String> {
        let request = Request { sender: Some(other.clone()), ..unheard(self.settings.target_loss) };
        let state = DirectionState { request: Some(request), acknowledgement: None };
        let found = corrupting_links(&self.network, &Directions::from([(one.clone(), state)]));
        found.links.first().map(|link| link.name(self.network.topology()))
    }

    /// The links that are disabled, by their ports.
    pub fn all_disabled(&self) -> &BTreeSet<[PortName; 2]> {
        &self.disabled
    }
}

/// Stands for what is asked for at a disabled link of which nothing is heard.
fn unheard(target: f64) -> Request {
    let protection = Protection { mode: ProtectMode::Ordered, loss_rate: UNHEARD, target, copies: 1 };
    Request { protection: Some(protection), ..Request::default() }
}

#[cfg(test)]
mod tests {
    use super::super::links::tests::{directions, network};
    use super::*;
    use crate::findings::PortFinding;
    use proptest::prelude::*;

    /// A leaf with four spines, of which three must stay.
    fn planner() -> Planner {
        let spines: String = (1..=4).map(|spine| format!("  - {{name: spine{spine}, layer: 1}}\n")).collect();
        let links: String = (1..=4).map(|spine| format!("  - {{from: leaf1, to: spine{spine}}}\n")).collect();
        let text = format!("switches:\n  - {{name: leaf1, layer: 0}}\n{spines}links:\n{links}");
        Planner::new(
            network(&text),
            PlannerSettings { constraint: Constraint::connected(0.75), target: 1e-8 },
            [],
        )
    }

    fn corrupting(links: &[(u8, f64)]) -> Known {
        let texts: Vec<(String, String, f64)> = links
            .iter()
            .map(|(spine, loss)| (format!("leaf1/eth{spine}"), format!("spine{spine}/eth0"), *loss))
            .collect();
        let of: Vec<(&str, Option<&str>, f64)> =
            texts.iter().map(|(port, sender, loss)| (port.as_str(), Some(sender.as_str()), *loss)).collect();
        known(&of)
    }

    /// The same with nothing asked for at one port any more, and this found there.
    fn taken_back(mut known: Known, port: &str, finding: Finding) -> Known {
        let port = port.parse::<PortName>().expect("a port");
        let state = known.directions.get_mut(&port).expect("it is there");
        state.request = state.request.take().map(|request| Request { protection: None, ..request });
        known.findings.get_mut(&port).expect("it is there").finding = finding;
        known
    }

    /// What ports count, as their own agents find it.
    fn known(of: &[(&str, Option<&str>, f64)]) -> Known {
        let directions = directions(of);
        let finding = PortFinding::new(Finding::Corrupting, None);
        let findings = directions.keys().map(|port| (port.clone(), finding.clone())).collect();
        Known { directions, findings, ..Known::default() }
    }

    fn spines(planned: &Planned) -> Vec<&str> {
        planned.disable.iter().map(|verdict| verdict.ports[1].agent()).collect()
    }

    #[test]
    fn what_the_network_can_spare_is_disabled_and_stays_so_until_it_is_back() {
        let mut planner = planner();
        let planned = planner.plan(&corrupting(&[(1, 1e-5), (2, 1e-2)]));
        assert_eq!(spines(&planned), ["spine2"], "the worse one, and only one");
        assert!(planned.disable[0].why.contains("paths"), "{planned:?}");
        // Nobody has done it: it is said again, and of another one if that is worse by then.
        assert_eq!(spines(&planner.plan(&corrupting(&[(1, 1e-5), (2, 1e-2)]))), ["spine2"]);
        assert_eq!(spines(&planner.plan(&corrupting(&[(1, 1e-1), (2, 1e-2)]))), ["spine1"]);
        planner.disabled(planned.disable[0].ports.clone());
        let worse = planner.plan(&corrupting(&[(1, 1e-1), (2, 1e-2)]));
        assert_eq!((worse.disable, worse.returned), (vec![], vec![]), "nothing is left to spare");
        // A bus that has forgotten everything says nothing of a repair.
        assert_eq!(planner.plan(&Known::default()).returned, [] as [[PortName; 2]; 0]);
        assert_eq!(planner.unheard(&Directions::new()), [planned.disable[0].ports.clone()]);
        let repaired = |finding| taken_back(corrupting(&[(1, 1e-1), (2, 1e-2)]), "leaf1/eth2", finding);
        // Somebody says that it needs no protection any more, and its own agent sees that it is down.
        assert_eq!(planner.plan(&repaired(Finding::Down)).returned, [] as [[PortName; 2]; 0]);
        let back = planner.plan(&repaired(Finding::Healthy));
        assert_eq!(spines(&back), ["spine1"]);
        assert_eq!(back.returned, [planned.disable[0].ports.clone()]);
    }

    /// Also while its source is disabled already, and what was counted before is still remembered.
    #[test]
    fn a_link_that_passes_on_what_another_corrupts_is_not_disabled() {
        let settings = PlannerSettings { constraint: Constraint::connected(0.25), target: 1e-8 };
        let mut planner = Planner::new(network(super::super::upstream::tests::POD), settings, []);
        let counted = known(&[
            ("agg1/a", Some("tor1/a"), 1e-3),
            ("spine1/a", Some("agg1/c"), 5.2e-4),
            ("spine2/a", Some("agg1/d"), 4.8e-4),
        ]);
        let planned = planner.plan(&counted);
        let links: Vec<&str> = planned.disable.iter().map(|verdict| verdict.link.as_str()).collect();
        assert_eq!(links, ["tor1--agg1"]);
        planner.disabled(planned.disable[0].ports.clone());
        assert_eq!(planner.plan(&counted).disable, []);
    }

    /// L0 is as good as L1, but it is L1 that has to be disabled.
    #[test]
    fn a_parallel_link_is_called_by_its_own_name() {
        let text = "switches:\n  - {name: leaf1, layer: 0}\n  - {name: sp0, layer: 1}\nlinks:\n  \
                    - {from: leaf1, to: sp0, name: L0, from_port: p0, to_port: p0}\n  \
                    - {from: leaf1, to: sp0, name: L1, from_port: p1, to_port: p1}\n";
        let mut planner = Planner::new(
            network(text),
            PlannerSettings { constraint: Constraint::connected(0.5), target: 1e-8 },
            [],
        );
        let planned = planner.plan(&known(&[("leaf1/p1", Some("sp0/p1"), 1e-2)]));
        assert_eq!(planned.disable[0].link, "L1");
        assert_eq!(planner.name_of(&planned.disable[0].ports).as_deref(), Some("L1"));
    }

    /// The true source flaps while it corrupts, so that its port says nothing: leaf2 sends to sp0, which passes on to leaf1.
    #[test]
    fn nothing_is_disabled_because_of_what_a_port_may_corrupt_that_is_not_judged() {
        for (ports, name) in [
            (["", ""], "leaf2--sp0"),
            (["from_port: p0, to_port: p0", "from_port: p0, to_port: p4"], "leaf2:p0--sp0:p4"),
        ] {
            let text = format!(
                "switches:\n  - {{name: leaf1, layer: 0}}\n  - {{name: leaf2, layer: 0}}\n  - {{name: sp0, layer: 1}}\n  \
                 - {{name: sp1, layer: 1}}\nlinks:\n  - {{from: leaf1, to: sp0, {}}}\n  - {{from: leaf2, to: sp0, {}}}\n  \
                 - {{from: leaf1, to: sp1}}\n  - {{from: leaf2, to: sp1}}\n",
                ports[0], ports[1]
            );
            let settings = PlannerSettings { constraint: Constraint::connected(0.4), target: 1e-8 };
            let mut planner = Planner::new(network(&text), settings, []);
            let mut counted = known(&[("leaf1/p0", Some("sp0/p0"), 1e-3)]);
            let planned = planner.plan(&counted);
            assert_eq!((planned.disable, planned.unsure.len()), (vec![], 1));
            assert!(
                planned.unsure[0].1.contains(&format!("may come from {name}, which")),
                "{:?}",
                planned.unsure
            );
            // The port of sp0 is found healthy, or down.
            for finding in [Finding::Healthy, Finding::Down] {
                let of = PortFinding::new(finding, "leaf2/p0".parse().ok());
                counted.findings.insert("sp0/p4".parse().expect("a port"), of);
                let planned = planner.plan(&counted);
                assert_eq!((planned.disable.len(), planned.unsure), (1, vec![]));
            }
            // Nobody finds at the moment what was asked for once.
            counted.findings.remove(&"leaf1/p0".parse::<PortName>().expect("a port"));
            let planned = planner.plan(&counted);
            assert_eq!((planned.disable, planned.unsure.len()), (vec![], 1));
        }
    }

    #[test]
    fn links_of_no_topology_are_named_and_left_alone() {
        let mut planner = planner();
        let strange = known(&[("tor9/a", Some("tor8/b"), 1e-3), ("leaf1/eth1", None, 1e-3)]);
        let planned = planner.plan(&strange);
        assert_eq!((planned.disable.len(), planned.unplaced.len()), (0, 2));
        assert_eq!(planner.plan(&Known::default()), Planned::default());
    }

    proptest! {
        #[test]
        fn the_constraint_holds_whatever_comes_and_goes(
            course in prop::collection::vec((prop::collection::btree_map(1_u8..=4, 1e-7_f64..0.3, 0..5), any::<bool>()), 1..12),
        ) {
            let mut planner = planner();
            for (links, carried_out) in course {
                let links: Vec<(u8, f64)> = links.into_iter().collect();
                let planned = planner.plan(&corrupting(&links));
                prop_assert!(planner.all_disabled().len() + planned.disable.len() <= 1, "{planned:?}");
                for verdict in planned.disable.into_iter().filter(|_| carried_out) {
                    planner.disabled(verdict.ports);
                }
            }
        }
    }
}
