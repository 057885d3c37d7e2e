//! The benefit of repairing a disabled link.

use crate::network::{CLEAN_LOSS_RATE, Network, tors_below};
use crate::optimizer::{Decision, Objective};
use linkmend_topology::paths::Paths;
use linkmend_topology::{LinkId, SwitchId, ZoneId};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// The benefit of repairing a link. Greater is better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepairBenefit {
    /// Paths that ToRs with too few regain, up to what they need. The constraint comes before the objective.
    pub shortage_ended: u64,
    /// The same of capacity, as a count.
    pub capacity_shortage_ended: u64,
    /// By how much the objective falls, in steps of 2^-94.
    pub objective_gain: i128,
    pub paths_regained: u64,
    /// Of the ToRs that the link serves, the one with the smallest share of its paths.
    pub worst_tor: Option<SwitchId>,
    /// The links that the optimizer disables once the link is back.
    pub then_disable: Vec<LinkId>,
    /// Whether it would disable more if that did not part ToRs.
    pub limited: bool,
}

/// An optimizer of one zone.
pub(crate) type Optimize = fn(&mut Network, ZoneId, Objective) -> Decision;

/// The order of repairs: by missing paths and capacity regained, then by the objective gained, then by paths regained.
pub(crate) type Key = (u64, u64, i128, u64);

impl RepairBenefit {
    pub(crate) fn key(&self) -> Key {
        (self.shortage_ended, self.capacity_shortage_ended, self.objective_gain, self.paths_regained)
    }

    /// The benefit of repairing a disabled link, if `optimize` then disables others, in a network that had `installed`
    /// paths at first. Leaves the network as it was.
    pub(crate) fn evaluate(
        network: &mut Network,
        installed: &Paths,
        link: LinkId,
        (optimize, objective): (Optimize, Objective),
    ) -> RepairBenefit {
        let topology = network.topology();
        let tors = tors_below(topology, network, link);
        let compare = |one: &SwitchId, other: &SwitchId| compare_shares(network, installed, *one, *other);
        let worst_tor = tors.iter().copied().min_by(compare);
        let paths_then = worst_tor.map_or(0, |tor| network.paths().count(tor));
        let short_then = lacking(network, &tors);
        network.enable(link);
        let short_now = lacking(network, &tors);
        let paths_now = worst_tor.map_or(0, |tor| network.paths().count(tor));
        let Decision { disable: then_disable, limited, .. } =
            optimize(network, topology.zone_of(link), objective);
        let weight = |&link: &LinkId| {
            let corrupting = network.corrupting(link)?;
            Some(objective.weight(corrupting, topology.capacity(link)))
        };
        let objective_gain = then_disable.iter().filter_map(weight).sum();
        take_down(network, link);
        RepairBenefit {
            shortage_ended: short_then[0] - short_now[0],
            capacity_shortage_ended: short_then[1] - short_now[1],
            objective_gain,
            paths_regained: paths_now - paths_then,
            worst_tor,
            then_disable,
            limited,
        }
    }
}

/// Disables a link whether or not it corrupts.
pub(crate) fn take_down(network: &mut Network, link: LinkId) {
    // Only links that corrupt can be disabled. The rate is discarded when the link is enabled again.
    network.corrupt(link, CLEAN_LOSS_RATE);
    network.disable(link);
}

/// How much these ToRs lack, in total, of the minimum that they must keep: paths, and counts of capacity.
fn lacking(network: &Network, tors: &BTreeSet<SwitchId>) -> [u64; 2] {
    let lacks = tors.iter().map(|&tor| network.lacks(tor));
    lacks.fold([0; 2], |all, lacks| [all[0] + lacks[0], all[1] + lacks[1]])
}

/// Compares two ToRs by the share of their paths; the first is the smaller if the shares are equal.
fn compare_shares(network: &Network, installed: &Paths, one: SwitchId, other: SwitchId) -> Ordering {
    let paths = |tor| u128::from(network.paths().count(tor));
    let installed = |tor| u128::from(installed.count(tor));
    let (left, right) = (paths(one) * installed(other), paths(other) * installed(one));
    left.cmp(&right).then(one.cmp(&other))
}
