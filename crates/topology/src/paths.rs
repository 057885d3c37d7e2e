//! Valley-free paths from every switch to the top layer, counted by dynamic programming and kept up to date.
//!
//! A switch of the top layer has one path, every other switch the sum over its active links up. When a link goes down
//! or comes up, only switches below it change, each by as much as its active links up: the cost depends on what hangs
//! below the link, not on the size of the network.

use crate::{Hop, LinkId, SwitchId, Topology, TopologyError};

/// The largest number of paths that a ToR may have. A table has a counter for each.
pub const MAX_PATHS: u64 = 1 << 24;

/// Path counts under the links that are active now.
#[derive(Debug, Clone)]
pub struct Paths {
    of: Vec<u64>,
    active: Vec<bool>,
    /// How many links each link counts as; empty if each counts as one.
    weights: Vec<u64>,
}

/// Refuses ToRs without a path and ToRs with too many.
pub(crate) fn check_paths(topology: &Topology) -> Result<(), TopologyError> {
    let paths = Paths::new(topology);
    let name = |tor| topology.names().switch(tor);
    for &tor in topology.tors() {
        let tor_paths = paths.count(tor);
        if tor_paths == 0 {
            return Err(TopologyError::NoPath { tor: name(tor), top: topology.layers - 1 });
        }
        if tor_paths > MAX_PATHS {
            return Err(TopologyError::TooManyPaths { tor: name(tor), limit: MAX_PATHS });
        }
    }
    Ok(())
}

impl Paths {
    /// Counts paths with all links active.
    pub fn new(topology: &Topology) -> Paths {
        Paths::with_active(topology, vec![true; topology.link_count()])
    }

    /// The same where each link counts as several, as of [`speed_weights`](crate::speeds::speed_weights).
    pub fn weighted(topology: &Topology, weights: Vec<u64>) -> Paths {
        Paths::count_all(topology, vec![true; topology.link_count()], weights)
    }

    /// Counts paths from scratch with the given links active, one entry for each link. Counts stop at 2^64 - 1.
    pub fn with_active(topology: &Topology, active: Vec<bool>) -> Paths {
        Paths::count_all(topology, active, Vec::new())
    }

    fn count_all(topology: &Topology, active: Vec<bool>, weights: Vec<u64>) -> Paths {
        let mut paths = Paths { of: Vec::new(), active, weights };
        let mut of = vec![0_u64; topology.switch_count()];
        let top = topology.layers - 1;
        let mut by_layer: Vec<Vec<u32>> = vec![Vec::new(); topology.layer_count()];
        for (number, switch) in topology.switches.iter().enumerate() {
            by_layer[usize::from(switch.layer)].push(number as u32);
        }
        for &switch in &by_layer[usize::from(top)] {
            of[switch as usize] = 1;
        }
        for layer in by_layer[..usize::from(top)].iter().rev() {
            for &switch in layer {
                let up = topology.up(SwitchId(switch)).iter().filter(|hop| paths.is_active(hop.link));
                let through = |hop: &Hop| of[hop.switch.index()].saturating_mul(paths.weight(hop.link));
                of[switch as usize] = up.fold(0_u64, |sum, hop| sum.saturating_add(through(hop)));
            }
        }
        paths.of = of;
        paths
    }

    /// How many links a link counts as.
    pub fn weight(&self, link: LinkId) -> u64 {
        self.weights.get(link.index()).copied().unwrap_or(1)
    }

    /// Number of paths from a switch to the top layer.
    pub fn count(&self, switch: SwitchId) -> u64 {
        self.of[switch.index()]
    }

    /// Whether a link is active.
    pub fn is_active(&self, link: LinkId) -> bool {
        self.active[link.index()]
    }

    /// Whether `keeps` holds for every ToR that would lose paths without an active link, given the paths that it would
    /// have left. `None` where ToRs lose paths through several switches at once, which only trying it can tell.
    pub fn all_below(
        &self,
        topology: &Topology,
        link: LinkId,
        keeps: impl Fn(SwitchId, u64) -> bool,
    ) -> Option<bool> {
        let ends = topology.link(link);
        let lost = self.over(topology, link);
        if lost == 0 {
            // Nothing leads further up: no ToR loses a path.
            return Some(true);
        }
        let switch = topology.switch(ends.lower);
        if switch.layer == 0 {
            return Some(keeps(ends.lower, self.of[ends.lower.index()] - lost));
        }
        if !switch.above_tors {
            return None;
        }
        let mut below = topology.down(ends.lower).iter().filter(|hop| self.active[hop.link.index()]);
        Some(below.all(|hop| keeps(hop.switch, self.of[hop.switch.index()] - lost * self.weight(hop.link))))
    }

    /// Removes an active link. Reports every ToR whose count changed, with its count before and after.
    pub fn remove(
        &mut self,
        topology: &Topology,
        link: LinkId,
        changed: &mut impl FnMut(SwitchId, u64, u64),
    ) {
        debug_assert!(self.active[link.index()], "link {} is not active", link.0);
        self.active[link.index()] = false;
        let ends = topology.link(link);
        let lost = self.over(topology, link);
        self.change(topology, ends.lower, lost.wrapping_neg(), changed);
    }

    /// Adds an inactive link again. Reports every ToR whose count changed, with its count before and after.
    pub fn add(&mut self, topology: &Topology, link: LinkId, changed: &mut impl FnMut(SwitchId, u64, u64)) {
        debug_assert!(!self.active[link.index()], "link {} is active", link.0);
        self.active[link.index()] = true;
        let ends = topology.link(link);
        let won = self.over(topology, link);
        self.change(topology, ends.lower, won, changed);
    }

    /// The paths of a link's lower end that lead over it while it is active. No path climbs over a peer link.
    pub fn over(&self, topology: &Topology, link: LinkId) -> u64 {
        if topology.is_peer(link) {
            return 0;
        }
        self.of[topology.link(link).upper.index()].wrapping_mul(self.weight(link))
    }

    /// Adds `by`, modulo 2^64, to the paths of a switch and of everything below it. A switch that is reached in several
    /// ways changes, and is reported, several times.
    fn change(
        &mut self,
        topology: &Topology,
        switch: SwitchId,
        by: u64,
        changed: &mut impl FnMut(SwitchId, u64, u64),
    ) {
        if by == 0 {
            return;
        }
        let before = self.of[switch.index()];
        self.of[switch.index()] = before.wrapping_add(by);
        if topology.switch(switch).layer == 0 {
            changed(switch, before, before.wrapping_add(by));
            return;
        }
        let above_tors = topology.switch(switch).above_tors;
        for hop in topology.down(switch) {
            if !self.active[hop.link.index()] {
                continue;
            }
            let by = by.wrapping_mul(self.weight(hop.link));
            if above_tors {
                let before = self.of[hop.switch.index()];
                self.of[hop.switch.index()] = before.wrapping_add(by);
                changed(hop.switch, before, before.wrapping_add(by));
            } else {
                self.change(topology, hop.switch, by, changed);
            }
        }
    }
}
