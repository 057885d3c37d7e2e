//! Who is below a link.

use super::Network;
use linkmend_topology::{LinkId, SwitchId, Topology};
use std::collections::BTreeSet;

/// The ToRs whose active links lead up to a link.
pub(crate) fn tors_below(topology: &Topology, network: &Network, link: LinkId) -> BTreeSet<SwitchId> {
    if topology.is_peer(link) {
        return BTreeSet::new();
    }
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
