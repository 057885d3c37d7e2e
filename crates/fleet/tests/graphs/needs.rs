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

/// Whether a network keeps what it must, over links that are neither disabled nor in `without`. What has too little already
/// must not get less.
pub fn keeps(network: &Network, constraint: Constraint, without: &[LinkId]) -> bool {
    let in_operation = |link: LinkId| !network.is_disabled(link);
    let is_active = |link: LinkId| in_operation(link) && !without.contains(&link);
    let topology = network.topology();
    let keeps_paths = |tor: &SwitchId| {
        let paths = walk(topology, *tor, &is_active);
        paths >= network.required(*tor) || paths == walk(topology, *tor, &in_operation)
    };
    // A peer link is on no path, and stays.
    without.iter().all(|&link| !topology.is_peer(link))
        && topology.tors().iter().all(keeps_paths)
        && (!constraint.connected || still_meet(topology, &is_active, &in_operation))
}
