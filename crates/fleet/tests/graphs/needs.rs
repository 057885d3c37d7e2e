//! What a network must keep, found by walking.

use super::{links, walk};
use linkmend_fleet::Constraint;
use linkmend_fleet::network::Network;
use linkmend_topology::{LinkId, SwitchId, Topology};
use std::collections::BTreeSet;

/// The switches above this one over links for which `is_active` holds.
pub fn above(
    topology: &Topology,
    switch: SwitchId,
    is_active: &dyn Fn(LinkId) -> bool,
) -> BTreeSet<SwitchId> {
    let layer = |switch| topology.switch(switch).layer;
    let mut found = BTreeSet::new();
    for link in links(topology).filter(|&link| is_active(link)) {
        let ends = topology.link(link);
        if ends.lower == switch && layer(ends.upper) > layer(switch) {
            found.insert(ends.upper);
            found.extend(above(topology, ends.upper, is_active));
        }
    }
    found
}

/// Whether all pairs of ToRs that are below a common switch today still are.
fn still_meet(
    topology: &Topology,
    is_active: &dyn Fn(LinkId) -> bool,
    is_active_today: &dyn Fn(LinkId) -> bool,
) -> bool {
    let reached = |is_active: &dyn Fn(LinkId) -> bool| -> Vec<BTreeSet<SwitchId>> {
        topology.tors().iter().map(|tor| above(topology, *tor, is_active)).collect()
    };
    let now = reached(is_active);
    let part = |one: usize, other: usize| now[one].is_disjoint(&now[other]);
    let all = (0..now.len()).flat_map(|one| (one + 1..now.len()).map(move |other| (one, other)));
    let apart: Vec<(usize, usize)> = all.filter(|(one, other)| part(*one, *other)).collect();
    if apart.is_empty() {
        return true;
    }
    let today = reached(is_active_today);
    apart.into_iter().all(|(one, other)| today[one].is_disjoint(&today[other]))
}

/// A share as a fraction.
type Fraction = (u128, u128);

/// The share of what a switch sends up, spread over its links by speed, that still has a way to the top layer over links for
/// which `is_active` holds. Links that never lead there carry nothing.
pub fn capacity(topology: &Topology, switch: SwitchId, is_active: &dyn Fn(LinkId) -> bool) -> Fraction {
    let layer = |switch: SwitchId| topology.switch(switch).layer;
    if topology.switch(switch).zone.is_none() {
        return (1, 1);
    }
    let up = links(topology).filter(|&link| {
        let ends = topology.link(link);
        ends.lower == switch && layer(ends.upper) > layer(switch) && walk(topology, ends.upper, &|_| true) > 0
    });
    let (mut left, mut all) = ((0, 1), 0);
    for link in up {
        let speed = u128::from(topology.capacity(link) / super::BITS_PER_SECOND);
        all += speed;
        if is_active(link) {
            let (above, of) = capacity(topology, topology.link(link).upper, is_active);
            left = reduced((left.0 * of + speed * above * left.1, left.1 * of));
        }
    }
    if all == 0 { (0, 1) } else { reduced((left.0, left.1 * all)) }
}

fn reduced((part, whole): Fraction) -> Fraction {
    let (mut one, mut other) = (whole, part);
    while other > 0 {
        (one, other) = (other, one % other);
    }
    (part / one, whole / one)
}

/// Whether a network keeps what it must, over links that are neither disabled nor in `without`. What has too little already
/// must not get less.
pub fn keeps(network: &Network, constraint: Constraint, without: &[LinkId]) -> bool {
    let in_operation = |link: LinkId| !network.is_disabled(link);
    let is_active = |link: LinkId| in_operation(link) && !without.contains(&link);
    let topology = network.topology();
    let keeps_paths = |tor: &SwitchId| {
        let paths = walk(topology, *tor, &is_active);
        let all = walk(topology, *tor, &|_| true);
        paths as f64 / all as f64 >= constraint.paths || paths == walk(topology, *tor, &in_operation)
    };
    let keeps_capacity = |tor: &SwitchId| {
        let left = capacity(topology, *tor, &is_active);
        left.0 as f64 / left.1 as f64 >= constraint.capacity
            || left == capacity(topology, *tor, &in_operation)
    };
    // A peer link is on no path, and stays.
    without.iter().all(|&link| !topology.is_peer(link))
        && topology.tors().iter().all(keeps_paths)
        && (constraint.capacity == 0.0 || topology.tors().iter().all(keeps_capacity))
        && (!constraint.connected || still_meet(topology, &is_active, &in_operation))
}
