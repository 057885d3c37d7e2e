//! Alternatives to the plan: what would follow if one link were treated differently. Explanations compare the plan with
//! them.

use super::suspects::Suspect;
use super::{Action, Plan, as_number, decide, objective_of, objective_of_zone};
use crate::network::Network;
use crate::optimizer;
use crate::repair::tors_below;
use linkmend_topology::{LinkId, SwitchId};
use std::collections::BTreeSet;

/// The best that could be done in a link's pod if the link were treated differently.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alternative {
    /// The links in operation today that would be disabled, except the link itself.
    pub disable: Vec<LinkId>,
    /// The value of the objective in the pod.
    pub objective: f64,
}

/// A ToR that would have too few paths without a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockingTor {
    pub tor: SwitchId,
    /// The number of its paths, and the number without the link.
    pub paths: u64,
    pub without: u64,
    pub required: u64,
}

impl Plan<'_> {
    /// The value of the objective in a link's pod under the plan.
    pub(super) fn objective_around(&self, link: LinkId) -> f64 {
        let zone = self.topology.zone_of(link);
        as_number(objective_of_zone(&self.after, zone, self.settings.objective))
    }

    /// The network as the optimizer saw it, with only this link's pod in it.
    fn undecided(&self, link: LinkId, with_link: bool) -> Network<'_> {
        let zone = self.topology.zone_of(link);
        let of_zone: Vec<Suspect> = self
            .suspects
            .iter()
            .filter(|suspect| self.topology.zone_of(suspect.link) == zone)
            .filter(|suspect| with_link || suspect.link != link)
            .copied()
            .collect();
        decide::protected_network(self.topology, &of_zone, &self.settings, &self.obstacles)
    }

    /// The best choice with the link disabled, or `None` if a ToR would have too few paths whatever else is done.
    pub(super) fn alternative_disabled(&self, link: LinkId) -> Option<Alternative> {
        let mut network = self.undecided(link, true);
        if !network.may_disable(link) {
            return None;
        }
        network.disable(link);
        let disable = self.optimize(&mut network, link);
        let zone = self.topology.zone_of(link);
        let objective = as_number(objective_of_zone(&network, zone, self.settings.objective));
        Some(Alternative { disable, objective })
    }

    /// The best choice with the link in operation.
    pub(super) fn alternative_kept(&self, link: LinkId) -> Alternative {
        let weights = self.undecided(link, true);
        let own = objective_of(&weights, link, self.settings.objective);
        let mut network = self.undecided(link, false);
        let disable = self.optimize(&mut network, link);
        let zone = self.topology.zone_of(link);
        let others = objective_of_zone(&network, zone, self.settings.objective);
        Alternative { disable, objective: as_number(own + others) }
    }

    fn optimize(&self, network: &mut Network, link: LinkId) -> Vec<LinkId> {
        let zone = self.topology.zone_of(link);
        let decision = optimizer::exact(network, zone, self.settings.objective);
        decision.disable.iter().for_each(|&link| network.disable(link));
        decision.disable
    }

    /// The ToR that would lack the most paths without an active link: after the plan or, with `alone`, if only the
    /// links that are disabled today were.
    pub(super) fn blocked(&self, link: LinkId, alone: bool) -> Option<BlockingTor> {
        let mut network = if alone { self.undecided(link, true) } else { self.after.clone() };
        let tors = tors_below(self.topology, &network, link);
        let paths: Vec<u64> = tors.iter().map(|&tor| network.paths().count(tor)).collect();
        network.remove_paths(link, &mut |_, _, _| {});
        tors.iter()
            .zip(paths)
            .map(|(&tor, paths)| BlockingTor {
                tor,
                paths,
                without: network.paths().count(tor),
                required: network.required(tor),
            })
            .filter(|blocked| blocked.without < blocked.required.min(blocked.paths))
            // The first of those that lack equally many.
            .rev()
            .max_by_key(|blocked| blocked.required - blocked.without)
    }

    /// The disabled links on paths of a ToR: those disabled before, and those that the plan disables.
    pub(super) fn disabled_above(&self, tor: SwitchId) -> (Vec<LinkId>, Vec<LinkId>) {
        let mut seen = BTreeSet::from([tor]);
        let mut to_visit = vec![tor];
        let mut disabled = BTreeSet::new();
        while let Some(switch) = to_visit.pop() {
            for hop in self.topology.up(switch) {
                if self.after.is_disabled(hop.link) {
                    disabled.insert(hop.link);
                }
                if seen.insert(hop.switch) {
                    to_visit.push(hop.switch);
                }
            }
        }
        let is_old =
            |link: &LinkId| self.links.get(link).is_some_and(|link| link.action == Action::KeepDisabled);
        disabled.into_iter().partition(is_old)
    }
}
