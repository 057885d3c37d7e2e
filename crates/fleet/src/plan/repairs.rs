//! Which link to repair first.
//!
//! A crew repairs some links at a time: a round. The first of a round is the link whose return buys most; the second is
//! chosen as if the first were back, and so on. When a link is back, the optimizer may disable others of its pod in its
//! place; those can be repaired from the next round on.

use super::decide::take_down;
use super::{Action, Plan, as_number, badness_of};
use crate::network::Network;
use crate::optimizer;
use crate::topology::{LinkId, SwitchId, Topology, ZoneId};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

/// How a link comes to be repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It was disabled before.
    Down,
    /// The plan disables it.
    Disabled,
    /// It can be disabled once a repair of an earlier round is done.
    Later,
    /// It can never be disabled without leaving a ToR short, so its repair takes the link away from those ToRs.
    InOperation,
}

/// A repair in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// From 1: repair in this order.
    pub rank: u32,
    /// From 1: repairs of one round go on at a time.
    pub round: u32,
    /// Which link.
    pub link: LinkId,
    /// How it comes to be repaired.
    pub origin: Origin,
    /// Paths that ToRs which have too few still lacked, and get back.
    pub shortage_ended: u64,
    /// What the objective falls by, because others can be disabled in its place.
    pub objective_gain: f64,
    /// Of the ToRs that the link serves, the one with the smallest share of its paths.
    pub worst_tor: Option<SwitchId>,
    /// Paths which that ToR gets back.
    pub paths_regained: u64,
    /// What the optimizer disables once it is back.
    pub then_disable: Vec<LinkId>,
}

/// What a link's return buys. The greater the better.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Worth {
    /// Paths that short ToRs get back: the constraint comes before the objective.
    shortage_ended: u64,
    /// Steps of 2^-94.
    objective_gain: i128,
    paths_regained: u64,
    worst_tor: Option<SwitchId>,
    then_disable: Vec<LinkId>,
}

/// What repairs are ordered by: shortage ended, objective gained, paths regained.
type Key = (u64, i128, u64);

impl Worth {
    fn key(&self) -> Key {
        (self.shortage_ended, self.objective_gain, self.paths_regained)
    }
}

impl Plan<'_> {
    /// The order of repairs: disabled links by what their return buys, then, by loss rate, links that can never be
    /// disabled.
    pub fn repairs(&self) -> &[Repair] {
        self.repairs.get_or_init(|| self.order_repairs())
    }

    fn order_repairs(&self) -> Vec<Repair> {
        let mut queue = Queue::new(self);
        let crew = self.settings.crew.max(1);
        let mut repairs = Vec::new();
        let mut round = 0;
        while !queue.is_empty() {
            round += 1;
            let mut joined = Vec::new();
            for _ in 0..crew {
                let Some((link, worth)) = queue.take_best() else { break };
                joined.extend(worth.then_disable.iter().copied());
                repairs.push(self.repair(repairs.len(), round, link, worth));
            }
            joined.into_iter().for_each(|link| queue.join(link));
        }
        let mut rest: Vec<LinkId> =
            self.links.values().map(|planned| planned.link).filter(|&link| queue.corrupts(link)).collect();
        let loss_rate = |link: &LinkId| self.links[link].loss_rate.unwrap_or(0.0);
        rest.sort_by(|one, other| loss_rate(other).total_cmp(&loss_rate(one)).then(one.cmp(other)));
        for (place, link) in rest.into_iter().enumerate() {
            repairs.push(Repair {
                rank: repairs.len() as u32 + 1,
                round: round + 1 + place as u32 / crew,
                link,
                origin: Origin::InOperation,
                shortage_ended: 0,
                objective_gain: self.links[&link].badness,
                worst_tor: None,
                paths_regained: 0,
                then_disable: Vec::new(),
            });
        }
        repairs
    }

    fn repair(&self, before: usize, round: u32, link: LinkId, worth: Worth) -> Repair {
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
            shortage_ended: worth.shortage_ended,
            objective_gain: as_number(worth.objective_gain),
            worst_tor: worth.worst_tor,
            paths_regained: worth.paths_regained,
            then_disable: worth.then_disable,
        }
    }
}

