//! A plan that is kept while links begin to corrupt, get worse and come back.

use super::Network;
use super::links::{PlacedLink, Unplaced, corrupting_links};
use crate::PortName;
use crate::exchange::{DirectionState, Directions, Protection, Request};
use linkmend_dataplane::config::ProtectMode;
use linkmend_fleet::deployment::Deployment;
use linkmend_fleet::optimizer::Objective;
use linkmend_fleet::plan::{Action, Plan, PlanSettings};
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
    /// Share of its paths that every ToR must keep, 0 to 1.
    pub constraint: f64,
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

    /// Plans for what agents ask for now. A disabled link stays so until they have taken back what they asked for: they find
    /// that it does not corrupt any more when it is in operation again. That nobody asks for anything says nothing: a bus may
    /// have lost its memory.
    pub fn plan(&mut self, directions: &Directions) -> Planned {
        let request = |port: &PortName| directions.get(port).and_then(|state| state.request.as_ref());
        let corrupts = |port: &PortName| request(port).is_some_and(|request| request.protection.is_some());
        let is_back = |ports: &[PortName; 2]| {
            ports.iter().any(|port| request(port).is_some()) && !ports.iter().any(corrupts)
        };
        let returned: Vec<[PortName; 2]> =
            self.disabled.iter().filter(|ports| is_back(ports)).cloned().collect();
        returned.iter().for_each(|ports| {
            self.disabled.remove(ports);
        });
        let topology = self.network.topology();
        let found = corrupting_links(&self.network, &self.with_disabled(directions));
        let is_disabled = |link: &PlacedLink| self.disabled.contains(&link.ports);
        let mut reported = found.reported(topology, is_disabled);
        for link in reported.iter_mut().filter(|link| link.disabled && link.loss_rate == Some(UNHEARD)) {
            link.loss_rate = None;
        }
        let plan = Plan::with_entering(topology, &reported, found.entering, self.settings.clone());
        let of: BTreeMap<LinkId, &PlacedLink> = found.links.iter().map(|link| (link.link, link)).collect();
        let disable = plan.by_urgency().into_iter().filter(|planned| planned.action == Action::Disable);
        let verdict = |link: LinkId| {
            let placed = of.get(&link)?;
            let why = plan.explain(link).map(|explained| explained.reasons.join(" ")).unwrap_or_default();
            Some(Verdict {
                link: placed.name(topology),
                ports: placed.ports.clone(),
                loss_rate: placed.loss_rate(),
                why,
            })
        };
        let disable = disable.filter_map(|planned| verdict(planned.link)).collect();
        Planned { disable, returned, unplaced: found.unplaced }
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
    use proptest::prelude::*;

    /// A leaf with four spines, of which three must stay.
    fn planner() -> Planner {
        let spines: String = (1..=4).map(|spine| format!("  - {{name: spine{spine}, layer: 1}}\n")).collect();
        let links: String = (1..=4).map(|spine| format!("  - {{from: leaf1, to: spine{spine}}}\n")).collect();
        let text = format!("switches:\n  - {{name: leaf1, layer: 0}}\n{spines}links:\n{links}");
        Planner::new(network(&text), PlannerSettings { constraint: 0.75, target: 1e-8 }, [])
    }

    fn corrupting(links: &[(u8, f64)]) -> Directions {
        let texts: Vec<(String, String, f64)> = links
            .iter()
            .map(|(spine, loss)| (format!("leaf1/eth{spine}"), format!("spine{spine}/eth0"), *loss))
            .collect();
        let of: Vec<(&str, Option<&str>, f64)> =
            texts.iter().map(|(port, sender, loss)| (port.as_str(), Some(sender.as_str()), *loss)).collect();
        directions(&of)
    }

    /// The same with nothing asked for at one port any more.
    fn taken_back(mut directions: Directions, port: &str) -> Directions {
        let state = directions.get_mut(&port.parse::<PortName>().expect("a port")).expect("it is there");
        state.request = state.request.take().map(|request| Request { protection: None, ..request });
        directions
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
        assert_eq!(planner.plan(&Directions::new()).returned, [] as [[PortName; 2]; 0]);
        assert_eq!(planner.unheard(&Directions::new()), [planned.disable[0].ports.clone()]);
        let back = planner.plan(&taken_back(corrupting(&[(1, 1e-1), (2, 1e-2)]), "leaf1/eth2"));
        assert_eq!(spines(&back), ["spine1"]);
        assert_eq!(back.returned, [planned.disable[0].ports.clone()]);
    }

    /// Also while its source is disabled already, and what was counted before is still remembered.
    #[test]
    fn a_link_that_passes_on_what_another_corrupts_is_not_disabled() {
        let settings = PlannerSettings { constraint: 0.25, target: 1e-8 };
        let mut planner = Planner::new(network(super::super::upstream::tests::POD), settings, []);
        let counted = directions(&[
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
        let mut planner = Planner::new(network(text), PlannerSettings { constraint: 0.5, target: 1e-8 }, []);
        let planned = planner.plan(&directions(&[("leaf1/p1", Some("sp0/p1"), 1e-2)]));
        assert_eq!(planned.disable[0].link, "L1");
        assert_eq!(planner.name_of(&planned.disable[0].ports).as_deref(), Some("L1"));
    }

    #[test]
    fn links_of_no_topology_are_named_and_left_alone() {
        let mut planner = planner();
        let strange = directions(&[("tor9/a", Some("tor8/b"), 1e-3), ("leaf1/eth1", None, 1e-3)]);
        let planned = planner.plan(&strange);
        assert_eq!((planned.disable.len(), planned.unplaced.len()), (0, 2));
        assert_eq!(planner.plan(&Directions::new()), Planned::default());
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
