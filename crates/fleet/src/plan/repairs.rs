//! Which link to repair first.
//!
//! A crew repairs several links at a time, which makes one round. The first repair of a round is that of the link with
//! the greatest benefit; the second is chosen as if the first were back, and so on. When a link is back, the optimizer
//! may disable others of its pod instead; those can be repaired from the next round on.

use super::{Action, Plan, as_number, objective_of};
use crate::network::Network;
use crate::optimizer;
use crate::repair::{Optimize, RepairBenefit, RepairQueue};
use linkmend_topology::{LinkId, SwitchId, ZoneId};
use std::collections::BTreeSet;

/// Why a link awaits repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was disabled before.
    Down,
    /// The plan disables it.
    Disabled,
    /// It can be disabled once a repair of an earlier round is done.
    Later,
    /// It can never be disabled, because a ToR would have too little left. Repairing it takes paths from those ToRs.
    InOperation,
}

/// A repair and its place in the order.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// Its place in the order of repairs, from 1.
    pub rank: u32,
    /// The round in which it is done, from 1. Repairs of one round are under way at the same time.
    pub round: u32,
    /// The link to repair.
    pub link: LinkId,
    /// Why the link awaits repair.
    pub origin: Origin,
    /// Paths that ToRs with too few regain, up to what they need.
    pub shortage_ended: u64,
    /// Whether ToRs with too little capacity regain some.
    pub ends_capacity_shortage: bool,
    /// By how much the objective falls, because other links can be disabled in its place.
    pub objective_gain: f64,
    /// Of the ToRs that the link serves, the one with the smallest share of its paths.
    pub worst_tor: Option<SwitchId>,
    /// Paths that this ToR regains.
    pub paths_regained: u64,
    /// The links that the optimizer disables once it is back.
    pub then_disable: Vec<LinkId>,
}

impl Plan<'_> {
    /// The order of repairs: disabled links by benefit, then, by loss rate, links that can never be disabled.
    pub fn repairs(&self) -> &[Repair] {
        self.repairs.get_or_init(|| self.order_repairs())
    }

    fn order_repairs(&self) -> Vec<Repair> {
        let (mut network, mut queue) = (self.after.clone(), RepairQueue::default());
        let links = || self.links.values().map(|planned| planned.link);
        links().filter(|&link| network.is_disabled(link)).for_each(|link| queue.add(self.topology, link));
        let how = (optimizer::exact as Optimize, self.settings.objective);
        let crew = self.settings.crew.max(1);
        let mut repairs: Vec<Repair> = Vec::new();
        let mut round = 0;
        let mut limited = self.limited_zones(&mut network);
        while queue.len() > 0 {
            round += 1;
            let mut joined = Vec::new();
            for _ in 0..crew {
                let best = queue.take_best(&mut network, self.clean.paths(), how);
                let Some((link, benefit)) = best else { break };
                network.enable(link);
                benefit.then_disable.iter().for_each(|&link| network.disable(link));
                queue.invalidate(self.topology.zone_of(link));
                let mut repair = self.repair(repairs.len(), round, link, benefit);
                let (elsewhere, gain) = self.disable_in(&mut network, &mut limited);
                elsewhere.iter().for_each(|&link| queue.invalidate(self.topology.zone_of(link)));
                repair.then_disable.extend(elsewhere);
                repair.objective_gain += as_number(gain);
                joined.extend(repair.then_disable.iter().copied());
                repairs.push(repair);
            }
            joined.into_iter().for_each(|link| queue.add(self.topology, link));
        }
        let mut rest: Vec<LinkId> = links().filter(|&link| network.corrupting(link).is_some()).collect();
        let loss_rate = |link: &LinkId| self.links[link].loss_rate.unwrap_or(0.0);
        rest.sort_by(|one, other| loss_rate(other).total_cmp(&loss_rate(one)).then(one.cmp(other)));
        for (place, link) in rest.into_iter().enumerate() {
            repairs.push(Repair {
                rank: repairs.len() as u32 + 1,
                round: round + 1 + place as u32 / crew,
                link,
                origin: Origin::InOperation,
                shortage_ended: 0,
                ends_capacity_shortage: false,
                objective_gain: self.links[&link].objective_value,
                worst_tor: None,
                paths_regained: 0,
                then_disable: Vec::new(),
            });
        }
        repairs
    }

    /// Zones where links stay in operation only so that ToRs do not lose each other.
    fn limited_zones(&self, network: &mut Network) -> BTreeSet<ZoneId> {
        if network.meet_for_certain() {
            return BTreeSet::new();
        }
        let zones: BTreeSet<ZoneId> = self.links.keys().map(|&link| self.topology.zone_of(link)).collect();
        let objective = self.settings.objective;
        zones.into_iter().filter(|&zone| optimizer::exact(network, zone, objective).limited).collect()
    }

    /// Disables what can be disabled in zones where links were in operation only so that ToRs do not lose each other. Zones
    /// where that is so no longer are removed. Returns the links and by how much the objective falls.
    fn disable_in(&self, network: &mut Network, limited: &mut BTreeSet<ZoneId>) -> (Vec<LinkId>, i128) {
        let (mut disabled, mut gain) = (Vec::new(), 0);
        for zone in limited.clone() {
            let decision = optimizer::exact(network, zone, self.settings.objective);
            for link in decision.disable {
                gain += objective_of(network, link, self.settings.objective);
                network.disable(link);
                disabled.push(link);
            }
            if !decision.limited {
                limited.remove(&zone);
            }
        }
        (disabled, gain)
    }

    fn repair(&self, before: usize, round: u32, link: LinkId, benefit: RepairBenefit) -> Repair {
        let origin = match self.links.get(&link).map(|planned| planned.action) {
            Some(Action::KeepDisabled) => Origin::Down,
            Some(Action::Disable) => Origin::Disabled,
            _ => Origin::Later,
        };
        Repair {
            rank: before as u32 + 1,
            round,
            link,
            origin,
            shortage_ended: benefit.shortage_ended,
            ends_capacity_shortage: benefit.capacity_shortage_ended > 0,
            objective_gain: as_number(benefit.objective_gain),
            worst_tor: benefit.worst_tor,
            paths_regained: benefit.paths_regained,
            then_disable: benefit.then_disable,
        }
    }
}