/// Disabled links in the order of what their return buys. Only a pod's own links change that, so a repair costs a look
/// at the links of one pod.
struct Queue<'p, 'a> {
    plan: &'p Plan<'a>,
    network: Network<'a>,
    worth: BTreeMap<LinkId, Worth>,
    order: BTreeSet<(Reverse<Key>, LinkId)>,
    in_zone: BTreeMap<ZoneId, BTreeSet<LinkId>>,
}

impl<'p, 'a> Queue<'p, 'a> {
    fn new(plan: &'p Plan<'a>) -> Queue<'p, 'a> {
        let network = plan.after.clone();
        let mut queue =
            Queue { plan, network, worth: BTreeMap::new(), order: BTreeSet::new(), in_zone: BTreeMap::new() };
        for planned in plan.links.values() {
            if queue.network.is_disabled(planned.link) {
                queue.join(planned.link);
            }
        }
        queue
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    fn corrupts(&self, link: LinkId) -> bool {
        self.network.corrupting(link).is_some()
    }

    fn join(&mut self, link: LinkId) {
        let worth = self.weigh(link);
        self.order.insert((Reverse(worth.key()), link));
        self.worth.insert(link, worth);
        self.in_zone.entry(self.plan.topology.zone_of(link)).or_default().insert(link);
    }

    /// Brings back the link that is worth most, and disables what the optimizer then says.
    fn take_best(&mut self) -> Option<(LinkId, Worth)> {
        let (_, link) = self.order.pop_first()?;
        let worth = self.worth.remove(&link)?;
        let zone = self.plan.topology.zone_of(link);
        self.network.enable(link);
        worth.then_disable.iter().for_each(|&link| self.network.disable(link));
        let others = self.in_zone.get_mut(&zone).map(|links| {
            links.remove(&link);
            links.clone()
        });
        for other in others.into_iter().flatten() {
            let now = self.weigh(other);
            if let Some(then) = self.worth.insert(other, now.clone()) {
                self.order.remove(&(Reverse(then.key()), other));
            }
            self.order.insert((Reverse(now.key()), other));
        }
        Some((link, worth))
    }

    /// What the return of a disabled link buys.
    fn weigh(&mut self, link: LinkId) -> Worth {
        let (topology, objective) = (self.plan.topology, self.plan.settings.objective);
        let zone = topology.zone_of(link);
        let tors = tors_below(topology, &self.network, link);
        let worst_tor = tors.iter().copied().min_by(|one, other| self.compare_shares(*one, *other));
        let paths_then = worst_tor.map_or(0, |tor| self.network.paths().of(tor));
        let lacking_then = self.lacking(&tors);
        self.network.enable(link);
        let lacking_now = self.lacking(&tors);
        let paths_now = worst_tor.map_or(0, |tor| self.network.paths().of(tor));
        let then_disable = optimizer::exact(&mut self.network, zone, objective).disable;
        let gain = then_disable.iter().map(|&link| badness_of(&self.network, link, objective)).sum();
        take_down(&mut self.network, link);
        Worth {
            shortage_ended: lacking_then - lacking_now,
            objective_gain: gain,
            paths_regained: paths_now - paths_then,
            worst_tor,
            then_disable,
        }
    }

    /// Paths that these ToRs lack of what they must keep.
    fn lacking(&self, tors: &BTreeSet<SwitchId>) -> u64 {
        let lacking =
            |&tor: &SwitchId| self.network.required(tor).saturating_sub(self.network.paths().of(tor));
        tors.iter().map(lacking).sum()
    }

    /// Which of two ToRs has the smaller share of its paths; of two that have the same, the first.
    fn compare_shares(&self, one: SwitchId, other: SwitchId) -> Ordering {
        let paths = |tor| u128::from(self.network.paths().of(tor));
        let installed = |tor| u128::from(self.plan.clean.paths().of(tor));
        let (left, right) = (paths(one) * installed(other), paths(other) * installed(one));
        left.cmp(&right).then(one.cmp(&other))
    }
}

/// The ToRs from which active links lead up to a link.
pub(super) fn tors_below(topology: &Topology, network: &Network, link: LinkId) -> BTreeSet<SwitchId> {
    let mut seen = BTreeSet::from([topology.link(link).lower]);
    let mut to_visit = vec![topology.link(link).lower];
    while let Some(switch) = to_visit.pop() {
        for hop in topology.down(switch) {
            if network.paths().is_active(hop.link) && seen.insert(hop.switch) {
                to_visit.push(hop.switch);
            }
        }
    }
    seen.retain(|&switch| topology.switch(switch).layer == 0);
    seen
}
