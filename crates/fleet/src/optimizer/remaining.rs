//! What the classes that are not yet decided about can still weigh.
//!
//! Links to different switches of the top layer share no path, nor do parallel ones, so what they cost a ToR adds up. Of the links that
//! lead from switches right above a ToR to the top layer, no more can therefore be disabled than this ToR has paths to spare. One ToR
//! is asked: the one that spares the least weight.

use super::state::Class;
use crate::network::Network;
use linkmend_topology::{LinkId, SwitchId, ZoneId};
use std::collections::BTreeMap;

/// With more classes, or more kinds of ToRs, it takes too long to ask.
const MAX_CLASSES: usize = 64;
const MAX_KINDS: usize = 64;

/// Classes from an index on.
struct Rest {
    /// Of the members that cost the ToR nothing, or nobody knows what.
    free: i128,
    /// The greatest weight for each cost, in ascending order of costs, each behind its cost. Between two of them, a part of a link is taken.
    most: Vec<(u64, i128)>,
}

pub(super) struct Remaining {
    tor: Option<SwitchId>,
    rests: Vec<Rest>,
}

impl Remaining {
    pub(super) fn new(network: &Network, zone: ZoneId, classes: &[Class]) -> Remaining {
        let topology = network.topology();
        let places = topology.installed().switches_of(zone).iter().rev();
        let tors = places.take_while(|switch| topology.switch(**switch).layer == 0).copied();
        let slack = |tor: SwitchId| network.slack(tor)[0];
        // ToRs that are alike need not all be asked.
        let mut kinds: BTreeMap<(BTreeMap<SwitchId, u64>, u64), SwitchId> = BTreeMap::new();
        for tor in tors.take(if classes.len() > MAX_CLASSES { 0 } else { usize::MAX }) {
            if kinds.len() == MAX_KINDS {
                break;
            }
            kinds.entry((links_up(network, tor), slack(tor))).or_insert(tor);
        }
        let mut tightest: (Option<SwitchId>, i128) = (None, total(classes));
        for ((ways, slack), tor) in &kinds {
            let most = rest(network, ways, classes).most(*slack);
            if most < tightest.1 {
                tightest = (Some(*tor), most);
            }
        }
        let tor = tightest.0;
        let Some(one) = tor else { return Remaining { tor, rests: Vec::new() } };
        let ways = links_up(network, one);
        let rest = |index| rest(network, &ways, &classes[index..]);
        Remaining { tor, rests: (0..=classes.len()).map(rest).collect() }
    }

    /// What the members of the classes from this index on can weigh at most, in the network as it is now. `None` if nobody was asked.
    pub(super) fn most(&self, network: &Network, index: usize) -> Option<i128> {
        let tor = self.tor?;
        Some(self.rests[index].most(network.slack(tor)[0]))
    }
}

impl Rest {
    fn most(&self, slack: u64) -> i128 {
        let place = self.most.partition_point(|(cost, _)| *cost <= slack);
        let (below, weight) = if place == 0 { (0, 0) } else { self.most[place - 1] };
        let more = self.most.get(place).map_or(0, |(cost, next)| {
            // Only a part of the next member fits.
            let (of, fits) = (i128::from(cost - below), i128::from(slack - below));
            let step = next - weight;
            step / of * fits + (step % of * fits + of - 1) / of
        });
        self.free + weight + more
    }
}

fn total(classes: &[Class]) -> i128 {
    classes.iter().map(|class| class.weight).sum()
}

/// How many active links lead from a ToR to each switch above it.
fn links_up(network: &Network, tor: SwitchId) -> BTreeMap<SwitchId, u64> {
    let mut ways = BTreeMap::new();
    for hop in network.topology().up(tor).iter().filter(|hop| network.paths().is_active(hop.link)) {
        *ways.entry(hop.switch).or_default() += 1;
    }
    ways
}

fn rest(network: &Network, ways: &BTreeMap<SwitchId, u64>, classes: &[Class]) -> Rest {
    let topology = network.topology();
    let cost = |link: LinkId| {
        let ends = topology.link(link);
        if topology.switch(ends.upper).zone.is_some() {
            0
        } else {
            ways.get(&ends.lower).copied().unwrap_or(0)
        }
    };
    let mut rest = Rest { free: 0, most: Vec::new() };
    let mut members: Vec<(u64, i128)> = Vec::new();
    for member in classes.iter().flat_map(|class| &class.members) {
        match cost(member.link) {
            0 => rest.free += member.weight,
            cost => members.push((cost, member.weight)),
        }
    }
    // What weighs most for its cost comes first.
    members.sort_by(|one, other| (other.1 * i128::from(one.0)).cmp(&(one.1 * i128::from(other.0))));
    let (mut cost, mut weight) = (0, 0);
    for member in members {
        cost += member.0;
        weight += member.1;
        rest.most.push((cost, weight));
    }
    rest
}
