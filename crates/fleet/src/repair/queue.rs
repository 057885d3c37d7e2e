//! Disabled links in the order of their repairs' benefit.

use super::benefit::{Key, Optimize, RepairBenefit};
use crate::network::Network;
use crate::optimizer::Objective;
use linkmend_topology::paths::Paths;
use linkmend_topology::{LinkId, SwitchId, Topology, ZoneId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Disabled links that wait for repair. Only a zone's own links, and what protection leaves of them, determine the
/// benefit of a repair there, as long as ToRs do not lose each other. Links are therefore evaluated again only in zones
/// where something changed, and only when the best link is requested.
///
/// Where ToRs could lose each other, what is disabled elsewhere can make a benefit smaller, which shows when the link is
/// evaluated again before it is taken. What comes back elsewhere can make it greater only if the benefit was limited.
#[derive(Debug, Default)]
pub(crate) struct RepairQueue {
    /// `None` until a link has been evaluated.
    benefit: BTreeMap<LinkId, Option<RepairBenefit>>,
    order: BTreeSet<(Reverse<Key>, LinkId)>,
    in_zone: BTreeMap<ZoneId, BTreeSet<LinkId>>,
    /// Zones in which something has changed since their links were evaluated.
    stale: BTreeSet<ZoneId>,
    /// Zones with benefits that would be greater if that did not part ToRs.
    limited: BTreeSet<ZoneId>,
}

impl RepairQueue {
    pub(crate) fn len(&self) -> usize {
        self.benefit.len()
    }

    /// Adds a link that has been disabled.
    pub(crate) fn add(&mut self, topology: &Topology, link: LinkId) {
        let zone = topology.zone_of(link);
        self.benefit.insert(link, None);
        self.in_zone.entry(zone).or_default().insert(link);
        self.stale.insert(zone);
    }

    /// Records that something in a zone has changed.
    pub(crate) fn invalidate(&mut self, zone: ZoneId) {
        self.stale.append(&mut self.limited);
        if self.in_zone.contains_key(&zone) {
            self.stale.insert(zone);
        }
    }

    /// Removes and returns the link with the greatest benefit; the first of several. Leaves the network as it was.
    pub(crate) fn take_best(
        &mut self,
        network: &mut Network,
        installed: &Paths,
        how: (Optimize, Objective),
    ) -> Option<(LinkId, RepairBenefit)> {
        for zone in std::mem::take(&mut self.stale) {
            self.evaluate(network, installed, how, zone);
        }
        let (mut expected, mut link) = self.order.pop_first()?;
        while !network.meet_for_certain() {
            let benefit = RepairBenefit::evaluate(network, installed, link, how);
            let key = Reverse(benefit.key());
            self.benefit.insert(link, Some(benefit));
            if key == expected {
                break;
            }
            self.order.insert((key, link));
            (expected, link) = self.order.pop_first()?;
        }
        let zone = network.topology().zone_of(link);
        if let Some(links) = self.in_zone.get_mut(&zone) {
            links.remove(&link);
            if links.is_empty() {
                self.in_zone.remove(&zone);
            }
        }
        let benefit = self.benefit.remove(&link)??;
        Some((link, benefit))
    }

    /// Evaluates the waiting links of a zone. Links that connect one switch to the top layer have the same benefit, so
    /// only one of them is evaluated.
    fn evaluate(
        &mut self,
        network: &mut Network,
        installed: &Paths,
        how: (Optimize, Objective),
        zone: ZoneId,
    ) {
        let topology = network.topology();
        let mut into_top: BTreeMap<SwitchId, RepairBenefit> = BTreeMap::new();
        for &link in self.in_zone.get(&zone).into_iter().flatten() {
            let ends = topology.link(link);
            let alike = topology.switch(ends.upper).zone.is_none() && network.meet_for_certain();
            let mut evaluate = || RepairBenefit::evaluate(network, installed, link, how);
            let benefit =
                if alike { into_top.entry(ends.lower).or_insert_with(evaluate).clone() } else { evaluate() };
            let key = benefit.key();
            if benefit.limited {
                self.limited.insert(zone);
            }
            if let Some(Some(then)) = self.benefit.insert(link, Some(benefit)) {
                self.order.remove(&(Reverse(then.key()), link));
            }
            self.order.insert((Reverse(key), link));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Optimize, RepairBenefit, RepairQueue};
    use crate::constraint::Constraint;
    use crate::network::{CLEAN_LOSS_RATE, Network};
    use crate::optimizer::{self, Objective};
    use linkmend_random::Random;
    use linkmend_topology::{FabricParameters, LinkId, fat_tree};
    use std::cmp::Reverse;
    use std::collections::BTreeSet;

    const HOW: (Optimize, Objective) = (optimizer::exact, Objective::Penalty);

    /// Links corrupt, are disabled and come back at random. The queue must agree with an evaluation of all waiting
    /// links.
    #[test]
    fn the_best_is_the_best_of_all_that_wait() {
        let shape =
            FabricParameters { pods: 3, tors_per_pod: 4, spines_per_plane: 3, ..FabricParameters::PAPER };
        let networks = [shape.build(), fat_tree(4, 100_000_000_000)];
        for (seed, topology) in (0..).zip(networks.map(|topology| topology.expect("in range"))) {
            let mut network = Network::new(&topology, Constraint::paper(0.6), CLEAN_LOSS_RATE);
            let installed = network.paths().clone();
            let mut random = Random::new(seed, "worth");
            let (mut queue, mut waiting) = (RepairQueue::default(), BTreeSet::new());
            for _ in 0..600 {
                let link = LinkId((random.uniform() * topology.link_count() as f64) as u32);
                if network.is_disabled(link) {
                    continue;
                }
                network.corrupt(link, random.uniform() / 100.0);
                if network.may_disable(link) {
                    network.disable(link);
                    queue.add(&topology, link);
                    waiting.insert(link);
                }
                queue.invalidate(topology.zone_of(link));
                if random.uniform() < 0.4 {
                    let best = waiting.iter().copied().min_by_key(|&link| {
                        let benefit = RepairBenefit::evaluate(&mut network, &installed, link, HOW);
                        (Reverse(benefit.key()), link)
                    });
                    let found = queue.take_best(&mut network, &installed, HOW);
                    assert_eq!(found.map(|(link, _)| link), best);
                    let Some(back) = best else { continue };
                    waiting.remove(&back);
                    network.enable(back);
                    queue.invalidate(topology.zone_of(back));
                }
            }
            assert_eq!(queue.len(), waiting.len());
        }
    }
}
