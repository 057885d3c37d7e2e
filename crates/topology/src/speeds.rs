//! How much of a ToR's capacity each link carries, as whole numbers.
//!
//! A switch spreads what it sends up over its links in proportion to their speeds, counting those that lead on to the top
//! layer while all links are in operation. The share of this traffic that still has a way up is the switch's capacity:
//! 1 in the top layer, and below it the mean over its links, weighted by speed, of what is left at their upper ends. With
//! the weights below, [`Paths`](crate::paths::Paths) counts these shares instead of paths, all in one unit.

use crate::{LinkId, SwitchId, Topology};

/// Counts of whole shares stay below this, so that they are exact as floating-point numbers, too.
const MAX_WHOLE: u128 = 1 << 53;

/// The weights of a network's links.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpeedWeights {
    /// The weight of each link.
    pub of: Vec<u64>,
    /// Whether they are in exact proportion. Where the degrees and speeds of many layers have no small common multiple, they
    /// are rounded.
    pub are_exact: bool,
}

/// The weights; `None` if every ToR's share of its capacity is its share of its paths, whatever is disabled, as in networks
/// whose switches of one layer are alike.
pub fn speed_weights(topology: &Topology) -> Option<SpeedWeights> {
    let weights = exact(topology).unwrap_or_else(|| rounded(topology));
    (!weights.are_exact || differ_from_paths(topology, &weights.of)).then_some(weights)
}

/// The links up that lead on to the top layer, and the sum of their speeds.
fn useful(topology: &Topology, switch: SwitchId) -> (impl Iterator<Item = (LinkId, SwitchId)>, u128) {
    let leads_on = |upper: SwitchId| topology.installed().paths(upper) > 0;
    let up = topology.up(switch).iter().filter(move |hop| leads_on(hop.switch));
    let up = up.map(|hop| (hop.link, hop.switch));
    (up.clone(), up.map(|(link, _)| u128::from(topology.capacity(link))).sum())
}

/// All switches below the top layer, the highest first.
fn downwards(topology: &Topology) -> Vec<SwitchId> {
    let mut switches: Vec<SwitchId> =
        topology.switches().filter(|switch| topology.switch(*switch).zone.is_some()).collect();
    switches.sort_by_key(|switch| std::cmp::Reverse(topology.switch(*switch).layer));
    switches
}

/// Weights with which every switch of a layer has the same whole; `None` if that is too large.
fn exact(topology: &Topology) -> Option<SpeedWeights> {
    // The whole of each layer: the least common multiple of what its switches need.
    let mut whole = vec![1_u128; topology.layer_count()];
    let layer = |switch: SwitchId| usize::from(topology.switch(switch).layer);
    for switch in downwards(topology) {
        let (up, speeds) = useful(topology, switch);
        for (link, upper) in up {
            let divisor = speeds * whole[layer(upper)];
            let needs = divisor / common_divisor(divisor, topology.capacity(link).into());
            let so_far = whole[layer(switch)];
            whole[layer(switch)] = so_far / common_divisor(so_far, needs) * needs;
            if whole[layer(switch)] > MAX_WHOLE {
                return None;
            }
        }
    }
    let mut of = vec![1; topology.link_count()];
    for switch in downwards(topology) {
        let (up, speeds) = useful(topology, switch);
        for (link, upper) in up {
            let speed = u128::from(topology.capacity(link));
            of[link.index()] = (speed * whole[layer(switch)] / (speeds * whole[layer(upper)])) as u64;
        }
    }
    Some(SpeedWeights { of, are_exact: true })
}

/// Weights with which every switch has about the same whole, a power of two in each layer.
fn rounded(topology: &Topology) -> SpeedWeights {
    let bits = 52 / (topology.layer_count() as u32 - 1).max(1);
    let layer = |switch: SwitchId| u32::from(topology.switch(switch).layer);
    let mut of = vec![1; topology.link_count()];
    for switch in downwards(topology) {
        let (up, speeds) = useful(topology, switch);
        for (link, upper) in up {
            let whole = 1_u128 << (bits * (layer(upper) - layer(switch)));
            let speed = u128::from(topology.capacity(link));
            of[link.index()] = ((speed * whole + speeds / 2) / speeds).max(1) as u64;
        }
    }
    SpeedWeights { of, are_exact: false }
}

/// Whether some ToR's share is not that of its paths. It is, if all links of each switch count alike, with what one path is
/// worth at their upper ends.
fn differ_from_paths(topology: &Topology, weights: &[u64]) -> bool {
    let mut worth = vec![1_u128; topology.switch_count()];
    downwards(topology).into_iter().any(|switch| {
        let worth_over =
            |(link, upper): (LinkId, SwitchId)| u128::from(weights[link.index()]) * worth[upper.index()];
        let (mut up, _) = useful(topology, switch);
        let Some(first) = up.next().map(worth_over) else { return false };
        let differ = up.any(|hop| worth_over(hop) != first);
        worth[switch.index()] = first;
        differ
    })
}

fn common_divisor(one: u128, other: u128) -> u128 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}
