//! Alternatives to the plan: what would follow if one link were treated differently. Explanations compare the plan with
//! them.

use super::suspects::Suspect;
use super::{Action, Plan, as_number, decide, objective_of, objective_of_zone};
use crate::network::tors_below;
use crate::network::{Network, Refusal};
use crate::optimizer;
use linkmend_topology::{LinkId, SwitchId, ZoneId};
use std::collections::BTreeSet;

/// The best that could be done if a link were treated differently, in the part of the network that depends on it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alternative {
    /// The links in operation today that would be disabled, except the link itself.
    pub disable: Vec<LinkId>,
    /// The value of the objective in that part.
    pub objective: f64,
}

/// What stands against disabling a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Blocking {
    Tor(BlockingTor),
    /// Two ToRs that would lose each other.
    Pair(SwitchId, SwitchId),
}

/// A ToR that would have too little without a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BlockingTor {
    pub tor: SwitchId,
    pub lacks: Lacks,
}

/// What a ToR would have too little of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lacks {
    /// The number of its paths, the number without the link, and how many it must keep.
    Paths { paths: u64, without: u64, required: u64 },
    /// The share of its capacity without the link, and the share that it must keep.
    Capacity { without: f64, required: f64 },
}

impl Plan<'_> {
    /// The zones whose choice depends on what is done about a link: its own or, where ToRs could lose each other, all.
    fn zones_around(&self, link: LinkId) -> Vec<ZoneId> {
        let zone = |link: LinkId| self.topology.zone_of(link);
        if self.after.meet_for_certain() {
            return vec![zone(link)];
        }
        let all: BTreeSet<ZoneId> = self.suspects.iter().map(|suspect| zone(suspect.link)).collect();
        all.into_iter().collect()
    }

    /// What the objective is compared in: a link's pod or, where ToRs could lose each other, the network.
    pub(super) fn part_around(&self, link: LinkId) -> String {
        if self.after.meet_for_certain() {
            self.topology.names().zone(self.topology.zone_of(link))
        } else {
            "the network".to_owned()
        }
    }

    /// Whether a link is in the part of the network that depends on another.
    pub(super) fn is_around(&self, link: LinkId, other: LinkId) -> bool {
        !self.after.meet_for_certain() || self.topology.zone_of(link) == self.topology.zone_of(other)
    }

    /// The value of the objective around a link under the plan.
    pub(super) fn objective_around(&self, link: LinkId) -> f64 {
        as_number(self.objective_in(&self.after, link))
    }

    fn objective_in(&self, network: &Network, link: LinkId) -> i128 {
        let zones = self.zones_around(link).into_iter();
        zones.map(|zone| objective_of_zone(network, zone, self.settings.objective)).sum()
    }

    /// The network as the optimizer saw it, with only the part in it that depends on this link.
    fn undecided(&self, link: LinkId, with_link: bool) -> Network<'_> {
        let zones = self.zones_around(link);
        let of_zone: Vec<Suspect> = self
            .suspects
            .iter()
            .filter(|suspect| zones.contains(&self.topology.zone_of(suspect.link)))
            .filter(|suspect| with_link || suspect.link != link)
            .copied()
            .collect();
        decide::protected_network(self.topology, &of_zone, &self.settings, &self.obstacles)
    }

    /// The best choice with the link disabled, or `None` if that leaves too little whatever else is done.
    pub(super) fn alternative_disabled(&self, link: LinkId) -> Option<Alternative> {
        let mut network = self.undecided(link, true);
        if !network.may_disable(link) {
            return None;
        }
        network.disable(link);
        let disable = self.optimize(&mut network, link);
        let objective = as_number(self.objective_in(&network, link));
        Some(Alternative { disable, objective })
    }

    /// The best choice with the link in operation.
    pub(super) fn alternative_kept(&self, link: LinkId) -> Alternative {
        let weights = self.undecided(link, true);
        let own = objective_of(&weights, link, self.settings.objective);
        let mut network = self.undecided(link, false);
        let disable = self.optimize(&mut network, link);
        let others = self.objective_in(&network, link);
        Alternative { disable, objective: as_number(own + others) }
    }

    fn optimize(&self, network: &mut Network, link: LinkId) -> Vec<LinkId> {
        let zones = self.zones_around(link);
        let decision = optimizer::exact_together(network, &zones, self.settings.objective);
        decision.disable.iter().for_each(|&link| network.disable(link));
        decision.disable
    }

    /// What stands against disabling an active link after the plan or, with `alone`, if only the links that are disabled
    /// today were: the ToR that would lack the most paths or, if none would, two that would lose each other.
    pub(super) fn blocked(&self, link: LinkId, alone: bool) -> Option<Blocking> {
        let mut network = if alone { self.undecided(link, true) } else { self.after.clone() };
        let parted = match network.refusal(link) {
            Some(Refusal::Parted(one, other)) => Some(Blocking::Pair(one, other)),
            _ => None,
        };
        parted.or_else(|| self.shortest_of(network, link).map(Blocking::Tor))
    }

    /// The ToR that would lack the most paths without an active link or, if none would, the most capacity.
    fn shortest_of(&self, mut network: Network, link: LinkId) -> Option<BlockingTor> {
        let tors = tors_below(self.topology, &network, link);
        let paths: Vec<u64> = tors.iter().map(|&tor| network.paths().count(tor)).collect();
        network.remove_paths(link);
        let by_paths = tors
            .iter()
            .zip(paths)
            .map(|(&tor, paths)| (tor, paths, network.paths().count(tor), network.required(tor)))
            .filter(|&(_, paths, without, required)| without < required.min(paths))
            // The first of those that lack equally many.
            .rev()
            .max_by_key(|&(_, _, without, required)| required - without);
        if let Some((tor, paths, without, required)) = by_paths {
            return Some(BlockingTor { tor, lacks: Lacks::Paths { paths, without, required } });
        }
        let shares = network.shares()?;
        let short = tors.iter().copied().filter(|&tor| shares.count(tor) < shares.required(tor));
        let worst = short.min_by(|&one, &other| shares.left(one).total_cmp(&shares.left(other)))?;
        let lacks =
            Lacks::Capacity { without: shares.left(worst), required: self.settings.constraint.capacity };
        Some(BlockingTor { tor: worst, lacks })
    }

    /// The disabled links on paths of the ToRs that stand against disabling a link: those disabled before, and those that
    /// the plan disables.
    pub(super) fn disabled_above(&self, blocked: &Blocking) -> (Vec<LinkId>, Vec<LinkId>) {
        let mut to_visit = match *blocked {
            Blocking::Tor(BlockingTor { tor, .. }) => vec![tor],
            Blocking::Pair(one, other) => vec![one, other],
        };
        let mut seen: BTreeSet<SwitchId> = to_visit.iter().copied().collect();
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
